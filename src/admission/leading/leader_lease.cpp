#include "admission/leading/leader_lease.hpp"

#include "base/assert.hpp"
#include "base/log.hpp"

namespace seckill::admission::leading {

LeaderLease::LeaderLease(store::LaneAuthority& authority, base::Threads& threads, LeaderLeaseConfig config)
    : authority_{authority}, threads_{threads}, config_{std::move(config)}, changed_{threads.make_signal()} {
  SECKILL_ASSERT(config_.margin + config_.renew_every < config_.ttl, "a lease is renewed before it lapses");
}

LeaderLease::~LeaderLease() { stop(); }

void LeaderLease::start() {
  SECKILL_ASSERT(thread_ == nullptr, "LeaderLease is started once");
  thread_ = threads_.start("leader-lease", [this] { run(); });
}

void LeaderLease::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    token_.reset();
  }
  changed_->notify_all();
  if (thread_) thread_->join();
  thread_.reset();
}

void LeaderLease::run() {
  for (;;) {
    renew();
    std::unique_lock lock{mutex_};
    if (threads_.wait_for(*changed_, lock, config_.renew_every, [this] { return stopping_; })) return;
  }
}

void LeaderLease::renew() {
  const auto asked_at = threads_.now();
  const auto lease = authority_.acquire_lease(store::leader_lease, config_.holder, config_.ttl);
  const std::lock_guard lock{mutex_};
  if (stopping_) return;
  // An error leaves what was proven before: the lease may have been renewed or not, and either way it stands till then.
  if (!lease) return;
  const auto before = token_;
  if (*lease) {
    token_ = LeaderToken{(*lease)->token};
    proven_until_ = asked_at + config_.ttl - config_.margin;
  } else {
    token_.reset();
  }
  if (token_ && (!before || before->token != token_->token)) {
    base::log::info("leader: {} leads with token {}", config_.holder, token_->token);
  } else if (before && !token_) {
    base::log::warn("leader: {} leads no longer", config_.holder);
  }
}

std::optional<LeaderToken> LeaderLease::held() const {
  const std::lock_guard lock{mutex_};
  if (threads_.now() >= proven_until_) return std::nullopt;
  return token_;
}

}  // namespace seckill::admission::leading

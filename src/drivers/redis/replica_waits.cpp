#include "drivers/redis/replica_waits.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "drivers/redis/slots.hpp"

namespace seckill::drivers::redis {
namespace {

constexpr std::string_view written_key_prefix = "seckill:wait:";
constexpr std::string_view written_key_lives_ms = "1000";
// A server looks at its clock ten times a second: WAIT is told to end so much before its callers' deadline, or at half
// their time, so that they still get its number …
constexpr std::chrono::milliseconds server_late{125};
// … and only so much after it is its connection given up.
constexpr std::chrono::milliseconds server_hangs{500};

}  // namespace

void finish(Shared& shared, ReplicaWait& wait, base::Result<std::optional<std::uint32_t>> answer) {
  shared.close_own(wait.routing_key.size());
  if (answer.has_value() && !answer->has_value()) count(shared.foreign);
  if (!answer.has_value() && answer.error().code == base::Errc::timeout) count(shared.timeouts);
  wait.done(std::move(answer));
}

ReplicaWaits::ReplicaWaits(Shared& shared, std::shared_ptr<Link> link, Moved moved)
    : shared_(shared), link_(std::move(link)), moved_(std::move(moved)) {}

void ReplicaWaits::add(ReplicaWait wait) {
  if (closed_) {
    finish(shared_, wait, base::fail(base::Errc::unavailable, "waiting for replicas", "closed"));
    return;
  }
  waiting_.push_back(std::move(wait));
  start();
}

void ReplicaWaits::start() {
  if (busy_ || closed_ || waiting_.empty()) return;
  const std::optional<RedisIdentity> expected = waiting_.front().expected;
  const std::uint32_t replicas = waiting_.front().replicas;
  std::deque<ReplicaWait> others;
  TimePoint latest = TimePoint::min();
  for (ReplicaWait& wait : waiting_) {
    const bool same = wait.expected == expected && wait.replicas == replicas;
    if (same) latest = std::max(latest, wait.deadline);
    (same ? under_way_ : others).push_back(std::move(wait));
  }
  waiting_ = std::move(others);
  busy_ = true;

  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(latest - Clock::now());
  const auto longest = std::max(left - server_late, left / 2);
  const std::string ms = std::to_string(std::max<std::int64_t>(longest.count(), 1));  // 0 would wait for ever
  const std::string count = std::to_string(replicas);
  const std::string key = key_beside(written_key_prefix, under_way_.front().routing_key);
  const auto push = [&](std::string wire, CallDone done) {
    auto call = std::make_unique<PendingCall>();
    call->wire = std::move(wire);
    call->pinned = true;
    call->expected = expected;
    call->deadline = latest + server_hangs;
    call->done = std::move(done);
    shared_.open_own(call->wire.size());
    link_->push(std::move(call));
  };
  push(format_command(std::array<std::string_view, 5>{"SET", key, "1", "PX", written_key_lives_ms}),
       [this](base::Result<CallAnswer> answer) { written(std::move(answer)); });
  push(format_command(std::array<std::string_view, 3>{"WAIT", count, ms}),
       [this](base::Result<CallAnswer> answer) { waited(std::move(answer)); });
}

// Where the write was not made, what WAIT says is about something else: the callers are answered here.
void ReplicaWaits::written(base::Result<CallAnswer> answer) {
  if (answer.has_value() && answer->end == CallEnd::replied && !answer->reply.is_error()) return;
  std::deque<ReplicaWait> ended = std::exchange(under_way_, {});
  for (ReplicaWait& wait : ended) {
    if (!answer.has_value()) {
      finish(shared_, wait, std::unexpected(answer.error()));
    } else if (answer->end == CallEnd::foreign) {
      finish(shared_, wait, std::optional<std::uint32_t>{});
    } else if (answer->reply.text().starts_with("MOVED ")) {
      moved_(std::move(wait), answer->reply.text());
    } else {
      finish(shared_, wait,
             base::fail(base::Errc::unavailable, "waiting for replicas", std::string(answer->reply.text())));
    }
  }
}

void ReplicaWaits::waited(base::Result<CallAnswer> answer) {
  busy_ = false;
  std::deque<ReplicaWait> ended = std::exchange(under_way_, {});
  std::optional<std::int64_t> number;
  if (answer.has_value() && answer->end == CallEnd::replied) number = answer->reply.integer();
  for (ReplicaWait& wait : ended) {
    if (!answer.has_value()) {
      finish(shared_, wait, std::unexpected(answer.error()));
    } else if (number && *number >= 0) {
      finish(shared_, wait, std::optional(static_cast<std::uint32_t>(*number)));
    } else {
      finish(shared_, wait,
             base::fail(base::Errc::unavailable, "waiting for replicas", std::string(answer->reply.text())));
    }
  }
  start();
}

void ReplicaWaits::check(TimePoint now) {
  const auto expire = [&](std::deque<ReplicaWait>& waits, base::Errc code) {
    std::deque<ReplicaWait> kept;
    std::deque<ReplicaWait> late;
    for (ReplicaWait& wait : waits) (now < wait.deadline ? kept : late).push_back(std::move(wait));
    waits = std::move(kept);
    for (ReplicaWait& wait : late) finish(shared_, wait, base::fail(code, "waiting for replicas", "no reply in time"));
  };
  if (!waiting_.empty()) expire(waiting_, base::Errc::unavailable);
  if (!under_way_.empty()) expire(under_way_, base::Errc::timeout);
}

void ReplicaWaits::close() {
  closed_ = true;
  link_->close();  // ends what is under way
  std::deque<ReplicaWait> ended = std::exchange(waiting_, {});
  for (ReplicaWait& wait : ended) {
    finish(shared_, wait, base::fail(base::Errc::unavailable, "waiting for replicas", "closed"));
  }
}

}  // namespace seckill::drivers::redis

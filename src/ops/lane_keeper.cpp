#include "ops/lane_keeper.hpp"

#include <utility>

#include "base/assert.hpp"

namespace seckill::ops {

LaneKeeper::LaneKeeper(base::Threads& threads, std::function<void()> round)
    : threads_{threads}, round_{std::move(round)}, stop_{threads.make_signal()} {}

LaneKeeper::~LaneKeeper() { stop(); }

void LaneKeeper::start(std::chrono::milliseconds every) {
  SECKILL_ASSERT(!thread_ && !stopping_, "a lane keeper is started once");
  thread_ = threads_.start("ops-lanes", [this, every] { run(every); });
}

void LaneKeeper::stop() {
  {
    const std::scoped_lock lock{mutex_};
    stopping_ = true;
  }
  stop_->notify_all();
  if (const auto thread = std::exchange(thread_, nullptr)) thread->join();
}

void LaneKeeper::run(std::chrono::milliseconds every) {
  while (true) {
    {
      std::unique_lock lock{mutex_};
      if (threads_.wait_for(*stop_, lock, every, [this] { return stopping_; })) return;
    }
    round_();
  }
}

}  // namespace seckill::ops

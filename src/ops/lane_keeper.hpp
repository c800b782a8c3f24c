// A clock that strikes: asks every so often for a round over the sales that are over. The round itself runs where
// changes run, so that it never meets an operator's change half-way.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include "base/threads.hpp"

namespace seckill::ops {

class LaneKeeper {
 public:
  // `round` is quick: it hands the work on. Borrows `threads`.
  LaneKeeper(base::Threads& threads, std::function<void()> round);
  ~LaneKeeper();  // stops
  LaneKeeper(const LaneKeeper&) = delete;
  LaneKeeper& operator=(const LaneKeeper&) = delete;

  // Once.
  void start(std::chrono::milliseconds every);
  // No round is asked for any more when it returns. Idempotent.
  void stop();

 private:
  void run(std::chrono::milliseconds every);

  base::Threads& threads_;
  const std::function<void()> round_;
  std::mutex mutex_;
  const std::unique_ptr<base::Signal> stop_;
  bool stopping_ = false;
  std::unique_ptr<base::Thread> thread_;
};

}  // namespace seckill::ops

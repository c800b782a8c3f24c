// A broker that confirms at once, in process: what admission costs without one.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "queue/intent_broker.hpp"

namespace seckill::bench {

// Confirms on a thread of its own, as the port demands. Any thread.
class ConfirmingPublisher final : public queue::IntentPublisher {
 public:
  ConfirmingPublisher() : thread_{[this](const std::stop_token& stop) { run(stop); }} {}

  void publish(queue::Partition, std::vector<model::OrderIntent>, queue::PublishDone done) override {
    const std::scoped_lock lock{mutex_};
    waiting_.push_back(std::move(done));
    changed_.notify_one();
  }
  [[nodiscard]] bool accepting() const noexcept override { return true; }
  base::Status barrier(queue::Partition, std::chrono::milliseconds) override { return {}; }

 private:
  void run(const std::stop_token& stop) {
    for (;;) {
      std::vector<queue::PublishDone> batch;
      {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, stop, [this] { return !waiting_.empty(); });
        if (waiting_.empty()) return;
        batch.swap(waiting_);
      }
      for (queue::PublishDone& done : batch) done(queue::Published::confirmed);
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<queue::PublishDone> waiting_;  // under the mutex
  std::jthread thread_;                      // last: it uses all above
};

}  // namespace seckill::bench

// The order worker: takes intents from its partitions of the broker, settles them in batches, acknowledges. Cluster
// mode's consumer; embedded mode's is the direct queue. Keeps P5 and P6: a message is acknowledged only when every
// intent in it is settled, and what cannot be settled now comes back later.
//
//   receive ──► gather (≤ 500 intents or 5 ms) ──► settle ──► all settled: acknowledge
//      ▲                                             │          some later: retry_later those, which acknowledges
//      └── Errc::unavailable: all of it comes again  └─ Error: pause with jitter, settle the same again
//
// An Error of the store is the environment's: nothing is acknowledged and nothing counted. One message's intents never
// decide over another's: landing finds a culprit by halving (landing.hpp), and each message is answered by itself.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "base/threads.hpp"
#include "orders/order_worker_landing.hpp"
#include "queue/intent_broker.hpp"

namespace seckill::orders {

struct OrderWorkerConfig {
  std::string name = "order-worker";                        // of its thread: at most 15 characters
  std::size_t batch_max = base::limits::landing_batch_max;  // intents; one message more may come on top
  std::chrono::milliseconds gather{5};                      // for more, once there are some
  std::chrono::milliseconds idle{250};                      // for the first; how late a stop is noticed
  std::chrono::milliseconds backoff_min{50};                // after an Error; doubles, jittered
  std::chrono::milliseconds backoff_max{1'000};
  std::chrono::milliseconds retry_delay{500};  // of what is undecided; jittered up to twice as long
};

// What has been done since the start. Any thread, each value by itself.
struct OrderWorkerCounters {
  std::atomic<std::uint64_t> messages{0};      // received, redeliveries included
  std::atomic<std::uint64_t> redelivered{0};   // of these
  std::atomic<std::uint64_t> acknowledged{0};  // whole messages done with
  std::atomic<std::uint64_t> put_off{0};       // messages of which intents come later
  std::atomic<std::uint64_t> not_now{0};       // attempts that the environment failed
  std::atomic<std::uint64_t> disconnected{0};  // the broker could not be reached, or forgot a message before we did
};

class OrderWorker {
 public:
  // A number below n, for jitter. Called from the worker's thread.
  using Dice = std::function<std::uint64_t(std::uint64_t n)>;

  // Borrows source, landing and threads for its whole life.
  OrderWorker(queue::IntentSource& source, ClusterLanding& landing, base::Threads& threads, Dice dice,
              OrderWorkerConfig config = {});
  ~OrderWorker();  // stops
  OrderWorker(const OrderWorker&) = delete;
  OrderWorker& operator=(const OrderWorker&) = delete;

  void start();
  // Settles what was received, once more and without retries, then joins; what is not settled then is delivered again
  // to another worker. Harmless to repeat.
  void stop();

  // One turn: receive, gather, settle, answer. Blocks. What the thread does in a loop; not while it runs.
  void turn();

  [[nodiscard]] const OrderWorkerCounters& counters() const noexcept { return counters_; }

 private:
  void run();
  [[nodiscard]] std::vector<queue::Delivery> gather();
  void settle(std::vector<queue::Delivery> deliveries);
  void answer(queue::Delivery& delivery, std::span<const Settled> settled);
  // False when stopping.
  bool pause(std::chrono::milliseconds longest);
  [[nodiscard]] std::chrono::milliseconds jittered(std::chrono::milliseconds wait);

  // Constant after construction.
  queue::IntentSource& source_;
  ClusterLanding& landing_;
  base::Threads& threads_;
  const Dice dice_;
  const OrderWorkerConfig config_;

  OrderWorkerCounters counters_;
  std::chrono::milliseconds backoff_;  // of the thread
  std::mutex mutex_;
  std::unique_ptr<base::Signal> changed_;
  bool stopping_ = false;                 // under the mutex
  std::unique_ptr<base::Thread> thread_;  // of start() and stop()
};

}  // namespace seckill::orders

// The direct queue: intents pass to the landing inside the process (embedded mode). Group commit: one consumer thread
// offers what is there, at most a landing batch, and confirms each record when its batch is durable.
//
//   try_reserve ─► publish (under the lane's lock) ─► block ─► consume(batch) ─► confirm
//                                                       ▲            │ Error: "not now"
//                                                       └─ backoff ──┘ same records, same order; try_reserve says no
//
// Keeps P5 (a durable confirmation follows the commit, in queue order, so any durable prefix is a consistent state) and
// P9 (reserved + accepted records never exceed the capacity). Unknown is not failed: a confirmation that is overdue is
// called with durable=false while its record stays queued and still lands; then whoever listens for late landings is
// told what became of it (P6: what a lane holds is not left unknown for ever).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "base/random.hpp"
#include "base/threads.hpp"
#include "queue/intent_queue.hpp"

namespace seckill::queue::direct {

struct DirectQueueConfig {
  std::size_t capacity = base::limits::queue_records_max;   // records reserved or accepted, not yet landed
  std::size_t batch_max = base::limits::landing_batch_max;  // records offered to the consumer at once
  std::chrono::milliseconds confirm_deadline{1'000};        // an unconfirmed intent older than this is told unknown
  std::chrono::milliseconds backoff_min{50};                // after "not now"; doubles, jittered
  std::chrono::milliseconds backoff_max{1'000};
  std::chrono::milliseconds stop_deadline{5'000};  // how long stop() goes on offering to a refusing consumer
};

class DirectQueue final : public IntentQueue {
 public:
  // Borrows the consumer, the clock (durations only), threads and random (jitter only) for its whole life.
  // Requires: 1 ≤ batch_max ≤ capacity.
  DirectQueue(IntentConsumer& consumer, const base::Clock& clock, DirectQueueConfig config = {},
              base::Threads& threads = base::system_threads(), base::Random& random = base::system_random());
  ~DirectQueue() override;  // stops
  DirectQueue(const DirectQueue&) = delete;
  DirectQueue& operator=(const DirectQueue&) = delete;

  // Told of each intent that landed after its confirmation had been told unknown. On a thread of the queue's; quick,
  // must not block. Both may be told at the same time. Set before start().
  using LandedLate = std::function<void(const model::OrderIntent&, const store::Landed&)>;
  void on_landed_late(LandedLate late) { landed_late_ = std::move(late); }

  // Starts the threads. Before it, records are accepted and wait. Call once.
  void start();
  // Refuses reservations, lands what was accepted, joins. Records that the consumer still refuses after stop_deadline
  // are dropped with their confirmations told unknown: nobody was promised them. Blocks; idempotent; not from a
  // Confirm. Requires: whoever holds a reservation publishes or cancels it before stop() is called.
  void stop();

  [[nodiscard]] bool try_reserve(std::size_t records) noexcept override;
  void cancel_reservation(std::size_t records) noexcept override;
  void publish(model::LaneRecord record, Confirm confirm) noexcept override;
  [[nodiscard]] std::size_t depth() const noexcept override;

 private:
  // At most batch_max records that are offered together; recycled, so a steady state allocates nothing.
  struct Block {
    std::vector<model::LaneRecord> records;
    std::vector<Confirm> confirms;                     // empty function: already called
    std::vector<std::chrono::nanoseconds> expires_at;  // ascending
    std::size_t expired = 0;                           // of this many records the intents were told unknown
  };
  using BlockPtr = std::unique_ptr<Block>;

  void run_consumer();
  void run_watcher();
  [[nodiscard]] const Block* next_block();
  [[nodiscard]] std::optional<std::vector<store::Landed>> offer(const Block& block);
  [[nodiscard]] bool wait_backoff(std::chrono::milliseconds wait);
  [[nodiscard]] std::chrono::milliseconds jittered(std::chrono::milliseconds wait);
  [[nodiscard]] BlockPtr take_front();
  void settle(BlockPtr block, std::span<const store::Landed> landed);
  void drop_all();
  [[nodiscard]] BlockPtr fresh_block();
  void take_expired(std::chrono::nanoseconds now, std::vector<Confirm>& out);

  // Constant after construction.
  IntentConsumer& consumer_;
  const base::Clock& clock_;
  const DirectQueueConfig config_;
  base::Threads& threads_;
  base::Random& random_;
  LandedLate landed_late_;  // constant from start() on

  // Any thread.
  std::atomic<std::size_t> used_{0};      // reserved + accepted: what the capacity bounds
  std::atomic<std::size_t> reserved_{0};  // not yet published or given back
  std::atomic<std::size_t> accepted_{0};  // published, not landed
  std::atomic<bool> refusing_{false};     // the consumer said "not now"
  std::atomic<bool> stopping_{false};

  // Under the mutex. The front block may be in the consumer's hands (`offered_`): then its records are the consumer's
  // alone and nothing is added to it; its confirmations stay under the mutex.
  std::mutex mutex_;
  const std::unique_ptr<base::Signal> work_;  // the consumer waits for a record, a backoff or stop
  const std::unique_ptr<base::Signal> tick_;  // the watcher waits for its next look or stop
  std::deque<BlockPtr> blocks_;
  std::vector<BlockPtr> spare_;
  bool offered_ = false;
  bool consumer_waits_ = false;

  std::unique_ptr<base::Thread> consumer_thread_;
  std::unique_ptr<base::Thread> watcher_thread_;
};

}  // namespace seckill::queue::direct

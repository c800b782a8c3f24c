// How tickets end (DESIGN §4.4): a row in the store, then the outbox, then the lane. One thread gathers what waits into
// one store transaction (group commit), then tells the lanes, then answers. Keeps P6 and P7: each move is a conditional
// update by the one transition table, so of a cancel, a payment and an expiry that race exactly one wins (FS-18).
//
// The lane is told before the answer is given, so a buyer whose cancel was answered can buy again at once (FS-40). What
// a lane has not acknowledged stays in the outbox and is sent again: after a start, and while lanes are closed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "admission/admission.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"
#include "store/store.hpp"

namespace seckill::orders {

// Called exactly once, from the thread of TicketEnds, or inside submit() when the move is refused unasked: Errc::limit
// (too many ends are waiting: answer busy) or Errc::unavailable (not running). Must be quick and must not block. Other
// errors: the store could not be asked, or refused this one command (constraint: the payment's transaction is known for
// another order); nothing is known to have happened and repeating is harmless.
using EndDone = std::move_only_function<void(base::Result<store::Ended>)>;

// What has been done since the start. Any thread, each value by itself.
struct EndsCounters {
  std::atomic<std::uint64_t> batches{0};        // transactions that moved tickets
  std::atomic<std::uint64_t> commands{0};       // answered by the store
  std::atomic<std::uint64_t> done{0};           // moves made
  std::atomic<std::uint64_t> illegal{0};        // moves the transition table refused
  std::atomic<std::uint64_t> refused_full{0};   // answered Errc::limit
  std::atomic<std::uint64_t> store_errors{0};   // attempts that failed by the environment
  std::atomic<std::uint64_t> given_up{0};       // commands answered with an Error
  std::atomic<std::uint64_t> lane_told{0};      // releases and posts acknowledged by a lane
  std::atomic<std::uint64_t> lane_closed{0};    // releases and posts that a closed lane put off
  std::atomic<std::uint64_t> outbox_resent{0};  // sent again from the outbox
};

// Bounds of the threads' time, apart from the rules' clock: how long the thread tries and waits.
struct EndsTiming {
  std::chrono::milliseconds store_retry_for{2'000};  // an environment error is retried this long, then answered
  std::chrono::milliseconds lane_wait{200};          // for acknowledgements before answering without them
  std::chrono::milliseconds outbox_every{1'000};  // between looks into the outbox for what lanes have not acknowledged
};

class TicketEnds {
 public:
  // Borrows store, admission, clock and threads for its whole life.
  TicketEnds(store::Store& store, admission::Admission& admission, const base::Clock& clock, EndsTiming timing = {},
             base::Threads& threads = base::system_threads());
  ~TicketEnds();  // stops

  TicketEnds(const TicketEnds&) = delete;
  TicketEnds& operator=(const TicketEnds&) = delete;

  // Starts the thread; sends the lanes what a former run left in the outbox. Once.
  void start();
  // Finishes what waits (each once more, without retries), then joins. After it submit() answers Errc::unavailable.
  // Harmless to repeat.
  void stop();

  // Queues one move; `command.now` is set by the thread just before the store is first asked, and of moves on the same
  // ticket the one that was submitted first is judged first. Any thread, does not block.
  void submit(store::EndCommand command, EndDone done);

  // Moves submitted and not yet answered; at most limits::ends_waiting_max wait. Any thread.
  [[nodiscard]] std::size_t waiting() const noexcept;
  // True when nothing waits and no acknowledgement or resend is known to be owed (the release of a failed landing is
  // known once the outbox was read). Any thread.
  [[nodiscard]] bool quiet() const noexcept;
  [[nodiscard]] const EndsCounters& counters() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seckill::orders

// How tickets end (DESIGN §4.4): a row in the store, then the outbox, then the lane. One thread gathers what waits into one
// store transaction (group commit), then tells the lanes, then answers. Keeps P6 and P7: each move is a conditional
// update by the one transition table, so of a cancel, a payment and an expiry that race exactly one wins (FS-18).
#pragma once

#include <functional>
#include <memory>

#include "admission/admission.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "store/store.hpp"

namespace seckill::orders {

// Called exactly once, from the thread of TicketEnds. Errc::limit: too many ends are waiting (answer busy).
// Other errors: the store could not be asked; nothing is known to have happened and repeating is harmless.
using EndDone = std::move_only_function<void(base::Result<store::Ended>)>;

class TicketEnds {
 public:
  // Borrows store, admission and clock for its whole life.
  TicketEnds(store::Store& store, admission::Admission& admission, const base::Clock& clock);
  ~TicketEnds();  // stops

  // Starts the thread; sends the lanes what a former run left in the outbox.
  void start();
  // Finishes what waits, then joins. After it submit() answers Errc::unavailable.
  void stop();

  // Queues one move; `command.now` is set by the thread just before the store is asked. Any thread, does not block.
  void submit(store::EndCommand command, EndDone done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seckill::orders

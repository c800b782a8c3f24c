// One admit() on its way, owned by whoever holds it: the lane's line, a script call, a steal, the relay.
//
// It is answered exactly once, by whichever comes first of the lane's decision and the deadline (P5: at the deadline
// the answer is busy, with the ticket when one may exist: unknown, not failed). Who comes second changes nothing: what
// the lane took stays taken, its intent is in the lane's stream, and the sweep publishes it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "admission/admission.hpp"
#include "admission/remote/gate.hpp"
#include "admission/remote/places.hpp"

namespace seckill::admission::remote {

class RemoteItem;

class AdmitCall {
 public:
  AdmitCall(const AdmitRequest& asked, std::shared_ptr<RemoteItem> of_item, model::LaneIndex of_lane,
            const model::Ticket& its_ticket, std::chrono::nanoseconds its_deadline, Gate::Pass pass, AdmitDone done)
      : request{asked},
        item{std::move(of_item)},
        lane{of_lane},
        ticket{its_ticket},
        deadline{its_deadline},
        done_{std::move(done)},
        pass_{std::move(pass)} {}

  // Constant after construction.
  const AdmitRequest request;
  const std::shared_ptr<RemoteItem> item;
  const model::LaneIndex lane;
  const model::Ticket ticket;
  const std::chrono::nanoseconds deadline;  // Threads::now

  // Owned by whoever holds the call now.
  std::uint32_t tries = 0;
  std::optional<Places::Place> place;  // for the intent it may become

  // Any thread.
  std::atomic<bool> ticket_possible{false};  // the lane was asked and may have taken units for it
  std::atomic<std::uint32_t> steal_wait{0};  // not 0: waits for a steal, under this number

  // The first answer counts, later ones are dropped. Any thread.
  void answer(AdmitReply reply) {
    if (!answered_.exchange(true, std::memory_order_acq_rel)) done_(std::move(reply));
  }
  void answer(model::PurchaseAnswer answer_) { answer({.answer = answer_, .ticket = std::nullopt, .own = {}}); }
  // Undecided, or decided and not known durable.
  void answer_busy() {
    AdmitReply reply;
    if (ticket_possible.load(std::memory_order_acquire)) reply.ticket = queued_view();
    answer(std::move(reply));
  }
  [[nodiscard]] bool answered() const noexcept { return answered_.load(std::memory_order_acquire); }
  // The ticket as it is while nothing but its intent exists.
  [[nodiscard]] TicketView queued_view() const {
    return {.ticket = ticket, .units = request.units, .state = model::TicketState::queued, .live = true};
  }

 private:
  std::atomic<bool> answered_{false};
  AdmitDone done_;
  Gate::Pass pass_;
};

using CallPtr = std::shared_ptr<AdmitCall>;

}  // namespace seckill::admission::remote

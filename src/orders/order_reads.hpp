// Reading orders without ever blocking an io thread: a small pool of reader threads behind a bounded queue. Answers
// rest on committed rows only (P5). Keeps P9: past the bound a question is refused (Errc::limit → 503), never queued
// without end; and one that has waited for a reader longer than `wait_max` is answered unavailable without being asked,
// so that a store that stands still delays nobody by more than that and the questions under way.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "admission/admission.hpp"
#include "base/result.hpp"
#include "store/store.hpp"

namespace seckill::orders {

// What became of a purchase, as its buyer may see it.
struct Outcome {
  bool found = false;  // false: no record (also for another buyer's ticket, FS-24)
  model::Ticket ticket;
  model::TicketState state = model::TicketState::queued;
  std::int64_t units = 0;
  std::optional<store::Order> order;  // the row; empty while queued, and for a failure that could not be recorded
};

// What a row says to `buyer` about `item`. A row of another buyer, or of another item, answers exactly as no row does
// (FS-24). Pure.
[[nodiscard]] Outcome outcome_of(const store::Order& order, const model::ItemKey& item, const model::BuyerId& buyer);

// Every `done` below is called exactly once: from a reader thread, or inside the call when the question is refused
// (Errc::limit: too many wait; Errc::unavailable: not running). It must be quick and must not block.
class OrderReads {
 public:
  static constexpr std::chrono::milliseconds usual_wait_max{3'000};

  // Borrows store and admission for its whole life. `threads` readers (at least 1), started by start().
  OrderReads(store::Store& store, admission::Admission& admission, std::size_t threads,
             std::chrono::milliseconds wait_max = usual_wait_max);
  ~OrderReads();  // stops

  OrderReads(const OrderReads&) = delete;
  OrderReads& operator=(const OrderReads&) = delete;

  void start();
  // Answers what waits, then joins. Harmless to repeat.
  void stop();

  // The store's row, else the mark. A ticket that only its mark knows is not durable yet, and neither is an answer
  // about it: Errc::unavailable, as when store or lane cannot be asked: 503, never "no record" (FS-12). Any thread,
  // does not block.
  void outcome(const model::ItemKey& item, const model::BuyerId& buyer, const model::Ticket& ticket,
               std::move_only_function<void(base::Result<Outcome>)> done);
  // The order row of a ticket, whoever owns it; nullopt: no row. Any thread, does not block.
  void find(const model::Ticket& ticket, std::move_only_function<void(base::Result<std::optional<store::Order>>)> done);
  // A page of orders, newest first. Any thread, does not block.
  void list(const store::OrderQuery& query, std::move_only_function<void(base::Result<store::OrderPage>)> done);

  // Runs any blocking question of the store on a reader thread; false when too many wait or the pool is not running
  // (then nothing is run). When it has waited too long, `late` is called in its place; without one it is run all the
  // same. Any thread, does not block.
  [[nodiscard]] bool run(std::move_only_function<void(store::Store&)> work, std::move_only_function<void()> late = {});

  // Questions accepted and not yet answered; at most limits::store_reads_waiting_max wait. Any thread.
  [[nodiscard]] std::size_t waiting() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seckill::orders

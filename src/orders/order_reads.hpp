// Reading orders without ever blocking an io thread: a small pool of reader threads behind a bounded queue. Answers rest on
// committed rows only. Keeps P9: past the bound a question is refused (Errc::limit → 503), never queued without end.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "admission/admission.hpp"
#include "base/result.hpp"
#include "store/store.hpp"

namespace seckill::orders {

// What became of a purchase, as its buyer may see it.
struct Outcome {
  bool found = false;                        // false: no record (also for another buyer's ticket)
  model::Ticket ticket;
  model::TicketState state = model::TicketState::queued;
  std::int64_t units = 0;
  std::optional<store::Order> order;         // set unless queued
};

class OrderReads {
 public:
  // Borrows store and admission. `threads` readers, started by start().
  OrderReads(store::Store& store, admission::Admission& admission, std::size_t threads);
  ~OrderReads();
  void start();
  void stop();

  // The store's row, else the mark (queued). Errc::unavailable when neither can be asked: 503, never "no record".
  // Any thread, does not block; `done` is called exactly once from a reader thread.
  void outcome(const model::ItemKey& item, const model::BuyerId& buyer, const model::Ticket& ticket,
               std::move_only_function<void(base::Result<Outcome>)> done);
  void find(const model::Ticket& ticket, std::move_only_function<void(base::Result<std::optional<store::Order>>)> done);
  void list(const store::OrderQuery& query, std::move_only_function<void(base::Result<store::OrderPage>)> done);

  // Runs any blocking question of the store on a reader thread; false when too many wait (then `work` is not run).
  [[nodiscard]] bool run(std::move_only_function<void(store::Store&)> work);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seckill::orders

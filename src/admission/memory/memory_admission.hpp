// Admission with lanes in memory (embedded mode): one mutex a lane; hold, mark and intent are one step under it.
//
// P5: an answer that rests on a ticket waits until the ticket's record is durable; when that is unknown the answer is
// busy with the ticket, and nothing is released. P8: a lane that is short never says sold_out by itself: under all
// lanes' locks it takes from the richest, and only an exact reading of all lanes says sold_out (then leased for a
// second).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "admission/admission.hpp"
#include "admission/memory/item_lanes.hpp"
#include "admission/memory/item_registry.hpp"
#include "base/random.hpp"
#include "base/threads.hpp"
#include "queue/intent_queue.hpp"

namespace seckill::admission::memory {

class MemoryAdmission final : public Admission {
 public:
  // Borrows all four for its whole life; random makes ids unique across runs. The queue must have stopped (no
  // confirmation to come) before this is destroyed.
  MemoryAdmission(queue::IntentQueue& queue, const base::Clock& clock, base::Threads& threads = base::system_threads(),
                  base::Random& random = base::system_random());
  ~MemoryAdmission() override;

  void admit(const AdmitRequest& request, AdmitDone done) override;
  [[nodiscard]] std::optional<model::PurchaseAnswer> early_answer(const model::ItemKey& item,
                                                                  std::optional<std::string_view> buyer,
                                                                  std::int64_t units_min) const noexcept override;
  void find_ticket(const model::ItemKey& item, const model::BuyerId& buyer, const model::Ticket& ticket,
                   std::move_only_function<void(base::Result<std::optional<TicketView>>)> done) override;
  void buyer_tickets(const model::ItemKey& item, const model::BuyerId& buyer,
                     std::move_only_function<void(base::Result<std::vector<TicketView>>)> done) override;
  [[nodiscard]] std::optional<model::Ticket> ticket_of(const model::ItemKey& item, const model::BuyerId& buyer,
                                                       const model::RequestId& request_id) const override;

  // An item that is not installed acknowledges at once, unless it is being installed: its lanes will be built from the
  // store, whose row came first.
  void release(const model::ItemKey& item, const model::Ticket& ticket, LaneDone done) override;
  void post(const model::ItemKey& item, const model::Ticket& ticket, LaneDone done) override;

  // Errc::refused: not preloaded, or its lanes were closed (restart rebuilds them). Errc::corrupt: the store's rows
  // contradict each other; the text says which. Errc::limit: too many items in memory.
  base::Status install(const model::Sale& sale, const model::SaleItem& item, store::Store& store) override;
  // Errc::not_found: not installed (install takes the terms it is given). Errc::limit: too many edits.
  base::Status configure(const model::ItemKey& item, const model::ItemTerms& terms) override;
  // Errc::not_found: not installed; install will read the transfer's units from the store.
  base::Status credit(const model::StockTransfer& transfer) override;
  // Errc::timeout: units were debited and their transfers are queued, but not known durable yet; the same id asks
  // again. Errc::limit: queue full, or too many reductions in this life.
  base::Result<std::int64_t> debit_to_pool(const model::ItemKey& item, std::int64_t units,
                                           const std::string& id) override;

  // Errc::refused also while its lanes are closed (a person decides) and before the sale has ended by their terms.
  base::Status retire(const model::ItemKey& item) override;

  [[nodiscard]] StockView stock(const model::ItemKey& item) const override;
  // One exact reading under all lanes' locks.
  [[nodiscard]] std::vector<LaneView> lanes(const model::ItemKey& item) const override;
  void close_lanes(const model::ItemKey& item, std::string_view why) override;

  // What became of an intent whose confirmation was told unknown: the lane takes it over as it would have then, else
  // the ticket stayed "queued" here, and a sale at price 0 "held", until its buyer asks again. Any thread, does not
  // block.
  void landed_late(const model::OrderIntent& intent, const store::Landed& landed);

 private:
  struct Call;
  enum class Judged : std::uint8_t;

  [[nodiscard]] Judged judge(Call& call, Lane& lane);
  [[nodiscard]] Judged take(Call& call, Lane& lane, MarkRecord* mark, base::UtcMs now);
  [[nodiscard]] Judged answer_from(Call& call, Lane& lane, TicketRecord& record, model::PurchaseAnswer answer);
  [[nodiscard]] Judged refuse_by_limit(Call& call, Lane& lane, const MarkRecord* mark);
  [[nodiscard]] Judged judge_over_all_lanes(Call& call, Lane& lane);
  void publish_intent(Call& call, model::OrderIntent intent, TicketRecord& record, model::PurchaseAnswer answer);
  void confirmed(Item& item, TicketRecord& record, model::PurchaseAnswer answer, AdmitDone& done,
                 const queue::Confirmation& confirmation);
  [[nodiscard]] bool has_mark(const Item& item, std::string_view buyer) const noexcept;
  [[nodiscard]] std::string next_transfer_id(std::string_view what);
  [[nodiscard]] std::int64_t steady_ns() const noexcept { return clock_.steady_now().count(); }
  [[nodiscard]] base::Result<std::shared_ptr<Debit>> debit_lanes(Item& item, std::int64_t units, const std::string& id,
                                                                 const std::string& doing);
  [[nodiscard]] base::Status take_out(const model::ItemKey& item);
  template <typename End>
  void end_ticket(const model::ItemKey& item, const model::Ticket& ticket, LaneDone& done, End end);

  // Constant after construction.
  queue::IntentQueue& queue_;
  const base::Clock& clock_;
  base::Threads& threads_;
  const std::string nonce_;  // makes transfer ids unique across runs

  std::atomic<std::uint64_t> transfers_{0};
  ItemRegistry items_;
  std::mutex installing_;                   // one install or retire at a time: guards adding to items_ and taking out
  std::atomic<std::uint32_t> installs_{0};  // begun and not finished
};

}  // namespace seckill::admission::memory

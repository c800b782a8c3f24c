// Admission over lanes that live in another process: what an api node of cluster mode does. Protocol code over ports
// only; every thread, wait and time comes from them, so the simulator runs it as it is.
//
//   admit ──► lane's line ──► LaneScripts::admit ──► relay ──► answer once the intent is durable      lane_desk.hpp
//                                  └─ short ──► steal_desk.hpp ──► transfer_steps.hpp
//   beside it: item_copies (each second), lane_rounds (sweep, reports), transfer_recovery
//
// Keeps P3 and P4 (the lane judges, the ticket is derived), P5 (answers wait for durable), P8 (sold_out by two
// readings) and P9 (every queue and map has a bound; past it busy, before anything was taken).
//
// Whatever this node asks of a lane, it asks on a copy of the stock row younger than 3 s that says `lane`, and it takes
// no answer older than 1 s for done: a rebuild that waits 5 s after closing a lane counts on both.
//
// Threads of its own: answers (deadlines), item-copies, lane-rounds, steals, transfers, store-desk, relay-landing.
#pragma once

#include <memory>

#include "admission/admission.hpp"
#include "admission/remote/alarms.hpp"
#include "admission/remote/config.hpp"
#include "admission/remote/gate.hpp"
#include "admission/remote/item_copies.hpp"
#include "admission/remote/lane_calls.hpp"
#include "admission/remote/lane_desk.hpp"
#include "admission/remote/lane_rounds.hpp"
#include "admission/remote/relay.hpp"
#include "admission/remote/remote_item.hpp"
#include "admission/remote/steal_desk.hpp"
#include "admission/remote/store_desk.hpp"
#include "admission/remote/transfer_recovery.hpp"
#include "admission/remote/transfer_steps.hpp"

namespace seckill::admission::remote {

class RemoteAdmission final : public Admission {
 public:
  // Borrows what the ports refer to for its whole life.
  RemoteAdmission(Ports ports, const Config& config);
  // Requires: stopped; or its process crashed, and no callback will come any more.
  ~RemoteAdmission() override;

  // Once, before anything is asked.
  void start();
  // Answers busy from now on, ends the threads, and waits for every call that is under way. Blocks; not from a
  // callback. Idempotent. The ports must still answer.
  void stop();

  // --- Admission ---
  void admit(const AdmitRequest& request, AdmitDone done) override;
  // not_started to everybody; sold_out, paused and ended to whom this node knows to have no mark (mark_holders.hpp):
  // as of the reading that raised the flag, which for sold_out is at most a second old.
  [[nodiscard]] std::optional<model::PurchaseAnswer> early_answer(const model::ItemKey& item,
                                                                  std::optional<std::string_view> buyer,
                                                                  std::int64_t units_min) const noexcept override;
  // As buyer_tickets: a ticket that is told is durable. unavailable also in state `store`, where an undecided ticket
  // has no record that could be read.
  void find_ticket(const model::ItemKey& item, const model::BuyerId& buyer, const model::Ticket& ticket,
                   std::move_only_function<void(base::Result<std::optional<TicketView>>)> done) override;
  // Tickets that are not known durable are published first; unavailable when that does not come about in time.
  void buyer_tickets(const model::ItemKey& item, const model::BuyerId& buyer,
                     std::move_only_function<void(base::Result<std::vector<TicketView>>)> done) override;
  [[nodiscard]] std::optional<model::Ticket> ticket_of(const model::ItemKey& item, const model::BuyerId& buyer,
                                                       const model::RequestId& request_id) const override;
  // In state `store` there is no lane to tell: the row is the truth, so they are applied at once. A copy of 3 s ago is
  // good enough for that: the rebuild that leaves the state reads the rows 5 s after it has closed them.
  void release(const model::ItemKey& item, const model::Ticket& ticket, LaneDone done) override;
  void post(const model::ItemKey& item, const model::Ticket& ticket, LaneDone done) override;

  // Makes the item known here and keeps its copy fresh; the leader builds lanes, no node does. The arguments beyond the
  // key are not used. Errc::refused: not preloaded; Errc::limit; the store's errors. Blocks.
  base::Status install(const model::Sale& sale, const model::SaleItem& item, store::Store& store) override;
  // The store has the terms already: the next copy, read at once, carries them to the lanes. Errc::not_found.
  base::Status configure(const model::ItemKey& item, const model::ItemTerms& terms) override;
  // Blocks. Errc::not_found, unavailable, timeout (unknown): ask again with the same transfer, within half a minute of
  // its `at`; after that Errc::refused, because the lane may have forgotten the id: a rebuild brings the units.
  base::Status credit(const model::StockTransfer& transfer) override;
  // Asked again with the same id it goes on to the same sum. Errc::timeout, unavailable, stale: what was taken so far
  // stands, ask again.
  base::Result<std::int64_t> debit_to_pool(const model::ItemKey& item, std::int64_t units,
                                           const std::string& id) override;
  // Watches the item no more; its lanes stay where they are. Judged by readings taken now: a lane that holds units, has
  // open intents or remembers a transfer still needs its sweep and recovery. Errc::unavailable: a lane, or the store,
  // could not be read. Blocks.
  base::Status retire(const model::ItemKey& item) override;

  // By the last round's readings; in state `store` by the stock rows.
  [[nodiscard]] StockView stock(const model::ItemKey& item) const override;
  [[nodiscard]] std::vector<LaneView> lanes(const model::ItemKey& item) const override;
  // Nothing more is asked of these lanes from here at their generation; the store is told by the rounds' thread.
  void close_lanes(const model::ItemKey& item, std::string_view why) override;

  // --- parts, for metrics and tests ---
  [[nodiscard]] Relay& relay() noexcept { return relay_; }
  [[nodiscard]] LaneRounds& rounds() noexcept { return rounds_; }
  [[nodiscard]] TransferRecovery& recovery() noexcept { return recovery_; }
  [[nodiscard]] StealDesk& steals() noexcept { return steals_; }

 private:
  using TicketsDone = std::move_only_function<void(base::Result<LaneScripts::FoundTickets>)>;
  // The item and a fresh copy of it; nullopt otherwise.
  struct Known {
    ItemPtr item;
    CopyPtr copy;
  };
  [[nodiscard]] std::optional<Known> known(const model::ItemKey& item) const;
  [[nodiscard]] bool open_here(const Known& known, model::LaneIndex lane) const;
  // What the lane has of the buyer, all of it durable; with `only`, that ticket being durable.
  void look_up(const model::ItemKey& item, const model::BuyerId& buyer, std::optional<model::Ticket> only,
               TicketsDone done);
  // The units that reductions of this id have taken before; `next` becomes, by lane, the first number it has not used.
  base::Result<std::int64_t> taken_under(const model::ItemKey& item, const std::string& id,
                                         std::vector<std::uint32_t>& next);
  enum class End : std::uint8_t { release, post };
  void end_ticket(const model::ItemKey& item, const model::Ticket& ticket, End end, LaneDone done);

  // Constant after construction.
  const Ports ports_;
  const Config config_;

  Gate gate_;
  RemoteItems items_;
  LaneCalls calls_;
  Alarms alarms_;
  ItemCopies copies_;
  Relay relay_;
  TransferSteps transfers_;
  StealDesk steals_;
  LaneDesk desk_;
  LaneRounds rounds_;
  TransferRecovery recovery_;
  StoreDesk store_desk_;
};

}  // namespace seckill::admission::remote

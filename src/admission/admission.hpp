// Admission: the one atomic step in the buyer's lane (replay? phase? limit? stock? → hold + mark + intent). One port,
// two engines: lanes in memory (embedded) and in Redis. Everything about a buyer in an item lives in his lane.
//
// Keeps P1, P3, P4, P5, P8, P9. Callbacks are called exactly once, possibly before the call returns, possibly from
// another thread; they must be quick and must not block. No method blocks unless it says so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "ledger/lane_stock.hpp"
#include "model/purchase.hpp"
#include "model/sale.hpp"
#include "store/store.hpp"

namespace seckill::admission {

struct AdmitRequest {
  model::ItemKey item;
  model::BuyerId buyer;
  model::RequestId request_id;
  std::int64_t units = 1;    // Requires: ≥ 1
  std::uint64_t digest = 0;  // model::content_digest
  model::OrderFields fields;
};

// A ticket as its mark knows it.
struct TicketView {
  model::Ticket ticket;
  std::int64_t units = 0;
  model::TicketState state = model::TicketState::queued;
  bool live = true;  // holds or owns units
  // Its intent is known durable outside the lane, so a buyer may be told "queued" (§4.1.4). Said by lanes elsewhere
  // only.
  bool durable = false;
};

struct AdmitReply {
  model::PurchaseAnswer answer = model::PurchaseAnswer::busy;
  std::optional<TicketView> ticket;  // this request's: admitted, replayed; busy when it exists but is not known durable
  std::vector<TicketView> own;       // limit_reached: the buyer's own live tickets
};
using AdmitDone = std::move_only_function<void(AdmitReply)>;

// What displayed stock and views show; may lag, never decides.
struct StockView {
  std::int64_t available = 0;
  std::int64_t held = 0;
  std::int64_t sold = 0;
  bool known = false;  // false: lanes closed or unknown
};

// A lane's counters for reconcile and the verdict.
struct LaneView {
  model::LaneIndex lane = 0;
  model::Generation generation = 0;
  bool open = false;
  ledger::LaneStock stock;
  std::int64_t marks = 0;
};

enum class LaneAck : std::uint8_t {
  applied,  // done, or done before, or no such live ticket: nothing more to do
  closed,   // the lane is closed or unreachable: send again later
};
using LaneDone = std::move_only_function<void(LaneAck)>;

class Admission {
 public:
  virtual ~Admission() = default;

  // --- buying ---
  // Decides and, for admitted or replayed, answers only when the intent is durable (P5): a reply `busy` with a ticket
  // means unknown, ask again. Unknown items, closed lanes and full queues answer busy. Any thread.
  virtual void admit(const AdmitRequest& request, AdmitDone done) = 0;

  // The cheap early answer by the node's own view, before login: not_started at once; sold_out, paused, ended only to
  // a buyer without a mark (a buyer with a ticket is never denied). `buyer` is the unverified subject, nullopt when
  // unknown: then only not_started is answered. nullopt: go on. `ended` or other final answers never rest on a guess.
  // Any thread, no allocation.
  [[nodiscard]] virtual std::optional<model::PurchaseAnswer> early_answer(const model::ItemKey& item,
                                                                          std::optional<std::string_view> buyer,
                                                                          std::int64_t units_min) const noexcept = 0;

  // The mark's view of one ticket, or of all the buyer's tickets of the item: what an outcome falls back on when the
  // store has no row. Error unavailable: lane closed (→ 503, never "no record"). `durable_only` waits are the caller's.
  virtual void find_ticket(const model::ItemKey& item, const model::BuyerId& buyer, const model::Ticket& ticket,
                           std::move_only_function<void(base::Result<std::optional<TicketView>>)> done) = 0;
  virtual void buyer_tickets(const model::ItemKey& item, const model::BuyerId& buyer,
                             std::move_only_function<void(base::Result<std::vector<TicketView>>)> done) = 0;

  // The ticket this request has or would have; nullopt when the item is not known here. Any thread.
  [[nodiscard]] virtual std::optional<model::Ticket> ticket_of(const model::ItemKey& item, const model::BuyerId& buyer,
                                                               const model::RequestId& request_id) const = 0;

  // --- ends: after the store's row, never before (DESIGN §4.4) ---
  // By ticket, idempotent, carries no generation. release gives the units back; post makes them sold.
  virtual void release(const model::ItemKey& item, const model::Ticket& ticket, LaneDone done) = 0;
  virtual void post(const model::ItemKey& item, const model::Ticket& ticket, LaneDone done) = 0;

  // --- operating ---
  // Builds the item's lanes from the store's rows (stock rows and every ticket) and opens them. An item that is open
  // already is left as it is and counts as done (FS-03: preload never overwrites). Blocking; a worker thread.
  virtual base::Status install(const model::Sale& sale, const model::SaleItem& item, store::Store& store) = 0;
  // Installs new terms lane by lane; a lower or equal version changes nothing. Any thread.
  virtual base::Status configure(const model::ItemKey& item, const model::ItemTerms& terms) = 0;
  // Adds units that a committed store transfer brought into a lane; once per transfer id. Any thread.
  virtual base::Status credit(const model::StockTransfer& transfer) = 0;
  // Debits up to `units` free units from the lanes into the pool (a reduction) and reports how many could be taken,
  // once their transfers are durable. An id takes units once in a life of the lanes: again, it reports the same.
  // Whoever asks again in a later life first asks the store for the transfers of reduction_transfer_id(). Blocking; a
  // worker thread.
  virtual base::Result<std::int64_t> debit_to_pool(const model::ItemKey& item, std::int64_t units,
                                                   const std::string& id) = 0;
  // Gives back what an item of a sale that is over takes here: afterwards it is as unknown as after a restart that does
  // not install it, and the store answers for its tickets. Errc::refused: the sale has not ended, or a ticket is held
  // or not known durable, or a confirmation of one may still come; ask again later. An item that is not here counts as
  // done. Requires: no release or post of its tickets is owed by the store. Blocking; a worker thread.
  virtual base::Status retire(const model::ItemKey& item) = 0;

  // --- views ---
  [[nodiscard]] virtual StockView stock(const model::ItemKey& item) const = 0;
  [[nodiscard]] virtual std::vector<LaneView> lanes(const model::ItemKey& item) const = 0;
  // Closes every lane of the item (oversell_guard): admissions answer busy until a person decides.
  virtual void close_lanes(const model::ItemKey& item, std::string_view why) = 0;
};

}  // namespace seckill::admission

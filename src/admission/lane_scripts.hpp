// The atomic steps of a lane that lives in another process (Redis), as one port. Each method is one script in one
// lane's slot: it runs wholly or not at all, and alone. Engines: Redis (drivers and Lua) and the simulator's lanes;
// both do what lane_steps.hpp says, step for step.
//
// Every answer comes by callback, exactly once, quickly, from any thread, possibly before the call returns. An Error
// says what is known of the call: Errc::unavailable = it was not executed; Errc::timeout = unknown, it may have been or
// may still be. Neither says anything about the lane. Where an answer has no LaneCode, Errc::stale = foreign. No method
// blocks. A call that timed out may be executed after later calls that went by another connection: every step is
// therefore harmless when it comes late or twice.
//
// Fencing: `LaneServer` is the server the caller believes the lane is on. A connection to a server with another run id
// or replication id refuses the call unexecuted (LaneCode::foreign): after a failover or restart a lane may be an old
// copy of itself, and only a rebuild makes it true again (DESIGN §4.5).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "admission/admission.hpp"
#include "admission/lane_rules.hpp"
#include "base/result.hpp"
#include "ledger/lane_stock.hpp"
#include "model/purchase.hpp"
#include "model/sale.hpp"

namespace seckill::admission {

struct LaneKey {
  model::ItemKey item;
  model::LaneIndex lane = 0;
  friend bool operator==(const LaneKey&, const LaneKey&) noexcept = default;
  friend auto operator<=>(const LaneKey&, const LaneKey&) noexcept = default;
};

// Which server a lane's rows were last installed on, as the store's stock row names it.
struct LaneServer {
  std::string run_id;
  std::string replication_id;
  friend bool operator==(const LaneServer&, const LaneServer&) = default;
};

// How a lane answers a step. Closed list; everything but `done` changed nothing.
enum class LaneCode : std::uint8_t {
  done,     // applied now, or the same step was applied before
  closed,   // the lane is missing, being installed or closed
  stale,    // the lane is of another generation than the caller named
  foreign,  // the connection leads to another server than the caller named
  refused,  // the lane's rules say no: the method says what that means
};

// One buyer's request in an admit call.
struct LaneAsk {
  model::BuyerId buyer;
  model::RequestId request_id;
  model::Ticket ticket;  // derived by the caller: the lane has no key
  std::int64_t units = 1;
  std::uint64_t digest = 0;
  model::OrderFields fields;
};

// What the lane decided for one request. `published`: the intent of `ticket` is known durable elsewhere (§4.1.4).
struct LaneDecision {
  Decision decision = Decision::busy;
  std::optional<TicketView> ticket;                 // admit, replay
  bool published = false;                           // of that ticket
  std::optional<model::OrderIntent> intent;         // admit; replay of a live ticket that is not published
  std::vector<TicketView> own;                      // limit_reached: the buyer's live tickets that are published
  std::vector<model::OrderIntent> own_unpublished;  // limit_reached: intents of his live tickets that are not
};
struct LaneDecisions {
  LaneCode code = LaneCode::closed;
  std::vector<LaneDecision> decisions;  // with `done`: one for each ask, in order
};

// A transfer as a lane remembers it until the store's row is closed.
struct LaneTransferRecord {
  std::string id;
  bool debit = false;                               // else a credit
  std::int64_t units = 0;                           // that this lane gave or got
  std::int32_t other = model::StockTransfer::pool;  // the other end
  model::Generation other_generation = 0;
  base::UtcMs at = 0;  // lane server's clock
};

// One exact reading of a lane.
struct LaneReading {
  bool known = false;  // false: missing
  model::Generation generation = 0;
  bool open = false;
  ledger::LaneStock stock;
  std::uint64_t epoch = 0;  // raised by everything that raises available and by every install, never falls back
  std::int64_t marks = 0;   // buyers with a mark
  std::int64_t open_intents = 0;
  base::UtcMs oldest_open_intent = 0;  // admitted_at of the oldest, 0 when none
  std::vector<LaneTransferRecord> transfers;
};

struct LaneDebit {
  LaneCode code = LaneCode::closed;
  std::int64_t units = 0;  // taken under this id, now or before; with `refused` 0: the lane has none free
};

enum class Adopted : std::uint8_t {
  adopted,     // the ticket holds its units in this lane and generation, by this call or before
  refused,     // limit or stock
  superseded,  // the ticket is known here with other content, or has ended: this intent is not wanted any more
};
struct AdoptReply {
  LaneCode code = LaneCode::closed;
  Adopted adopted = Adopted::refused;
  model::Generation generation = 0;  // of the lane that adopted
};

// A ticket as install() hands it over: what the store has of it, or what only the closed lane knew.
struct InstallTicket {
  store::TicketRow row;
  // Set: the store has no row. Installed as live and not published, with these terms; `row` says the same of it.
  std::optional<model::OrderIntent> intent = std::nullopt;
};

// The leader's right to close, install and open, from the store's lease. A lane remembers the latest one that it was
// shown: a step of an earlier leader is stale whatever its generation.
struct LeaderToken {
  std::uint64_t token = 0;
};

struct InstallPlan {
  model::Generation generation = 1;
  LeaderToken leader;
  model::ItemTerms terms;
  ledger::LaneStock stock;
  std::uint64_t tickets = 0;  // how many will be handed over; open checks it
};

// How long a lane remembers the id of a closed transfer.
inline constexpr std::int64_t transfer_memory_ms = 60'000;

template <typename T>
using LaneAnswer = std::move_only_function<void(base::Result<T>)>;

class LaneScripts {
 public:
  virtual ~LaneScripts() = default;

  // --- buying ---
  // Up to 64 asks for one lane in one step, each judged by decide() with the lane server's clock against the state the
  // one before it left. `done` even when every ask is refused.
  virtual void admit(const LaneKey& lane, const LaneServer& server, model::Generation generation,
                     std::vector<LaneAsk> asks, LaneAnswer<LaneDecisions> answer) = 0;
  // These tickets' intents are known durable elsewhere: out of the stream, marks `published`. Unknown ones are skipped.
  // Also in a closed lane; `closed` only when it is missing.
  virtual void confirm_published(const LaneKey& lane, const LaneServer& server, std::vector<model::Ticket> tickets,
                                 LaneAnswer<LaneCode> answer) = 0;
  // Claims up to `count` intents that nobody has claimed for `age_ms`, so that nodes don't all republish one; who was
  // admitted has just claimed his. Also in a closed lane. A missing lane has none.
  virtual void claim_intents(const LaneKey& lane, const LaneServer& server, std::int64_t age_ms, std::size_t count,
                             LaneAnswer<std::vector<model::OrderIntent>> answer) = 0;
  // Intents made again from live marks admitted before `before`, published or not, by cursor (0 = start; the answer's
  // `next` 0 = end; a page may be empty before it): what republishes when a broker lost its content. Tickets that the
  // lane knows to be in the store (installed from its rows, or posted) are left out. Also in a closed lane: a rebuild
  // takes over what only the lane knows (P5).
  struct MarkPage {
    std::vector<model::OrderIntent> intents;
    std::uint64_t next = 0;
  };
  virtual void live_marks(const LaneKey& lane, const LaneServer& server, base::UtcMs before, std::uint64_t cursor,
                          LaneAnswer<MarkPage> answer) = 0;
  // Who has a mark, as XXH3-64 of the buyer's bytes, by cursor (0 = start; the answer's `next` 0 = end; a page may be
  // empty before it). A pass from 0 to 0 in one generation names at least everybody who had a mark when it began, since
  // no mark goes away; somebody may be named twice. Of any lane that is there; `closed`: it is missing. An engine that
  // does not offer it answers unavailable, and nodes answer nobody early.
  struct HolderPage {
    LaneCode code = LaneCode::closed;
    model::Generation generation = 0;
    std::vector<std::uint64_t> fingerprints;
    std::uint64_t next = 0;
  };
  virtual void mark_holders(const LaneKey& lane, const LaneServer& server, std::uint64_t cursor,
                            LaneAnswer<HolderPage> answer);
  // Answers when everything this server wrote before is on all replicas that it has to have. Redis's WAIT speaks of the
  // waiting connection's own last write: an engine that waits on another connection first writes something there.
  // `refused`: fewer acknowledged in time.
  virtual void wait_replicas(const LaneKey& lane, const LaneServer& server, std::chrono::milliseconds longest,
                             LaneAnswer<LaneCode> answer) = 0;

  // --- looking ---
  // Of any lane that is there, open or not.
  virtual void read(const LaneKey& lane, const LaneServer& server, LaneAnswer<LaneReading> answer) = 0;
  struct FoundTickets {
    LaneCode code = LaneCode::closed;             // `done` or why it is not known
    model::Generation generation = 0;             // of the lane that says so
    std::vector<TicketView> tickets;              // all of the buyer, ended ones too
    std::vector<model::OrderIntent> unpublished;  // of the live ones whose intent is not known durable elsewhere (P5)
  };
  virtual void buyer_tickets(const LaneKey& lane, const LaneServer& server, const model::BuyerId& buyer,
                             LaneAnswer<FoundTickets> answer) = 0;

  // --- ends: by ticket, whatever the generation; only an open lane says `done` ---
  virtual void release(const LaneKey& lane, const LaneServer& server, const model::Ticket& ticket,
                       LaneAnswer<LaneCode> answer) = 0;
  virtual void post(const LaneKey& lane, const LaneServer& server, const model::Ticket& ticket,
                    LaneAnswer<LaneCode> answer) = 0;

  // --- transfers: each once per id, remembered until close_transfer ---
  // Takes up to `units` free units. refused: none are free (nothing remembered). Requires: transfer.units ≥ 1.
  virtual void debit(const LaneKey& lane, const LaneServer& server, model::Generation generation,
                     const LaneTransferRecord& transfer, LaneAnswer<LaneDebit> answer) = 0;
  // Gives a debit back because its store row says `abandoned`. Once: the record stays, as a debit of 0 units; so it
  // does when there was none, lest the debit itself come late.
  virtual void undo_debit(const LaneKey& lane, const LaneServer& server, const std::string& id,
                          LaneAnswer<LaneCode> answer) = 0;
  // Adds the units of a committed store row. stale: a rebuild has them already.
  virtual void credit(const LaneKey& lane, const LaneServer& server, model::Generation generation,
                      const LaneTransferRecord& transfer, LaneAnswer<LaneCode> answer) = 0;
  // Forgets the record: the store's row is closed or abandoned and this lane's part is done. No reading shows it any
  // more, but its id stays spent for transfer_memory_ms of the lane server's clock, lest a credit or debit come late.
  // So no connection may deliver a call later than that.
  virtual void close_transfer(const LaneKey& lane, const LaneServer& server, const std::string& id,
                              LaneAnswer<LaneCode> answer) = 0;

  // --- operating ---
  // Installs terms of a higher version; a lower or equal one is `done` and changes nothing.
  virtual void configure(const LaneKey& lane, const LaneServer& server, const model::ItemTerms& terms,
                         LaneAnswer<LaneCode> answer) = 0;
  // Takes an intent of an older generation into this lane: limit and stock only (phase, price and limit version are the
  // intent's; how many tickets a buyer may have is the lane's). Idempotent by ticket. The intent enters the stream like
  // an admitted one, so that it lands although its first message is lost. What is refused is remembered as ended in the
  // same step (P4), and superseded from then on. stale: the intent's generation is the newer.
  virtual void adopt(const LaneKey& lane, const LaneServer& server, const model::OrderIntent& intent,
                     LaneAnswer<AdoptReply> answer) = 0;
  // Closes a lane of this generation or an older one, for good: a closed generation is never opened or installed again.
  // Its marks and intents stay, and so does the leader's token, also in a missing lane. stale: the lane is of a newer
  // generation, or knows a later leader.
  virtual void close(const LaneKey& lane, const LaneServer& server, model::Generation generation, LeaderToken leader,
                     LaneAnswer<LaneCode> answer) = 0;
  // begin closes the lane that is there and begins a new one beside it; batches add tickets to that (each once); open
  // puts it in the old one's place when all are there. Until then nothing of the old lane is touched (P5).
  // stale: the lane is of a higher generation or knows a later leader, or is of this generation and open by an earlier
  // leader or closed since: read the store again. A later leader's begin takes the place of an install that was begun.
  // An open lane of this generation by the same leader answers `done` to all three. refused (batch): begin is missing,
  // or a ticket comes with other content; refused (open): begin or tickets are missing or their sums are not the
  // plan's. After refused: begin again.
  virtual void install_begin(const LaneKey& lane, const LaneServer& server, const InstallPlan& plan,
                             LaneAnswer<LaneCode> answer) = 0;
  virtual void install_batch(const LaneKey& lane, const LaneServer& server, const InstallPlan& plan,
                             std::vector<InstallTicket> tickets, LaneAnswer<LaneCode> answer) = 0;
  virtual void install_open(const LaneKey& lane, const LaneServer& server, const InstallPlan& plan,
                            LaneAnswer<LaneCode> answer) = 0;
  // The server this node reaches for the lane now, read on the connection: what the leader writes into the stock row.
  virtual void server_of(const LaneKey& lane, LaneAnswer<LaneServer> answer) = 0;
};

}  // namespace seckill::admission

// What cluster mode asks of the store beyond Store: who leads, which generation of a lane is true and on which server,
// and which transfers between lanes stand. Engines: MySQL/MariaDB and the simulator's store; embedded mode, being one
// process, needs none of it.
//
// Every method is one transaction and blocks; on an Error nothing was written (Errc::timeout excepted: unknown). A
// method that touches a lane locks its stock row first, lanes ascending (DESIGN §4.2), so each landing batch is wholly
// before or wholly after a rebuild.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "store/store.hpp"

namespace seckill::store {

// Who admits into a lane. Stored by number.
enum class LaneState : std::uint8_t {
  lane = 1,    // the lane itself
  store = 2,   // the landing (admission by database)
  closed = 3,  // nobody; a landing still takes intents of the row's own generation
};
// What Store::land does by them: an intent of another generation is `superseded` in every state, and counted in the
// row's strays by the same transaction; of the row's own it is
// landed in `lane` and `closed`; in `store` it is decided there, limit (units, tickets) before stock: ordered, or a row
// failed(limit_reached | sold_out) without a release, because no lane holds anything for it.

// A stock row with what fences its lane.
struct LaneAuthorityRow {
  LaneRow row;
  LaneState state = LaneState::lane;
  std::string run_id;  // the server it was installed on
  std::string replication_id;
  // No intent of a generation below this one is on its way any more: each has been landed, adopted or failed.
  model::Generation drained_generation = 1;
  std::uint64_t strays = 0;  // intents of older generations that landings have met; counts up

  // The lane may admit, but who is not known to it may have been acknowledged by an older one: nobody is denied (P4).
  [[nodiscard]] bool undrained() const noexcept { return drained_generation < row.generation; }
};

// What a node copies each second: all it needs to call admit, and to refuse early.
struct ItemAuthority {
  model::Sku sku;    // which item
  model::Sale sale;  // terms of every item; the ticket key
  std::int64_t pool = 0;
  std::vector<LaneAuthorityRow> lanes;  // ascending; empty before preload
  LaneState wanted = LaneState::lane;   // what the lanes are asked to be
};

// The lease of the node that closes, rebuilds and opens lanes.
inline constexpr const char* leader_lease = "leader";

struct Lease {
  std::uint64_t token = 0;  // raised when the holder changes or the lease had run out: fences what came before it
  base::UtcMs until = 0;    // by the store's clock
};

// A transfer between two lanes (or a lane and the pool) with the generation each was read at.
struct LaneTransfer {
  std::string id;
  model::ItemKey item;
  std::int32_t from = model::StockTransfer::pool;
  std::int32_t to = model::StockTransfer::pool;
  std::int64_t units = 0;
  model::Generation from_generation = 0;  // ignored for the pool
  model::Generation to_generation = 0;
};
enum class TransferState : std::uint8_t { open = 1, closed = 2, abandoned = 3 };
enum class TransferResult : std::uint8_t {
  done,       // (commit) the units have moved, now or under this id before
  abandoned,  // (both) the id is abandoned, now or before: its units never moved and never will
  committed,  // (abandon) the id was committed before: its units have moved
  stale,      // (commit) a lane is of another generation, or not in state `lane`: nothing moved
  refused,    // (commit) the source row has fewer units than the transfer: nothing moved
};

// A lane as one rebuild transaction read it, already under its new generation and closed.
struct RebuiltLane {
  model::Generation generation = 1;
  ledger::LaneStock stock;
  std::vector<TicketRow> tickets;  // every ticket of the lane: live and parked ones hold, ended ones are remembered
};

// An engine whose lanes live in other processes also does two things in Store's methods, because nobody else tells the
// lanes: land() queues a post in the outbox for an order that is paid as it lands, and pool_to_lanes() leaves its rows
// `open` until their credit, so that whoever finds one finishes it.
class LaneAuthority {
 public:
  virtual ~LaneAuthority() = default;

  // Every method: Errc::not_found when the item, or the lane it names, does not exist.

  // One consistent reading.
  virtual base::Result<ItemAuthority> item_authority(const model::ItemKey& item) = 0;
  // All items of a sale in the sale's order, as one consistent reading and about as dear as one item's: for who looks
  // at each of them again and again. Errc::not_found: there is no such sale.
  virtual base::Result<std::vector<ItemAuthority>> sale_authority(const model::SaleId& sale) = 0;
  // Sets what the item's lanes shall be: LaneState::lane or store (mode switch), which the leader does by rebuilds, or
  // closed, until a person wants them otherwise (P1). Repeating changes nothing and is not audited again.
  virtual base::Status want_state(const model::ItemKey& item, LaneState wanted, const AuditEntry& audit) = 0;

  // --- who leads ---
  // Takes or renews the lease `name` for `holder` for `ttl` by the store's clock. nullopt: somebody else has it.
  // `holder` names one life of one process: a restarted node that used its old name would share its token with what
  // its former life still has on the way.
  virtual base::Result<std::optional<Lease>> acquire_lease(const std::string& name, const std::string& holder,
                                                           std::chrono::milliseconds ttl) = 0;

  // --- closing and rebuilding: `token` must be the last one of leader_lease, run out or not, else Errc::stale ---
  // Any node may close what it found foreign or missing, for the generation it saw; of another generation, or not in
  // state `lane`: nothing happens. Only the leader opens again, so this needs no token.
  virtual base::Status report_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                                   const std::string& why) = 0;
  // Closes a lane in any state. From state `store` it raises the generation too: what was asked for under it is
  // undecided, and a closed row takes intents of its own generation as holds that a lane has granted.
  virtual base::Status close_lane(const model::ItemKey& item, model::LaneIndex lane, std::uint64_t token) = 0;
  // Locks the row, raises the generation, leaves it closed, closes committed open transfers into it (their units are in
  // its row), and reads every ticket of the lane.
  virtual base::Result<RebuiltLane> rebuild_lane(const model::ItemKey& item, model::LaneIndex lane,
                                                 std::uint64_t token) = 0;
  // The rebuilt lane of `generation` stands: `to` lane (installed on that server) or store; closed is Errc::invalid.
  // Errc::stale also when the row is of another generation, or is open already otherwise than asked.
  virtual base::Status open_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                                 LaneState to, const std::string& run_id, const std::string& replication_id,
                                 std::uint64_t token) = 0;
  // Nothing of a generation below `generation` is on its way any more: drained_generation becomes `generation`, if that
  // is the row's and `strays` is still its count; else nothing happens. Any state.
  virtual base::Status drain_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                                  std::uint64_t strays, std::uint64_t token) = 0;

  // --- transfers; Errc::invalid: no id, no units or one end; already_exists: the id names another transfer ---
  // Moves the stock rows and writes the row `open`, conditional on both generations and on state `lane`. Once an id;
  // what is known of the id is answered first, so a repetition after a rebuild still says what became of it.
  virtual base::Result<TransferResult> commit_transfer(const LaneTransfer& transfer) = 0;
  // Writes the row `abandoned` unless the id is committed: the store's key decides between the two.
  virtual base::Result<TransferResult> abandon_transfer(const LaneTransfer& transfer) = 0;
  // open → closed. Of an id that is closed, abandoned or unknown: nothing happens.
  virtual base::Status close_transfer(const std::string& id) = 0;
  // The stored state of an id; nullopt: neither committed nor abandoned.
  virtual base::Result<std::optional<TransferState>> transfer_state(const std::string& id) = 0;
  // Committed transfers of the item that are not closed.
  virtual base::Result<std::vector<LaneTransfer>> open_transfers(const model::ItemKey& item) = 0;
};

}  // namespace seckill::store

// Conventions: singular names; uk_ unique keys, idx_ others; *_at and pay_before in UTC milliseconds; money in minor
// units; ids compared byte for byte (BINARY, SQLite's default). Enumerators are stored by the numbers of src/model.
//
// Rows of the hot path point at sale_item and seckill_order by integer without REFERENCES: the landing has just read
// or written the row it points at in the same transaction, nothing is ever deleted, and audit_item() checks the sums.
#include "store/migrations/sqlite_migrations.hpp"

#include <array>

namespace seckill::store::migrations {
namespace {

constexpr const char* spine = R"sql(
CREATE TABLE sale (
  sale_id    INTEGER PRIMARY KEY,
  id         TEXT NOT NULL,
  title      TEXT NOT NULL,
  kind       INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 4),
  currency   TEXT NOT NULL CHECK (length(currency) = 3),
  starts_at  INTEGER NOT NULL,
  ends_at    INTEGER NOT NULL,
  state      INTEGER NOT NULL CHECK (state BETWEEN 1 AND 4),
  version    INTEGER NOT NULL CHECK (version >= 1),
  ticket_key BLOB NOT NULL CHECK (length(ticket_key) = 16),
  created_at INTEGER NOT NULL,
  CHECK (starts_at < ends_at)
) STRICT;
CREATE UNIQUE INDEX uk_sale_id ON sale (id);

-- lanes may be 0 until preload fixes it. P2: total = pool + the sum of the lanes.
CREATE TABLE sale_item (
  item_id          INTEGER PRIMARY KEY,
  sale             TEXT NOT NULL REFERENCES sale (id),
  sku              TEXT NOT NULL,
  title            TEXT NOT NULL,
  price_minor      INTEGER NOT NULL CHECK (price_minor >= 0),
  list_price_minor INTEGER NOT NULL CHECK (list_price_minor >= 0),
  total            INTEGER NOT NULL CHECK (total >= 0),
  pool             INTEGER NOT NULL CHECK (pool BETWEEN 0 AND total),
  reserve          INTEGER NOT NULL CHECK (reserve >= 0),
  limit_units      INTEGER NOT NULL CHECK (limit_units >= 1),
  tickets_max      INTEGER NOT NULL CHECK (tickets_max >= 1),
  pay_window_ms    INTEGER NOT NULL CHECK (pay_window_ms >= 1),
  lanes            INTEGER NOT NULL CHECK (lanes BETWEEN 0 AND 64),
  order_fields     TEXT NOT NULL  -- names, one a line
) STRICT;
CREATE UNIQUE INDEX uk_sale_item_sale_sku ON sale_item (sale, sku);

-- state: 1 lane, 2 store (admission by database), 3 closed. The last CHECK makes every move conserve units.
CREATE TABLE lane_stock (
  lane_stock_id  INTEGER PRIMARY KEY,
  item_id        INTEGER NOT NULL REFERENCES sale_item (item_id),
  lane           INTEGER NOT NULL CHECK (lane BETWEEN 0 AND 63),
  total          INTEGER NOT NULL CHECK (total >= 0),
  available      INTEGER NOT NULL CHECK (available >= 0),
  held           INTEGER NOT NULL CHECK (held >= 0),
  sold           INTEGER NOT NULL CHECK (sold >= 0),
  generation     INTEGER NOT NULL CHECK (generation >= 1),
  state          INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
  run_id         TEXT NOT NULL,
  replication_id TEXT NOT NULL,
  version        INTEGER NOT NULL,
  CHECK (available + held + sold = total)
) STRICT;
CREATE UNIQUE INDEX uk_lane_stock_item_lane ON lane_stock (item_id, lane);

-- order_id is the order of landing. state and reason: model/order_state.hpp. A failed row may record what no order could
-- hold (no units), so that an intent that can never land still ends (P6).
CREATE TABLE seckill_order (
  order_id     INTEGER PRIMARY KEY,
  ticket       BLOB NOT NULL CHECK (length(ticket) = 16),
  item_id      INTEGER NOT NULL,
  buyer        TEXT NOT NULL,
  request_id   TEXT NOT NULL,
  digest       INTEGER NOT NULL,
  lane         INTEGER NOT NULL,
  units        INTEGER NOT NULL CHECK (units >= 1 OR state = 2),
  price_minor  INTEGER NOT NULL CHECK (price_minor >= 0),
  amount_minor INTEGER NOT NULL CHECK (amount_minor >= 0),
  currency     TEXT NOT NULL,
  state        INTEGER NOT NULL CHECK (state BETWEEN 1 AND 8),
  reason       INTEGER NOT NULL CHECK (reason BETWEEN 0 AND 6),
  admitted_at  INTEGER NOT NULL,
  landed_at    INTEGER NOT NULL,
  pay_before   INTEGER NOT NULL,
  ended_at     INTEGER NOT NULL,
  fields       TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_seckill_order_ticket ON seckill_order (ticket);
-- One request, one ticket (P4); buyer first, so that it also finds a buyer's orders.
CREATE UNIQUE INDEX uk_seckill_order_request ON seckill_order (buyer, item_id, request_id);
CREATE INDEX idx_seckill_order_item ON seckill_order (item_id);
-- Partial: only orders that await a payment have a deadline, so paid and ended ones cost nothing here. Written with OR:
-- SQLite proves that `state = 3` implies it, which it cannot for IN.
CREATE INDEX idx_seckill_order_due ON seckill_order (state, pay_before) WHERE state = 3 OR state = 4;
-- The states that few orders are in; a list of them must not read the whole table.
CREATE INDEX idx_seckill_order_rare ON seckill_order (state) WHERE state = 1 OR state = 2 OR state = 4 OR state = 8;

-- cap is the highest limit that any of the buyer's tickets was admitted under (P3). Small rows that are only found by their
-- key: without a rowid one tree is written a landing instead of two.
CREATE TABLE buyer_units (
  item_id INTEGER NOT NULL,
  buyer   TEXT NOT NULL,
  units   INTEGER NOT NULL,
  cap     INTEGER NOT NULL,
  PRIMARY KEY (item_id, buyer),
  CONSTRAINT buyer_units_cap CHECK (units BETWEEN 0 AND cap)
) STRICT, WITHOUT ROWID;

-- 库存流水. The key itself allows one hold and one end a ticket: 2 × order_id for the hold, + 1 for its end.
-- effect: 1 hold, 2 post, 3 void.
CREATE TABLE stock_journal (
  entry_id INTEGER PRIMARY KEY,
  item_id  INTEGER NOT NULL,
  lane     INTEGER NOT NULL,
  units    INTEGER NOT NULL CHECK (units >= 1),
  effect   INTEGER NOT NULL CHECK (effect BETWEEN 1 AND 3),
  made_at  INTEGER NOT NULL,
  CHECK ((effect = 1) = (entry_id % 2 = 0))
) STRICT;

-- 调拨 between pool (-1) and lanes, once an id.
CREATE TABLE stock_transfer (
  transfer_id INTEGER PRIMARY KEY,
  id          TEXT NOT NULL,
  item_id     INTEGER NOT NULL,
  from_lane   INTEGER NOT NULL CHECK (from_lane >= -1),
  to_lane     INTEGER NOT NULL CHECK (to_lane >= -1 AND to_lane <> from_lane),
  units       INTEGER NOT NULL CHECK (units >= 1),
  generation  INTEGER NOT NULL,
  state       INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),  -- 1 open, 2 closed, 3 abandoned
  made_at     INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_stock_transfer_id ON stock_transfer (id);

-- Units that came into an item's pool or left it for good (top-up, reduction), once an id.
CREATE TABLE pool_change (
  pool_change_id INTEGER PRIMARY KEY,
  item_id        INTEGER NOT NULL REFERENCES sale_item (item_id),
  id             TEXT NOT NULL,
  units          INTEGER NOT NULL CHECK (units <> 0),  -- negative: taken out
  made_at        INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_pool_change_item_id ON pool_change (item_id, id);

-- state: 1 pending, 2 applied, 3 refund_due.
CREATE TABLE payment (
  payment_id     INTEGER PRIMARY KEY,
  provider       TEXT NOT NULL CHECK (provider <> ''),
  transaction_id TEXT NOT NULL CHECK (transaction_id <> ''),
  order_id       INTEGER NOT NULL REFERENCES seckill_order (order_id),
  amount_minor   INTEGER NOT NULL CHECK (amount_minor >= 0),
  currency       TEXT NOT NULL,
  state          INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
  received_at    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX uk_payment_transaction ON payment (provider, transaction_id);
CREATE INDEX idx_payment_order ON payment (order_id);

-- AUTOINCREMENT: an acknowledged id must never name a later event.
CREATE TABLE event_outbox (
  event_id INTEGER PRIMARY KEY AUTOINCREMENT,
  order_id INTEGER NOT NULL,
  effect   INTEGER NOT NULL CHECK (effect BETWEEN 2 AND 3),  -- as stock_journal
  made_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX idx_event_outbox_order ON event_outbox (order_id);

CREATE TABLE audit (
  audit_id INTEGER PRIMARY KEY,
  actor    TEXT NOT NULL,
  action   TEXT NOT NULL,
  detail   TEXT NOT NULL,
  made_at  INTEGER NOT NULL
) STRICT;

-- Room that probe() writes and gives back to learn whether the disk takes a batch again.
CREATE TABLE probe (
  probe_id INTEGER PRIMARY KEY,
  room     BLOB NOT NULL
) STRICT;
)sql";

constexpr std::array steps{
    Migration{.version = 1, .name = "spine", .script = spine},
};

}  // namespace

std::span<const Migration> sqlite_migrations() noexcept { return steps; }

}  // namespace seckill::store::migrations

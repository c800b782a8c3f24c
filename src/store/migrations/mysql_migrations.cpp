// Conventions as in sqlite_migrations.cpp: singular names; uk_ unique keys, idx_ others; *_at and pay_before in UTC
// milliseconds; money in minor units; enumerators stored by the numbers of src/model. What is different here:
//
// Ids are VARBINARY, so that they are compared byte for byte and a space at the end counts (FS-68): utf8mb4_bin pads,
// and the collations that do not pad have another name in MySQL than in MariaDB. Texts are utf8mb4 (FS-54).
//
// What a landing pays for is the number of trees it writes. An order costs its row and four entries: ticket, request,
// lane, due. order_id is counted up, so rows and journal entries are appended, and the journal needs no second key.
// There are no partial indexes in MySQL: (state, pay_before) holds every order, and serves deadlines and the lists of
// rare states alike; (item_id, lane) is what a rebuild reads.
//
// Only the subset of MySQL 8.0.16 and MariaDB 10.11: CHECKs at the end of a table and with a name (both enforce them),
// no RETURNING, no functional or descending indexes, no collation that one of the two lacks.
//
// Foreign keys only where writes are rare: a check locks the row that it points at.
#include "store/migrations/mysql_migrations.hpp"

#include <array>

namespace seckill::store::migrations {
namespace {

constexpr const char* sale = R"sql(
CREATE TABLE IF NOT EXISTS sale (
  sale_id    BIGINT NOT NULL AUTO_INCREMENT,
  id         VARBINARY(32) NOT NULL,
  title      VARCHAR(255) NOT NULL,
  kind       TINYINT NOT NULL,
  currency   BINARY(3) NOT NULL,
  starts_at  BIGINT NOT NULL,
  ends_at    BIGINT NOT NULL,
  state      TINYINT NOT NULL,
  version    BIGINT NOT NULL,
  ticket_key BINARY(16) NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (sale_id),
  UNIQUE KEY uk_sale_id (id),
  CONSTRAINT sale_kind CHECK (kind BETWEEN 1 AND 4),
  CONSTRAINT sale_state CHECK (state BETWEEN 1 AND 4),
  CONSTRAINT sale_version CHECK (version >= 1),
  CONSTRAINT sale_times CHECK (starts_at < ends_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

// lanes may be 0 until preload fixes it. P2: total = pool + the sum of the lanes. wanted: what the lanes shall be, by
// the numbers of lane_stock.state.
constexpr const char* sale_item = R"sql(
CREATE TABLE IF NOT EXISTS sale_item (
  item_id          BIGINT NOT NULL AUTO_INCREMENT,
  sale             VARBINARY(32) NOT NULL,
  sku              VARBINARY(32) NOT NULL,
  title            VARCHAR(255) NOT NULL,
  price_minor      BIGINT NOT NULL,
  list_price_minor BIGINT NOT NULL,
  total            BIGINT NOT NULL,
  pool             BIGINT NOT NULL,
  reserve          BIGINT NOT NULL,
  limit_units      BIGINT NOT NULL,
  tickets_max      BIGINT NOT NULL,
  pay_window_ms    BIGINT NOT NULL,
  lanes            TINYINT NOT NULL,
  wanted           TINYINT NOT NULL DEFAULT 1,
  order_fields     TEXT NOT NULL COMMENT 'names, one a line',
  PRIMARY KEY (item_id),
  UNIQUE KEY uk_sale_item_sale_sku (sale, sku),
  CONSTRAINT sale_item_sale FOREIGN KEY (sale) REFERENCES sale (id),
  CONSTRAINT sale_item_prices CHECK (price_minor >= 0 AND list_price_minor >= 0),
  CONSTRAINT sale_item_units CHECK (pool BETWEEN 0 AND total AND reserve >= 0),
  CONSTRAINT sale_item_terms CHECK (limit_units >= 1 AND tickets_max >= 1 AND pay_window_ms >= 1),
  CONSTRAINT sale_item_lanes CHECK (lanes BETWEEN 0 AND 64),
  CONSTRAINT sale_item_wanted CHECK (wanted BETWEEN 1 AND 3)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

// The row that every transaction on a lane locks first, in the order of this key. state: 1 lane, 2 store (admission by
// database), 3 closed. lane_stock_sum makes every move conserve units. drained_generation and strays:
// lane_authority.hpp.
constexpr const char* lane_stock = R"sql(
CREATE TABLE IF NOT EXISTS lane_stock (
  item_id            BIGINT NOT NULL,
  lane               TINYINT NOT NULL,
  total              BIGINT NOT NULL,
  available          BIGINT NOT NULL,
  held               BIGINT NOT NULL,
  sold               BIGINT NOT NULL,
  generation         BIGINT NOT NULL,
  state              TINYINT NOT NULL,
  run_id             VARBINARY(64) NOT NULL,
  replication_id     VARBINARY(64) NOT NULL,
  drained_generation BIGINT NOT NULL DEFAULT 1,
  strays             BIGINT NOT NULL DEFAULT 0,
  version            BIGINT NOT NULL COMMENT 'raised by every change of units',
  PRIMARY KEY (item_id, lane),
  CONSTRAINT lane_stock_item FOREIGN KEY (item_id) REFERENCES sale_item (item_id),
  CONSTRAINT lane_stock_lane CHECK (lane BETWEEN 0 AND 63),
  CONSTRAINT lane_stock_units CHECK (available >= 0 AND held >= 0 AND sold >= 0),
  CONSTRAINT lane_stock_sum CHECK (available + held + sold = total),
  CONSTRAINT lane_stock_generation CHECK (generation >= 1 AND drained_generation BETWEEN 1 AND generation),
  CONSTRAINT lane_stock_state CHECK (state BETWEEN 1 AND 3),
  CONSTRAINT lane_stock_strays CHECK (strays >= 0)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

// order_id is the order of landing. state and reason: model/order_state.hpp. A failed row may record what no order
// could hold (no units), so that an intent that can never land still ends (P6). uk_seckill_order_request: one request,
// one ticket (P4); buyer first, so that it also finds a buyer's orders.
constexpr const char* seckill_order = R"sql(
CREATE TABLE IF NOT EXISTS seckill_order (
  order_id     BIGINT NOT NULL AUTO_INCREMENT,
  ticket       BINARY(16) NOT NULL,
  item_id      BIGINT NOT NULL,
  buyer        VARBINARY(64) NOT NULL,
  request_id   VARBINARY(64) NOT NULL,
  digest       BIGINT NOT NULL,
  lane         TINYINT NOT NULL,
  units        BIGINT NOT NULL,
  price_minor  BIGINT NOT NULL,
  amount_minor BIGINT NOT NULL,
  currency     BINARY(3) NOT NULL,
  state        TINYINT NOT NULL,
  reason       TINYINT NOT NULL,
  admitted_at  BIGINT NOT NULL,
  landed_at    BIGINT NOT NULL,
  pay_before   BIGINT NOT NULL,
  ended_at     BIGINT NOT NULL,
  fields       TEXT NOT NULL,
  PRIMARY KEY (order_id),
  UNIQUE KEY uk_seckill_order_ticket (ticket),
  UNIQUE KEY uk_seckill_order_request (buyer, item_id, request_id),
  KEY idx_seckill_order_lane (item_id, lane),
  KEY idx_seckill_order_due (state, pay_before),
  CONSTRAINT seckill_order_units CHECK (units >= 1 OR state = 2),
  CONSTRAINT seckill_order_amount CHECK (price_minor >= 0 AND amount_minor >= 0),
  CONSTRAINT seckill_order_state CHECK (state BETWEEN 1 AND 8 AND reason BETWEEN 0 AND 6)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

// cap is the highest limit that any of the buyer's tickets was admitted under (P3).
constexpr const char* buyer_units = R"sql(
CREATE TABLE IF NOT EXISTS buyer_units (
  item_id BIGINT NOT NULL,
  buyer   VARBINARY(64) NOT NULL,
  units   BIGINT NOT NULL,
  cap     BIGINT NOT NULL,
  PRIMARY KEY (item_id, buyer),
  CONSTRAINT buyer_units_cap CHECK (units BETWEEN 0 AND cap)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

// 库存流水. The key itself allows one hold and one end a ticket: 2 × order_id for the hold, + 1 for its end. effect:
// 1 hold, 2 post, 3 void.
constexpr const char* stock_journal = R"sql(
CREATE TABLE IF NOT EXISTS stock_journal (
  entry_id BIGINT NOT NULL,
  item_id  BIGINT NOT NULL,
  lane     TINYINT NOT NULL,
  units    BIGINT NOT NULL,
  effect   TINYINT NOT NULL,
  made_at  BIGINT NOT NULL,
  PRIMARY KEY (entry_id),
  CONSTRAINT stock_journal_units CHECK (units >= 1),
  CONSTRAINT stock_journal_effect CHECK (effect BETWEEN 1 AND 3 AND (effect = 1) = (entry_id % 2 = 0))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

// 调拨 between pool (-1) and lanes, once an id: uk_stock_transfer_id decides between commit and abandon. state: 1 open,
// 2 closed, 3 abandoned. An end that is the pool has generation 0.
constexpr const char* stock_transfer = R"sql(
CREATE TABLE IF NOT EXISTS stock_transfer (
  transfer_id     BIGINT NOT NULL AUTO_INCREMENT,
  id              VARBINARY(255) NOT NULL,
  item_id         BIGINT NOT NULL,
  from_lane       TINYINT NOT NULL,
  to_lane         TINYINT NOT NULL,
  units           BIGINT NOT NULL,
  from_generation BIGINT NOT NULL,
  to_generation   BIGINT NOT NULL,
  state           TINYINT NOT NULL,
  made_at         BIGINT NOT NULL,
  PRIMARY KEY (transfer_id),
  UNIQUE KEY uk_stock_transfer_id (id),
  KEY idx_stock_transfer_item_state (item_id, state),
  CONSTRAINT stock_transfer_ends CHECK (from_lane >= -1 AND to_lane >= -1 AND to_lane <> from_lane),
  CONSTRAINT stock_transfer_units CHECK (units >= 1),
  CONSTRAINT stock_transfer_state CHECK (state BETWEEN 1 AND 3)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

// Units that came into an item's pool or left it for good (top-up, reduction), once an id. Negative: taken out.
constexpr const char* pool_change = R"sql(
CREATE TABLE IF NOT EXISTS pool_change (
  pool_change_id BIGINT NOT NULL AUTO_INCREMENT,
  item_id        BIGINT NOT NULL,
  id             VARBINARY(255) NOT NULL,
  units          BIGINT NOT NULL,
  made_at        BIGINT NOT NULL,
  PRIMARY KEY (pool_change_id),
  UNIQUE KEY uk_pool_change_item_id (item_id, id),
  CONSTRAINT pool_change_item FOREIGN KEY (item_id) REFERENCES sale_item (item_id),
  CONSTRAINT pool_change_units CHECK (units <> 0)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

// state: 1 pending, 2 applied, 3 refund_due.
constexpr const char* payment = R"sql(
CREATE TABLE IF NOT EXISTS payment (
  payment_id     BIGINT NOT NULL AUTO_INCREMENT,
  provider       VARBINARY(64) NOT NULL,
  transaction_id VARBINARY(255) NOT NULL,
  order_id       BIGINT NOT NULL,
  amount_minor   BIGINT NOT NULL,
  currency       BINARY(3) NOT NULL,
  state          TINYINT NOT NULL,
  received_at    BIGINT NOT NULL,
  PRIMARY KEY (payment_id),
  UNIQUE KEY uk_payment_transaction (provider, transaction_id),
  KEY idx_payment_order (order_id),
  CONSTRAINT payment_order FOREIGN KEY (order_id) REFERENCES seckill_order (order_id),
  CONSTRAINT payment_names CHECK (provider <> '' AND transaction_id <> ''),
  CONSTRAINT payment_amount CHECK (amount_minor >= 0),
  CONSTRAINT payment_state CHECK (state BETWEEN 1 AND 3)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

// An acknowledged event_id must never name a later event: InnoDB keeps its counter over a restart (MySQL 8, MariaDB
// 10.2.4). effect as stock_journal.
constexpr const char* event_outbox = R"sql(
CREATE TABLE IF NOT EXISTS event_outbox (
  event_id BIGINT NOT NULL AUTO_INCREMENT,
  order_id BIGINT NOT NULL,
  effect   TINYINT NOT NULL,
  made_at  BIGINT NOT NULL,
  PRIMARY KEY (event_id),
  KEY idx_event_outbox_order (order_id),
  CONSTRAINT event_outbox_effect CHECK (effect BETWEEN 2 AND 3)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

constexpr const char* audit = R"sql(
CREATE TABLE IF NOT EXISTS audit (
  audit_id BIGINT NOT NULL AUTO_INCREMENT,
  actor    VARCHAR(255) NOT NULL,
  action   VARBINARY(64) NOT NULL,
  detail   MEDIUMTEXT NOT NULL,
  made_at  BIGINT NOT NULL,
  PRIMARY KEY (audit_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

// Room that probe() writes and gives back to learn whether the disk takes a batch again.
constexpr const char* probe = R"sql(
CREATE TABLE IF NOT EXISTS probe (
  probe_id BIGINT NOT NULL AUTO_INCREMENT,
  room     MEDIUMBLOB NOT NULL,
  PRIMARY KEY (probe_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

// Who leads, by the server's clock. A row is never removed: its token only counts up.
constexpr const char* lease = R"sql(
CREATE TABLE IF NOT EXISTS lease (
  name        VARBINARY(64) NOT NULL,
  holder      VARBINARY(255) NOT NULL,
  token       BIGINT NOT NULL,
  until_at    BIGINT NOT NULL,
  PRIMARY KEY (name),
  CONSTRAINT lease_token CHECK (token >= 0)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

constexpr const char* degrade_switch = R"sql(
CREATE TABLE IF NOT EXISTS degrade_switch (
  name       VARBINARY(64) NOT NULL,
  value      VARCHAR(255) NOT NULL,
  actor      VARCHAR(255) NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

constexpr std::array spine{
    MysqlStatement{sale},           MysqlStatement{sale_item},      MysqlStatement{lane_stock},
    MysqlStatement{seckill_order},  MysqlStatement{buyer_units},    MysqlStatement{stock_journal},
    MysqlStatement{stock_transfer}, MysqlStatement{pool_change},    MysqlStatement{payment},
    MysqlStatement{event_outbox},   MysqlStatement{audit},          MysqlStatement{probe},
    MysqlStatement{lease},          MysqlStatement{degrade_switch},
};

constexpr std::array steps{
    MysqlMigration{.version = 1, .name = "spine", .oldest_program = 1, .statements = spine},
};

}  // namespace

std::span<const MysqlMigration> mysql_migrations() noexcept { return steps; }

}  // namespace seckill::store::migrations

#include "fuzz/stored_shop.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "model/ticket.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace seckill::fuzz {
namespace {

store::AuditEntry by(const char* action) {
  return {.actor = "fuzzer", .action = action, .detail = "{}", .at = StoredShop::starts_at};
}

void must(const base::Status& status) {
  require(status.has_value(), "the shop is made", status ? "" : status.error().text());
}

using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

Statement prepared(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr);
  require(code == SQLITE_OK, "the harness's SQL is sound", sql);
  return {statement, &sqlite3_finalize};
}

// Binds what the bytes say to the statement's first place: of any type, and often at a bound.
void bind_any(sqlite3_stmt* statement, Taker& taker) {
  constexpr std::array<std::int64_t, 12> bounds{0,   1,      -1,        2,         8,         9,
                                                255, 65'536, INT64_MAX, INT64_MIN, 1LL << 32, (1LL << 32) + 3};
  const std::uint8_t kind = taker.byte();
  switch (kind % 8) {
    case 0: sqlite3_bind_int64(statement, 1, taker.number()); break;
    case 1:
    case 2: sqlite3_bind_int64(statement, 1, bounds[taker.byte() % bounds.size()]); break;
    case 3: sqlite3_bind_int64(statement, 1, static_cast<std::int8_t>(taker.byte())); break;
    case 4: {
      const std::string_view text = taker.text();
      sqlite3_bind_text(statement, 1, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
      break;
    }
    case 5: {
      const std::string_view blob = taker.text();
      sqlite3_bind_blob(statement, 1, blob.empty() ? "" : blob.data(), static_cast<int>(blob.size()), SQLITE_TRANSIENT);
      break;
    }
    case 6: sqlite3_bind_null(statement, 1); break;
    case 7: sqlite3_bind_double(statement, 1, static_cast<double>(taker.number()) / 3); break;
    default: break;
  }
}

}  // namespace

StoredShop::StoredShop() {
  const std::filesystem::path memory{"/dev/shm"};  // nobody's disk is under test here
  std::error_code ignored;
  const auto base = std::filesystem::is_directory(memory, ignored) ? memory : std::filesystem::temp_directory_path();
  std::string pattern = (base / "seckill-fuzz-XXXXXX").string();
  require(::mkdtemp(pattern.data()) != nullptr, "a folder for the shop");
  folder_ = pattern;
  auto opened = store::sqlite::open({.data_folder = folder_, .create = true, .readers = 1, .data_bytes_max = 0});
  require(opened.has_value(), "the shop is opened", opened ? "" : opened.error().text());
  store_ = std::move(*opened);
  fill();
  open_hand();
}

StoredShop::~StoredShop() {
  sqlite3_close(hand_);
  store_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void StoredShop::fill() {
  sale_.id = *model::SaleId::parse("s1");
  sale_.title = "Eleven";
  sale_.starts_at = starts_at;
  sale_.ends_at = starts_at + 3'600'000;
  for (std::uint8_t i = 0; i < sale_.ticket_key.size(); ++i) sale_.ticket_key[i] = i;
  for (const std::string_view sku : {"phone", "free"}) {
    model::SaleItem item;
    item.sku = *model::Sku::parse(sku);
    item.title = "A thing";
    item.price_minor = sku == "free" ? 0 : 1'999;
    item.total = 40;
    item.reserve = 8;
    item.limit = 3;
    item.lanes = 2;
    item.order_fields = {"receiver"};
    sale_.items.push_back(item);
  }
  must(store_->create_sale(sale_, by("sale.create")));
  must(store_->preload(sale_.id, starts_at, by("sale.preload")));
  must(store_->add_to_pool(item(0), 5, "more", by("item.top_up")));
  const model::StockTransfer transfer{
      .id = "top-1", .item = item(0), .from = model::StockTransfer::pool, .to = 1, .units = 3, .at = starts_at};
  must(store_->pool_to_lanes({&transfer, 1}, by("item.top_up")));
  land_orders();
  auto read = store_->find_sale(sale_.id);
  require(read.has_value(), "the sale is read back");
  sale_ = std::move(*read);
}

// One order in each state that a sale without cluster mode reaches.
void StoredShop::land_orders() {
  std::vector<model::LaneRecord> records;
  for (int i = 0; i < 8; ++i) {
    model::OrderIntent intent;
    const std::size_t which = i < 6 ? 0 : 1;
    intent.item = item(which);
    intent.buyer = *model::BuyerId::parse(fmt::format("buyer-{}", i % 5));
    intent.request_id = *model::RequestId::parse(fmt::format("request-{}", i));
    intent.lane = model::lane_of(intent.buyer.view(), 2);
    intent.ticket =
        model::derive_ticket(sale_.ticket_key, intent.item, intent.buyer, intent.request_id.view(), intent.lane);
    intent.units = 1 + i % 2;
    intent.fields = i == 0 ? std::make_shared<const std::string>(R"({"receiver":"Li"})") : nullptr;
    intent.digest = model::content_digest(intent.units, intent.fields);
    intent.price_minor = sale_.items[which].price_minor;
    intent.limit = 3;
    intent.pay_window_ms = 30'000;
    intent.admitted_at = starts_at + i;
    tickets_.push_back(intent.ticket);
    records.emplace_back(intent);
  }
  require(store_->land(records, starts_at + 1'000).has_value(), "the orders land");
  std::vector<store::EndCommand> ends(4);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    ends[i].ticket = tickets_[i];
    ends[i].now = starts_at + 2'000;
  }
  ends[0].event = model::OrderEvent::pay;
  ends[0].payment_provider = "bank";
  ends[0].payment_id = "p-1";
  ends[1].event = model::OrderEvent::cancel;
  ends[2].event = model::OrderEvent::expire;
  ends[2].now = now;
  ends[3].event = model::OrderEvent::close_begin;
  require(store_->end_tickets(ends).has_value(), "some of them end");
}

// A connection beside the store's that may write what no CHECK, type or NOT NULL allows, and a copy of every table.
void StoredShop::open_hand() {
  require(sqlite3_open((folder_ + "/" + store::sqlite::database_file).c_str(), &hand_) == SQLITE_OK, "a second hand");
  sqlite3_db_config(hand_, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  // The schema's text is changed without its version, so the store goes on believing in it.
  run("PRAGMA writable_schema = ON");
  run("UPDATE sqlite_schema SET sql = replace(replace(replace(sql, ' STRICT, WITHOUT', ' WITHOUT'), ' STRICT', ''), "
      "' NOT NULL', '') WHERE type = 'table'");
  sqlite3_close(hand_);
  require(sqlite3_open((folder_ + "/" + store::sqlite::database_file).c_str(), &hand_) == SQLITE_OK, "a second hand");
  run("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; "
      "PRAGMA temp_store = MEMORY");
  for (const char* name : {"seckill_order", "lane_stock", "sale_item", "sale", "buyer_units", "stock_journal",
                           "stock_transfer", "pool_change", "payment", "event_outbox", "audit"}) {
    Table table{.name = name, .columns = {}, .key = {}, .touched = false};
    const Statement about = prepared(hand_, fmt::format("PRAGMA table_info({})", name));
    while (sqlite3_step(about.get()) == SQLITE_ROW) {
      table.columns.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(about.get(), 1)));
    }
    table.key = table.name == "buyer_units" ? "(item_id, buyer)" : "(rowid)";
    run(fmt::format("CREATE TEMP TABLE copy_{0} AS SELECT * FROM main.{0}", name));
    tables_.push_back(std::move(table));
  }
}

void StoredShop::run(const std::string& sql) const {
  char* error = nullptr;
  const int code = sqlite3_exec(hand_, sql.c_str(), nullptr, nullptr, &error);
  require(code == SQLITE_OK, "the harness's SQL runs", error == nullptr ? sql : error);
}

void StoredShop::spoil(Taker& taker) {
  // Orders are most of what there is, so they are drawn most often.
  const std::uint8_t drawn = taker.byte();
  Table& table = tables_[drawn < 100 ? 0 : drawn % tables_.size()];
  const std::string& column = table.columns[taker.byte() % table.columns.size()];
  const std::string row =
      fmt::format("{0} IN (SELECT {1} FROM {2} ORDER BY 1 LIMIT 1 OFFSET {3})", table.key,
                  std::string_view{table.key}.substr(1, table.key.size() - 2), table.name, taker.byte() % 9);
  const std::uint8_t how = taker.byte();
  const std::string sql = how >= 16 ? fmt::format("UPDATE {} SET {} = ?1 WHERE {}", table.name, column, row)
                          : how >= 8
                              ? fmt::format("UPDATE {0} SET {1} = (SELECT {1} FROM {0} LIMIT 1 OFFSET {2}) WHERE {3}",
                                            table.name, column, how - 8, row)
                              : fmt::format("DELETE FROM {} WHERE {}", table.name, row);
  const Statement statement = prepared(hand_, sql);
  if (how >= 16) bind_any(statement.get(), taker);
  table.touched = true;
  (void)sqlite3_step(statement.get());
}

void StoredShop::restore() {
  std::string sql = "BEGIN;";
  for (Table& table : tables_) {
    if (!table.touched) continue;
    sql += fmt::format("DELETE FROM {0}; INSERT INTO {0} SELECT * FROM copy_{0};", table.name);
    table.touched = false;
  }
  run(sql + "COMMIT;");
}

std::int64_t StoredShop::stored(const char* sql, const model::Ticket* ticket, std::int64_t otherwise) const {
  const Statement statement = prepared(hand_, sql);
  if (ticket != nullptr) sqlite3_bind_blob(statement.get(), 1, ticket->bytes().data(), 16, SQLITE_STATIC);
  if (sqlite3_step(statement.get()) != SQLITE_ROW || sqlite3_column_type(statement.get(), 0) != SQLITE_INTEGER) {
    return otherwise;
  }
  return sqlite3_column_int64(statement.get(), 0);
}

std::string StoredShop::stored_text(const char* sql, const model::Ticket& ticket) const {
  const Statement statement = prepared(hand_, sql);
  sqlite3_bind_blob(statement.get(), 1, ticket.bytes().data(), 16, SQLITE_STATIC);
  if (sqlite3_step(statement.get()) != SQLITE_ROW) return {};
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0));
  return text == nullptr ? std::string{}
                         : std::string{text, static_cast<std::size_t>(sqlite3_column_bytes(statement.get(), 0))};
}

}  // namespace seckill::fuzz

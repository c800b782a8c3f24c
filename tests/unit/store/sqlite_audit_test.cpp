// The auditor must see: rows are spoiled behind the store's back, one at a time, and exactly the count that stands for
// the broken promise rises. P2, P3, P7.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "store/sqlite/sqlite_store.hpp"
#include "temporary_folder.hpp"

namespace seckill::store {
namespace {

constexpr base::UtcMs now = 1'700'000'000'000;

struct Spoiled {
  const char* what;
  const char* sql;
  std::int64_t ItemAudit::* seen_as;
};

// Of the four buyers one has paid for two units, one waits, one has cancelled, and one's intent has failed.
const Spoiled spoilings[] = {
    {"a buyer with more than his cap", "UPDATE buyer_units SET cap = 1 WHERE buyer = 'paid'",
     &ItemAudit::buyers_over_cap},
    {"a buyer's units are too few", "UPDATE buyer_units SET units = 1 WHERE buyer = 'paid'",
     &ItemAudit::buyer_units_mismatch},
    {"a buyer's units are too many", "UPDATE buyer_units SET units = 2 WHERE buyer = 'waiting'",
     &ItemAudit::buyer_units_mismatch},
    {"a buyer is not counted at all", "DELETE FROM buyer_units WHERE buyer = 'waiting'",
     &ItemAudit::buyer_units_mismatch},
    {"a cancelled buyer is still counted", "UPDATE buyer_units SET units = 1 WHERE buyer = 'cancelled'",
     &ItemAudit::buyer_units_mismatch},
    {"a hold is missing",
     "DELETE FROM stock_journal WHERE entry_id IN (SELECT 2 * order_id FROM seckill_order WHERE buyer = 'waiting')",
     &ItemAudit::journal_mismatch},
    {"a failed intent has a hold",
     "INSERT INTO stock_journal SELECT 2 * order_id, item_id, lane, 1, 1, 1 FROM seckill_order WHERE buyer = 'failed'",
     &ItemAudit::journal_mismatch},
    {"a post is missing", "DELETE FROM stock_journal WHERE effect = 2", &ItemAudit::journal_mismatch},
    {"a void is missing", "DELETE FROM stock_journal WHERE effect = 3", &ItemAudit::journal_mismatch},
    {"a paid order was voided", "UPDATE stock_journal SET effect = 3 WHERE effect = 2", &ItemAudit::journal_mismatch},
    {"an order that waits has an end",
     "INSERT INTO stock_journal SELECT 2 * order_id + 1, item_id, lane, units, 3, 1 FROM seckill_order "
     "WHERE buyer = 'waiting'",
     &ItemAudit::journal_mismatch},
    {"a hold of other units", "UPDATE stock_journal SET units = 3 WHERE effect = 1 AND units = 2",
     &ItemAudit::journal_mismatch},
    {"an end of other units", "UPDATE stock_journal SET units = 1 WHERE effect = 2", &ItemAudit::journal_mismatch},
    {"an end in another lane", "UPDATE stock_journal SET lane = lane + 1 WHERE effect = 2",
     &ItemAudit::journal_mismatch},
    {"a lane holds a unit of nobody", "UPDATE lane_stock SET held = held + 1, available = available - 1 WHERE lane = 0",
     &ItemAudit::lane_mismatch},
    {"a lane has sold a unit to nobody",
     "UPDATE lane_stock SET sold = sold + 1, available = available - 1 WHERE lane = 0", &ItemAudit::lane_mismatch},
    {"a lane has lost a sale", "UPDATE lane_stock SET sold = sold - 1, available = available + 1 WHERE sold > 0",
     &ItemAudit::lane_mismatch},
    {"a paid order without a payment", "DELETE FROM payment", &ItemAudit::paid_without_payment},
    {"a payment of an order that is not paid",
     "INSERT INTO payment (provider, transaction_id, order_id, amount_minor, currency, state, received_at) "
     "SELECT 'demo', 'p2', order_id, amount_minor, currency, 2, 1 FROM seckill_order WHERE buyer = 'waiting'",
     &ItemAudit::payment_without_order},
};

class SqliteAudit : public testing::Test {
 protected:
  void open(const std::string& path) {
    auto opened = sqlite::open({.data_folder = path});
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    store_ = std::move(*opened);
    model::SaleItem item;
    item.sku = item_.sku;
    item.title = "thing";
    item.price_minor = 100;
    item.total = 16;
    item.limit = 2;
    item.lanes = 2;
    model::Sale sale;
    sale.id = item_.sale;
    sale.title = "sale";
    sale.starts_at = now;
    sale.ends_at = now + 1'000;
    sale.items.push_back(item);
    ASSERT_TRUE(store_->create_sale(sale, {}).has_value());
    ASSERT_TRUE(store_->preload(sale.id, now, {}).has_value());
    const std::vector<model::LaneRecord> landed{intent("paid", 2), intent("waiting", 1), intent("cancelled", 1)};
    ASSERT_TRUE(store_->land(landed, now).has_value());
    ASSERT_TRUE(store_->fail_intent(intent("failed", 1), model::FailReason::unreadable, now).has_value());
    EndCommand pay;
    pay.ticket = intent("paid", 2).ticket;
    pay.event = model::OrderEvent::pay;
    pay.now = now;
    pay.payment_provider = "demo";
    pay.payment_id = "p1";
    EndCommand cancel;
    cancel.ticket = intent("cancelled", 1).ticket;
    cancel.event = model::OrderEvent::cancel;
    cancel.now = now;
    const EndCommand ends[] = {pay, cancel};
    ASSERT_TRUE(store_->end_tickets(ends).has_value());
  }
  model::OrderIntent intent(const std::string& buyer, std::int64_t units) const {
    model::OrderIntent intent;
    intent.item = item_;
    intent.buyer = model::BuyerId::parse(buyer).value();
    intent.request_id = model::RequestId::parse("r").value();
    intent.lane = model::lane_of(buyer, 2);
    intent.ticket = model::derive_ticket({}, item_, intent.buyer, "r", intent.lane);
    intent.units = units;
    intent.price_minor = 100;
    intent.limit = 2;
    intent.pay_window_ms = 1'000;
    return intent;
  }
  // As a hand or a broken program would, past every CHECK.
  static void spoil(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((path + "/" + sqlite::database_file).c_str(), &db), SQLITE_OK);
    const std::string script = "PRAGMA ignore_check_constraints = ON; " + sql;
    ASSERT_EQ(sqlite3_exec(db, script.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    ASSERT_EQ(sqlite3_changes(db), 1) << sql;
    sqlite3_close(db);
  }

  TemporaryFolder folder_;
  const model::ItemKey item_{model::SaleId::parse("s").value(), model::Sku::parse("x").value()};
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteAudit, P2_P3_P7_each_spoiled_row_is_counted_as_what_it_breaks_and_as_nothing_else) {
  constexpr std::int64_t ItemAudit::* counts[] = {
      &ItemAudit::buyers_over_cap, &ItemAudit::buyer_units_mismatch, &ItemAudit::journal_mismatch,
      &ItemAudit::lane_mismatch,   &ItemAudit::paid_without_payment, &ItemAudit::payment_without_order,
  };
  int number = 0;
  for (const Spoiled& spoiled : spoilings) {
    const std::string path = folder_.file("data" + std::to_string(number++));
    ASSERT_NO_FATAL_FAILURE(open(path));
    const ItemAudit sound = store_->audit_item(item_, now).value();
    for (const auto count : counts) EXPECT_EQ(sound.*count, 0) << "before " << spoiled.what;
    ASSERT_NO_FATAL_FAILURE(spoil(path, spoiled.sql));
    const ItemAudit audit = store_->audit_item(item_, now).value();
    for (const auto count : counts) EXPECT_EQ(audit.*count, count == spoiled.seen_as ? 1 : 0) << spoiled.what;
  }
}

}  // namespace
}  // namespace seckill::store

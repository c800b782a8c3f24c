// Values as they are: four-byte characters, ids that differ in case or a space at the end, and rows that an UPDATE
// matched without changing them.
#include <gtest/gtest.h>

#include "../../contract/store_contract.hpp"
#include "backend.hpp"

namespace seckill::store::mysql {
namespace {

using contract::a_sale;
using contract::an_item;
using contract::by;
using contract::Shop;
using contract::start_of_sale;

class StoreValues : public testing::Test {
 protected:
  void SetUp() override {
    if (!test_server()) GTEST_SKIP() << no_test_server;
    database_ = std::make_unique<TestDatabase>();
    open_store(false);
  }
  void open_store(bool matched_rows) {
    MysqlConfig config = database_->config();
    config.matched_rows = matched_rows;
    auto opened = open(config);
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    store_ = std::move(*opened);
  }
  Shop preloaded(const model::Sale& sale) {
    EXPECT_TRUE(store_->create_sale(sale, by("create")).has_value());
    EXPECT_TRUE(store_->preload(sale.id, start_of_sale, by("preload")).has_value());
    return Shop{*store_, sale};
  }

  std::unique_ptr<TestDatabase> database_;
  std::unique_ptr<MysqlStore> store_;
};

TEST_F(StoreValues, FS_54_four_byte_characters_are_kept_whole_everywhere) {
  const std::string smile = "\xF0\x9F\x98\x80";
  const std::string rare = "\xF0\xA0\xAE\xB7\xE9\x87\x8E\xE5\xAE\xB6";
  model::SaleItem item = an_item("sku1", 100);
  item.title = smile + rare;
  item.order_fields = {"receiver", "remark"};
  model::Sale sale = a_sale("s1", {item});
  sale.title = rare + smile;
  AuditEntry audit = by("create");
  audit.actor = smile;
  audit.detail = "{\"why\":\"" + rare + "\"}";
  ASSERT_TRUE(store_->create_sale(sale, audit).has_value());
  ASSERT_TRUE(store_->preload(sale.id, start_of_sale, by("preload")).has_value());
  const Shop shop{*store_, sale};
  model::OrderIntent intent = shop.intent(smile + "buyer");
  // Longer than what a read takes at once.
  std::string fields = R"({"receiver":")" + rare + R"(","remark":")";
  for (int i = 0; i < 255; ++i) fields += smile;
  fields += "\"}";
  intent.fields = std::make_shared<const std::string>(fields);
  shop.ordered(intent);
  const Order order = shop.order(intent.ticket);
  EXPECT_EQ(order.fields, fields);
  EXPECT_EQ(order.buyer.view(), smile + "buyer");
  const model::Sale read = store_->find_sale(sale.id).value();
  EXPECT_EQ(read.title, sale.title);
  EXPECT_EQ(read.items[0].title, item.title);
  const auto log = store_->audit_log(0, 10).value();
  EXPECT_EQ(log.back().entry.actor, audit.actor);
  EXPECT_EQ(log.back().entry.detail, audit.detail);
}

TEST_F(StoreValues, FS_68_ids_that_differ_in_case_or_a_space_at_the_end_are_different) {
  const Shop small = preloaded(a_sale("s1", {an_item("sku1", 100, 1), an_item("SKU1", 50, 1)}));
  const Shop large = preloaded(a_sale("S1", {an_item("sku1", 30, 1)}));
  EXPECT_EQ(small.stock().total, 100);
  EXPECT_EQ(large.stock().total, 30);
  // Each may buy his one unit; with a collation that folds or pads the second would break the limit.
  const std::string_view buyers[] = {"alice", "Alice", "alice ", "alice  ", "\xC3\x84lice", "A\xCC\x88lice"};
  for (const std::string_view buyer : buyers) {
    const auto ticket = small.ordered(small.intent(buyer));
    EXPECT_EQ(small.order(ticket).buyer.view(), buyer);
    const OrderQuery query{.buyer = model::BuyerId::parse(buyer), .sale = {}, .state = {}};
    EXPECT_EQ(store_->list_orders(query).value().orders.size(), 1U) << buyer;
  }
  const Shop wide = preloaded(a_sale("s2", {an_item("sku1", 100, 8)}));
  wide.ordered(wide.intent("bob", "r1"));
  wide.ordered(wide.intent("bob", "R1"));
  EXPECT_EQ(wide.sums().held, 2);
  const auto key = [](const char* id) { return std::string{id}; };
  ASSERT_TRUE(store_->add_to_pool(wide.item(), 1, key("top-up"), by("top_up")).has_value());
  ASSERT_TRUE(store_->add_to_pool(wide.item(), 1, key("top-up "), by("top_up")).has_value());
  ASSERT_TRUE(store_->add_to_pool(wide.item(), 1, key("TOP-UP"), by("top_up")).has_value());
  EXPECT_EQ(wide.stock().total, 103);
  EXPECT_EQ(small.broken() + large.broken() + wide.broken(), "");
}

TEST_F(StoreValues, FS_59_answers_are_the_same_whether_updates_count_changed_or_matched_rows) {
  std::string answers[2];
  for (const bool matched : {false, true}) {
    open_store(matched);
    std::string& said = answers[matched ? 1 : 0];
    const auto say = [&](const auto& result) {
      said += result ? "done " : std::string{base::name(result.error().code)} + " ";
    };
    model::SaleItem item = an_item("sku1", 20, 2);
    item.lanes = 2;
    item.reserve = 2;
    const model::Sale sale = a_sale(matched ? "matched" : "changed", {item});
    const Shop shop = preloaded(sale);
    say(store_->preload(sale.id, start_of_sale, by("again")));
    model::Sale same = store_->find_sale(sale.id).value();
    same.version += 1;  // terms as they are
    say(store_->update_sale(same, by("edit")));
    say(store_->update_sale(same, by("edit")));
    same.version += 1;
    same.items[0].sku = model::Sku::parse("unknown").value();
    say(store_->update_sale(same, by("edit")));
    say(store_->set_sale_state(sale.id, model::SaleState::paused, model::SaleState::paused, by("pause")));
    say(store_->set_sale_state(sale.id, model::SaleState::preloaded, model::SaleState::paused, by("pause")));
    say(store_->set_sale_state(sale.id, model::SaleState::preloaded, model::SaleState::paused, by("pause")));
    say(store_->take_from_pool(shop.item(), 3, "r", by("reduce")));
    say(store_->take_from_pool(shop.item(), 2, "r", by("reduce")));
    const auto ticket = shop.ordered(shop.intent("alice", "r1", 1, 0));
    for (int i = 0; i < 2; ++i) {
      said += std::to_string(static_cast<int>(shop.land({shop.intent("alice", "r1", 1, 0)}).value()[0].as)) + " ";
    }
    say(shop.land({shop.intent("bob", "r1", 2, 0), shop.intent("carol", "r1", 2, 0), shop.intent("dave", "r1", 2, 0),
                   shop.intent("erin", "r1", 2, 0), shop.intent("fred", "r1", 2, 0)}));
    for (const EndCommand& command :
         {contract::pay(ticket, sale.id.str(), start_of_sale + 10 * contract::pay_window_ms),
          contract::expire(ticket, start_of_sale), contract::cancel(ticket), contract::cancel(ticket)}) {
      said += std::to_string(static_cast<int>(shop.end(command).result)) + " ";
    }
    EXPECT_EQ(shop.broken(), "");
  }
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_EQ(answers[0], "done done stale not_found stale done stale refused done 1 1 oversell_guard 3 3 0 1 ");
}

}  // namespace
}  // namespace seckill::store::mysql

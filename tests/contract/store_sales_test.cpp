// Sales, their edits and states, preload and pool: what every store keeps and refuses.
#include "store_contract.hpp"

namespace seckill::store::contract {
namespace {

using base::Errc;
using model::SaleState;
using model::StockTransfer;

class StoreSales : public StoreSuite {};
SECKILL_FOR_EVERY_STORE(StoreSales);

model::Sale full_sale() {
  model::SaleItem first = an_item("sku1", 100);
  first.order_fields = {"receiver", "remark"};
  first.tickets_max = 1;
  first.reserve = 10;
  model::SaleItem second = an_item("SKU1", 40, 5);
  second.price_minor = 0;
  second.list_price_minor = 0;
  second.lanes = 3;
  model::Sale sale = a_sale("S-1_x", {first, second});
  sale.kind = model::SaleKind::slot;
  sale.currency = model::Currency::parse("EUR").value();
  return sale;
}

void expect_equal(const model::Sale& read, const model::Sale& sent) {
  EXPECT_EQ(read.id, sent.id);
  EXPECT_EQ(read.title, sent.title);
  EXPECT_EQ(read.kind, sent.kind);
  EXPECT_EQ(read.currency, sent.currency);
  EXPECT_EQ(read.starts_at, sent.starts_at);
  EXPECT_EQ(read.ends_at, sent.ends_at);
  EXPECT_EQ(read.state, sent.state);
  EXPECT_EQ(read.version, sent.version);
  EXPECT_EQ(read.ticket_key, sent.ticket_key);
  EXPECT_EQ(read.created_at, sent.created_at);
  ASSERT_EQ(read.items.size(), sent.items.size());
  for (std::size_t i = 0; i < sent.items.size(); ++i) {
    const model::SaleItem& a = read.items[i];
    const model::SaleItem& b = sent.items[i];
    EXPECT_EQ(a.sku, b.sku);
    EXPECT_EQ(a.title, b.title);
    EXPECT_EQ(a.price_minor, b.price_minor);
    EXPECT_EQ(a.list_price_minor, b.list_price_minor);
    EXPECT_EQ(a.total, b.total);
    EXPECT_EQ(a.reserve, b.reserve);
    EXPECT_EQ(a.limit, b.limit);
    EXPECT_EQ(a.tickets_max, b.tickets_max);
    EXPECT_EQ(a.pay_window_ms, b.pay_window_ms);
    EXPECT_EQ(a.lanes, b.lanes);
    EXPECT_EQ(a.order_fields, b.order_fields);
  }
}

TEST_P(StoreSales, a_sale_reads_back_as_it_was_created) {
  const model::Sale sale = full_sale();
  ASSERT_TRUE(store().create_sale(sale, by("sale.create")).has_value());
  expect_equal(store().find_sale(sale.id).value(), sale);
  const ItemStock stock = store().item_stock({sale.id, sale.items[0].sku}).value();
  EXPECT_EQ(stock.total, 100);
  EXPECT_EQ(stock.pool, 100);
  EXPECT_TRUE(stock.lanes.empty());
}

TEST_P(StoreSales, an_id_is_taken_once_and_the_first_sale_stays) {
  const model::Sale sale = full_sale();
  ASSERT_TRUE(store().create_sale(sale, by("sale.create")).has_value());
  model::Sale other = sale;
  other.title = "Other";
  const auto again = store().create_sale(other, by("sale.create"));
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, Errc::already_exists);
  expect_equal(store().find_sale(sale.id).value(), sale);
  EXPECT_EQ(store().audit_log(0, 10).value().size(), 1U) << "what was refused is not in the log of changes";
}

TEST_P(StoreSales, what_does_not_exist_is_not_found) {
  const model::SaleId none = model::SaleId::parse("none").value();
  const model::ItemKey item{none, model::Sku::parse("x").value()};
  model::Sale sale = full_sale();
  sale.id = none;
  EXPECT_EQ(store().find_sale(none).error().code, Errc::not_found);
  EXPECT_EQ(store().update_sale(sale, by("x")).error().code, Errc::not_found);
  EXPECT_EQ(store().set_sale_state(none, SaleState::draft, SaleState::closed, by("x")).error().code, Errc::not_found);
  EXPECT_EQ(store().preload(none, 0, by("x")).error().code, Errc::not_found);
  EXPECT_EQ(store().item_stock(item).error().code, Errc::not_found);
  EXPECT_EQ(store().add_to_pool(item, 1, "a", by("x")).error().code, Errc::not_found);
  EXPECT_EQ(store().take_from_pool(item, 1, "a", by("x")).error().code, Errc::not_found);
  EXPECT_EQ(store().audit_item(item, 0).error().code, Errc::not_found);
  EXPECT_EQ(store().visit_tickets(item, [](const TicketRow&) {}).error().code, Errc::not_found);
  EXPECT_FALSE(store().find_order(model::Ticket{}).value().has_value());
  EXPECT_TRUE(store().audit_log(0, 10).value().empty());
}

TEST_P(StoreSales, sales_are_listed_newest_first_and_bounded) {
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(store().create_sale(a_sale(id, {an_item("x", 8)}), by("sale.create")).has_value());
  }
  const auto two = store().list_sales(2).value();
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].id.view(), "c");
  EXPECT_EQ(two[1].id.view(), "b");
  EXPECT_EQ(two[1].items.size(), 1U);
}

TEST_P(StoreSales, FS_72_instants_read_back_equal_to_the_millisecond_also_after_a_restart) {
  model::Sale sale = full_sale();
  sale.starts_at = 1'794'276'000'500;  // …:00.500
  sale.ends_at = 1'794'326'399'999;    // 23:59:59.999
  ASSERT_TRUE(store().create_sale(sale, by("sale.create")).has_value());
  for (int i = 0; i < 2; ++i) {
    const model::Sale read = store().find_sale(sale.id).value();
    EXPECT_EQ(read.starts_at, 1'794'276'000'500);
    EXPECT_EQ(read.ends_at, 1'794'326'399'999);
    reopen();
  }
}

TEST_P(StoreSales, FS_54_every_character_is_stored_and_returned_unchanged) {
  const std::string emoji = "\xF0\x9F\x8E\x81";
  const std::string rare = "\xF0\xA0\xAE\xB7";                        // U+20BB7
  const std::string odd = "e\xCC\x81\xE2\x80\xAE\xE2\x80\x8B 'a\"%";  // combining, RTL override, zero width, quotes
  std::string longest;
  for (int i = 0; i < 255; ++i) longest += emoji;
  model::Sale sale = full_sale();
  int number = 0;
  for (const std::string& title : {emoji, rare, odd, longest}) {
    sale.id = model::SaleId::parse("t" + std::to_string(number++)).value();
    sale.title = title;
    sale.items[0].title = title;
    ASSERT_TRUE(store().create_sale(sale, by("sale.create")).has_value());
    ASSERT_TRUE(store().preload(sale.id, start_of_sale, by("p")).has_value());
    EXPECT_EQ(store().find_sale(sale.id).value().title, title);
    EXPECT_EQ(store().find_sale(sale.id).value().items[0].title, title);
    const Shop shop{store(), sale};
    auto intent = shop.intent(emoji + rare);
    intent.fields = std::make_shared<const std::string>("{\"receiver\":\"" + title + "\"}");
    shop.ordered(intent);
    EXPECT_EQ(shop.order(intent.ticket).fields, *intent.fields);
    EXPECT_EQ(shop.order(intent.ticket).buyer.view(), emoji + rare);
  }
}

TEST_P(StoreSales, FS_68_ids_that_differ_in_case_or_space_are_distinct_everywhere) {
  const Shop shop = a_shop(100, 1);
  ASSERT_TRUE(store().create_sale(a_sale("S1", {an_item("sku1", 8)}), by("sale.create")).has_value());
  std::vector<model::OrderIntent> intents;
  for (const char* buyer : {"abc", "ABC", "abc ", " abc", "\xEF\xBD\x81\xEF\xBD\x82\xEF\xBD\x83", "\u00E0bc"}) {
    for (const char* request : {"r", "R"}) {
      auto intent = shop.intent(buyer, request);
      intent.limit = 2;
      intents.push_back(intent);
    }
  }
  for (const Landed& landed : shop.land(intents).value()) EXPECT_EQ(landed.as, LandedAs::ordered);
  for (const auto& intent : intents) {
    EXPECT_EQ(store().list_orders({.buyer = intent.buyer, .sale = {}, .state = {}}).value().orders.size(), 2U);
    EXPECT_EQ(shop.order(intent.ticket).buyer, intent.buyer);
    EXPECT_EQ(shop.order(intent.ticket).request_id, intent.request_id);
  }
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreSales, an_edit_needs_the_version_it_read_and_never_touches_stock) {
  const Shop shop = a_shop(100);
  model::Sale sale = store().find_sale(shop.item().sale).value();
  sale.title = "New";
  sale.ends_at += 999;
  sale.items[0].price_minor = 1;
  sale.items[0].limit = 9;
  sale.items[0].pay_window_ms = 5'000;
  sale.items[0].tickets_max = 3;
  sale.items[0].title = "Newer";
  sale.items[0].total = 1;
  sale.version += 1;
  ASSERT_TRUE(store().update_sale(sale, by("sale.edit")).has_value());
  const model::Sale read = store().find_sale(sale.id).value();
  EXPECT_EQ(read.title, "New");
  EXPECT_EQ(read.ends_at, sale.ends_at);
  EXPECT_EQ(read.version, sale.version);
  EXPECT_EQ(read.state, SaleState::preloaded);
  EXPECT_EQ(read.items[0].price_minor, 1);
  EXPECT_EQ(read.items[0].limit, 9);
  EXPECT_EQ(read.items[0].tickets_max, 3U);
  EXPECT_EQ(read.items[0].pay_window_ms, 5'000);
  EXPECT_EQ(read.items[0].title, "Newer");
  EXPECT_EQ(read.items[0].total, 100);
  sale.title = "Lost";
  EXPECT_EQ(store().update_sale(sale, by("sale.edit")).error().code, Errc::stale);
  EXPECT_EQ(store().find_sale(sale.id).value().title, "New");
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreSales, an_edit_that_names_an_unknown_item_changes_nothing) {
  const model::Sale sale = full_sale();
  ASSERT_TRUE(store().create_sale(sale, by("sale.create")).has_value());
  model::Sale edited = sale;
  edited.version = 2;
  edited.title = "New";
  edited.items.push_back(an_item("other", 8));
  EXPECT_EQ(store().update_sale(edited, by("sale.edit")).error().code, Errc::not_found);
  expect_equal(store().find_sale(sale.id).value(), sale);
}

TEST_P(StoreSales, a_state_changes_only_from_the_stated_one_and_raises_the_version) {
  const Shop shop = a_shop(100);
  const model::SaleId sale = shop.item().sale;
  const std::int64_t version = store().find_sale(sale).value().version;
  ASSERT_TRUE(store().set_sale_state(sale, SaleState::preloaded, SaleState::paused, by("sale.pause")).has_value());
  EXPECT_EQ(store().find_sale(sale).value().state, SaleState::paused);
  EXPECT_EQ(store().find_sale(sale).value().version, version + 1);
  const auto stale = store().set_sale_state(sale, SaleState::preloaded, SaleState::closed, by("sale.close"));
  ASSERT_FALSE(stale.has_value());
  EXPECT_EQ(stale.error().code, Errc::stale);
  EXPECT_EQ(store().find_sale(sale).value().version, version + 1);
}

TEST_P(StoreSales, preload_spreads_what_is_on_sale_and_keeps_the_reserve_in_the_pool) {
  const model::Sale sale = full_sale();
  ASSERT_TRUE(store().create_sale(sale, by("sale.create")).has_value());
  ASSERT_TRUE(store().preload(sale.id, start_of_sale, by("sale.preload")).has_value());
  const model::Sale read = store().find_sale(sale.id).value();
  EXPECT_EQ(read.state, SaleState::preloaded);
  EXPECT_EQ(read.version, 2);
  EXPECT_EQ(read.items[0].lanes, model::default_lanes(90));
  EXPECT_EQ(read.items[1].lanes, 3U) << "a chosen number of lanes is kept";
  const ItemStock first = store().item_stock({sale.id, sale.items[0].sku}).value();
  EXPECT_EQ(first.pool, 10);
  ASSERT_EQ(first.lanes.size(), read.items[0].lanes);
  for (std::uint32_t i = 0; i < first.lanes.size(); ++i) {
    EXPECT_EQ(first.lanes[i].lane, i);
    EXPECT_EQ(first.lanes[i].generation, 1U);
    EXPECT_EQ(first.lanes[i].stock.available, ledger::preload_share(90, read.items[0].lanes, i));
  }
  EXPECT_EQ(Shop(store(), sale, 0).broken(), "");
  EXPECT_EQ(Shop(store(), sale, 1).broken(), "");
}

TEST_P(StoreSales, FS_03_preload_again_never_overwrites_what_was_sold_since) {
  const Shop shop = a_shop(100);
  shop.ordered(shop.intent("alice"));
  const auto paid = shop.ordered(shop.intent("bob"));
  ASSERT_EQ(shop.end(pay(paid, "p1")).result, EndResult::done);
  const std::int64_t version = store().find_sale(shop.item().sale).value().version;
  const model::SaleId sale = shop.item().sale;
  ASSERT_TRUE(store().preload(sale, start_of_sale + 9, by("sale.preload")).has_value());
  EXPECT_EQ(shop.sums(), (ledger::LaneStock{.available = 98, .held = 1, .sold = 1}));
  reopen();
  ASSERT_TRUE(store().preload(sale, start_of_sale + 10, by("sale.preload")).has_value());
  const Shop after{store(), store().find_sale(sale).value()};
  EXPECT_EQ(after.sums(), (ledger::LaneStock{.available = 98, .held = 1, .sold = 1}));
  EXPECT_EQ(store().find_sale(sale).value().version, version);
  EXPECT_EQ(after.broken(), "");
}

TEST_P(StoreSales, preload_keeps_a_paused_sale_paused_and_refuses_a_closed_one) {
  const Shop shop = a_shop(100);
  const model::SaleId sale = shop.item().sale;
  ASSERT_TRUE(store().set_sale_state(sale, SaleState::preloaded, SaleState::paused, by("x")).has_value());
  ASSERT_TRUE(store().preload(sale, start_of_sale, by("x")).has_value());
  EXPECT_EQ(store().find_sale(sale).value().state, SaleState::paused);
  ASSERT_TRUE(store().set_sale_state(sale, SaleState::paused, SaleState::closed, by("x")).has_value());
  EXPECT_EQ(store().preload(sale, start_of_sale, by("x")).error().code, Errc::refused);
}

TEST_P(StoreSales, a_top_up_adds_to_total_and_pool_once_an_id) {
  const Shop shop = a_shop(100);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(store().add_to_pool(shop.item(), 50, "t1", by("item.top_up")).has_value());
  EXPECT_EQ(shop.stock().total, 150);
  EXPECT_EQ(shop.stock().pool, 50);
  EXPECT_EQ(store().find_sale(shop.item().sale).value().items[0].total, 150);
  EXPECT_EQ(store().add_to_pool(shop.item(), 51, "t1", by("x")).error().code, Errc::already_exists);
  EXPECT_EQ(store().add_to_pool(shop.item(), 0, "t2", by("x")).error().code, Errc::invalid);
  EXPECT_EQ(store().add_to_pool(shop.item(), INT64_MAX, "t3", by("x")).error().code, Errc::invalid);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreSales, a_reduction_takes_from_total_and_pool_once_an_id_and_never_more_than_the_pool_has) {
  const Shop shop = a_shop(100, 2, [](model::SaleItem& item) { item.reserve = 20; });
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(store().take_from_pool(shop.item(), 15, "d1", by("item.reduce")).has_value());
  EXPECT_EQ(shop.stock().total, 85);
  EXPECT_EQ(shop.stock().pool, 5);
  EXPECT_EQ(store().take_from_pool(shop.item(), 6, "d2", by("x")).error().code, Errc::refused);
  EXPECT_EQ(store().take_from_pool(shop.item(), -1, "d3", by("x")).error().code, Errc::invalid);
  EXPECT_EQ(shop.stock().pool, 5);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreSales, pool_units_go_to_lanes_once_an_id_and_all_or_none) {
  const Shop shop = a_shop(100, 2, [](model::SaleItem& item) { item.reserve = 20; });
  const auto to_lane = [&](const char* id, std::int32_t lane, std::int64_t units) {
    return StockTransfer{.id = id,
                         .item = shop.item(),
                         .from = StockTransfer::pool,
                         .to = lane,
                         .units = units,
                         .generation = 1,
                         .at = 0};
  };
  const std::vector first{to_lane("a", 0, 5), to_lane("b", 1, 5)};
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(store().pool_to_lanes(first, by("item.top_up")).has_value());
  EXPECT_EQ(shop.stock().pool, 10);
  EXPECT_EQ(shop.sums().available, 90);
  const std::vector too_many{to_lane("c", 0, 6), to_lane("d", 1, 5)};
  EXPECT_EQ(store().pool_to_lanes(too_many, by("x")).error().code, Errc::refused);
  EXPECT_EQ(shop.stock().pool, 10) << "of a refused call nothing is written";
  EXPECT_EQ(store().pool_to_lanes(std::vector{to_lane("e", 63, 1)}, by("x")).error().code, Errc::refused);
  EXPECT_EQ(store().pool_to_lanes(std::vector{to_lane("f", 0, 0)}, by("x")).error().code, Errc::invalid);
  auto stale = to_lane("g", 0, 1);
  stale.generation = 7;
  EXPECT_EQ(store().pool_to_lanes(std::vector{stale}, by("x")).error().code, Errc::stale);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreSales, every_change_of_an_operator_is_in_the_audit_log_newest_first) {
  const Shop shop = a_shop(100);
  ASSERT_TRUE(store().add_to_pool(shop.item(), 1, "t1", by("item.top_up")).has_value());
  ASSERT_TRUE(store().append_audit({.actor = "o\xC3\xA9", .action = "x", .detail = R"({"a":1})", .at = 7}).has_value());
  const auto rows = store().audit_log(0, 10).value();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].entry.actor, "o\xC3\xA9");
  EXPECT_EQ(rows[0].entry.detail, R"({"a":1})");
  EXPECT_EQ(rows[0].entry.at, 7);
  EXPECT_EQ(rows[1].entry.action, "item.top_up");
  EXPECT_EQ(rows[2].entry.action, "sale.preload");
  EXPECT_EQ(rows[3].entry.action, "sale.create");
  const auto older = store().audit_log(rows[1].id, 1).value();
  ASSERT_EQ(older.size(), 1U);
  EXPECT_EQ(older[0].id, rows[2].id);
}

}  // namespace
}  // namespace seckill::store::contract

// The authority on all items of a sale in one reading.
#include "store_lane_authority.hpp"

namespace seckill::store::contract {
namespace {

using base::Errc;

class StoreSaleAuthority : public LaneAuthoritySuite {
 protected:
  // A preloaded sale of these items, which are neither in the order of their names nor alike.
  model::Sale a_sale_of_three() {
    model::SaleItem first = an_item("zebra", 20, 2);
    first.order_fields = {"size", "color"};
    model::SaleItem second = an_item("apple", 33, 1);
    second.reserve = 5;
    second.lanes = 4;
    model::SaleItem third = an_item("mango", 8, 3);
    third.title.clear();
    for (int i = 0; i < 100; ++i) third.title += "快";
    third.lanes = 1;
    model::Sale sale = a_sale("three", {first, second, third});
    EXPECT_TRUE(store().create_sale(sale, by("sale.create")).has_value());
    EXPECT_TRUE(store().preload(sale.id, start_of_sale, by("sale.preload")).has_value());
    return sale;
  }
  static void expect_same(const ItemAuthority& one, const ItemAuthority& other) {
    EXPECT_EQ(one.sku, other.sku);
    expect_same_sale(one.sale, other.sale);
    EXPECT_EQ(one.pool, other.pool);
    EXPECT_EQ(one.wanted, other.wanted);
    ASSERT_EQ(one.lanes.size(), other.lanes.size());
    for (std::size_t i = 0; i < one.lanes.size(); ++i) {
      EXPECT_EQ(one.lanes[i].row.lane, i);
      EXPECT_EQ(one.lanes[i].row.lane, other.lanes[i].row.lane);
      EXPECT_EQ(one.lanes[i].row.generation, other.lanes[i].row.generation);
      EXPECT_EQ(one.lanes[i].row.stock, other.lanes[i].row.stock);
      EXPECT_EQ(one.lanes[i].state, other.lanes[i].state);
      EXPECT_EQ(one.lanes[i].run_id, other.lanes[i].run_id);
      EXPECT_EQ(one.lanes[i].replication_id, other.lanes[i].replication_id);
      EXPECT_EQ(one.lanes[i].drained_generation, other.lanes[i].drained_generation);
      EXPECT_EQ(one.lanes[i].strays, other.lanes[i].strays);
    }
  }
  static void expect_same_sale(const model::Sale& one, const model::Sale& other) {
    EXPECT_EQ(one.id, other.id);
    EXPECT_EQ(one.title, other.title);
    EXPECT_EQ(one.kind, other.kind);
    EXPECT_EQ(one.currency.view(), other.currency.view());
    EXPECT_EQ(one.starts_at, other.starts_at);
    EXPECT_EQ(one.ends_at, other.ends_at);
    EXPECT_EQ(one.state, other.state);
    EXPECT_EQ(one.version, other.version);
    EXPECT_EQ(one.ticket_key, other.ticket_key);
    EXPECT_EQ(one.created_at, other.created_at);
    ASSERT_EQ(one.items.size(), other.items.size());
    for (std::size_t i = 0; i < one.items.size(); ++i) {
      EXPECT_EQ(one.items[i].sku, other.items[i].sku);
      EXPECT_EQ(one.items[i].title, other.items[i].title);
      EXPECT_EQ(one.items[i].price_minor, other.items[i].price_minor);
      EXPECT_EQ(one.items[i].total, other.items[i].total);
      EXPECT_EQ(one.items[i].reserve, other.items[i].reserve);
      EXPECT_EQ(one.items[i].limit, other.items[i].limit);
      EXPECT_EQ(one.items[i].lanes, other.items[i].lanes);
      EXPECT_EQ(one.items[i].order_fields, other.items[i].order_fields);
    }
  }
};
SECKILL_FOR_EVERY_LANE_AUTHORITY(StoreSaleAuthority);

TEST_P(StoreSaleAuthority, a_sale_reads_as_its_items_and_in_their_order) {
  const model::Sale sale = a_sale_of_three();
  const Shop other = a_shop(50);
  const Shop second{store(), sale, 1};
  rebuilt(second, 2, lead());
  ASSERT_TRUE(second.land({second.intent("ann", "r1", 1, 2)}).has_value());  // of the generation before: a stray
  ASSERT_TRUE(authority().want_state(Shop(store(), sale, 2).item(), LaneState::closed, by("x")).has_value());
  const auto read = authority().sale_authority(sale.id).value();
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[0].sku.view(), "zebra");
  EXPECT_EQ(read[1].sku.view(), "apple");
  EXPECT_EQ(read[2].sku.view(), "mango");
  EXPECT_EQ(read[1].pool, 5);
  EXPECT_EQ(read[1].lanes.size(), 4U);
  EXPECT_EQ(read[1].lanes.at(2).run_id, "run-1");
  EXPECT_EQ(read[2].wanted, LaneState::closed);
  for (const ItemAuthority& one : read) {
    expect_same(one, authority().item_authority({.sale = sale.id, .sku = one.sku}).value());
    expect_same_sale(one.sale, store().find_sale(sale.id).value());
  }
  EXPECT_EQ(authority().sale_authority(other.item().sale).value().size(), 1U);
}

TEST_P(StoreSaleAuthority, before_preload_items_have_no_lanes) {
  ASSERT_TRUE(store().create_sale(a_sale("new", {an_item("b", 8), an_item("a", 8)}), by("sale.create")).has_value());
  const auto read = authority().sale_authority(model::SaleId::parse("new").value()).value();
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].sku.view(), "b");
  EXPECT_TRUE(read[0].lanes.empty());
  EXPECT_TRUE(read[1].lanes.empty());
}

TEST_P(StoreSaleAuthority, a_sale_that_does_not_exist_is_not_found) {
  const auto none = model::SaleId::parse("none").value();
  EXPECT_EQ(authority().sale_authority(none).error().code, Errc::not_found);
  EXPECT_EQ(authority().item_authority({.sale = none, .sku = model::Sku::parse("x").value()}).error().code,
            Errc::not_found);
}

TEST_P(StoreSaleAuthority, sales_are_listed_whole_newest_first) {
  const model::Sale three = a_sale_of_three();
  const Shop shop = a_shop(50);
  const auto both = store().list_sales(10).value();
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].id, shop.item().sale);
  expect_same_sale(both[1], store().find_sale(three.id).value());
  EXPECT_EQ(both[1].items.size(), 3U);
  const auto newest = store().list_sales(1).value();
  ASSERT_EQ(newest.size(), 1U);
  EXPECT_EQ(newest[0].items.size(), 1U);
  EXPECT_TRUE(store().list_sales(0).value().empty());
}

}  // namespace
}  // namespace seckill::store::contract

// A connection to the simulated store under each fault: what is executed, what is told, and which comes first.
#include "simulation/devices/store/sim_store.hpp"

#include <gtest/gtest.h>

namespace seckill::sim {
namespace {

using base::Errc;

constexpr base::UtcMs start = Kernel::utc_at_start;
constexpr std::uint32_t always = 1000;

class SimStoreTest : public testing::Test {
 protected:
  SimStoreTest() {
    model::SaleItem item;
    item.sku = model::Sku::parse("sku1").value();
    item.title = "A thing";
    item.price_minor = 100;
    item.total = 8;
    item.limit = 8;
    item.pay_window_ms = 60'000;
    model::Sale sale;
    sale.id = model::SaleId::parse("s1").value();
    sale.title = "Sale";
    sale.starts_at = start;
    sale.ends_at = start + 3'600'000;
    sale.items = {item};
    EXPECT_TRUE(database_.create_sale(sale, {}).has_value());
    EXPECT_TRUE(database_.preload(sale.id, start, {}).has_value());
  }

  void TearDown() override {
    for (const auto& thread : threads_) thread->join();
  }

  model::LaneRecord intent(std::string_view request) const {
    model::OrderIntent intent;
    intent.item = {.sale = model::SaleId::parse("s1").value(), .sku = model::Sku::parse("sku1").value()};
    intent.buyer = model::BuyerId::parse("alice").value();
    intent.request_id = model::RequestId::parse(request).value();
    intent.ticket = model::derive_ticket({}, intent.item, intent.buyer, request, 0);
    intent.units = 1;
    intent.price_minor = 100;
    intent.limit = 8;
    intent.pay_window_ms = 60'000;
    return intent;
  }
  // Lands one intent from a fiber of the node; what came back, or nothing.
  std::shared_ptr<std::optional<base::Result<std::vector<store::Landed>>>> land_on_fiber(std::string_view request) {
    auto result = std::make_shared<std::optional<base::Result<std::vector<store::Landed>>>>();
    threads_.push_back(node_.threads().start(
        "worker", [this, result, record = intent(request)] { *result = store_.land(std::vector{record}, start); }));
    return result;
  }
  std::size_t orders() const { return database_.tables().orders.size(); }

  Kernel kernel_{1};
  Node& node_{kernel_.add_node("worker")};
  StoreFaults faults_;
  Tables tables_;
  SimDatabase database_{tables_, node_.clock()};
  SimStore store_{&kernel_, database_, &node_, faults_};
  std::vector<std::unique_ptr<base::Thread>> threads_;
};

TEST_F(SimStoreTest, a_call_takes_the_way_there_and_back) {
  faults_.delay_lowest = 1ms;
  faults_.delay_highest = 1ms;
  const auto result = land_on_fiber("r1");
  kernel_.run_until(1s);
  ASSERT_TRUE(result->has_value());
  EXPECT_TRUE((*result)->has_value());
  EXPECT_EQ(orders(), 1U);
}

TEST_F(SimStoreTest, what_is_refused_is_not_executed_and_the_caller_knows) {
  faults_.unavailable = always;
  const auto lost = land_on_fiber("r1");
  kernel_.run_until(1s);
  EXPECT_EQ((*lost)->error().code, Errc::unavailable);
  faults_ = {.disk_full = always};
  const auto full = land_on_fiber("r1");
  kernel_.run_until(2s);
  EXPECT_EQ((*full)->error().code, Errc::disk_full);
  EXPECT_EQ(orders(), 0U);
}

TEST_F(SimStoreTest, a_lost_request_and_a_lost_reply_look_the_same_to_the_caller) {
  faults_.lost_request = always;
  const auto request = land_on_fiber("r1");
  kernel_.run_until(30s);
  EXPECT_EQ((*request)->error().code, Errc::timeout);
  EXPECT_EQ(orders(), 0U);
  faults_ = {.lost_reply = always};
  const auto reply = land_on_fiber("r1");
  kernel_.run_until(60s);
  EXPECT_EQ((*reply)->error().code, Errc::timeout);
  EXPECT_EQ(orders(), 1U);
}

TEST_F(SimStoreTest, a_late_commit_comes_after_the_caller_was_told_unknown_and_after_his_next_call) {
  faults_.late = always;
  const auto late = land_on_fiber("r1");
  ASSERT_TRUE(kernel_.run_until([&] { return late->has_value(); }, 10s));
  EXPECT_EQ((*late)->error().code, Errc::timeout);
  faults_.late = 0;
  const auto again = land_on_fiber("r1");
  kernel_.run_until(60s);
  ASSERT_TRUE((*again)->has_value());
  EXPECT_EQ(orders(), 1U) << "whichever came first, the keys let one of them in";
}

TEST_F(SimStoreTest, a_store_that_is_down_executes_nothing_also_not_what_is_on_its_way) {
  faults_.down = true;
  const auto refused = land_on_fiber("r1");
  kernel_.run_until(1s);
  EXPECT_EQ((*refused)->error().code, Errc::unavailable);
  faults_ = {.delay_lowest = 100ms, .delay_highest = 100ms};
  const auto caught = land_on_fiber("r1");
  kernel_.run_until(1s + 50ms);
  faults_.down = true;
  kernel_.run_until(20s);
  EXPECT_EQ((*caught)->error().code, Errc::timeout);
  EXPECT_EQ(orders(), 0U);
}

TEST_F(SimStoreTest, c3_is_before_the_commit_and_c4_after_it_with_nobody_told) {
  kernel_.crash_at("c3", 1, 1s);
  const auto before = land_on_fiber("r1");
  kernel_.run_until(1s);
  EXPECT_FALSE(before->has_value());
  EXPECT_FALSE(node_.alive());
  EXPECT_EQ(orders(), 0U);
  node_.restart();
  kernel_.crash_at("c4", 1, 1s);
  const auto after = land_on_fiber("r1");
  kernel_.run_until(2s);
  EXPECT_FALSE(after->has_value());
  EXPECT_EQ(orders(), 1U);
}

TEST_F(SimStoreTest, what_is_on_its_way_outlives_its_client_unless_the_store_is_in_it) {
  faults_.delay_lowest = faults_.delay_highest = 100ms;
  (void)land_on_fiber("r1");
  kernel_.run_until(50ms);
  node_.crash();
  kernel_.run_until(1s);
  EXPECT_EQ(orders(), 1U) << "a commit by the dead";
  node_.restart();
  faults_.in_process = true;
  (void)land_on_fiber("r2");
  kernel_.run_until(1s + 50ms);
  node_.crash();
  node_.restart();
  kernel_.run_until(2s);
  EXPECT_EQ(orders(), 1U);
}

TEST_F(SimStoreTest, an_operator_without_a_node_waits_outside_fibers) {
  SimStore nobody{&kernel_, database_, nullptr, faults_};
  EXPECT_TRUE(nobody.land(std::vector{intent("r1")}, start).has_value());
  EXPECT_GT(kernel_.now(), 0ns);
  SimStore direct{nullptr, database_, nullptr, faults_};
  EXPECT_EQ(direct.land(std::vector{intent("r1")}, start).value()[0].as, store::LandedAs::already_live);
}

}  // namespace
}  // namespace seckill::sim

// The SQLite store on a disk that is full or fails: a full disk changes nothing and passes, an unconfirmed commit ends
// the process. P5: nothing that was acknowledged is lost, nothing that was refused comes back.
#include <gtest/gtest.h>

#include "faulty_disk.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "temporary_folder.hpp"

namespace seckill::store {
namespace {

using base::Errc;

constexpr base::UtcMs now = 1'700'000'000'000;

class SqliteDisk : public testing::Test {
 protected:
  void open(std::int64_t data_bytes_max = 0) {
    auto opened = sqlite::open({.data_folder = folder_.path(), .data_bytes_max = data_bytes_max});
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    store_ = std::move(*opened);
  }
  void make_sale() {
    model::SaleItem item;
    item.sku = item_.sku;
    item.title = "thing";
    item.price_minor = 100;
    item.total = 100'000;
    model::Sale sale;
    sale.id = item_.sale;
    sale.title = "sale";
    sale.starts_at = now;
    sale.ends_at = now + 1'000;
    sale.items.push_back(item);
    ASSERT_TRUE(store_->create_sale(sale, {}).has_value());
    ASSERT_TRUE(store_->preload(sale.id, now, {}).has_value());
  }
  // A batch of 50 fresh orders, each with a kilobyte of fields.
  std::vector<model::LaneRecord> batch(int number) {
    std::vector<model::LaneRecord> records;
    for (int i = 0; i < 50; ++i) {
      model::OrderIntent intent;
      intent.item = item_;
      intent.buyer = model::BuyerId::parse("b" + std::to_string(number) + "-" + std::to_string(i)).value();
      intent.request_id = model::RequestId::parse("r").value();
      intent.lane = model::lane_of(intent.buyer.view(), 16);
      intent.ticket = model::derive_ticket({}, item_, intent.buyer, "r", intent.lane);
      intent.units = 1;
      intent.price_minor = 100;
      intent.limit = 1;
      intent.pay_window_ms = 1'000;
      intent.fields = std::make_shared<const std::string>(1'000, 'f');
      records.emplace_back(std::move(intent));
    }
    return records;
  }
  std::int64_t orders() {
    std::int64_t count = 0;
    EXPECT_TRUE(store_->visit_tickets(item_, [&](const TicketRow&) { ++count; }).has_value());
    return count;
  }
  void expect_sound(std::int64_t landed) {
    const ItemAudit audit = store_->audit_item(item_, now).value();
    EXPECT_EQ(audit.orders_held_units, landed);
    EXPECT_EQ(audit.lane_mismatch + audit.journal_mismatch + audit.buyer_units_mismatch, 0);
    EXPECT_EQ(orders(), landed);
  }

  TemporaryFolder folder_;
  const model::ItemKey item_{model::SaleId::parse("s").value(), model::Sku::parse("x").value()};
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteDisk, a_full_file_refuses_a_batch_whole_and_keeps_what_landed) {
  open(1 << 20);
  make_sale();
  int landed = 0;
  base::Result<std::vector<Landed>> result;
  while ((result = store_->land(batch(landed), now)) && landed < 1'000) ++landed;
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Errc::disk_full) << result.error().text();
  EXPECT_GT(landed, 3);
  expect_sound(landed * 50);
  EXPECT_EQ(store_->probe().error().code, Errc::disk_full);
  store_.reset();
  open();
  EXPECT_TRUE(store_->probe().has_value());
  ASSERT_TRUE(store_->land(batch(landed), now).has_value());
  expect_sound(landed * 50 + 50);
}

TEST_F(SqliteDisk, a_disk_that_fills_up_at_any_byte_of_a_commit_refuses_it_whole_and_passes) {
  const FaultyDisk disk;
  open();
  make_sale();
  int landed = 0;
  int refused = 0;
  // The log breaks off within a frame's head, within its page, and in the last frame, which would have made it real.
  for (std::int64_t bytes = 0; bytes < 400'000; bytes += bytes < 9'000 ? 515 : 3'001) {
    FaultyDisk::bytes_left = bytes;
    const auto result = store_->land(batch(landed), now);
    FaultyDisk::bytes_left = -1;
    if (result) {
      ++landed;
      EXPECT_GT(bytes, 50'000);
      continue;
    }
    ASSERT_EQ(result.error().code, Errc::disk_full) << result.error().text();
    if (++refused % 20 == 0) expect_sound(landed * 50);
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(landed, 0);
  ASSERT_TRUE(store_->land(batch(landed), now).has_value()) << "space is back";
  ++landed;
  expect_sound(landed * 50);
  store_.reset();
  open();
  expect_sound(landed * 50);
}

TEST_F(SqliteDisk, while_the_disk_is_full_reading_goes_on_and_the_probe_says_no) {
  const FaultyDisk disk;
  open();
  make_sale();
  ASSERT_TRUE(store_->land(batch(0), now).has_value());
  FaultyDisk::full = true;
  EXPECT_EQ(store_->probe().error().code, Errc::disk_full);
  EXPECT_EQ(store_->land(batch(1), now).error().code, Errc::disk_full);
  const EndCommand cancel{.ticket = std::get<model::OrderIntent>(batch(0)[0]).ticket,
                          .event = model::OrderEvent::cancel,
                          .now = now,
                          .buyer = {},
                          .payment_provider = {},
                          .payment_id = {}};
  EXPECT_EQ(store_->end_tickets({&cancel, 1}).error().code, Errc::disk_full);
  expect_sound(50);
  FaultyDisk::full = false;
  EXPECT_TRUE(store_->probe().has_value());
  EXPECT_EQ(store_->end_tickets({&cancel, 1}).value()[0].result, EndResult::done);
  store_.reset();
}

TEST_F(SqliteDisk, a_commit_that_the_disk_does_not_confirm_ends_the_process) {
  GTEST_FLAG_SET(death_test_style, "fast");
  const FaultyDisk disk;
  open();
  make_sale();
  EXPECT_DEATH(
      {
        FaultyDisk::sync_fails = true;
        (void)store_->land(batch(0), now);
      },
      "disk did not confirm a commit");
  store_.reset();
}

}  // namespace
}  // namespace seckill::store

// The engines that must keep the store's contract.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "simulation/devices/store/sim_database.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store_contract.hpp"

namespace seckill::store::contract {
namespace {

class SqlitePlace final : public Place {
 public:
  SqlitePlace() {
    std::string pattern = (std::filesystem::temp_directory_path() / "seckill-store-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    folder_ = pattern;
  }
  ~SqlitePlace() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  base::Result<std::unique_ptr<Store>> open() override { return sqlite::open({.data_folder = folder_}); }
  std::string backup_path() override { return folder_ + "/backup.db"; }
  std::unique_ptr<Place> from_backup() override {
    auto place = std::make_unique<SqlitePlace>();
    std::filesystem::copy_file(backup_path(), place->folder_ + "/" + sqlite::database_file);
    return place;
  }

 private:
  std::string folder_;
};

// The simulator's store: what makes its runs mean anything is that it passes here.
class SimulatedPlace final : public Place {
 public:
  base::Result<std::unique_ptr<Store>> open() override {
    return std::make_unique<sim::SimDatabase>(tables_, clock_, &files_);
  }
  std::string backup_path() override { return "backup/one"; }
  std::unique_ptr<Place> from_backup() override {
    auto place = std::make_unique<SimulatedPlace>();
    place->tables_ = files_.at(backup_path());
    return place;
  }
  void pass(std::chrono::milliseconds time) override { clock_.advance(time); }

 private:
  sim::Tables tables_;
  sim::SimDatabase::Files files_;
  base::ManualClock clock_;
};

}  // namespace

std::vector<Backend> backends() {
  return {{.name = "sqlite", .make_place = [] { return std::make_unique<SqlitePlace>(); }},
          {.name = "simulated",
           .make_place = [] { return std::make_unique<SimulatedPlace>(); },
           .outlives_its_process = false,
           .is_lane_authority = true}};
}

std::vector<Backend> lane_authorities() {
  std::vector<Backend> found = backends();
  std::erase_if(found, [](const Backend& backend) { return !backend.is_lane_authority; });
  return found;
}

std::string Shop::broken(base::UtcMs now) const {
  const auto result = store_.audit_item(key_, now);
  if (!result) return result.error().text();
  const ItemAudit& audit = *result;
  std::string text;
  const auto expect = [&](std::string_view what, std::int64_t value, std::int64_t wanted) {
    if (value != wanted) text += fmt::format("{} is {}, not {}; ", what, value, wanted);
  };
  std::int64_t in_lanes = 0;
  for (const LaneRow& lane : audit.stock.lanes) in_lanes += lane.stock.total();
  const ledger::LaneStock sum = sums();
  expect("P2: pool + lanes", audit.stock.pool + in_lanes, audit.stock.total);
  expect("held units of orders", audit.orders_held_units, sum.held);
  expect("sold units of orders", audit.orders_sold_units, sum.sold);
  expect("P3: buyers over cap", audit.buyers_over_cap, 0);
  expect("buyer_units mismatch", audit.buyer_units_mismatch, 0);
  expect("journal mismatch", audit.journal_mismatch, 0);
  expect("lane mismatch", audit.lane_mismatch, 0);
  expect("P7: paid without payment", audit.paid_without_payment, 0);
  expect("P7: payment without order", audit.payment_without_order, 0);
  expect("P6: overdue", audit.overdue, 0);
  return text;
}

}  // namespace seckill::store::contract

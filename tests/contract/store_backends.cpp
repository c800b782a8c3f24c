// The engines that must keep the store's contract.
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

}  // namespace seckill::store::contract

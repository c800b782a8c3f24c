// What the SQLite store does on this machine: orders landed with all their rows by group size, the disk's flush, ends,
// and what a restart with a million winners costs (open, read every ticket, audit).
//
// Usage: bench_store [folder [winners]]. Writes below `folder` (default: the current one), removes what it wrote,
// prints one figure a line: name value unit. No network.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "base/crypto.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace {

using namespace seckill;
using Clock = std::chrono::steady_clock;

constexpr base::UtcMs now = 1'700'000'000'000;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// CPU of this thread, kernel included: steady where other work shares the machine, and all that the disk does not cost.
double cpu_us() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

void figure(std::string_view name, double value, std::string_view unit) {
  fmt::print("{} {:.1f} {}\n", name, value, unit);
  std::fflush(stdout);
}

template <typename T>
T must(base::Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", result.error().text());
  std::exit(1);
}
void must(const base::Status& status) {
  if (status) return;
  fmt::print(stderr, "{}\n", status.error().text());
  std::exit(1);
}

double percentile(std::vector<double>& values, double share) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

class Folder {
 public:
  explicit Folder(const std::string& parent) {
    std::string pattern = parent + "/bench-store-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::exit(1);
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

model::Sale a_sale(std::int64_t total) {
  model::Sale sale;
  sale.id = model::SaleId::parse("bench").value();
  sale.title = "bench";
  sale.starts_at = now;
  sale.ends_at = now + 3'600'000;
  model::SaleItem item;
  item.sku = model::Sku::parse("sku-1").value();
  item.title = "a thing";
  item.price_minor = 1'999;
  item.total = total;
  item.limit = 2;
  sale.items.push_back(item);
  return sale;
}

// Buyers of 16 bytes and UUID request ids, as real ones are: no key order that an index could profit from.
model::LaneRecord intent_of(const model::Sale& sale, std::uint64_t number) {
  const auto hash = base::to_hex(base::siphash_128({7}, std::to_string(number)));
  model::OrderIntent intent;
  intent.item = {.sale = sale.id, .sku = sale.items[0].sku};
  intent.buyer = model::BuyerId::parse(hash.substr(0, 16)).value();
  const std::string uuid = fmt::format("{}-{}-{}-{}-{}", hash.substr(0, 8), hash.substr(8, 4), hash.substr(12, 4),
                                       hash.substr(16, 4), hash.substr(20, 12));
  intent.request_id = model::RequestId::parse(uuid).value();
  intent.lane = model::lane_of(intent.buyer.view(), 16);
  intent.ticket = model::derive_ticket(sale.ticket_key, intent.item, intent.buyer, uuid, intent.lane);
  intent.digest = base::xxh3_64(hash);
  intent.units = 1;
  intent.price_minor = sale.items[0].price_minor;
  intent.limit = sale.items[0].limit;
  intent.pay_window_ms = 900'000;
  intent.admitted_at = now;
  return intent;
}

// Lands `orders` in groups; reports the rate over the time inside the store and the p99 of a group.
void land(store::Store& store, const model::Sale& sale, std::int64_t orders, std::int64_t group,
          std::string_view name) {
  std::vector<double> batches;
  double total_ms = 0;
  double total_cpu_us = 0;
  for (std::int64_t done = 0; done < orders; done += group) {
    std::vector<model::LaneRecord> records;
    for (std::int64_t i = done; i < std::min(done + group, orders); ++i) {
      records.push_back(intent_of(sale, static_cast<std::uint64_t>(i)));
    }
    const auto start = Clock::now();
    const double cpu_before = cpu_us();
    (void)must(store.land(records, now + done / 10));
    total_cpu_us += cpu_us() - cpu_before;
    batches.push_back(ms_since(start));
    total_ms += batches.back();
  }
  figure(fmt::format("{}_per_s", name), static_cast<double>(orders) / total_ms * 1'000, "orders/s");
  figure(fmt::format("{}_cpu", name), total_cpu_us / static_cast<double>(orders), "us/order");
  figure(fmt::format("{}_p50", name), percentile(batches, 0.5), "ms");
  figure(fmt::format("{}_p99", name), percentile(batches, 0.99), "ms");
  figure(fmt::format("{}_max", name), batches.back(), "ms");
}

void group_run(const std::string& parent, std::int64_t orders, std::int64_t group) {
  const Folder folder{parent};
  const auto store = must(store::sqlite::open({.data_folder = folder.path()}));
  const model::Sale sale = a_sale(orders * 2);
  must(store->create_sale(sale, {}));
  must(store->preload(sale.id, now, {}));
  land(*store, sale, orders, group, fmt::format("landed_groups_of_{}", group));
}

void flush_run(const std::string& parent) {
  const Folder folder{parent};
  const int file = ::open((folder.path() + "/flush").c_str(), O_RDWR | O_CREAT, 0600);
  const std::string page(4'096, 'x');
  std::vector<double> times;
  for (int i = 0; i < 2'000; ++i) {
    const auto start = Clock::now();
    if (::pwrite(file, page.data(), page.size(), i * 4'096L) < 0 || ::fdatasync(file) != 0) std::exit(1);
    times.push_back(ms_since(start));
  }
  ::close(file);
  figure("disk_flush_p50", percentile(times, 0.5) * 1'000, "us");
  figure("disk_flush_p99", percentile(times, 0.99) * 1'000, "us");
}

void ends_run(store::Store& store, const model::Sale& sale, std::int64_t ends) {
  double total_ms = 0;
  for (std::int64_t done = 0; done < ends; done += 100) {
    std::vector<store::EndCommand> commands;
    for (std::int64_t i = done; i < done + 100; ++i) {
      store::EndCommand command;
      command.ticket = std::get<model::OrderIntent>(intent_of(sale, static_cast<std::uint64_t>(i * 7))).ticket;
      command.event = i % 2 == 0 ? model::OrderEvent::pay : model::OrderEvent::cancel;
      command.now = now;
      command.payment_provider = "bench";
      command.payment_id = std::to_string(i);
      commands.push_back(std::move(command));
    }
    const auto start = Clock::now();
    (void)must(store.end_tickets(commands));
    total_ms += ms_since(start);
  }
  figure("ends_groups_of_100_per_s", static_cast<double>(ends) / total_ms * 1'000, "ends/s");
}

void restart_run(const std::string& parent, std::int64_t winners) {
  const Folder folder{parent};
  const model::Sale sale = a_sale(winners * 2);
  {
    const auto store = must(store::sqlite::open({.data_folder = folder.path()}));
    must(store->create_sale(sale, {}));
    must(store->preload(sale.id, now, {}));
    land(*store, sale, winners, 500, fmt::format("landed_{}_in_groups_of_500", winners));
    ends_run(*store, sale, 20'000);
    const auto start = Clock::now();
    must(store->backup(folder.path() + "/backup"));
    figure("backup_ms", ms_since(start), "ms");
  }
  auto start = Clock::now();
  const auto store = must(store::sqlite::open({.data_folder = folder.path()}));
  figure("open_ms", ms_since(start), "ms");
  const model::ItemKey item{.sale = sale.id, .sku = sale.items[0].sku};
  start = Clock::now();
  std::int64_t seen = 0;
  must(store->visit_tickets(item, [&](const store::TicketRow& row) { seen += row.units; }));
  figure("visit_tickets_ms", ms_since(start), "ms");
  start = Clock::now();
  (void)must(store->audit_item(item, now));
  figure("audit_item_ms", ms_since(start), "ms");
  const auto bytes =
      static_cast<double>(std::filesystem::file_size(folder.path() + "/" + store::sqlite::database_file));
  figure("database_bytes_per_order", bytes / static_cast<double>(seen), "bytes");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string parent = argc > 1 ? argv[1] : ".";
  const std::int64_t winners = argc > 2 ? std::clamp(std::atoll(argv[2]), 140'000LL, 10'000'000LL) : 1'000'000;
  flush_run(parent);
  group_run(parent, 5'000, 1);
  group_run(parent, 200'000, 100);
  group_run(parent, 200'000, 500);
  restart_run(parent, winners);
  return 0;
}

// From start to ready with many winners in the store, which are all read back into lanes.
#include <algorithm>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/crypto.hpp"
#include "figures.hpp"
#include "model/purchase.hpp"
#include "shop_process.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace seckill::bench {
namespace {

constexpr std::size_t batch = 500;
constexpr std::uint32_t lanes = 16;

void land(store::Store& store, const model::Sale& sale, unsigned winners, base::UtcMs now) {
  const model::ItemKey item{sale.id, sale.items.front().sku};
  std::vector<model::LaneRecord> records;
  for (unsigned i = 0; i < winners; ++i) {
    model::OrderIntent intent;
    intent.item = item;
    intent.buyer = model::BuyerId::trusted(fmt::format("buyer-{:010}", i));
    intent.request_id = model::RequestId::trusted(fmt::format("0f8fad5b-d9cb-469f-a165-{:012x}", i));
    intent.lane = model::lane_of(intent.buyer.view(), lanes);
    intent.ticket = model::derive_ticket(sale.ticket_key, item, intent.buyer, intent.request_id.view(), intent.lane);
    intent.units = 1;
    intent.digest = model::content_digest(1, nullptr);
    intent.price_minor = sale.items.front().price_minor;
    intent.limit = 1;
    intent.pay_window_ms = sale.items.front().pay_window_ms;
    intent.admitted_at = now;
    records.emplace_back(intent);
    if (records.size() == batch || i + 1 == winners) {
      if (auto landed = store.land(records, now); !landed) throw std::runtime_error(landed.error().text());
      records.clear();
    }
  }
}

void fill(const std::filesystem::path& data, unsigned winners) {
  auto store = store::sqlite::open({.data_folder = data.string()});
  if (!store) throw std::runtime_error(store.error().text());
  const base::UtcMs now = base::SystemClock{}.now_utc();
  model::Sale sale;
  sale.id = model::SaleId::trusted("million");
  sale.title = "bench";
  sale.starts_at = now - 1'000;
  sale.ends_at = now + 86'400'000;
  sale.created_at = now;
  base::random_bytes(sale.ticket_key);
  model::SaleItem item;
  item.sku = model::Sku::trusted("item");
  item.title = "bench";
  item.price_minor = 9'900;
  // Lanes are filled by hash: room for the fullest of them.
  item.total = static_cast<std::int64_t>(winners) * 11 / 10 + 16'000;
  item.pay_window_ms = 86'400'000;
  item.lanes = lanes;
  sale.items.push_back(item);
  const store::AuditEntry audit{"bench", "sale.create", "{}", now};
  if (auto made = (*store)->create_sale(sale, audit); !made) throw std::runtime_error(made.error().text());
  if (auto loaded = (*store)->preload(sale.id, now, audit); !loaded) throw std::runtime_error(loaded.error().text());
  land(**store, sale, winners, now);
}

}  // namespace

void measure_restart(const std::string& binary, unsigned winners) {
  ShopProcess shop{binary, 0};
  fmt::print("# landing {} winners to restart with\n", winners);
  std::fflush(stdout);
  fill(shop.folder() / "data", winners);
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) {
    times.push_back(shop.start().count());
    const auto facts = shop.admin().verdict("million");
    if (!facts || !std::ranges::all_of(facts->promises, &rehearse::Promise::holds)) {
      throw std::runtime_error("a promise does not hold after the restart");
    }
    shop.stop();
  }
  std::ranges::sort(times);
  print_figure("restart_ready_s", times[1], "s");
}

}  // namespace seckill::bench

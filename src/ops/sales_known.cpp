// SaleDesk: how a node of a deployment hears of sales that another node put on. The store is asked each second; nobody
// is told.
#include <algorithm>

#include "ops/sale_desk.hpp"

namespace seckill::ops {
namespace {

// Each second; a sale costs the store a query, and one that was just put on is among the newest.
constexpr std::int64_t newest = 32;
// At start, and each half minute.
constexpr std::int64_t all = 2'000;
constexpr std::int64_t owed_looked_at = 1'000;

}  // namespace

base::Status SaleDesk::know_all() {
  auto known = know(all);
  auto owed = know_owed();
  return known ? owed : known;
}

base::Status SaleDesk::know_newest() { return know(newest); }

bool SaleDesk::knows(const model::ItemKey& item) const {
  const std::lock_guard lock{mutex_};
  return known_.contains(item);
}

base::Status SaleDesk::know(std::int64_t sales_max) {
  const auto sales = store_.list_sales(sales_max);
  if (!sales) return std::unexpected(sales.error());
  const base::UtcMs now = clock_.now_utc();
  base::Status first_trouble;
  for (const model::Sale& sale : *sales) {
    // A closed one may have tickets that have not ended; the store does not say since when it is closed.
    if (sale.state == model::SaleState::draft || long_over(sale, sale.ends_at, lanes_kept_ms_, now)) continue;
    const bool here = std::ranges::all_of(sale.items, [&](const model::SaleItem& item) {
      const model::ItemKey key{sale.id, item.sku};
      return knows(key) || given_back_.contains(key);
    });
    if (here) continue;
    if (auto installed = install(sale); !installed) {
      // Closed as a draft: it never had lanes.
      if (installed.error().code != base::Errc::refused && first_trouble) first_trouble = installed;
      continue;
    }
    changed_(sale.id);
  }
  return first_trouble;
}

// An end that is owed to a lane nobody knows would be owed for ever (P6).
base::Status SaleDesk::know_owed() {
  const auto owed = store_.pending_releases(owed_looked_at);
  if (!owed) return std::unexpected(owed.error());
  for (const store::PendingRelease& one : *owed) {
    if (knows(one.item)) continue;
    const auto sale = store_.find_sale(one.item.sale);
    if (!sale) return std::unexpected(sale.error());
    if (auto installed = install(*sale); !installed) return installed;
  }
  return {};
}

}  // namespace seckill::ops

// SaleDesk: sales that are over give their lanes back, so that a process that lives for years keeps only what is on
// sale (P9, FS-21). Afterwards everything is as after a restart that does not install them.
#include <algorithm>

#include "base/log.hpp"
#include "ops/sale_desk.hpp"

namespace seckill::ops {
namespace {

constexpr std::int64_t owed_max = 65'536;  // ends not told yet; with more of them nothing is given back
constexpr std::size_t given_back_max = 100'000;

}  // namespace

bool long_over(const model::Sale& sale, base::UtcMs since, std::int64_t lanes_kept_ms, base::UtcMs now) noexcept {
  std::int64_t window = 0;  // that long after the last purchase an order may wait for its payment
  for (const model::SaleItem& item : sale.items) window = std::max(window, item.pay_window_ms);
  return now > since + window + lanes_kept_ms;
}

base::Result<std::size_t> SaleDesk::retire_over() {
  const base::UtcMs now = clock_.now_utc();
  std::map<model::SaleId, std::vector<model::ItemKey>> by_sale;
  for (model::ItemKey& item : installed()) by_sale[item.sale].push_back(std::move(item));
  std::vector<model::ItemKey> candidates;
  for (const auto& [id, items] : by_sale) {
    const auto sale = store_.find_sale(id);
    if (!sale) return std::unexpected(sale.error());
    if (over_long_enough(*sale, now)) candidates.insert(candidates.end(), items.begin(), items.end());
  }
  if (candidates.empty()) return 0;
  const auto owed = store_.pending_releases(owed_max);
  if (!owed) return std::unexpected(owed.error());
  if (std::ssize(*owed) >= owed_max) return 0;
  std::size_t retired = 0;
  for (const model::ItemKey& item : candidates) {
    const auto rests = at_rest(item, *owed);
    if (!rests) return std::unexpected(rests.error());
    if (!*rests || !admission_.retire(item)) continue;
    forget(item);
    ++retired;
    base::log::info("lanes of {} are given back", item.text());
  }
  return retired;
}

// A sale may be closed long before its end; the store does not keep when.
bool SaleDesk::over_long_enough(const model::Sale& sale, base::UtcMs now) {
  base::UtcMs since = sale.ends_at;
  if (sale.state == model::SaleState::closed)
    since = std::min(since, closed_since_.try_emplace(sale.id, now).first->second);
  return long_over(sale, since, lanes_kept_ms_, now);
}

base::Result<bool> SaleDesk::at_rest(const model::ItemKey& item, std::span<const store::PendingRelease> owed) {
  if (std::ranges::find(owed, item, &store::PendingRelease::item) != owed.end()) return false;
  const auto stock = store_.item_stock(item);
  if (!stock) return std::unexpected(stock.error());
  return std::ranges::all_of(stock->lanes, [](const store::LaneRow& lane) { return lane.stock.held == 0; });
}

// The notes of this life, too: what they are for, the store knows by the changes' ids.
void SaleDesk::forget(const model::ItemKey& item) {
  std::erase_if(uncredited_, [&](const model::StockTransfer& one) { return one.item == item; });
  std::erase_if(in_pool_, [&](const InPool& one) { return one.item == item; });
  const std::string prefix = item.text() + ":";
  std::erase_if(asked_of_lanes_, [&](const std::string& one) { return one.starts_with(prefix); });
  if (given_back_.size() >= given_back_max) given_back_.clear();  // they are made known and given back once more
  given_back_.insert(item);
  const std::lock_guard lock{mutex_};
  known_.erase(item);
  std::erase(installed_, item);
  const bool last = std::ranges::none_of(installed_, [&](const auto& one) { return one.sale == item.sale; });
  if (last) closed_since_.erase(item.sale);
}

}  // namespace seckill::ops

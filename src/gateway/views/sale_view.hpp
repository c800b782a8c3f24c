// A sale as buyers see it, read from the store at one moment and rendered once: answering it copies text. Only what
// depends on the instant of the answer (server time, phase) is written each time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "model/sale.hpp"

namespace seckill::gateway {

// How often a page should ask again; told with every answer, so that the server sets the pace.
inline constexpr std::int64_t sale_poll_ms = 3'000;

// A stock figure shown and its age. Any thread; two threads may refresh it at once, both being right.
struct StockSnapshot {
  std::atomic<std::int64_t> read_at_ns{INT64_MIN};
  std::atomic<std::int64_t> about{0};
  std::atomic<bool> sold_out{false};
};

// Constant after construction but for the stock snapshots.
class SaleView {
 public:
  explicit SaleView(model::Sale sale);

  [[nodiscard]] const model::Sale& sale() const noexcept { return sale_; }
  [[nodiscard]] model::Phase phase(base::UtcMs now) const noexcept {
    return model::phase_at(sale_.state, sale_.starts_at, sale_.ends_at, now);
  }
  // Null when the sale has no such item.
  [[nodiscard]] const model::SaleItem* find(std::string_view sku) const noexcept;
  [[nodiscard]] StockSnapshot& stock(const model::SaleItem& item) const noexcept {
    return stock_[static_cast<std::size_t>(&item - sale_.items.data())];
  }

  // {"now_ms":…,"phase":"…","sale":…}
  [[nodiscard]] std::string sale_json(base::UtcMs now) const;
  // The same without now_ms, for lists.
  void append_listed(std::string& out, base::UtcMs now) const;
  // {"now_ms":…,"phase":"…","sale":…,"starts_at":…,…,"sku":…}
  [[nodiscard]] std::string item_json(const model::SaleItem& item, base::UtcMs now) const;

 private:
  model::Sale sale_;
  std::string head_;                // from `"sale":` to before `"items"`
  std::vector<std::string> items_;  // each item's members, without braces
  std::string tail_;                // `"items":[…]}`
  std::unique_ptr<StockSnapshot[]> stock_;
};

}  // namespace seckill::gateway

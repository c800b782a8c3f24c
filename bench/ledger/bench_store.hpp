// The two readings of a store that building lanes needs, from rows in memory; everything else is refused.
#pragma once

#include <fmt/format.h>

#include "ledger/lane_stock.hpp"
#include "store/store.hpp"

namespace seckill::bench {

class BenchStore final : public store::Store {
 public:
  void preload(std::int64_t units, std::uint32_t lanes) {
    stock_ = {.total = units, .pool = 0, .lanes = {}};
    for (std::uint32_t i = 0; i < lanes; ++i) {
      const std::int64_t share = ledger::preload_share(units, lanes, i);
      stock_.lanes.push_back({.lane = i, .generation = 1, .stock = {.available = share, .held = 0, .sold = 0}});
    }
  }
  // `count` winners of one unit each, as if all had been admitted and landed.
  void make_tickets(const model::Sale& sale, std::int64_t count) {
    const model::ItemKey key{.sale = sale.id, .sku = sale.items[0].sku};
    const auto lanes = static_cast<std::uint32_t>(stock_.lanes.size());
    for (store::LaneRow& row : stock_.lanes) row.stock = {};
    tickets_.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      store::TicketRow row;
      const auto n = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ULL;
      row.buyer = *model::BuyerId::parse(fmt::format("{:016x}", n));
      row.request_id = *model::RequestId::parse(
          fmt::format("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", n >> 32, n >> 48, n & 0xFFF, n >> 52, n >> 16));
      const model::LaneIndex lane = model::lane_of(row.buyer.view(), lanes);
      row.ticket = model::derive_ticket(sale.ticket_key, key, row.buyer, row.request_id.view(), lane);
      row.units = 1;
      stock_.lanes[lane].stock.held += 1;
      tickets_.push_back(row);
    }
  }
  base::Result<store::ItemStock> item_stock(const model::ItemKey&) override { return stock_; }
  base::Status visit_tickets(const model::ItemKey&,
                             const std::function<void(const store::TicketRow&)>& visitor) override {
    for (const store::TicketRow& row : tickets_) visitor(row);
    return {};
  }

  base::Status create_sale(const model::Sale&, const store::AuditEntry&) override { return no(); }
  base::Result<model::Sale> find_sale(const model::SaleId&) override { return no(); }
  base::Result<std::vector<model::Sale>> list_sales(std::int64_t) override { return no(); }
  base::Status update_sale(const model::Sale&, const store::AuditEntry&) override { return no(); }
  base::Status set_sale_state(const model::SaleId&, model::SaleState, model::SaleState,
                              const store::AuditEntry&) override {
    return no();
  }
  base::Status preload(const model::SaleId&, base::UtcMs, const store::AuditEntry&) override { return no(); }
  base::Status add_to_pool(const model::ItemKey&, std::int64_t, const std::string&, const store::AuditEntry&) override {
    return no();
  }
  base::Status take_from_pool(const model::ItemKey&, std::int64_t, const std::string&,
                              const store::AuditEntry&) override {
    return no();
  }
  base::Status pool_to_lanes(std::span<const model::StockTransfer>, const store::AuditEntry&) override { return no(); }
  base::Result<std::optional<std::int64_t>> pool_change(const model::ItemKey&, const std::string&) override {
    return no();
  }
  base::Result<std::optional<model::StockTransfer>> find_transfer(const std::string&) override { return no(); }
  base::Result<std::vector<store::Landed>> land(std::span<const model::LaneRecord>, base::UtcMs) override {
    return no();
  }
  base::Status fail_intent(const model::OrderIntent&, model::FailReason, base::UtcMs) override { return no(); }
  base::Result<std::vector<store::Ended>> end_tickets(std::span<const store::EndCommand>) override { return no(); }
  base::Result<std::vector<model::Ticket>> due_tickets(base::UtcMs, std::int64_t) override { return no(); }
  base::Result<std::vector<store::PendingRelease>> pending_releases(std::int64_t) override { return no(); }
  base::Status acknowledge_releases(std::span<const std::int64_t>) override { return no(); }
  base::Status acknowledge_released(std::span<const model::Ticket>) override { return no(); }
  base::Result<std::optional<store::Order>> find_order(const model::Ticket&) override { return no(); }
  base::Result<store::OrderPage> list_orders(const store::OrderQuery&) override { return no(); }
  base::Result<store::ItemAudit> audit_item(const model::ItemKey&, base::UtcMs) override { return no(); }
  base::Result<std::vector<store::AuditRow>> audit_log(std::int64_t, std::int64_t) override { return no(); }
  base::Status append_audit(const store::AuditEntry&) override { return no(); }
  base::Status backup(const std::string&) override { return no(); }
  base::Status probe() override { return no(); }

 private:
  static std::unexpected<base::Error> no() {
    return base::fail(base::Errc::unavailable, "asking the bench's store", "it only gives rows to build lanes from");
  }
  store::ItemStock stock_;
  std::vector<store::TicketRow> tickets_;
};

}  // namespace seckill::bench

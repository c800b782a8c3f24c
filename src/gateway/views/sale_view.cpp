#include "gateway/views/sale_view.hpp"

#include "gateway/json_text.hpp"

namespace seckill::gateway {
namespace {

std::string item_members(const model::SaleItem& item) {
  std::string out;
  append_word(out, "sku", item.sku.view());
  append_text(out, "title", item.title);
  append_member(out, "price_minor", item.price_minor);
  append_member(out, "list_price_minor", item.list_price_minor);
  append_member(out, "total", item.total);
  append_member(out, "limit", item.limit);
  append_member(out, "tickets_max", item.tickets_max);
  append_member(out, "pay_window_ms", item.pay_window_ms);
  append_key(out, "order_fields");
  out += '[';
  for (const std::string& field : item.order_fields) {
    if (out.back() != '[') out += ',';
    base::append_json_string(out, field);
  }
  out += ']';
  return out;
}

std::string sale_members(const model::Sale& sale) {
  std::string out;
  append_word(out, "sale", sale.id.view());
  append_text(out, "title", sale.title);
  append_word(out, "kind", model::name(sale.kind));
  append_word(out, "currency", sale.currency.view());
  append_member(out, "starts_at", sale.starts_at);
  append_member(out, "ends_at", sale.ends_at);
  append_word(out, "state", model::name(sale.state));
  append_member(out, "version", sale.version);
  append_member(out, "poll_ms", sale_poll_ms);
  return out;
}

}  // namespace

SaleView::SaleView(model::Sale sale)
    : sale_{std::move(sale)},
      head_{sale_members(sale_)},
      stock_{std::make_unique<StockSnapshot[]>(sale_.items.size())} {
  tail_ = ",\"items\":[";
  items_.reserve(sale_.items.size());
  for (const model::SaleItem& item : sale_.items) {
    items_.push_back(item_members(item));
    if (items_.size() > 1) tail_ += ',';
    tail_ += '{';
    tail_ += items_.back();
    tail_ += '}';
  }
  tail_ += "]}";
}

const model::SaleItem* SaleView::find(std::string_view sku) const noexcept {
  for (const model::SaleItem& item : sale_.items) {
    if (item.sku.view() == sku) return &item;
  }
  return nullptr;
}

void SaleView::append_listed(std::string& out, base::UtcMs now) const {
  out += "{\"phase\":\"";
  out += model::name(phase(now));
  out += "\",";
  out += head_;
  out += tail_;
}

std::string SaleView::sale_json(base::UtcMs now) const {
  std::string out;
  out.reserve(head_.size() + tail_.size() + 80);
  out += "{\"now_ms\":";
  append_number(out, now);
  out += ",\"phase\":\"";
  out += model::name(phase(now));
  out += "\",";
  out += head_;
  out += tail_;
  return out;
}

std::string SaleView::item_json(const model::SaleItem& item, base::UtcMs now) const {
  const std::string& members = items_[static_cast<std::size_t>(&item - sale_.items.data())];
  std::string out;
  out.reserve(members.size() + 240);
  out += '{';
  append_member(out, "now_ms", now);
  append_word(out, "phase", model::name(phase(now)));
  append_word(out, "sale", sale_.id.view());
  append_word(out, "currency", sale_.currency.view());
  append_member(out, "starts_at", sale_.starts_at);
  append_member(out, "ends_at", sale_.ends_at);
  append_word(out, "state", model::name(sale_.state));
  append_member(out, "version", sale_.version);
  append_member(out, "poll_ms", sale_poll_ms);
  out += ',';
  out += members;
  out += '}';
  return out;
}

}  // namespace seckill::gateway

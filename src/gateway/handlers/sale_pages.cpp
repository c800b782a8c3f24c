// What anybody may read: the server's time, sales, items and displayed stock. All from the view cache.
#include <utility>

#include "gateway/handlers/context.hpp"
#include "gateway/json_text.hpp"

namespace seckill::gateway {
namespace {

constexpr std::int64_t stock_age_max_ns = 500'000'000;  // with the view's own second, well within "about a second old"

// Calls `use(exchange, view)` when the sale is there; answers otherwise.
template <typename Use>
void with_view(BuyerContext& context, const RouteMatch& match, Exchange exchange, Use use) {
  const std::optional<model::SaleId> sale = model::SaleId::parse(match.sale);
  if (!sale) return exchange.refuse(Refusal::not_found);
  auto answer = [&context, use = std::move(use), exchange = std::move(exchange)](const ViewAnswer& known) mutable {
    switch (known.status) {
      case ViewStatus::found: return use(context, *known.view, exchange);
      case ViewStatus::not_found: return exchange.refuse(Refusal::not_found);
      case ViewStatus::unavailable: return refuse_unavailable(exchange);
    }
  };
  if (const std::optional<ViewAnswer> known = context.views.try_get(*sale)) return answer(*known);
  context.views.get(*sale, std::move(answer));
}

void count_view(BuyerContext& context, const SaleView& view) {
  context.counters.of_sale(view.sale().id.view()).count(FunnelStage::viewed);
}

// The lanes are asked at most every half second an item, however many look.
void refresh_stock(BuyerContext& context, const model::ItemKey& item, StockSnapshot& shown) {
  const std::int64_t now = context.parts.clock.steady_now().count();
  const std::int64_t read_at = shown.read_at_ns.load(std::memory_order_acquire);
  if (read_at != INT64_MIN && now - read_at < stock_age_max_ns) return;
  const admission::StockView stock = context.parts.admission.stock(item);
  shown.about.store(stock.known ? stock.available : 0, std::memory_order_relaxed);
  shown.sold_out.store(stock.known && stock.available == 0, std::memory_order_relaxed);
  shown.read_at_ns.store(now, std::memory_order_release);
}

}  // namespace

void handle_time(BuyerContext& context, Exchange exchange) {
  std::string body;
  body += '{';
  append_member(body, "now_ms", context.parts.clock.now_utc());
  body += '}';
  exchange.send_json(std::move(body));
}

void handle_sales(BuyerContext& context, Exchange exchange) {
  context.views.list([&context, exchange = std::move(exchange)](const ListAnswer& answer) mutable {
    if (answer.status != ViewStatus::found) return refuse_unavailable(exchange);
    const base::UtcMs now = context.parts.clock.now_utc();
    std::string body;
    body += '{';
    append_member(body, "now_ms", now);
    append_key(body, "sales");
    body += '[';
    for (const SaleViewPtr& view : *answer.list) {
      if (body.back() != '[') body += ',';
      view->append_listed(body, now);
    }
    body += "]}";
    exchange.send_json(std::move(body));
  });
}

void handle_sale(BuyerContext& context, const RouteMatch& match, Exchange exchange) {
  with_view(context, match, std::move(exchange), [](BuyerContext& ctx, const SaleView& view, Exchange& out) {
    count_view(ctx, view);
    out.send_json(view.sale_json(ctx.parts.clock.now_utc()));
  });
}

void handle_item(BuyerContext& context, const RouteMatch& match, Exchange exchange) {
  const std::optional<model::Sku> sku = model::Sku::parse(match.sku);
  if (!sku) return exchange.refuse(Refusal::not_found);
  with_view(context, match, std::move(exchange), [sku = *sku](BuyerContext& ctx, const SaleView& view, Exchange& out) {
    const model::SaleItem* item = view.find(sku.view());
    if (item == nullptr) return out.refuse(Refusal::not_found);
    count_view(ctx, view);
    out.send_json(view.item_json(*item, ctx.parts.clock.now_utc()));
  });
}

void handle_stock(BuyerContext& context, const RouteMatch& match, Exchange exchange) {
  const std::optional<model::Sku> sku = model::Sku::parse(match.sku);
  if (!sku) return exchange.refuse(Refusal::not_found);
  with_view(context, match, std::move(exchange), [sku = *sku](BuyerContext& ctx, const SaleView& view, Exchange& out) {
    const model::SaleItem* item = view.find(sku.view());
    if (item == nullptr) return out.refuse(Refusal::not_found);
    StockSnapshot& shown = view.stock(*item);
    refresh_stock(ctx, model::ItemKey{view.sale().id, sku}, shown);
    std::string body;
    body += '{';
    append_member(body, "about", shown.about.load(std::memory_order_relaxed));
    append_flag(body, "sold_out", shown.sold_out.load(std::memory_order_relaxed));
    append_word(body, "phase", model::name(view.phase(ctx.parts.clock.now_utc())));
    append_member(body, "poll_ms", sale_poll_ms);
    body += '}';
    out.send_json(std::move(body));
  });
}

}  // namespace seckill::gateway

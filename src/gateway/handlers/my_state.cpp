// GET …/me: one prefetch before the start. It tells the page who the buyer is, what he has and whether he may buy, and
// it leaves the token in the cache of verified ones, so that his click costs no signature. Asks the lanes, never the
// store.
#include <mutex>
#include <utility>
#include <vector>

#include "gateway/handlers/context.hpp"
#include "gateway/handlers/ended_sale.hpp"
#include "gateway/json_text.hpp"

namespace seckill::gateway {
namespace {

using Tickets = std::vector<admission::TicketView>;

constexpr std::int64_t orders_max = 1'000;  // of one buyer in one sale; more is beyond any page

void append_item(std::string& body, const model::SaleItem& item, const Tickets& tickets, bool over) {
  std::int64_t units = 0;
  for (const admission::TicketView& ticket : tickets) {
    if (ticket.live) units += ticket.units;
  }
  body += '{';
  append_word(body, "sku", item.sku.view());
  append_member(body, "units", units);
  append_member(body, "limit", item.limit);
  append_flag(body, "can_buy", !over && units < item.limit && tickets.size() < item.tickets_max);
  append_key(body, "tickets");
  body += '[';
  for (const admission::TicketView& ticket : tickets) {
    if (body.back() != '[') body += ',';
    body += '{';
    append_ticket(body, "ticket", ticket.ticket);
    append_member(body, "units", ticket.units);
    append_word(body, "state", model::name(ticket.state));
    append_flag(body, "live", ticket.live);
    body += '}';
  }
  body += "]}";
}

// Gathers the lanes' answers, which may come from several threads in any order; the last one sends.
class Gathering : public std::enable_shared_from_this<Gathering> {
 public:
  Gathering(BuyerContext& context, SaleViewPtr view, model::BuyerId buyer, Exchange exchange)
      : context_{context},
        view_{std::move(view)},
        buyer_{buyer},
        exchange_{std::move(exchange)},
        answers_(view_->sale().items.size()),
        missing_{answers_.size()} {}

  void take(std::size_t index, base::Result<Tickets> answer) {
    {
      const std::lock_guard lock{mutex_};
      if (answer) answers_[index] = std::move(*answer);
      failed_ = failed_ || !answer;
      if (--missing_ != 0) return;
    }
    if (failed_ && view_->phase(context_.parts.clock.now_utc()) == model::Phase::ended) return ask_store();
    send();
  }
  [[nodiscard]] const SaleView& view() const noexcept { return *view_; }
  [[nodiscard]] const model::BuyerId& buyer() const noexcept { return buyer_; }

 private:
  // Lanes that are gone answer nothing; once the sale has ended the store's rows say the same.
  void ask_store() {
    store::OrderQuery query;
    query.buyer = buyer_;
    query.sale = view_->sale().id;
    query.limit = orders_max;
    context_.parts.reads.list(query, [self = shared_from_this()](const base::Result<store::OrderPage>& page) {
      self->failed_ = !page;
      if (page) self->fill(page->orders);
      self->send();
    });
  }
  void fill(const std::vector<store::Order>& orders) {
    const std::vector<model::SaleItem>& items = view_->sale().items;
    for (Tickets& tickets : answers_) tickets.clear();
    for (const store::Order& order : orders) {
      for (std::size_t index = 0; index < items.size(); ++index) {
        if (items[index].sku == order.item.sku) answers_[index].push_back(ticket_view_of(order));
      }
    }
  }
  void send() {
    if (failed_) return refuse_unavailable(exchange_);
    const base::UtcMs now = context_.parts.clock.now_utc();
    const model::Phase phase = view_->phase(now);
    std::string body;
    body += '{';
    append_member(body, "now_ms", now);
    append_word(body, "sale", view_->sale().id.view());
    append_word(body, "phase", model::name(phase));
    append_text(body, "buyer", buyer_.view());
    append_key(body, "items");
    body += '[';
    for (std::size_t index = 0; index < answers_.size(); ++index) {
      if (index != 0) body += ',';
      append_item(body, view_->sale().items[index], answers_[index], phase == model::Phase::ended);
    }
    body += "]}";
    exchange_.send_json(std::move(body));
  }

  BuyerContext& context_;
  SaleViewPtr view_;
  model::BuyerId buyer_;
  Exchange exchange_;
  std::mutex mutex_;
  std::vector<Tickets> answers_;
  std::size_t missing_;
  bool failed_ = false;
};

void gather(BuyerContext& context, const ViewAnswer& known, const model::BuyerId& buyer, Exchange exchange) {
  if (known.status == ViewStatus::not_found) return exchange.refuse(Refusal::not_found);
  if (known.status == ViewStatus::unavailable) return refuse_unavailable(exchange);
  auto gathering = std::make_shared<Gathering>(context, known.view, buyer, std::move(exchange));
  const model::Sale& sale = gathering->view().sale();
  for (std::size_t index = 0; index < sale.items.size(); ++index) {
    context.parts.admission.buyer_tickets(
        model::ItemKey{sale.id, sale.items[index].sku}, buyer,
        [gathering, index](base::Result<Tickets> answer) { gathering->take(index, std::move(answer)); });
  }
}

}  // namespace

void handle_my_state(BuyerContext& context, const http::Request& request, const RouteMatch& match, Exchange exchange) {
  const std::optional<model::SaleId> sale = model::SaleId::parse(match.sale);
  if (!sale) return exchange.refuse(Refusal::not_found);
  const std::optional<model::BuyerId> buyer = logged_in_buyer(context, request, exchange);
  if (!buyer) return;
  if (const std::optional<ViewAnswer> known = context.views.try_get(*sale)) {
    return gather(context, *known, *buyer, std::move(exchange));
  }
  context.views.get(*sale, [&context, buyer = *buyer, exchange = std::move(exchange)](const ViewAnswer& known) mutable {
    gather(context, known, buyer, std::move(exchange));
  });
}

}  // namespace seckill::gateway

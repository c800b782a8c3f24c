#include "simulation/embedded/run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "reconcile/identities.hpp"
#include "simulation/devices/store/picture.hpp"

namespace seckill::sim::embedded {
namespace {

constexpr std::uint64_t events_max = 20'000'000;  // more is a run that goes round in circles
constexpr Time rest_longest = 15min;              // from the end of all faults until nothing is under way

}  // namespace

Run::Run(const Plan& plan, const Breakage& breakage)
    : plan_{plan},
      breakage_{breakage},
      setup_{setup_of(plan.seed)},
      kernel_{plan.seed},
      node_{kernel_.add_node("server")},
      database_{tables_, node_.clock()},
      oracle_{kernel_, tables_} {
  faults_.in_process = true;
  base::log::listen([this](base::log::Level level, std::string_view line) {
    kernel_.note(fmt::format("log: {}", line));
    if (level == base::log::Level::error) oracle_.complain("log", std::string{line});
  });
}

Run::~Run() {
  node_.crash();
  server_.reset();
  base::log::listen({});
}

model::ItemKey Run::key(std::int64_t item) const {
  return {setup_.sale.id, setup_.sale.items.at(static_cast<std::size_t>(item)).sku};
}
model::BuyerId Run::buyer(std::int64_t number) { return *model::BuyerId::parse(fmt::format("buyer-{}", number)); }
model::RequestId Run::request(std::int64_t number) { return *model::RequestId::parse(fmt::format("r{}", number)); }

RunResult Run::play() {
  const store::AuditEntry by_operator{.actor = "operator", .action = "sale", .detail = "{}", .at = kernel_.utc()};
  bool begun = database_.create_sale(setup_.sale, by_operator).has_value();
  begun = begun && database_.preload(setup_.sale.id, kernel_.utc(), by_operator).has_value();
  if (!begun) {
    oracle_.complain("world", "the sale cannot be made");
    return result();
  }
  kernel_.on_crash([this](Node&, Time down_for) { crashed(down_for); });
  boot();
  plan_steps();
  (void)run(setup_.plan_length + 1s, [] { return false; });
  heal();
  come_to_rest();
  sell_what_is_left();
  come_to_rest();
  return result();
}

// --- the server's lives ---

void Run::boot() {
  server_ = std::make_unique<Server>(node_, database_, faults_, unknown_permille_, setup_, breakage_);
  boot_thread_ = node_.threads().start("main", [this] {
    if (const auto opened = server_->open(); !opened) {
      kernel_.note("server: does not start: " + opened.error().text());
      kernel_.after(0s, [this, life = node_.life()] {  // the process ends, and is started again
        if (node_.life() == life) crash(1s);
      });
      return;
    }
    kernel_.note("server: open");
    const model::Sale sale = tables_.whole(tables_.sales.front());
    for (const model::SaleItem& item : sale.items) {
      oracle_.hold_alone({sale.id, item.sku}, model::terms_of(sale, item));
    }
    for (const auto& [id, step] : unfinished_) change(step);
  });
}

void Run::crash(Time down_for) {
  if (!node_.alive()) return;
  kernel_.note("server: killed");
  node_.crash();
  crashed(down_for);
}

void Run::crashed(Time down_for) {
  server_.reset();
  oracle_.check_store();
  kernel_.after(down_for, [this] {
    if (node_.alive()) return;
    node_.restart();
    boot();
  });
}

// --- looking ---

void Run::observe() {
  const bool open = serving();
  for (std::size_t i = 0; i < setup_.sale.items.size(); ++i) {
    const model::ItemKey item = key(static_cast<std::int64_t>(i));
    if (open) {
      oracle_.lanes_are(item, server_->admission().lanes(item));
    } else {
      oracle_.lanes_are(item, {});
    }
  }
  oracle_.step();
}

bool Run::run(Time longest, const std::function<bool()>& until) {
  bool holds = false;
  kernel_.run_until(
      [&] {
        observe();
        if (kernel_.events_run() > events_max) oracle_.complain("end", "the run goes round in circles");
        if (oracle_.complaint()) return true;
        holds = until();
        return holds;
      },
      longest);
  return holds && !oracle_.complaint();
}

// No more faults: what is switched on is switched off, and a server that is down comes up by itself.
void Run::heal() {
  healed_ = true;
  faults_ = StoreFaults{};
  faults_.in_process = true;
  unknown_permille_ = 0;
  kernel_.cancel_crashes();
  kernel_.note("world: no more faults");
  if (serving()) {
    for (const auto& [id, step] : unfinished_) change(step);
  }
}

bool Run::at_rest() {
  return serving() && server_->quiet() && unfinished_.empty() && tables_.outbox.empty() &&
         tables_.awaiting_payment.empty();
}

std::string Run::what_is_under_way() {
  return fmt::format("server {}, {}, {} changes to ask for again, {} events in the outbox, {} orders awaiting payment",
                     serving() ? "open" : "not open", serving() && server_->quiet() ? "quiet" : "busy",
                     unfinished_.size(), tables_.outbox.size(), tables_.awaiting_payment.size());
}

void Run::come_to_rest() {
  if (oracle_.complaint()) return;
  if (!run(rest_longest, [this] { return at_rest(); })) {
    return oracle_.complain(
        "P6", fmt::format("no rest {} minutes after the last fault: {}", rest_longest / 1min, what_is_under_way()));
  }
  // What was told at the last moment still reaches its lane.
  (void)run(2s, [] { return false; });
  for (std::size_t i = 0; i < setup_.sale.items.size(); ++i) {
    const model::ItemKey item = key(static_cast<std::int64_t>(i));
    oracle_.check_quiet(item, server_->admission().lanes(item));
    check_identities(item);
  }
}

void Run::check_identities(const model::ItemKey& item) {
  const reconcile::ItemPicture picture{
      .item = item, .store = store_picture(tables_, item), .lanes = {}, .now = kernel_.utc(), .grace_ms = 0};
  for (const reconcile::Difference& difference : reconcile::differences(picture)) {
    oracle_.complain("P2", "reconcile: " + difference.text);
  }
  if (server_->admission().lanes(item).empty()) return;
  for (const OrderRow& row : tables_.orders) {
    const store::Order& order = row.order;
    if (order.item != item) continue;
    server_->admission().find_ticket(
        item, order.buyer, order.ticket, [&](const base::Result<std::optional<admission::TicketView>>& mark) {
          const bool live = !model::is_ended(order.state);
          if (mark && mark->has_value() && (*mark)->live == live && (*mark)->units == order.units) return;
          oracle_.complain("P8", fmt::format("order {} is {}, and its mark says otherwise", order.ticket.str(),
                                             model::name(order.state)));
        });
  }
}

// P8: every unit that is in a lane now can be bought, and then it is sold out.
void Run::sell_what_is_left() {
  if (oracle_.complaint()) return;
  const model::Sale sale = tables_.whole(tables_.sales.front());
  if (model::phase_at(sale.state, sale.starts_at, sale.ends_at, kernel_.utc()) != model::Phase::open) return;
  if (sale.ends_at < kernel_.utc() + 3'600'000) return;  // it would end meanwhile
  for (std::size_t i = 0; i < sale.items.size(); ++i) {
    const model::ItemKey item = key(static_cast<std::int64_t>(i));
    observe();
    const std::int64_t left = oracle_.free_units(item);
    for (std::int64_t n = 0; n <= left; ++n) {
      const admission::AdmitRequest asked{.item = item,
                                          .buyer = *model::BuyerId::parse(fmt::format("last-{}", n)),
                                          .request_id = request(0),
                                          .units = 1,
                                          .digest = model::content_digest(1, nullptr),
                                          .fields = nullptr};
      const std::size_t question = oracle_.asked(asked);
      std::optional<admission::AdmitReply> reply;
      server_->admission().admit(asked, [&](admission::AdmitReply got) { reply = std::move(got); });
      if (!run(10s, [&] { return reply.has_value(); })) {
        return oracle_.complain("P8", "no answer to a purchase when everything is well");
      }
      oracle_.answered(question, *reply);
      const auto expected = n < left ? model::PurchaseAnswer::admitted : model::PurchaseAnswer::sold_out;
      if (reply->answer != expected) {
        oracle_.complain("P8", fmt::format("{} units of {} are left at rest; purchase {} was answered {}", left,
                                           item.text(), n + 1, model::name(reply->answer)));
      }
    }
  }
}

RunResult Run::result() {
  RunResult result;
  if (const auto& complaint = oracle_.complaint()) {
    kernel_.note(fmt::format("ORACLE: {}: {}", complaint->promise, complaint->what));
    result.violation = {.promise = complaint->promise, .what = complaint->what};
  }
  result.story = kernel_.story();
  result.fingerprint = kernel_.fingerprint();
  result.virtual_time = kernel_.now();
  result.purchases = oracle_.acknowledged();
  result.requests = oracle_.questions();
  result.events = kernel_.events_run();
  result.passages = kernel_.passages();
  result.crashed_at = kernel_.crashed_at();
  return result;
}

}  // namespace seckill::sim::embedded

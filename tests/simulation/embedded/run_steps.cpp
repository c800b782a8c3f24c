// The embedded world's steps: what buyers and operators do, what breaks.
#include <fmt/format.h>

#include <algorithm>

#include "simulation/embedded/embedded_world.hpp"
#include "simulation/embedded/run.hpp"

namespace seckill::sim::embedded {

void Run::plan_steps() {
  for (const Step& step : plan_.steps) {
    kernel_.after(step.at, [this, &step] {
      if (!healed_) play_step(step);
    });
  }
}

void Run::play_step(const Step& step) {
  if (step.what == step::buy) return buy(step);
  if (step.what == step::pay) return end(step, model::OrderEvent::pay);
  if (step.what == step::cancel) return end(step, model::OrderEvent::cancel);
  if (step.what == step::look) return look(step);
  if (step.what == step::kill) return crash(std::chrono::milliseconds{step.numbers.at(0)});
  if (step.what == step::faults || step.what == step::down || step.what == step::crash_at) return play_fault(step);
  // An edit that fails is given up: it names the version it was made for.
  if (step.what != step::edit) unfinished_.insert_or_assign(name_of(step), step);
  if (serving()) change(step);
}

void Run::play_fault(const Step& step) {
  if (step.what == step::crash_at) {
    const std::string& point = crash_points().at(static_cast<std::size_t>(step.numbers.at(0)));
    kernel_.crash_at(point, static_cast<std::uint64_t>(step.numbers.at(1)),
                     std::chrono::milliseconds{step.numbers.at(2)});
    return;
  }
  if (step.what == step::down) {
    faults_.down = true;
  } else {
    faults_.unavailable = static_cast<std::uint32_t>(step.numbers.at(0));
    faults_.disk_full = static_cast<std::uint32_t>(step.numbers.at(1));
    faults_.slow = static_cast<std::uint32_t>(step.numbers.at(2));
    unknown_permille_ = static_cast<std::uint32_t>(step.numbers.at(3));
  }
  kernel_.note("world: " + text(step));
  kernel_.after(std::chrono::milliseconds{step.numbers.back()}, [this, number = ++fault_number_] {
    if (number != fault_number_) return;
    kernel_.note("world: the store is well again");
    faults_ = StoreFaults{};
    faults_.in_process = true;
    unknown_permille_ = 0;
  });
}

// --- buyers ---

void Run::buy(const Step& step) {
  const auto content = step.numbers.at(4);
  admission::AdmitRequest asked;
  asked.item = key(step.numbers.at(0));
  asked.buyer = buyer(step.numbers.at(1));
  asked.request_id = request(step.numbers.at(2));
  asked.units = step.numbers.at(3);
  if (content != 0) asked.fields = std::make_shared<const std::string>(fmt::format(R"({{"receiver":"{}"}})", content));
  asked.digest = model::content_digest(asked.units, asked.fields);
  if (!serving()) return;  // the connection is refused
  kernel_.after(node_, 1us, [this, asked = std::move(asked), lost = step.numbers.at(5) != 0] {
    if (serving()) ask_for(asked, lost);
  });
}

void Run::ask_for(const admission::AdmitRequest& asked, bool reply_is_lost) {
  kernel_.passing("c1");
  if (!node_.alive()) return;
  const std::string who =
      fmt::format("{} {}/{} x{}", asked.item.sku.view(), asked.buyer.view(), asked.request_id.view(), asked.units);
  if (const auto early = server_->admission().early_answer(asked.item, asked.buyer.view(), asked.units)) {
    kernel_.note(fmt::format("{}: {} early", who, model::name(*early)));
    return oracle_.answered_early(asked.item, asked.buyer, asked.units, *early);
  }
  const std::size_t question = oracle_.asked(asked);
  kernel_.note(fmt::format("{}: asks", who));
  const auto answered = std::make_shared<bool>(false);
  server_->admission().admit(
      asked, [this, question, reply_is_lost, who, answered, life = node_.life()](const admission::AdmitReply& reply) {
        *answered = true;
        if (!node_.alive() || node_.life() != life) return;
        kernel_.note(fmt::format("{}: {}{}", who, model::name(reply.answer), reply_is_lost ? ", lost" : ""));
        replied(question, reply, reply_is_lost);
      });
  if (!*answered) kernel_.passing("c2");
}

void Run::replied(std::size_t question, const admission::AdmitReply& reply, bool reply_is_lost) {
  if (reply.ticket) kernel_.passing("c5");
  if (!node_.alive() || reply_is_lost) return;
  observe();
  oracle_.answered(question, reply);
}

void Run::end(const Step& step, model::OrderEvent event) {
  const auto ticket =
      oracle_.ticket_of(key(step.numbers.at(0)), buyer(step.numbers.at(1)), request(step.numbers.at(2)));
  if (!ticket || !serving()) return;
  auto done = [this, event, ticket = *ticket, life = node_.life(),
               known = oracle_.is_acknowledged(*ticket)](const base::Result<store::Ended>& ended) {
    if (!node_.alive() || node_.life() != life) return;
    kernel_.note(fmt::format("{} of {}: {}", model::name(event), ticket.str(),
                             ended ? fmt::format("result {}", static_cast<int>(ended->result)) : ended.error().text()));
    oracle_.ended(ticket, event, ended, known);
  };
  kernel_.after(node_, 1us, [this, event, ticket = *ticket, who = buyer(step.numbers.at(1)), done]() mutable {
    if (!serving()) return;
    if (event == model::OrderEvent::pay) return server_->pay().pay(ticket, who, std::move(done));
    store::EndCommand command;
    command.ticket = ticket;
    command.event = event;
    command.buyer = who;
    server_->ends().submit(std::move(command), std::move(done));
  });
}

// The store's row, else the mark, else the row once more: as orders/order_reads.cpp does.
void Run::look(const Step& step) {
  const model::ItemKey item = key(step.numbers.at(0));
  const model::BuyerId who = buyer(step.numbers.at(1));
  const auto ticket = oracle_.ticket_of(item, who, request(step.numbers.at(2)));
  if (!ticket || !serving()) return;
  server_->ask([this, item, who, ticket = *ticket] {
    const auto order = server_->store().find_order(ticket);
    if (!order) return;
    if (*order) return oracle_.looked_up(ticket, true);
    bool known = true;
    server_->admission().find_ticket(
        item, who, ticket,
        [&](const base::Result<std::optional<admission::TicketView>>& mark) { known = !mark || mark->has_value(); });
    oracle_.looked_up(ticket, known);
  });
}

// --- operators ---

void Run::change(const Step& step) {
  server_->operate([this, step](ops::SaleDesk& desk) {
    if (step.what == step::edit) return edit(desk, step);
    if (step.what == step::pause) return command(desk, step, model::SaleCommand::pause);
    if (step.what == step::resume) return command(desk, step, model::SaleCommand::resume);
    if (step.what == step::close) return command(desk, step, model::SaleCommand::close);
    move_stock(desk, step);
  });
}

// What an operator repeats until he has an answer: stock changes by their id; of commands to the sale the last one.
std::string Run::name_of(const Step& step) {
  const bool stock = step.what == step::top_up || step.what == step::reduce;
  return stock ? fmt::format("{} {} {}", step.what, step.numbers.at(0), step.numbers.at(2)) : "command";
}

void Run::finished(const Step& step, base::Errc* failed) {
  // not_found: the sale is closed, and a server that started afterwards has no lanes for it.
  const bool over = failed == nullptr || *failed == base::Errc::refused || *failed == base::Errc::already_exists ||
                    *failed == base::Errc::not_found;
  const auto waiting = unfinished_.find(name_of(step));
  if (waiting == unfinished_.end() || waiting->second.number != step.number) return;
  if (over) {
    unfinished_.erase(waiting);
    return;
  }
  if (!healed_) return;
  kernel_.after(node_, 1s, [this, step] {
    if (serving()) change(step);
  });
}

void Run::edit(ops::SaleDesk& desk, const Step& step) {
  const model::Sale sale = tables_.whole(tables_.sales.front());
  model::ItemEdit item;
  item.sku = sale.items.at(static_cast<std::size_t>(step.numbers.at(0))).sku;
  const std::int64_t value = step.numbers.at(2);
  switch (static_cast<EditedField>(step.numbers.at(1))) {
    case EditedField::limit: item.limit = value; break;
    case EditedField::price: item.price_minor = value; break;
    case EditedField::tickets_max: item.tickets_max = static_cast<std::uint32_t>(value); break;
    case EditedField::pay_window_ms: item.pay_window_ms = value; break;
  }
  const model::SaleEdit edit{.version = sale.version, .title = {}, .starts_at = {}, .ends_at = {}, .items = {item}};
  const auto edited = model::apply_edit(sale, edit, node_.clock().now_utc());
  if (!edited) return;
  for (const model::SaleItem& one : edited->items) oracle_.may_hold({sale.id, one.sku}, model::terms_of(*edited, one));
  const auto done = desk.edit(sale.id, edit, "operator");
  kernel_.note(fmt::format("operator: {}: {}", text(step), done ? "done" : done.error().text()));
  if (done) settle_terms();
}

void Run::command(ops::SaleDesk& desk, const Step& step, model::SaleCommand command) {
  model::Sale sale = tables_.whole(tables_.sales.front());
  if (const auto next = model::apply_command(sale.state, command); next && *next != sale.state) {
    sale.state = *next;
    ++sale.version;
    for (const model::SaleItem& one : sale.items) oracle_.may_hold({sale.id, one.sku}, model::terms_of(sale, one));
  }
  auto done = desk.command(sale.id, command, "operator");
  kernel_.note(fmt::format("operator: {}: {}", model::name(command), done ? "done" : done.error().text()));
  if (done) settle_terms();
  finished(step, done ? nullptr : &done.error().code);
}

// The desk has done it: what the store says holds in every lane.
void Run::settle_terms() {
  const model::Sale sale = tables_.whole(tables_.sales.front());
  for (const model::SaleItem& one : sale.items) oracle_.hold_alone({sale.id, one.sku}, model::terms_of(sale, one));
}

void Run::move_stock(ops::SaleDesk& desk, const Step& step) {
  const bool up = step.what == step::top_up;
  const ops::StockChange change{.units = step.numbers.at(1),
                                .id = fmt::format("{}-{}", up ? "up" : "down", step.numbers.at(2)),
                                .from_reserve = up && step.numbers.at(3) != 0};
  const model::ItemKey item = key(step.numbers.at(0));
  auto moved = up ? desk.top_up(item, change, "operator") : desk.reduce(item, change, "operator");
  kernel_.note(fmt::format(
      "operator: {}: {}", text(step),
      moved ? fmt::format("{} units{}", moved->units, moved->repeated ? ", repeated" : "") : moved.error().text()));
  finished(step, moved ? nullptr : &moved.error().code);
}

World world(Breakage breakage) {
  return {.name = "embedded", .draw = draw, .run = [breakage = std::move(breakage)](const Plan& plan) {
            return Run{plan, breakage}.play();
          }};
}

}  // namespace seckill::sim::embedded

#include "rehearse/crowd_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace seckill::rehearse {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// What a polite page does: it asks again a few times and then leaves it.
constexpr std::uint8_t click_tries_max = 8;
constexpr std::uint8_t status_tries_max = 40;
constexpr milliseconds answer_deadline{10'000};

}  // namespace

CrowdRun::CrowdRun(RunPlan plan)
    : plan_{std::move(plan)},
      client_{plan_.port, plan_.connections_max, answer_deadline,
              [this](std::uint64_t tag, const Response& response) { on_response(tag, response); }} {
  comebacks_.resize(plan_.crowd.size());
  decided_.resize(plan_.crowd.size() * 2);
}

std::uint64_t CrowdRun::clickers() const noexcept {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(plan_.crowd, [](const BuyerScript& buyer) { return buyer.clicking != Clicking::never; }));
}

std::int64_t CrowdRun::since_opening_ms() const {
  return std::chrono::floor<milliseconds>(SteadyClock::now() - plan_.opens_at).count();
}

base::Result<bool> CrowdRun::run(const OnProgress& on_progress) {
  if (auto opened = client_.open(); !opened) return std::unexpected(std::move(opened.error()));
  schedule_crowd();
  return drive(on_progress, plan_.opens_at + plan_.give_up_after);
}

ReplayProbe CrowdRun::probe_replays(const OnProgress& on_progress) {
  // Spread over half a second, and never more than the buyer's bucket allows at once.
  for (const Attempt* attempt : journal_.with_ticket()) {
    plan(Act::replay, attempt->buyer, attempt->request, dice_.between(0, 300));
    if (attempt->request == 0) plan(Act::conflict, attempt->buyer, attempt->request, dice_.between(350, 550));
  }
  drive(on_progress, SteadyClock::now() + milliseconds{8'000});
  return probe_;
}

bool CrowdRun::drive(const OnProgress& on_progress, Instant until) {
  Instant told{};
  while (!schedule_.empty() || client_.pending() > 0) {
    do_due();
    const Instant now = SteadyClock::now();
    if (now > until) return false;
    if (now - told >= milliseconds{100}) {
      told = now;
      const auto overdue = std::ranges::count_if(in_flight_, [](const Step& step) { return step.due != Instant{}; });
      if (!on_progress(Progress{since_opening_ms(), looked_, static_cast<std::size_t>(overdue)})) return false;
    }
    milliseconds wait{20};
    if (!schedule_.empty()) {
      wait = std::clamp(std::chrono::floor<milliseconds>(schedule_.top().due - now), milliseconds{0}, wait);
    }
    client_.step(wait);
  }
  return true;
}

void CrowdRun::schedule_crowd() {
  const auto at = [this](std::int32_t ms, std::uint32_t buyer, Act act, std::uint8_t request = 0) {
    schedule_.push(Step{plan_.opens_at + milliseconds{ms}, buyer, act, request, 0});
  };
  for (std::uint32_t buyer = 0; buyer < plan_.crowd.size(); ++buyer) {
    const BuyerScript& script = plan_.crowd[buyer];
    comebacks_[buyer] = script.comes_back;
    at(script.look_ms - 40, buyer, Act::view);
    at(script.look_ms, buyer, Act::look);
    if (script.early_ms != 0) at(script.early_ms, buyer, Act::click);
    switch (script.clicking) {
      case Clicking::never: break;
      case Clicking::once: at(script.click_ms, buyer, Act::click); break;
      case Clicking::twice:
        at(script.click_ms, buyer, Act::click);
        at(script.click_ms, buyer, Act::click);
        break;
      case Clicking::two_tabs:
        at(script.click_ms, buyer, Act::click, 0);
        at(script.click_ms, buyer, Act::click, 1);
        break;
    }
  }
}

void CrowdRun::plan(Act act, std::uint32_t buyer, std::uint8_t request, std::int64_t in_ms, std::uint8_t tries) {
  schedule_.push(Step{SteadyClock::now() + milliseconds{in_ms}, buyer, act, request, tries});
}

void CrowdRun::do_due() {
  const Instant now = SteadyClock::now();
  // A few at a time, so that answers are read in between.
  for (int i = 0; i < 512 && !schedule_.empty() && schedule_.top().due <= now; ++i) {
    const Step step = schedule_.top();
    schedule_.pop();
    perform(step);
  }
}

void CrowdRun::perform(const Step& step) {
  std::uint32_t tag = 0;
  if (free_tags_.empty()) {
    tag = static_cast<std::uint32_t>(in_flight_.size());
    in_flight_.push_back(step);
  } else {
    tag = free_tags_.back();
    free_tags_.pop_back();
    in_flight_[tag] = step;
  }
  client_.send(tag, bytes_of(step), step.act == Act::view || step.act == Act::look);
}

std::string CrowdRun::bytes_of(const Step& step) const {
  const BuyerScript& script = plan_.crowd[step.buyer];
  const RunItem& item = plan_.items[script.item];
  Request request;
  request.token = plan_.tokens[step.buyer];
  const std::string in_item = fmt::format("/api/v1/sales/{}/items/{}", plan_.sale, item.sku);
  const Attempt* attempt = journal_.find(step.buyer, step.request);
  const std::string ticket = attempt == nullptr ? std::string{} : attempt->ticket;
  switch (step.act) {
    case Act::view: request.target = fmt::format("/api/v1/sales/{}", plan_.sale); break;
    case Act::look: request.target = fmt::format("/api/v1/sales/{}/me", plan_.sale); break;
    case Act::click:
    case Act::replay:
    case Act::conflict: {
      request.post = true;
      request.target = in_item + "/purchases";
      request.idempotency_key = request_id(step.buyer, step.request);
      // Other content: another field where there is one, else another quantity.
      const bool other = step.act == Act::conflict;
      request.body = item.order_field.empty()
                         ? fmt::format(R"({{"quantity":{}}})", other ? 2 : 1)
                         : fmt::format(R"({{"quantity":1,"fields":{{"{}":"{}{}"}}}})", item.order_field,
                                       other ? "not " : "", buyer_name(step.buyer));
      break;
    }
    case Act::status: request.target = fmt::format("{}/tickets/{}", in_item, ticket); break;
    case Act::pay:
    case Act::cancel:
      request.post = true;
      request.target = fmt::format("/api/v1/orders/{}/{}", ticket, step.act == Act::pay ? "pay" : "cancel");
      break;
  }
  std::string bytes;
  bytes.reserve(640);
  append_request(bytes, request);
  return bytes;
}

void CrowdRun::on_response(std::uint64_t tag, const Response& response) {
  const Step step = std::exchange(in_flight_[tag], Step{});
  free_tags_.push_back(static_cast<std::uint32_t>(tag));
  const Answer answer = read_answer(response);
  switch (step.act) {
    case Act::view: return;
    case Act::look: ++looked_; return;
    case Act::click: on_click(step, answer); return;
    case Act::status: on_status(step, answer); return;
    case Act::pay:
      journal_.note_pay(step.buyer, step.request, answer);
      if (answer.status != 200) plan(Act::status, step.buyer, step.request, 300, step.tries);
      return;
    case Act::cancel:
      journal_.note_cancel(step.buyer, step.request, answer);
      if (answer.status != 200) plan(Act::status, step.buyer, step.request, 300, step.tries);
      return;
    case Act::replay:
    case Act::conflict: follow(step, answer); return;
  }
}

void CrowdRun::on_click(const Step& step, const Answer& answer) {
  const BuyerScript& script = plan_.crowd[step.buyer];
  const auto latency = std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - step.due).count();
  const auto latency_us = static_cast<std::uint32_t>(std::clamp<std::int64_t>(latency, 0, UINT32_MAX));
  journal_.note_click(step.buyer, step.request, script.item, answer, latency_us, since_opening_ms());
  if (answer.acknowledged()) return won(step);

  const bool ask_again = answer.status == 0 || answer.reason == "busy" || answer.reason == "rate_limited";
  if (ask_again && step.tries < click_tries_max) {
    // The same request id: whatever became of the first try, there is one ticket.
    plan(Act::click, step.buyer, step.request,
         std::max<std::int64_t>(answer.retry_after_ms, 300) + dice_.between(0, 500),
         static_cast<std::uint8_t>(step.tries + 1));
  } else if (answer.reason == "sold_out" && step.request == 0 && comebacks_[step.buyer] > 0) {
    --comebacks_[step.buyer];
    // Units of those who walked away come back when their time to pay is over.
    const std::int64_t until = std::max<std::int64_t>(plan_.pay_window_ms - since_opening_ms(), 0);
    if (since_opening_ms() < plan_.pay_window_ms + 2'000) {
      plan(Act::click, step.buyer, step.request, until + dice_.between(300, 1'500));
    }
  }
}

void CrowdRun::won(const Step& step) {
  const std::size_t slot = std::size_t{step.buyer} * 2 + step.request;
  if (decided_[slot]) return;  // the other half of a double click
  decided_[slot] = true;
  plan(Act::status, step.buyer, step.request, dice_.between(150, 600));
}

void CrowdRun::on_status(const Step& step, const Answer& answer) {
  journal_.note_status(step.buyer, step.request, answer);
  const Attempt* attempt = journal_.find(step.buyer, step.request);
  if (attempt == nullptr || is_final(attempt->progress) || step.tries >= status_tries_max) return;
  const BuyerScript& script = plan_.crowd[step.buyer];
  const auto tries = static_cast<std::uint8_t>(step.tries + 1);
  if (answer.status != 200 || attempt->progress != "awaiting_payment") {
    plan(Act::status, step.buyer, step.request, std::max<std::int64_t>(answer.retry_after_ms, 200 + 40 * step.tries),
         tries);
    return;
  }
  // Whoever got a returned unit does not walk away from it again: the rehearsal ends in stated time.
  const bool late = since_opening_ms() > plan_.pay_window_ms - 500;
  const AfterWin choice = late && script.after_win == AfterWin::walk_away ? AfterWin::pay : script.after_win;
  switch (choice) {
    case AfterWin::pay: plan(Act::pay, step.buyer, step.request, late ? 150 : script.decide_ms, tries); return;
    case AfterWin::cancel: plan(Act::cancel, step.buyer, step.request, late ? 150 : script.decide_ms, tries); return;
    case AfterWin::walk_away:
      plan(Act::status, step.buyer, step.request,
           step.tries == 0 ? std::max<std::int64_t>(plan_.pay_window_ms, 500) : 250, tries);
      return;
  }
}

void CrowdRun::follow(const Step& step, const Answer& answer) {
  if ((answer.reason == "rate_limited" || answer.reason == "busy" || answer.status == 0) &&
      step.tries < click_tries_max) {
    plan(step.act, step.buyer, step.request, std::max<std::int64_t>(answer.retry_after_ms, 200) + dice_.between(0, 300),
         static_cast<std::uint8_t>(step.tries + 1));
    return;
  }
  const Attempt* attempt = journal_.find(step.buyer, step.request);
  if (step.act == Act::conflict) {
    ++probe_.conflicts_asked;
    // A quantity above the limit is a bad request before anyone looks at the id.
    if (answer.reason == "request_conflict" || answer.reason == "bad_request") ++probe_.conflicts_refused;
  } else {
    ++probe_.asked;
    if (answer.status == 200 && attempt != nullptr && answer.ticket == attempt->ticket) ++probe_.same;
  }
}

}  // namespace seckill::rehearse

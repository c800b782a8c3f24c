#include "admission/redis/lane_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "admission/redis/packed_mark.hpp"
#include "base/assert.hpp"

namespace seckill::admission::redis {
namespace {

// What a record can hold, and a Lua number exactly: an intent that says more is refused by every rule, and only
// remembered as ended.
constexpr std::int64_t units_kept_max = 1LL << 53;
constexpr base::UtcMs time_kept_max = 253'402'300'799'000;  // the end of the year 9999

std::string text(std::int64_t number) { return std::to_string(number); }
std::string units_text(std::int64_t units) { return text(std::clamp(units, -units_kept_max, units_kept_max)); }
std::string time_text(base::UtcMs at) { return text(std::clamp<base::UtcMs>(at, 0, time_kept_max)); }
std::string fields_text(const model::OrderFields& fields) { return fields ? *fields : std::string{}; }

base::UtcMs expires_at(const model::ItemTerms& terms) {
  return std::min(std::min(terms.ends_at, time_kept_max) + terms.pay_window_ms + lane_life_after_ms, time_kept_max);
}

// starts_at, ends_at, state, price_minor, currency, limit, tickets_max, pay_window_ms, version
void add_terms(std::vector<std::string>& arguments, const model::ItemTerms& terms) {
  arguments.insert(arguments.end(),
                   {text(terms.starts_at), text(terms.ends_at), text(static_cast<std::int64_t>(terms.state)),
                    text(terms.price_minor), std::string{terms.currency.view()}, text(terms.limit),
                    text(terms.tickets_max), text(terms.pay_window_ms), text(terms.version)});
}

// As the row's state says; an intent that only the old lane knew is queued, and not yet known durable elsewhere.
std::uint32_t flags_of(const InstallTicket& ticket) {
  steps::LaneTicket kept;
  const model::OrderState state = ticket.row.state;
  kept.units_state = model::is_held(state)   ? steps::LaneUnits::held
                     : model::is_sold(state) ? steps::LaneUnits::sold
                                             : steps::LaneUnits::ended;
  kept.state = ticket.intent ? model::TicketState::queued : model::ticket_state(state);
  kept.published = !ticket.intent;
  return record_flags(kept);
}

}  // namespace

std::vector<std::string> admit_arguments(model::Generation generation, std::span<const LaneAsk> asks) {
  std::vector<std::string> arguments;
  arguments.reserve(1 + asks.size() * 6);
  arguments.push_back(text(generation));
  for (const LaneAsk& ask : asks) {
    arguments.push_back(ask.buyer.str());
    arguments.push_back(pack_request_id(ask.request_id));
    arguments.push_back(pack_ticket(ask.ticket));
    arguments.push_back(pack_digest(ask.digest));
    arguments.push_back(text(ask.units));
    arguments.push_back(fields_text(ask.fields));
  }
  return arguments;
}

std::vector<std::string> transfer_arguments(model::Generation generation, const LaneTransferRecord& transfer) {
  return {
      text(generation),        transfer.id, text(transfer.units), text(transfer.other), text(transfer.other_generation),
      text(transfer_memory_ms)};
}

std::vector<std::string> configure_arguments(const model::ItemTerms& terms) {
  std::vector<std::string> arguments;
  add_terms(arguments, terms);
  arguments.push_back(text(expires_at(terms)));
  return arguments;
}

std::vector<std::string> adopt_arguments(const model::OrderIntent& intent) {
  return {text(intent.generation),
          intent.buyer.str(),
          pack_request_id(intent.request_id),
          pack_ticket(intent.ticket),
          pack_digest(intent.digest),
          units_text(intent.units),
          time_text(intent.admitted_at),
          text(intent.limit),
          terms_line(intent.price_minor, intent.currency, intent.limit, intent.pay_window_ms),
          fields_text(intent.fields)};
}

std::vector<std::string> begin_arguments(const InstallPlan& plan) {
  SECKILL_ASSERT(plan.generation < 1U << 31, "P8: an epoch, by generation, stays a signed number");
  // By generation, so that not even a flush between two readings makes them equal.
  const auto epoch = static_cast<std::int64_t>(plan.generation) << 32;
  std::vector<std::string> arguments{text(plan.generation), std::to_string(plan.leader.token),
                                     text(plan.stock.available), text(epoch)};
  add_terms(arguments, plan.terms);
  arguments.push_back(text(expires_at(plan.terms)));
  arguments.push_back(text(lane_life_after_ms));
  return arguments;
}

std::vector<std::string> batch_arguments(const InstallPlan& plan, std::span<const InstallTicket> tickets) {
  std::vector<std::string> arguments{text(plan.generation), std::to_string(plan.leader.token)};
  arguments.reserve(arguments.size() + tickets.size() * 9);
  for (const InstallTicket& ticket : tickets) {
    const store::TicketRow& row = ticket.row;
    arguments.push_back(row.buyer.str());
    arguments.push_back(pack_request_id(row.request_id));
    arguments.push_back(pack_ticket(row.ticket));
    arguments.push_back(pack_digest(row.digest));
    arguments.push_back(units_text(row.units));
    arguments.push_back(time_text(row.admitted_at));
    arguments.push_back(text(flags_of(ticket)));
    const auto& intent = ticket.intent;
    arguments.push_back(intent ? terms_line(intent->price_minor, intent->currency, intent->limit, intent->pay_window_ms)
                               : "");
    arguments.push_back(intent ? fields_text(intent->fields) : "");
  }
  return arguments;
}

std::vector<std::string> open_arguments(const InstallPlan& plan) {
  return {text(plan.generation),        std::to_string(plan.leader.token),
          std::to_string(plan.tickets), text(plan.stock.available),
          text(plan.stock.held),        text(plan.stock.sold)};
}

}  // namespace seckill::admission::redis

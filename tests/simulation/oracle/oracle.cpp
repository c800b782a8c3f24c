#include "simulation/oracle/oracle.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace seckill::sim {

Oracle::Oracle(const Kernel& kernel, const Tables& tables, OracleRules rules)
    : kernel_{kernel}, tables_{tables}, rules_{rules} {}

void Oracle::complain(std::string_view promise, std::string what) {
  if (!complaint_) complaint_ = {.promise = std::string{promise}, .what = std::move(what)};
}

void Oracle::may_hold(const model::ItemKey& item, const model::ItemTerms& terms) {
  items_[item].terms.may_hold(terms, now());
}

void Oracle::hold_alone(const model::ItemKey& item, const model::ItemTerms& terms) {
  items_[item].terms.hold_alone(terms, now());
}

std::size_t Oracle::asked(const admission::AdmitRequest& request) {
  questions_.push_back({.request = request, .asked_at = now()});
  requests_[{request.item, request.buyer, request.request_id}].digests.push_back(request.digest);
  return questions_.size() - 1;
}

std::string Oracle::name_of(const Question& question) const {
  const admission::AdmitRequest& request = question.request;
  return fmt::format("{}'s request {} for {} of {}", request.buyer.view(), request.request_id.view(), request.units,
                     request.item.text());
}

void Oracle::answered(std::size_t number, const admission::AdmitReply& reply) {
  const Question& question = questions_.at(number);
  const admission::AdmitRequest& asked = question.request;
  Request& request = requests_[{asked.item, asked.buyer, asked.request_id}];
  if (reply.ticket && !reply.ticket->ticket.is_none()) {
    const model::Ticket& ticket = reply.ticket->ticket;
    if (reply.answer != model::PurchaseAnswer::request_conflict && request.ticket && *request.ticket != ticket) {
      complain("P4",
               fmt::format("{} was told ticket {} and now {}", name_of(question), request.ticket->str(), ticket.str()));
    }
    request.ticket = ticket;
    tickets_[ticket].item = asked.item;
  }
  switch (reply.answer) {
    case model::PurchaseAnswer::admitted:
    case model::PurchaseAnswer::replayed: return acknowledge(question, request, reply);
    case model::PurchaseAnswer::busy: return;  // undecided, or a ticket that is not known durable
    case model::PurchaseAnswer::sold_out:
    case model::PurchaseAnswer::limit_reached:
    case model::PurchaseAnswer::request_conflict:
    case model::PurchaseAnswer::not_started:
    case model::PurchaseAnswer::ended:
    case model::PurchaseAnswer::paused: return check_refusal(question, request, reply);
    case model::PurchaseAnswer::rate_limited:
    case model::PurchaseAnswer::challenge_required:
    case model::PurchaseAnswer::rejected_by_risk:
    case model::PurchaseAnswer::bad_token:
      complain("P4", fmt::format("{} got {}, which is no lane's answer", name_of(question), name(reply.answer)));
  }
}

void Oracle::acknowledge(const Question& question, Request& request, const admission::AdmitReply& reply) {
  const admission::AdmitRequest& asked = question.request;
  if (!reply.ticket || reply.ticket->ticket.is_none()) {
    return complain("P4", name_of(question) + " was admitted without a ticket");
  }
  const model::Ticket& ticket = reply.ticket->ticket;
  if (request.acknowledged && *request.acknowledged != asked.digest) {
    complain("P4", name_of(question) + " has other content than the request of this id that was admitted before");
  }
  if (request.acknowledged && reply.answer == model::PurchaseAnswer::admitted) {
    complain("P4", name_of(question) + " was admitted although it had been admitted before");
  }
  if (!request.acknowledged) ++acknowledged_;
  request.acknowledged = asked.digest;
  tickets_[ticket].acknowledged = true;
  const auto row = tables_.order_by_ticket.find(ticket);
  if (row == tables_.order_by_ticket.end()) {
    if (rules_.acknowledged_is_landed) {
      complain("P5",
               fmt::format("{} was told ticket {}, which the store does not know", name_of(question), ticket.str()));
    }
    return;
  }
  const store::Order& order = tables_.orders.at(static_cast<std::size_t>(row->second - 1)).order;
  if (order.buyer != asked.buyer || order.request_id != asked.request_id || order.digest != asked.digest ||
      order.units != asked.units) {
    complain("P4", fmt::format("{} was told ticket {}, which is of another request", name_of(question), ticket.str()));
  }
}

void Oracle::check_refusal(const Question& question, const Request& request, const admission::AdmitReply& reply) {
  const admission::AdmitRequest& asked = question.request;
  const auto why = [&](std::string_view text) {
    return fmt::format("{} was answered {}, but {}", name_of(question), name(reply.answer), text);
  };
  const bool conflict = reply.answer == model::PurchaseAnswer::request_conflict;
  if (request.acknowledged && !conflict) {
    complain("P4", why("a ticket was admitted under this request id"));
  }
  if (conflict && (std::ranges::all_of(request.digests, [&](std::uint64_t digest) { return digest == asked.digest; }) ||
                   request.acknowledged == asked.digest)) {
    complain("P4", why("nothing else was admitted under this request id"));
  }
  const TermsHistory& terms = items_[asked.item].terms;
  const base::UtcMs from = question.asked_at - rules_.clock_error_max.count();
  const base::UtcMs to = now() + rules_.clock_error_max.count();
  const auto may_be = [&](model::Phase phase) {
    return terms.may(from, to, [&](const model::ItemTerms& held) {
      return model::phase_at(held.state, held.starts_at, held.ends_at, from) == phase ||
             model::phase_at(held.state, held.starts_at, held.ends_at, to) == phase;
    });
  };
  if (reply.answer == model::PurchaseAnswer::not_started && !may_be(model::Phase::not_started)) {
    complain("P4", why("the sale had started"));
  }
  if (reply.answer == model::PurchaseAnswer::ended && !may_be(model::Phase::ended)) {
    complain("P4", why("the sale had not ended"));
  }
  if (reply.answer == model::PurchaseAnswer::paused && !may_be(model::Phase::paused)) {
    complain("P4", why("the sale was not paused"));
  }
  if (reply.answer == model::PurchaseAnswer::limit_reached) check_limit_reached(question, reply);
  if (reply.answer == model::PurchaseAnswer::sold_out) check_sold_out(asked.item, asked.units);
}

// A refusal by the limit needs a reason: other tickets that the buyer has or may have.
void Oracle::check_limit_reached(const Question& question, const admission::AdmitReply& reply) {
  const admission::AdmitRequest& asked = question.request;
  std::map<model::RequestId, std::int64_t> others;  // the most that each may have got
  for (const Question& other : questions_) {
    if (other.request.item != asked.item || other.request.buyer != asked.buyer) continue;
    if (other.request.request_id == asked.request_id) continue;
    std::int64_t& units = others[other.request.request_id];
    units = std::max(units, other.request.units);
  }
  std::int64_t units = 0;
  for (const auto& [id, most] : others) units += most;
  const bool reason = items_[asked.item].terms.may(
      question.asked_at - rules_.clock_error_max.count(), now(), [&](const model::ItemTerms& held) {
        return asked.units + units > held.limit || others.size() >= held.tickets_max;
      });
  if (!reason) {
    complain("P3", fmt::format("{} was answered limit_reached, but the buyer cannot have more than {} units in {} "
                               "other tickets",
                               name_of(question), units, others.size()));
  }
  for (const admission::TicketView& own : reply.own) {
    if (!rules_.acknowledged_is_landed || tables_.order_by_ticket.contains(own.ticket)) continue;
    complain("P5", fmt::format("{} was told his ticket {}, which the store does not know", asked.buyer.view(),
                               own.ticket.str()));
  }
}

void Oracle::check_sold_out(const model::ItemKey& key, std::int64_t units) {
  const Item& item = items_[key];
  if (item.known && item.free < units) return;
  const auto place = static_cast<std::size_t>(units);
  const bool ever = place < item.last_short.size() && item.last_short[place] >= Time{0};
  if (ever && kernel_.now() - item.last_short[place] <= rules_.sold_out_age_max) return;
  complain("P8", fmt::format("sold_out for {} of {}, but its lanes had {} free units for the last second", units,
                             key.text(), item.free));
}

void Oracle::answered_early(const model::ItemKey& key, const model::BuyerId& buyer, std::int64_t units,
                            model::PurchaseAnswer answer) {
  const base::UtcMs error = rules_.clock_error_max.count();
  const auto may_be = [&](model::Phase phase) {
    return items_[key].terms.may(now() - error, now(), [&](const model::ItemTerms& held) {
      return model::phase_at(held.state, held.starts_at, held.ends_at, now() - error) == phase ||
             model::phase_at(held.state, held.starts_at, held.ends_at, now() + error) == phase;
    });
  };
  const auto unfounded = [&] {
    complain("P4", fmt::format("{} was answered {} early, without reason", buyer.view(), name(answer)));
  };
  if (answer == model::PurchaseAnswer::not_started) {
    if (!may_be(model::Phase::not_started)) unfounded();
    return;
  }
  const auto first = requests_.lower_bound({key, buyer, {}});
  for (auto request = first; request != requests_.end(); ++request) {
    const auto& [item, whose, id] = request->first;
    if (item != key || whose != buyer) break;
    if (!request->second.acknowledged) continue;
    complain("P4", fmt::format("{} was answered {} early although he has a ticket", buyer.view(), name(answer)));
  }
  if (answer == model::PurchaseAnswer::sold_out) check_sold_out(key, units);
  if (answer == model::PurchaseAnswer::paused && !may_be(model::Phase::paused)) unfounded();
  if (answer == model::PurchaseAnswer::ended && !may_be(model::Phase::ended)) unfounded();
}

void Oracle::ended(const model::Ticket& number, model::OrderEvent event, const base::Result<store::Ended>& ended,
                   bool was_acknowledged) {
  if (!ended) return;  // unknown, or refused unasked
  Ticket& ticket = tickets_[number];
  if (ended->result == store::EndResult::not_found && was_acknowledged && rules_.acknowledged_is_landed) {
    complain("P5", fmt::format("ticket {} was acknowledged, and its {} finds no order", number.str(), name(event)));
  }
  if (ended->result != store::EndResult::done) return;
  if (ticket.done) {
    complain("P6", fmt::format("ticket {} ended twice: {} and {} were both told done", number.str(), name(*ticket.done),
                               name(event)));
  }
  ticket.done = event;
}

void Oracle::looked_up(const model::Ticket& number, bool known) {
  if (known || !tickets_[number].acknowledged) return;
  complain("P5", fmt::format("ticket {} was acknowledged, and its outcome says there is none", number.str()));
}

bool Oracle::is_acknowledged(const model::Ticket& number) const {
  const auto found = tickets_.find(number);
  return found != tickets_.end() && found->second.acknowledged;
}

std::int64_t Oracle::free_units(const model::ItemKey& item) const {
  const auto found = items_.find(item);
  return found == items_.end() || !found->second.known ? 0 : found->second.free;
}

std::optional<model::Ticket> Oracle::ticket_of(const model::ItemKey& item, const model::BuyerId& buyer,
                                               const model::RequestId& request) const {
  const auto found = requests_.find({item, buyer, request});
  return found == requests_.end() ? std::nullopt : found->second.ticket;
}

}  // namespace seckill::sim

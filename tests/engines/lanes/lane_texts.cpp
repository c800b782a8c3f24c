// Lanes, answers and what is in them, in words.
#include <fmt/format.h>

#include <algorithm>

#include "lanes/kept_lane.hpp"

namespace seckill::admission::redis::test {
namespace {

std::string fields_text(const model::OrderFields& fields) { return fields ? *fields : "-"; }

std::string text(const std::optional<steps::IntentTerms>& terms) {
  if (!terms) return "in store";
  return fmt::format("{} {} {} {} {}", terms->price_minor, terms->currency.view(), terms->limit, terms->pay_window_ms,
                     fields_text(terms->fields));
}

std::string text(const steps::LaneTicket& ticket) {
  return fmt::format("{} [{}] digest {} units {} at {} state {} units_state {} {} ({})", ticket.ticket.str(),
                     ticket.request_id.view(), ticket.digest, ticket.units, ticket.admitted_at,
                     model::name(ticket.state), static_cast<int>(ticket.units_state),
                     ticket.published ? "published" : "open", text(ticket.terms));
}

std::string text(const model::ItemTerms& terms) {
  return fmt::format("{}..{} state {} price {} {} limit {} tickets {} window {} version {}", terms.starts_at,
                     terms.ends_at, static_cast<int>(terms.state), terms.price_minor, terms.currency.view(),
                     terms.limit, terms.tickets_max, terms.pay_window_ms, terms.version);
}

std::string text(const LaneTransferRecord& record) {
  return fmt::format("{} {} {} other {} of {} at {}", record.id, record.debit ? "debit" : "credit", record.units,
                     record.other, record.other_generation, record.at);
}

std::string text(const ledger::LaneStock& stock) {
  return fmt::format("available {} held {} sold {}", stock.available, stock.held, stock.sold);
}

std::string sorted(std::vector<std::string> lines) {
  std::ranges::sort(lines);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string marks_text(const steps::LaneState& lane) {
  std::vector<std::string> lines;
  for (const steps::LaneMark& mark : lane.marks) {
    std::string line = fmt::format("mark [{}]", mark.buyer.view());
    for (const steps::LaneTicket& ticket : mark.tickets) line += "\n    " + text(ticket);
    lines.push_back(std::move(line));
  }
  return sorted(std::move(lines));
}

std::string intents_text(const steps::LaneState& lane) {
  std::vector<std::string> lines;
  for (const auto& [entry, intent] : lane.intents) {
    lines.push_back(fmt::format("intent {} claimed {}", intent.ticket.str(), intent.claimed_at));
  }
  return sorted(std::move(lines));
}

}  // namespace

std::string text(const steps::LaneState& lane) {
  std::string all =
      fmt::format("phase {} generation {} leader {} closed {}\n{}\nepoch {} tickets {} terms {}\n{}\n{}\n",
                  static_cast<int>(lane.phase), lane.generation, lane.leader, lane.closed_generation, text(lane.stock),
                  lane.epoch, lane.tickets, text(lane.terms), marks_text(lane), intents_text(lane));
  for (const auto& [id, memory] : lane.transfers) {
    all += fmt::format("transfer {} closed {}\n", text(memory.record), memory.closed_at);
  }
  for (const steps::LaneState& beside : lane.beside) all += "beside:\n" + text(beside);
  return all;
}

std::string text(const KeptLane& lane) {
  std::string all = text(lane.state);
  for (const std::string& fault : lane.faults) all += "FAULT " + fault + "\n";
  return all;
}

std::string text(LaneCode code) {
  switch (code) {
    case LaneCode::done: return "done";
    case LaneCode::closed: return "closed";
    case LaneCode::stale: return "stale";
    case LaneCode::foreign: return "foreign";
    case LaneCode::refused: return "refused";
  }
  return "?";
}

std::string text(const TicketView& ticket) {
  return fmt::format("{} units {} {} {}", ticket.ticket.str(), ticket.units, model::name(ticket.state),
                     ticket.live ? "live" : "ended");
}

std::string text(const model::OrderIntent& intent) {
  return fmt::format("{} {} [{}] [{}] digest {} lane {} generation {} units {} price {} {} limit {} window {} at {} {}",
                     intent.ticket.str(), intent.item.text(), intent.buyer.view(), intent.request_id.view(),
                     intent.digest, intent.lane, intent.generation, intent.units, intent.price_minor,
                     intent.currency.view(), intent.limit, intent.pay_window_ms, intent.admitted_at,
                     fields_text(intent.fields));
}

std::string text(const LaneDecisions& decisions) {
  std::string all = text(decisions.code);
  for (const LaneDecision& one : decisions.decisions) {
    all += fmt::format("\n  decision {}{}", static_cast<int>(one.decision), one.published ? " published" : "");
    if (one.ticket) all += "\n    ticket " + text(*one.ticket);
    if (one.intent) all += "\n    intent " + text(*one.intent);
    for (const TicketView& own : one.own) all += "\n    own " + text(own);
    for (const model::OrderIntent& own : one.own_unpublished) all += "\n    unpublished " + text(own);
  }
  return all;
}

std::string text(const LaneReading& reading) {
  if (!reading.known) return "not known";
  std::string all = fmt::format("generation {} {} {} epoch {} marks {} open intents {} oldest {}", reading.generation,
                                reading.open ? "open" : "closed", text(reading.stock), reading.epoch, reading.marks,
                                reading.open_intents, reading.oldest_open_intent);
  std::vector<std::string> transfers;
  for (const LaneTransferRecord& record : reading.transfers) transfers.push_back(text(record));
  return all + "\n" + sorted(std::move(transfers));
}

std::string text(const LaneScripts::FoundTickets& found) {
  std::string all = fmt::format("{} generation {}", text(found.code), found.generation);
  for (const TicketView& ticket : found.tickets) all += "\n  " + text(ticket);
  for (const model::OrderIntent& intent : found.unpublished) all += "\n  unpublished " + text(intent);
  return all;
}

std::string text(const LaneScripts::HolderPage& page) {
  std::vector<std::uint64_t> fingerprints = page.fingerprints;
  std::ranges::sort(fingerprints);
  return fmt::format("{} generation {} next {}: {}", text(page.code), page.generation, page.next,
                     fmt::join(fingerprints, " "));
}

std::string text(const LaneDebit& debit) { return fmt::format("{} {}", text(debit.code), debit.units); }

std::string text(const AdoptReply& reply) {
  return fmt::format("{} {} generation {}", text(reply.code), static_cast<int>(reply.adopted), reply.generation);
}

std::string text(const std::vector<model::OrderIntent>& intents) {
  std::vector<std::string> lines;
  for (const model::OrderIntent& intent : intents) lines.push_back(text(intent));
  return sorted(std::move(lines));
}

}  // namespace seckill::admission::redis::test

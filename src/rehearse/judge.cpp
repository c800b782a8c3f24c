// The crowd's own judgement: its journal against what the server says at the end.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "rehearse/journal.hpp"

namespace seckill::rehearse {
namespace {

bool is_live(std::string_view state) {
  return state == "awaiting_payment" || state == "closing" || state == "paid" || state == "parked";
}

std::map<std::string, const ServerOrder*> by_ticket(const ServerFacts& server) {
  std::map<std::string, const ServerOrder*> orders;
  for (const ServerOrder& order : server.orders) orders.emplace(order.ticket, &order);
  return orders;
}

Evidence never_oversold(const ServerFacts& server) {
  std::map<std::string, std::int64_t> live;
  for (const ServerOrder& order : server.orders) {
    if (is_live(order.state)) live[order.sku] += order.units;
  }
  std::int64_t units = 0;
  std::int64_t taken = 0;
  bool holds = true;
  for (const ServerItem& item : server.items) {
    units += item.total;
    taken += live[item.sku];
    holds = holds && live[item.sku] <= item.total && live[item.sku] == item.held + item.sold;
  }
  return {"P1", holds, fmt::format("{} of {} units in the orders listed one by one", taken, units)};
}

Evidence limit_kept(const ServerFacts& server) {
  std::map<std::pair<std::string, std::string>, std::int64_t> units;
  for (const ServerOrder& order : server.orders) {
    if (is_live(order.state)) units[{order.sku, order.buyer}] += order.units;
  }
  std::map<std::string, std::int64_t> limits;
  for (const ServerItem& item : server.items) limits[item.sku] = item.limit;
  std::uint64_t over = 0;
  for (const auto& [owner, owned] : units) over += owned > limits[owner.first] ? 1 : 0;
  return {"P3", over == 0, fmt::format("{} buyers own units, {} above the limit", units.size(), over)};
}

Evidence acknowledged_is_kept(const std::vector<const Attempt*>& attempts, const ServerFacts& server) {
  const auto orders = by_ticket(server);
  std::uint64_t acknowledged = 0;
  std::uint64_t lost = 0;
  for (const Attempt* attempt : attempts) {
    if (!attempt->acknowledged) continue;
    ++acknowledged;
    lost += orders.contains(attempt->ticket) ? 0 : 1;
  }
  return {"P5", lost == 0, fmt::format("{} tickets were acknowledged, {} are missing", acknowledged, lost)};
}

Evidence everything_ended(const std::vector<const Attempt*>& attempts, const ServerFacts& server) {
  std::uint64_t open = 0;
  for (const ServerOrder& order : server.orders) open += is_final(order.state) ? 0 : 1;
  const auto orders = by_ticket(server);
  std::uint64_t differ = 0;
  for (const Attempt* attempt : attempts) {
    const auto found = orders.find(attempt->ticket);
    if (found == orders.end()) continue;
    if (is_final(attempt->progress) && attempt->progress != found->second->state) ++differ;
  }
  return {"P6", open == 0 && differ == 0,
          fmt::format("{} tickets, {} without an end, {} that ended otherwise than the buyer was told",
                      server.orders.size(), open, differ)};
}

Evidence money_matches(const std::vector<const Attempt*>& attempts, const ServerFacts& server) {
  const auto orders = by_ticket(server);
  std::uint64_t payments = 0;
  std::uint64_t unmatched = 0;
  std::set<std::string> asked;
  for (const Attempt* attempt : attempts) {
    if (attempt->pay_asked) asked.insert(attempt->ticket);
    if (!attempt->paid) continue;
    ++payments;
    const auto found = orders.find(attempt->ticket);
    if (found == orders.end() || found->second->state != "paid") ++unmatched;
  }
  std::uint64_t unasked = 0;
  for (const ServerOrder& order : server.orders) {
    if (order.state == "paid" && order.amount_minor > 0 && !asked.contains(order.ticket)) ++unasked;
  }
  return {"P7", unmatched == 0 && unasked == 0,
          fmt::format("{} payments made, {} without a paid order, {} paid orders without a payment", payments,
                      unmatched, unasked)};
}

}  // namespace

std::vector<Evidence> Journal::judge(const ServerFacts& server, const ReplayProbe& probe) const {
  const auto attempts = with_ticket();
  std::vector<Evidence> all;
  all.push_back(never_oversold(server));
  all.push_back(limit_kept(server));

  // Two request ids never share a ticket, and one id never has two.
  std::set<std::string> tickets;
  std::uint64_t repeats = 0;
  for (const Attempt* attempt : attempts) {
    tickets.insert(attempt->ticket);
    repeats += attempt->answers > 1 ? attempt->answers - 1 : 0;
  }
  const bool one_each = tickets.size() == attempts.size() && counts_.ticket_changed == 0;
  const bool replays = probe.same == probe.asked && probe.conflicts_refused == probe.conflicts_asked;
  all.push_back(
      {"P4", one_each && replays,
       fmt::format("{} repeats in the rush and {} of {} after the end got their first ticket; {} of {} changed "
                   "requests refused",
                   repeats, probe.same, probe.asked, probe.conflicts_refused, probe.conflicts_asked)});
  all.push_back(acknowledged_is_kept(attempts, server));
  all.push_back(everything_ended(attempts, server));
  all.push_back(money_matches(attempts, server));

  std::uint64_t refused = 0;
  for (const auto& [reason, count] : refusals_) refused += count;
  all.push_back({"P9", counts_.refusal_bytes_max <= 96 && counts_.early_success == 0,
                 fmt::format("{} refusals of at most {} bytes, {} admitted before the opening, {} without an answer",
                             refused, counts_.refusal_bytes_max, counts_.early_success, counts_.no_answer)});
  return all;
}

}  // namespace seckill::rehearse

#include "rehearse/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace seckill::rehearse {
namespace {

constexpr int bar_columns = 40;

// By the square root, because an honest 0.5 % would be no column at all; the numbers beside it are exact.
std::string bar(std::int64_t part, std::int64_t whole) {
  if (part <= 0 || whole <= 0) return std::string(bar_columns, ' ');
  const double share = std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
  const int columns = std::max(1, static_cast<int>(std::lround(std::sqrt(share) * bar_columns)));
  std::string text;
  for (int i = 0; i < columns; ++i) text += "█";
  return text + std::string(static_cast<std::size_t>(bar_columns - columns), ' ');
}

std::string share(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "";
  return fmt::format("{:6.2f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string ms(std::uint32_t us) { return fmt::format("{:.1f} ms", us / 1'000.0); }

// What a stage counts, in words for someone who sees it for the first time.
std::string_view stage_meaning(std::string_view stage) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> meanings{{
      {"viewed", "views of the sale"},
      {"clicked", "purchase requests"},
      {"passed_gateway", "passed the gateway"},
      {"admitted", "got a unit and a ticket"},
      {"published", "handed to the landing"},
      {"ordered", "orders in the database"},
      {"paid", "paid"},
  }};
  const auto found = std::ranges::find(meanings, stage, &std::pair<std::string_view, std::string_view>::first);
  return found == meanings.end() ? std::string_view{} : found->second;
}

}  // namespace

std::string grouped(std::int64_t n) {
  std::string digits = fmt::format("{}", n < 0 ? -n : n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return n < 0 ? "-" + digits : digits;
}

std::string progress_line(const ProgressNumbers& numbers) {
  const double at = static_cast<double>(numbers.since_opening_ms) / 1'000;
  if (numbers.since_opening_ms < 0) {
    return fmt::format(
        "{:+5.1f} s  {} of {} looked in, {} clicked too early", at, grouped(static_cast<std::int64_t>(numbers.looked)),
        grouped(static_cast<std::int64_t>(numbers.people)), grouped(static_cast<std::int64_t>(numbers.counts.clicks)));
  }
  return fmt::format("{:+5.1f} s  {:>6} clicks/s  admitted {}  sold out {}  paid {}  returned {}  waiting {}", at,
                     grouped(static_cast<std::int64_t>(numbers.clicks_per_s)),
                     grouped(static_cast<std::int64_t>(numbers.counts.admitted)),
                     grouped(static_cast<std::int64_t>(numbers.sold_out)),
                     grouped(static_cast<std::int64_t>(numbers.counts.paid)),
                     grouped(static_cast<std::int64_t>(numbers.counts.cancelled + numbers.counts.expired)),
                     grouped(static_cast<std::int64_t>(numbers.waiting)));
}

std::string funnel_text(const ReportNumbers& numbers) {
  std::string text =
      fmt::format("Funnel · {} people, {} units of {} ({})\n", grouped(static_cast<std::int64_t>(numbers.people)),
                  grouped(numbers.units), numbers.title, numbers.kind);
  auto to = std::back_inserter(text);
  auto widest = static_cast<std::int64_t>(numbers.people);
  std::int64_t clicked = 0;
  for (const auto& [stage, count] : numbers.funnel.stages) {
    widest = std::max(widest, count);
    if (stage == "clicked") clicked = count;
  }
  // Shares are of the purchase requests: "useful passage" in the field's words.
  const auto row = [&](std::string_view name, std::int64_t count, std::string_view meaning) {
    const bool people = name == "people" || name == "viewed";
    fmt::format_to(to, "  {:<15} {:>9}  {}  {:>9}  {}\n", name, grouped(count), bar(count, widest),
                   people ? "" : share(count, clicked), meaning);
  };
  row("people", static_cast<std::int64_t>(numbers.people),
      fmt::format("{} of them clicked", grouped(static_cast<std::int64_t>(numbers.clickers))));
  for (const auto& [stage, count] : numbers.funnel.stages) row(stage, count, stage_meaning(stage));
  if (!numbers.refusals.empty()) {
    text += "  refused         ";
    for (std::size_t i = 0; i < numbers.refusals.size(); ++i) {
      fmt::format_to(to, "{}{} {}", i == 0 ? "" : " · ", numbers.refusals[i].first,
                     grouped(static_cast<std::int64_t>(numbers.refusals[i].second)));
    }
    text += "\n";
  }
  return text;
}

std::string outcome_text(const ReportNumbers& numbers) {
  std::int64_t total = 0;
  std::int64_t available = 0;
  for (const ServerItem& item : numbers.server.items) {
    total += item.total;
    available += item.available + item.pool;
  }
  std::map<std::string, std::int64_t> states;
  std::int64_t units_ever = 0;
  std::int64_t money = 0;
  for (const ServerOrder& order : numbers.server.orders) {
    ++states[order.state];
    if (order.state != "failed") units_ever += order.units;
    if (order.state == "paid") money += order.amount_minor;
  }
  std::string text = "Outcome\n";
  auto to = std::back_inserter(text);
  fmt::format_to(to, "  latency of a click  p50 {} · p99 {} · slowest {}\n", ms(numbers.p50_us), ms(numbers.p99_us),
                 ms(numbers.max_us));
  fmt::format_to(to, "  load                {} clicks, at most {} a second, over {} connections\n",
                 grouped(static_cast<std::int64_t>(numbers.counts.clicks)),
                 grouped(static_cast<std::int64_t>(numbers.peak_per_s)),
                 grouped(static_cast<std::int64_t>(numbers.connections)));
  fmt::format_to(to, "  orders              {} for {} units",
                 grouped(static_cast<std::int64_t>(numbers.server.orders.size())), grouped(total));
  for (const auto& [state, count] : states) fmt::format_to(to, " · {} {}", state, grouped(count));
  if (money == 0)
    text += states["paid"] > 0 ? "\n  payments            none: price 0\n" : "\n  payments            none\n";
  else
    fmt::format_to(to, "\n  payments            {} · {}.{:02} in all\n", grouped(states["paid"]), grouped(money / 100),
                   money % 100);
  fmt::format_to(to, "  returned            {} cancelled, {} not paid in time · {} units were sold again · {} left\n",
                 grouped(states["cancelled"]), grouped(states["expired"]),
                 grouped(std::max<std::int64_t>(0, units_ever - total)), grouped(available));
  return text;
}

bool JudgedPromise::holds() const {
  return server.holds && std::ranges::all_of(crowd, [](const Evidence& evidence) { return evidence.holds; });
}

std::vector<JudgedPromise> put_together(const Verdict& verdict, const std::vector<Evidence>& evidence) {
  std::vector<JudgedPromise> all;
  for (int number = 1; number <= 9; ++number) {
    const std::string name = fmt::format("P{}", number);
    JudgedPromise judged;
    judged.server = {name, "", "the server did not judge it", false};
    for (const Promise& promise : verdict.promises) {
      if (promise.promise == name) judged.server = promise;
    }
    std::ranges::copy_if(evidence, std::back_inserter(judged.crowd),
                         [&](const Evidence& one) { return one.promise == name; });
    all.push_back(std::move(judged));
  }
  return all;
}

bool all_hold(const std::vector<JudgedPromise>& promises) {
  return !promises.empty() && std::ranges::all_of(promises, &JudgedPromise::holds);
}

std::string verdict_text(const std::vector<JudgedPromise>& promises, ReportStyle style) {
  std::string text = "Verdict\n";
  auto to = std::back_inserter(text);
  for (const JudgedPromise& judged : promises) {
    const bool holds = judged.holds();
    const std::string_view colour = !style.colour ? "" : holds ? "\x1b[32m" : "\x1b[31;1m";
    fmt::format_to(to, "  {}{} {:<6}{} {:<30} {}\n", colour, judged.server.promise, holds ? "held" : "BROKEN",
                   style.colour ? "\x1b[0m" : "", judged.server.title, judged.server.detail);
    for (const Evidence& evidence : judged.crowd) {
      fmt::format_to(to, "            {:<30} {}{}\n", "  as the crowd saw it",
                     evidence.holds ? "" : "BROKEN: ", evidence.detail);
    }
  }
  return text;
}

}  // namespace seckill::rehearse

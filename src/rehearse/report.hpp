// The rehearsal's report as text, from numbers alone. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rehearse/admin_api.hpp"
#include "rehearse/journal.hpp"

namespace seckill::rehearse {

struct ReportStyle {
  bool colour = false;
};

// "20,000"
[[nodiscard]] std::string grouped(std::int64_t n);

// One line that says how things stand, at most 110 columns.
struct ProgressNumbers {
  std::int64_t since_opening_ms = 0;
  std::uint64_t people = 0;
  std::uint64_t looked = 0;
  std::uint64_t clicks_per_s = 0;
  std::uint64_t refused = 0;
  std::size_t waiting = 0;
  Journal::Counts counts;
  std::uint64_t sold_out = 0;
};
[[nodiscard]] std::string progress_line(const ProgressNumbers& numbers);

struct ReportNumbers {
  std::string title;
  std::string kind;
  std::uint64_t people = 0;
  std::uint64_t clickers = 0;
  std::int64_t units = 0;
  Funnel funnel;
  ServerFacts server;
  Journal::Counts counts;
  std::vector<std::pair<std::string, std::uint64_t>> refusals;  // as the crowd heard them
  std::uint32_t p50_us = 0;
  std::uint32_t p99_us = 0;
  std::uint32_t max_us = 0;
  std::uint64_t peak_per_s = 0;
  std::size_t connections = 0;
};
[[nodiscard]] std::string funnel_text(const ReportNumbers& numbers);
[[nodiscard]] std::string outcome_text(const ReportNumbers& numbers);

// The server's verdict with the crowd's own evidence beside it. A promise holds when neither says no; one that the
// server did not judge does not hold.
struct JudgedPromise {
  Promise server;
  std::vector<Evidence> crowd;
  [[nodiscard]] bool holds() const;
};
[[nodiscard]] std::vector<JudgedPromise> put_together(const Verdict& verdict, const std::vector<Evidence>& evidence);
[[nodiscard]] bool all_hold(const std::vector<JudgedPromise>& promises);
[[nodiscard]] std::string verdict_text(const std::vector<JudgedPromise>& promises, ReportStyle style);

}  // namespace seckill::rehearse

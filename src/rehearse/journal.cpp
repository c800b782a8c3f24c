#include "rehearse/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace seckill::rehearse {
namespace {

std::uint64_t key_of(std::uint32_t buyer, std::uint8_t request) { return (std::uint64_t{buyer} << 8) | request; }

}  // namespace

std::string buyer_name(std::uint32_t buyer) { return fmt::format("buyer-{:06}", buyer); }
std::string request_id(std::uint32_t buyer, std::uint8_t request) {
  return fmt::format("click-{:06}-{}", buyer, request);
}

Attempt& Journal::at(std::uint32_t buyer, std::uint8_t request) {
  Attempt& attempt = attempts_[key_of(buyer, request)];
  attempt.buyer = buyer;
  attempt.request = request;
  return attempt;
}

void Journal::heard(Attempt& attempt, const Answer& answer) {
  if (answer.ticket.empty()) return;
  if (attempt.ticket.empty()) attempt.ticket = answer.ticket;
  if (attempt.ticket != answer.ticket) ++counts_.ticket_changed;
  attempt.acknowledged = attempt.acknowledged || answer.acknowledged();
  const std::string_view now = answer.progress();
  if (now.empty() || now == attempt.progress) return;
  // Answers of a double click may arrive in either order; what has ended stays ended.
  if (is_final(attempt.progress) && !is_final(now)) return;
  if (now == "expired") ++counts_.expired;
  attempt.progress = now;
}

void Journal::note_click(std::uint32_t buyer, std::uint8_t request, std::uint16_t item, const Answer& answer,
                         std::uint32_t latency_us, std::int64_t at_ms) {
  ++counts_.clicks;
  ++by_second_[at_ms < 0 ? (at_ms - 999) / 1'000 : at_ms / 1'000];
  if (answer.status == 0) {
    ++counts_.no_answer;
    return;
  }
  latencies_.push_back(latency_us);
  if (answer.status == 202) {
    ++counts_.admitted;
    if (at_ms < 0) ++counts_.early_success;
  } else if (answer.status == 200) {
    ++counts_.replayed;
  } else {
    ++refusals_[answer.reason.empty() ? fmt::format("http_{}", answer.status) : answer.reason];
    // limit_reached and busy may carry tickets (DESIGN §6).
    if (answer.reason != "limit_reached" && answer.reason != "busy") {
      counts_.refusal_bytes_max = std::max(counts_.refusal_bytes_max, answer.body_bytes);
    }
  }
  if (answer.ticket.empty()) return;
  Attempt& attempt = at(buyer, request);
  attempt.item = item;
  ++attempt.answers;
  heard(attempt, answer);
}

void Journal::note_status(std::uint32_t buyer, std::uint8_t request, const Answer& answer) {
  if (answer.status == 200) heard(at(buyer, request), answer);
}

void Journal::note_pay(std::uint32_t buyer, std::uint8_t request, const Answer& answer) {
  Attempt& attempt = at(buyer, request);
  attempt.pay_asked = true;  // also when the answer was lost
  if (answer.status != 200) return;
  if (!attempt.paid) ++counts_.paid;
  attempt.paid = true;
  attempt.progress = "paid";
}

void Journal::note_cancel(std::uint32_t buyer, std::uint8_t request, const Answer& answer) {
  if (answer.status != 200) return;
  Attempt& attempt = at(buyer, request);
  if (!attempt.cancelled) ++counts_.cancelled;
  attempt.cancelled = true;
  attempt.progress = "cancelled";
}

const Attempt* Journal::find(std::uint32_t buyer, std::uint8_t request) const {
  const auto found = attempts_.find(key_of(buyer, request));
  return found == attempts_.end() ? nullptr : &found->second;
}

std::vector<const Attempt*> Journal::with_ticket() const {
  std::vector<const Attempt*> all;
  for (const auto& [key, attempt] : attempts_) {
    if (!attempt.ticket.empty()) all.push_back(&attempt);
  }
  return all;
}

std::uint32_t Journal::latency_us(double percent) const {
  if (latencies_.empty()) return 0;
  std::vector<std::uint32_t> sorted = latencies_;
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  const auto at = std::clamp<std::size_t>(static_cast<std::size_t>(rank), 1, sorted.size()) - 1;
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(at));
  return sorted[at];
}

}  // namespace seckill::rehearse

// What the crowd itself saw: every answer, noted on the client's side and never asked of the server again. The checks
// compare it with what the server says afterwards. Pure; one thread.
//
// Gives evidence for P1, P3, P4, P5, P6, P7 and P9 that does not rest on the server's own word.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rehearse/answer.hpp"

namespace seckill::rehearse {

// One request id and what it led to.
struct Attempt {
  std::uint32_t buyer = 0;
  std::uint8_t request = 0;  // which of his request ids
  std::uint16_t item = 0;
  std::string ticket;         // empty: never admitted
  std::string progress;       // the last thing heard of the ticket
  bool acknowledged = false;  // by a 200 or 202
  bool pay_asked = false;
  bool paid = false;  // his payment was answered with success
  bool cancelled = false;
  std::uint32_t answers = 0;  // to his clicks under this id
};

// What the server says at the end, as its operator reads it.
struct ServerOrder {
  std::string ticket;
  std::string buyer;
  std::string sku;
  std::string state;
  std::int64_t units = 0;
  std::int64_t amount_minor = 0;
};
struct ServerItem {
  std::string sku;
  std::int64_t total = 0;
  std::int64_t limit = 0;
  std::int64_t available = 0;
  std::int64_t held = 0;
  std::int64_t sold = 0;
  std::int64_t pool = 0;
};
struct ServerFacts {
  std::vector<ServerOrder> orders;
  std::vector<ServerItem> items;
};

// A promise as the crowd saw it kept or broken.
struct Evidence {
  std::string promise;  // "P4"
  bool holds = false;
  std::string detail;
};

// Asking again after the end: the same request ids must lead to the same tickets.
struct ReplayProbe {
  std::uint32_t asked = 0;
  std::uint32_t same = 0;
  std::uint32_t conflicts_asked = 0;  // other content under a used id
  std::uint32_t conflicts_refused = 0;
};

class Journal {
 public:
  // An answer to a click; `latency_us` counts from the moment he meant to click, `at_ms` from the opening.
  void note_click(std::uint32_t buyer, std::uint8_t request, std::uint16_t item, const Answer& answer,
                  std::uint32_t latency_us, std::int64_t at_ms);
  // An answer to a question about the ticket, to a payment or to a cancel.
  void note_status(std::uint32_t buyer, std::uint8_t request, const Answer& answer);
  void note_pay(std::uint32_t buyer, std::uint8_t request, const Answer& answer);
  void note_cancel(std::uint32_t buyer, std::uint8_t request, const Answer& answer);

  [[nodiscard]] const Attempt* find(std::uint32_t buyer, std::uint8_t request) const;
  [[nodiscard]] std::vector<const Attempt*> with_ticket() const;

  struct Counts {
    std::uint64_t clicks = 0;  // answers to clicks, "no answer" included
    std::uint64_t no_answer = 0;
    std::uint64_t admitted = 0;  // answered 202
    std::uint64_t replayed = 0;  // answered 200
    std::uint64_t paid = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t expired = 0;
    std::uint64_t early_success = 0;   // admitted before the opening: must stay 0
    std::uint64_t ticket_changed = 0;  // the same id led to two tickets: must stay 0
    std::size_t refusal_bytes_max = 0;
  };
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  // How often each reason was given as a refusal of a click.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& refusals() const noexcept { return refusals_; }
  // Answers to clicks in each second, from the first second with one.
  [[nodiscard]] const std::map<std::int64_t, std::uint64_t>& by_second() const noexcept { return by_second_; }
  // Latency of answered clicks; `percent` of them are not slower. 0 when there are none.
  [[nodiscard]] std::uint32_t latency_us(double percent) const;

  [[nodiscard]] std::vector<Evidence> judge(const ServerFacts& server, const ReplayProbe& probe) const;

 private:
  Attempt& at(std::uint32_t buyer, std::uint8_t request);
  void heard(Attempt& attempt, const Answer& answer);

  std::map<std::uint64_t, Attempt> attempts_;  // only of those who got a ticket
  std::map<std::string, std::uint64_t> refusals_;
  std::map<std::int64_t, std::uint64_t> by_second_;
  std::vector<std::uint32_t> latencies_;
  Counts counts_;
};

// The name a simulated buyer logs in with, and his request ids.
[[nodiscard]] std::string buyer_name(std::uint32_t buyer);
[[nodiscard]] std::string request_id(std::uint32_t buyer, std::uint8_t request);

}  // namespace seckill::rehearse

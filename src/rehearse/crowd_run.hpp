// Lets a crowd loose on a running server and notes what it hears. One thread drives all buyers from one schedule: when
// a buyer acts never depends on how fast the server answers others (an open loop), and latency counts from the moment
// he meant to act. Everything is bounded: retries, polls, connections and the time after the opening.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "rehearse/client.hpp"
#include "rehearse/crowd.hpp"
#include "rehearse/journal.hpp"

namespace seckill::rehearse {

struct RunItem {
  std::string sku;
  std::string order_field;  // a field his order carries; empty: none
  bool free = false;        // price 0: nothing to pay
};

struct RunPlan {
  std::uint16_t port = 0;
  std::size_t connections_max = 1'000;
  std::string sale;
  std::vector<RunItem> items;
  std::vector<BuyerScript> crowd;
  std::vector<std::string> tokens;  // one a buyer
  std::int64_t pay_window_ms = 0;   // 0: nothing expires
  std::chrono::steady_clock::time_point opens_at;
  std::chrono::milliseconds give_up_after{14'000};  // after the opening
};

// The state of affairs for a progress line.
struct Progress {
  std::int64_t since_opening_ms = 0;
  std::uint64_t looked = 0;
  std::size_t waiting = 0;  // sent or due, not yet answered
};

class CrowdRun {
 public:
  // Told about every 100 ms; false ends the run at once.
  using OnProgress = std::function<bool(const Progress&)>;

  explicit CrowdRun(RunPlan plan);

  // Runs until every buyer is done. True when it did, false when it was ended by `on_progress` or by the time limit.
  // Errc::unavailable: no event queue. Blocks.
  [[nodiscard]] base::Result<bool> run(const OnProgress& on_progress);
  // Asks again for every ticket, by the same request ids; to be called after run().
  [[nodiscard]] ReplayProbe probe_replays(const OnProgress& on_progress);

  [[nodiscard]] const Journal& journal() const noexcept { return journal_; }
  [[nodiscard]] std::size_t connections_peak() const noexcept { return client_.connections_peak(); }
  // Buyers who clicked at all.
  [[nodiscard]] std::uint64_t clickers() const noexcept;

 private:
  using Instant = std::chrono::steady_clock::time_point;

  enum class Act : std::uint8_t { view, look, click, status, pay, cancel, replay, conflict };
  struct Step {
    Instant due;
    std::uint32_t buyer = 0;
    Act act = Act::look;
    std::uint8_t request = 0;
    std::uint8_t tries = 0;  // so far
  };
  struct Later {
    bool operator()(const Step& a, const Step& b) const noexcept { return a.due > b.due; }
  };

  void schedule_crowd();
  void plan(Act act, std::uint32_t buyer, std::uint8_t request, std::int64_t in_ms, std::uint8_t tries = 0);
  void do_due();
  void perform(const Step& step);
  [[nodiscard]] std::string bytes_of(const Step& step) const;
  void on_response(std::uint64_t tag, const Response& response);
  void on_click(const Step& step, const Answer& answer);
  void on_status(const Step& step, const Answer& answer);
  void won(const Step& step);
  void follow(const Step& step, const Answer& answer);
  [[nodiscard]] std::int64_t since_opening_ms() const;
  bool drive(const OnProgress& on_progress, Instant until);

  RunPlan plan_;
  Journal journal_;
  ReplayProbe probe_;
  Dice dice_{7};
  std::priority_queue<Step, std::vector<Step>, Later> schedule_;
  std::vector<Step> in_flight_;  // by tag
  std::vector<std::uint32_t> free_tags_;
  std::vector<std::uint8_t> comebacks_;  // left, a buyer
  std::vector<bool> decided_;            // two a buyer: what he does with what he won is planned
  std::uint64_t looked_ = 0;
  Client client_;
};

}  // namespace seckill::rehearse

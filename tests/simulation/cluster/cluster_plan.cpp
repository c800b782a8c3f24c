#include "simulation/cluster/cluster_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace seckill::sim {
namespace {

// Points where a process may die, with how often a run passes them at most (roughly).
constexpr std::array crash_points{
    "c3",
    "c4",
    "c6",
    "c7",
    "c8",
    "c9",
    "lease.committed",
    "report.committed",
    "close.committed",
    "rebuild.asked",
    "rebuild.committed",
    "open.asked",
    "open.committed",
    "transfer.asked",
    "transfer.committed",
    "abandon.committed",
    "settle.committed",
    "lane.admit.executed",
    "lane.admit.replied",
    "lane.debit.replied",
    "lane.credit.replied",
    "lane.adopt.replied",
    "lane.install_begin.replied",
    "lane.install_batch.replied",
    "lane.install_open.replied",
    "lane.confirm_published.replied",
    "lane.claim_intents.replied",
    "lane.release.replied",
    "broker.published",
    "broker.confirmed",
    "broker.delivered",
    "broker.acked",
};

// A seed loses what lanes hold, or what the broker holds, never both: each is the other's second copy (P5 promises the
// loss of any one).
enum class Theme : std::uint8_t { calm, lanes, broker, store, nodes, modes };

class Drawer {
 public:
  Drawer(Random& random, ClusterPlan& plan) : random_{random}, plan_{plan} {}

  void shape() {
    plan_.api_nodes = static_cast<std::uint32_t>(random_.between(1, 3));
    plan_.workers = static_cast<std::uint32_t>(random_.between(1, 3));
    plan_.shards = static_cast<std::uint32_t>(random_.between(1, 3));
    plan_.partitions = static_cast<std::uint32_t>(random_.between(1, 3));
    plan_.lanes = static_cast<std::uint32_t>(random_.between(1, 4));
    plan_.total = random_.between(8, 40) + 8 * plan_.lanes;
    plan_.reserve = random_.chance(300) ? random_.between(1, 6) : 0;
    plan_.buyers = static_cast<std::uint32_t>(random_.between(4, plan_.total + 20));
    plan_.limit = random_.between(1, 3);
    plan_.price_minor = random_.chance(150) ? 0 : 9'900;
    plan_.pay_window_ms = random_.between(2, 15) * 1'000;
    plan_.sale_lasts = std::chrono::seconds{random_.between(15, 60)};
    for (std::uint32_t i = 0; i < plan_.api_nodes + plan_.workers; ++i) {
      plan_.skews_ms.push_back(random_.chance(300) ? random_.between(-100, 100) : 0);
    }
  }

  void rates() {
    const auto some = [&](std::int64_t most) {
      return random_.chance(500) ? static_cast<std::uint32_t>(random_.between(1, most)) : 0U;
    };
    StoreFaults& store = plan_.store_faults;
    store.unavailable = some(30);
    store.lost_request = some(20);
    store.lost_reply = some(30);
    store.late = some(20);
    store.slow = some(30);
    LaneCallFaults& lanes = plan_.lane_faults;
    lanes.not_sent = some(30);
    lanes.request_lost = some(30);
    lanes.reply_lost = some(30);
    lanes.late = some(20);
    lanes.lagging = some(100);
    BrokerFaults& broker = plan_.broker_faults;
    broker.lose_publish = some(50);
    broker.lose_confirm = some(50);
    broker.refuse = some(30);
    broker.duplicate = some(50);
    broker.late = some(50);
    broker.requeue_last = some(300);
    broker.lose_connection = some(10);
  }

  void crowd() {
    const std::int64_t clicks = random_.between(plan_.total, plan_.total * 3 + 20);
    for (std::int64_t i = 0; i < clicks; ++i) {
      const auto buyer = static_cast<std::uint32_t>(random_.below(plan_.buyers));
      // Most of the crowd is there at the start second.
      const Time at = random_.chance(600) ? Time{random_.between(0, 2'000'000'000)} : any_time();
      const auto request = static_cast<std::uint32_t>(random_.below(3));
      const auto units = static_cast<std::uint32_t>(random_.between(1, plan_.limit));
      const std::int64_t repeats = random_.chance(250) ? random_.between(1, 4) : 0;
      for (std::int64_t j = 0; j <= repeats; ++j) {
        add(at + Time{random_.between(0, 1'500'000'000) * (j > 0 ? 1 : 0)}, StepKind::buy, buyer, request, units);
      }
      if (random_.chance(400)) add(at + later(), StepKind::pay, buyer, request);
      if (random_.chance(200)) add(at + later(), StepKind::cancel, buyer, request);
      if (random_.chance(300)) add(at + later(), StepKind::outcome, buyer, request);
    }
  }

  void operators(bool modes) {
    for (std::int64_t i = random_.between(0, 4); i > 0; --i) {
      switch (random_.below(5)) {
        case 0: add(any_time(), StepKind::edit, limit(), static_cast<std::uint32_t>(random_.between(1, 3))); break;
        case 1: {
          const Time at = any_time();
          add(at, StepKind::pause);
          add(at + Time{random_.between(100'000'000, 4'000'000'000)}, StepKind::resume);
          break;
        }
        case 2: add(any_time(), StepKind::top_up, static_cast<std::uint32_t>(random_.between(1, 12))); break;
        case 3: add(any_time(), StepKind::reduce, static_cast<std::uint32_t>(random_.between(1, 12))); break;
        default: break;
      }
    }
    if (!modes) return;
    const Time at = any_time();
    if (random_.chance(500)) {
      add(at, StepKind::by_database);
      add(at + Time{random_.between(8'000'000'000, 30'000'000'000)}, StepKind::by_lanes);
    } else {
      add(at, StepKind::synchronous_on);
      add(at + Time{random_.between(1'000'000'000, 20'000'000'000)}, StepKind::synchronous_off);
    }
  }

  void faults(Theme theme) {
    constexpr std::array lanes_kinds{StepKind::fail_over, StepKind::split_brain, StepKind::roll_back,
                                     StepKind::flush,     StepKind::evict,       StepKind::restart_lanes,
                                     StepKind::move_slot, StepKind::pause_lanes, StepKind::slow_lanes};
    constexpr std::array broker_kinds{StepKind::broker_crash, StepKind::broker_alarm, StepKind::broker_disconnect,
                                      StepKind::broker_purge};
    constexpr std::array calm_kinds{StepKind::pause_lanes, StepKind::slow_lanes, StepKind::broker_disconnect,
                                    StepKind::broker_crash};
    for (std::int64_t i = random_.between(0, 4); i > 0; --i) {
      switch (theme) {
        case Theme::calm: break;
        case Theme::lanes: fault(lanes_kinds[random_.below(lanes_kinds.size())]); break;
        case Theme::broker: fault(broker_kinds[random_.below(broker_kinds.size())]); break;
        case Theme::store: fault(StepKind::store_down); break;
        case Theme::nodes: fault(StepKind::kill_node); break;
        case Theme::modes: fault(calm_kinds[random_.below(calm_kinds.size())]); break;
      }
    }
    if (theme == Theme::calm) return;
    for (std::int64_t i = random_.between(0, 2); i > 0; --i) fault(StepKind::kill_node);
    for (std::int64_t i = random_.between(0, 3); i > 0; --i) {
      plan_.crashes.push_back({.point = crash_points[random_.below(crash_points.size())],
                               .nth = static_cast<std::uint64_t>(random_.between(1, 12)),
                               .down_for = Time{random_.between(50'000'000, 12'000'000'000)}});
    }
  }

  // By time, and of one instant in the order drawn.
  void sort() {
    std::multimap<Time, ClusterStep> by_time;
    for (const ClusterStep& step : plan_.steps) by_time.emplace(step.at, step);
    plan_.steps.clear();
    for (const auto& [at, step] : by_time) plan_.steps.push_back(step);
  }

 private:
  [[nodiscard]] Time any_time() { return Time{random_.between(0, plan_.sale_lasts.count())}; }
  [[nodiscard]] Time later() { return Time{random_.between(200'000'000, plan_.pay_window_ms * 1'300'000)}; }
  [[nodiscard]] std::uint32_t limit() { return static_cast<std::uint32_t>(random_.between(1, 4)); }
  void fault(StepKind kind) {
    add(any_time(), kind, static_cast<std::uint32_t>(random_.below(1'000)),
        static_cast<std::uint32_t>(random_.between(50, 8'000)));
  }
  void add(Time at, StepKind kind, std::uint32_t a = 0, std::uint32_t b = 0, std::uint32_t c = 0) {
    plan_.steps.push_back({.at = at, .kind = kind, .a = a, .b = b, .c = c});
  }

  Random& random_;
  ClusterPlan& plan_;
};

}  // namespace

std::string_view name(StepKind kind) noexcept {
  switch (kind) {
    case StepKind::buy: return "buy";
    case StepKind::cancel: return "cancel";
    case StepKind::pay: return "pay";
    case StepKind::outcome: return "outcome";
    case StepKind::edit: return "edit";
    case StepKind::pause: return "pause";
    case StepKind::resume: return "resume";
    case StepKind::top_up: return "top_up";
    case StepKind::reduce: return "reduce";
    case StepKind::by_database: return "by_database";
    case StepKind::by_lanes: return "by_lanes";
    case StepKind::synchronous_on: return "synchronous_on";
    case StepKind::synchronous_off: return "synchronous_off";
    case StepKind::kill_node: return "kill_node";
    case StepKind::fail_over: return "fail_over";
    case StepKind::split_brain: return "split_brain";
    case StepKind::roll_back: return "roll_back";
    case StepKind::restart_lanes: return "restart_lanes";
    case StepKind::flush: return "flush";
    case StepKind::evict: return "evict";
    case StepKind::pause_lanes: return "pause_lanes";
    case StepKind::slow_lanes: return "slow_lanes";
    case StepKind::move_slot: return "move_slot";
    case StepKind::broker_crash: return "broker_crash";
    case StepKind::broker_alarm: return "broker_alarm";
    case StepKind::broker_disconnect: return "broker_disconnect";
    case StepKind::broker_purge: return "broker_purge";
    case StepKind::store_down: return "store_down";
  }
  return "?";
}

std::string ClusterStep::text() const {
  return fmt::format("{:.3f} s {} {} {} {}", std::chrono::duration<double>(at).count(), name(kind), a, b, c);
}

ClusterPlan draw_cluster_plan(std::uint64_t seed) {
  ClusterPlan plan;
  plan.seed = seed;
  Random random = Random{seed}.fork("plan");
  constexpr std::array themes{Theme::calm,  Theme::lanes, Theme::lanes, Theme::broker,
                              Theme::store, Theme::nodes, Theme::modes};
  const Theme theme = themes[random.below(themes.size())];
  Drawer draw{random, plan};
  draw.shape();
  if (theme != Theme::calm && random.chance(700)) draw.rates();
  draw.crowd();
  draw.operators(theme == Theme::modes);
  draw.faults(theme);
  draw.sort();
  return plan;
}

}  // namespace seckill::sim

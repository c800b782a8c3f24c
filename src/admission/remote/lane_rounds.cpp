#include "admission/remote/lane_rounds.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/log.hpp"

namespace seckill::admission::remote {
namespace {

constexpr std::uint32_t suspicions_to_report = 2;  // rounds in a row
constexpr std::int64_t clocks_apart_ms = 500;      // 200 ms between two machines at most, and a call's way
constexpr std::int64_t holder_pages_spare = 4'096;
constexpr std::size_t reports_max = 4'096;  // what is more is found again by the next rounds

}  // namespace

LaneRounds::LaneRounds(const Ports& ports, const Config& config, const ItemCopies& copies, const LaneCalls& calls,
                       Relay& relay, RemoteItems& items)
    : ports_{ports},
      config_{config},
      copies_{copies},
      calls_{calls},
      relay_{relay},
      items_{items},
      thread_{ports.threads, ports.random} {}

void LaneRounds::start() {
  thread_.start("lane-rounds", config_.sweep_period, [this] { round(); });
}

void LaneRounds::stop() { thread_.stop(); }

void LaneRounds::round() {
  send_reports();
  for (const ItemPtr& item : items_.all()) {
    if (thread_.stopping()) return;
    look(item);
  }
  send_reports();
}

void LaneRounds::look(const ItemPtr& item) {
  const CopyPtr copy = item->copy();
  // Whoever asks a lane anything acts on a fresh copy: a rebuild counts on it.
  if (!copies_.fresh(*copy)) return;
  const std::vector<std::int64_t> refusing = refusing_versions(*item, *copy);
  auto readings = calls_.read_all(*item, *copy);
  for (model::LaneIndex lane = 0; lane < item->lane_count; ++lane) {
    if (copy->lane(lane).state != store::LaneState::lane) continue;
    const bool open = readings[lane] && readings[lane]->open;
    const bool work = open && readings[lane]->open_intents > 0;
    if (open && refusing[lane] > 0) {
      const std::scoped_lock lock{item->lanes[lane].mutex};
      item->lanes[lane].refusing_reading = {
          .generation = readings[lane]->generation, .marks = readings[lane]->marks, .version = refusing[lane]};
    }
    const bool flag = refusing[lane] > 0 || item->sold_out.up(ports_.clock.steady_now());
    note(item, *copy, lane, std::move(readings[lane]));
    if (work && !thread_.stopping()) sweep(item, *copy, lane);
    if (open && flag && !thread_.stopping()) bring_holders(item, *copy, lane);
  }
}

// By lane: the version of the terms under which it refuses everybody by its own copy and clock, from now on until
// other terms come; 0: it may admit. Asked before the lanes are read, so that no mark is younger than the reading.
std::vector<std::int64_t> LaneRounds::refusing_versions(const RemoteItem& item, const ItemCopy& copy) const {
  std::vector<std::int64_t> versions(item.lane_count, 0);
  const model::ItemTerms& terms = copy.terms;
  const base::UtcMs now = ports_.clock.now_utc();
  const model::Phase phase = model::phase_at(terms.state, terms.starts_at, terms.ends_at, now);
  const bool by_state = terms.state == model::SaleState::paused || terms.state == model::SaleState::closed;
  const bool over = phase == model::Phase::ended && now >= terms.ends_at + clocks_apart_ms;
  if (!by_state && !over) return versions;
  for (model::LaneIndex index = 0; index < item.lane_count; ++index) {
    LaneState& lane = item.lanes[index];
    const std::scoped_lock lock{lane.mutex};
    const bool told =
        lane.configured_generation == copy.lane(index).row.generation && lane.configured_version == terms.version;
    if (told) versions[index] = terms.version;
  }
  return versions;
}

// A pass over the lane's marks, unless what is here is whole for the last reading. One that fails is begun again with
// the next round; until it is whole everybody is sent on to the lane.
void LaneRounds::bring_holders(const ItemPtr& item, const ItemCopy& copy, model::LaneIndex index) {
  LaneState& lane = item->lanes[index];
  model::Generation generation = 0;
  std::int64_t marks = 0;
  {
    const std::scoped_lock lock{lane.mutex};
    if (!lane.reading) return;
    generation = lane.reading->generation;
    marks = lane.reading->marks;
    if (generation != copy.lane(index).row.generation || lane.holders.whole(generation, marks)) return;
  }
  MarkHolders::Fingerprints found;
  found.reserve(static_cast<std::size_t>(marks));
  std::uint64_t cursor = 0;
  // A page names somebody or is one of the few empty ones of an engine whose table is being resized.
  for (std::int64_t page = 0; page <= marks + holder_pages_spare; ++page) {
    if (thread_.stopping()) return;
    const auto told = calls_.await<LaneScripts::HolderPage>([&](LaneAnswer<LaneScripts::HolderPage> answer) {
      calls_.scripts.mark_holders(item->lane_key(index), copy.server(index), cursor, std::move(answer));
    });
    if (!told || told->code != LaneCode::done || told->generation != generation) return;
    found.insert(told->fingerprints.begin(), told->fingerprints.end());
    cursor = told->next;
    if (cursor != 0) continue;
    const std::scoped_lock lock{lane.mutex};
    lane.holders.replace(generation, marks, std::move(found));
    return;
  }
}

void LaneRounds::sweep(const ItemPtr& item, const ItemCopy& copy, model::LaneIndex lane) {
  std::vector<Places::Place> places;
  while (places.size() < config_.sweep_intents_max) {
    auto place = relay_.try_reserve();
    if (!place) break;  // full, or the broker takes nothing: nothing is claimed that could not be published
    places.push_back(std::move(*place));
  }
  if (places.empty()) return;
  auto claimed = calls_.await<std::vector<model::OrderIntent>>([&](LaneAnswer<std::vector<model::OrderIntent>> answer) {
    calls_.scripts.claim_intents(item->lane_key(lane), copy.server(lane), config_.sweep_age.count(), places.size(),
                                 std::move(answer));
  });
  if (!claimed) return;
  std::vector<Relay::Publication> again;
  for (model::OrderIntent& intent : *claimed) {
    if (places.empty()) break;  // an engine that gave more than asked: claimed again in the next round
    again.push_back({.intent = std::move(intent), .place = std::move(places.back()), .done = [](const Relayed&) {}});
    places.pop_back();
  }
  relay_.publish(std::move(again));
}

void LaneRounds::note(const ItemPtr& item, const ItemCopy& copy, model::LaneIndex index,
                      base::Result<LaneReading> reading) {
  const model::Generation generation = copy.lane(index).row.generation;
  std::string why;
  if (reading) {
    if (!reading->known) why = "missing";
    if (reading->known && !reading->open) why = "closed";
  } else if (reading.error().code == base::Errc::stale && !copy.lane(index).run_id.empty()) {
    // No server at all: preloaded a moment ago, and the leader installs it without being told.
    why = "on a foreign server";
  }
  const std::chrono::nanoseconds now = ports_.clock.steady_now();
  LaneState& lane = item->lanes[index];
  {
    const std::scoped_lock lock{lane.mutex};
    if (reading) {
      lane.reading = std::move(*reading);
      lane.reading_at = now;
    }
    if (why.empty() || lane.suspected_generation != generation) lane.suspicions = 0;
    lane.suspected_generation = generation;
    if (why.empty() || ++lane.suspicions < suspicions_to_report) return;
    lane.suspicions = 0;
  }
  const std::scoped_lock lock{mutex_};
  if (reports_.size() < reports_max) reports_.push_back({item, index, generation, std::move(why)});
}

void LaneRounds::close_soon(const ItemPtr& item, std::string why) {
  const CopyPtr copy = item->copy();
  for (model::LaneIndex index = 0; index < item->lane_count; ++index) {
    const model::Generation generation = copy->lane(index).row.generation;
    {
      LaneState& lane = item->lanes[index];
      const std::scoped_lock lock{lane.mutex};
      lane.closed_here = std::max(lane.closed_here, generation);
    }
    const std::scoped_lock lock{mutex_};
    if (reports_.size() < reports_max) {
      reports_.push_back({.item = item, .lane = index, .generation = generation, .why = why, .for_good = true});
    }
  }
  thread_.wake();
}

// Else the leader's next look would open them again.
bool LaneRounds::want_closed(const Report& report) {
  const store::AuditEntry audit{.actor = "system",
                                .action = "lanes.close",
                                .detail = fmt::format(R"({{"item":"{}"}})", report.item->key.text()),
                                .at = ports_.clock.now_utc()};
  return ports_.authority.want_state(report.item->key, store::LaneState::closed, audit).has_value();
}

// What the store does not take now is tried again with the next round.
void LaneRounds::send_reports() {
  std::deque<Report> reports;
  {
    const std::scoped_lock lock{mutex_};
    reports.swap(reports_);
  }
  while (!reports.empty()) {
    const Report& report = reports.front();
    if (report.for_good && !want_closed(report)) break;
    const auto told = ports_.authority.report_lane(report.item->key, report.lane, report.generation, report.why);
    if (!told) break;
    base::log::warn("lane {} of {}, generation {}, was reported: {}", report.lane, report.item->key.text(),
                    report.generation, report.why);
    reports.pop_front();
  }
  if (reports.empty()) return;
  const std::scoped_lock lock{mutex_};
  for (Report& report : reports) {
    if (reports_.size() < reports_max) reports_.push_back(std::move(report));
  }
}

bool LaneRounds::overfull(LaneState& lane) const {
  const std::scoped_lock lock{lane.mutex};
  return lane.reading && lane.reading->open_intents > config_.open_intents_max;
}

}  // namespace seckill::admission::remote

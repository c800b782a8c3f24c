#include "admission/leading/lost_intents.hpp"

#include <algorithm>

#include "admission/leading/answers.hpp"
#include "base/assert.hpp"
#include "base/log.hpp"

namespace seckill::admission::leading {
namespace {

constexpr std::size_t message_max = 100;  // intents; the port's bound
// So that queues which nobody empties do not keep the leader from looking at lanes.
constexpr std::chrono::seconds barrier_again_after{2};

}  // namespace

LostIntents::LostIntents(RebuildPorts ports, LostIntentsConfig config) : ports_{ports}, config_{config} {
  SECKILL_ASSERT(config_.partitions >= 1 && config_.rows_a_look >= 1, "a look has bounds");
}

void LostIntents::note(const LaneKey& lane, const store::LaneAuthorityRow& row, const LaneReading& reading) {
  const std::int64_t in_lane = reading.stock.held + reading.stock.sold;
  const std::int64_t in_row = row.row.stock.held + row.row.stock.sold;
  if (in_lane <= in_row) {
    watched_.erase(lane);
    return;
  }
  const auto [found, fresh] = watched_.try_emplace(lane);
  Watched& watched = found->second;
  if (fresh || watched.generation != row.row.generation || in_row >= watched.least) {
    watched = {.generation = row.row.generation,
               .server = {.run_id = row.run_id, .replication_id = row.replication_id},
               .since = ports_.threads.now(),
               .least = in_lane};
    return;
  }
  watched.least = std::min(watched.least, in_lane);
}

void LostIntents::look(const StillLeads& still_leads) {
  if (ports_.threads.now() < not_before_) return;
  std::size_t rows_left = config_.rows_a_look;
  for (auto at = watched_.begin(); at != watched_.end();) {
    const auto one = at++;
    auto& [lane, watched] = *one;
    if (!watched.passing && ports_.threads.now() - watched.since < config_.patience) continue;
    if (!still_leads()) return;
    if (!watched.passing && !begin(lane, watched)) return;
    if (!pass(lane, watched, rows_left)) return;
    watched_.erase(one);  // short again: watched anew
  }
}

bool LostIntents::begin(const LaneKey& lane, Watched& watched) {
  const base::UtcMs before = ports_.clock.now_utc() - config_.patience.count();
  const auto partition = lane.lane % config_.partitions;
  if (const auto came_back = ports_.publisher.barrier(partition, config_.barrier_longest); !came_back) {
    // Others first: this partition may have no worker.
    watched.since = ports_.threads.now();
    not_before_ = watched.since + barrier_again_after;
    return false;
  }
  watched.passing = true;
  watched.before = before;
  watched.cursor = 0;
  return true;
}

bool LostIntents::pass(const LaneKey& lane, Watched& watched, std::size_t& rows_left) {
  do {
    if (rows_left == 0) return false;
    auto page = ask_lane<LaneScripts::MarkPage>(ports_.threads, config_.call_longest, [&](auto answer) {
      ports_.scripts.live_marks(lane, watched.server, watched.before, watched.cursor, std::move(answer));
    });
    if (!page) return false;
    std::vector<model::OrderIntent> lost;
    for (auto& intent : page->intents) {
      const auto row = ports_.store.find_order(intent.ticket);
      if (!row) return false;
      if (!*row) lost.push_back(std::move(intent));
    }
    rows_left -= std::min(rows_left, page->intents.size());
    watched.cursor = page->next;
    if (!lost.empty()) publish(lane, std::move(lost));
  } while (watched.cursor != 0);
  return true;
}

// Whatever the broker answers: what is not taken is still without a row at the next pass.
void LostIntents::publish(const LaneKey& lane, std::vector<model::OrderIntent> lost) {
  base::log::warn("leader: publishes {} intents of {} lane {} again: the broker has lost them", lost.size(),
                  lane.item.text(), lane.lane);
  republished_.fetch_add(lost.size(), std::memory_order_relaxed);
  for (std::size_t from = 0; from < lost.size(); from += message_max) {
    const auto first = lost.begin() + static_cast<std::ptrdiff_t>(from);
    const auto size = static_cast<std::ptrdiff_t>(std::min(message_max, lost.size() - from));
    ports_.publisher.publish(lane.lane % config_.partitions, std::vector<model::OrderIntent>(first, first + size),
                             [](queue::Published) {});
  }
}

}  // namespace seckill::admission::leading

// A round's own steps: what is done for all of its lanes, before each is built by itself (rebuild_lane.cpp).
#include "admission/leading/rebuild.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "admission/leading/answers.hpp"
#include "admission/leading/rebuild_steps.hpp"
#include "admission/leading/together.hpp"
#include "base/assert.hpp"
#include "base/log.hpp"

namespace seckill::admission::leading {

using base::Errc;
using store::LaneState;

Rebuild::Rebuild(RebuildPorts ports, RebuildConfig config) : ports_{ports}, config_{config} {
  SECKILL_ASSERT(config_.partitions >= 1 && config_.batch_max >= 1 && config_.attempts >= 1, "a rebuild has bounds");
  SECKILL_ASSERT(config_.lanes_at_once >= 1, "a round takes one lane at a time at least");
}

std::vector<LaneOutcome> Rebuild::run(std::span<const RebuildTask> tasks, LeaderToken token,
                                      const StillLeads& still_leads) {
  Round round;
  for (const auto& task : tasks) round.emplace_back().task = &task;
  close_all(round, token);
  if (wait_node_lease(round, token, still_leads)) {
    find_servers(round);
    read_marks_of_all(round, token, still_leads);
    if (still_leads()) barrier(round);
  } else {
    give_up(round);
  }
  // Each by itself: one that waits for its server or fails leaves the places of the others to them.
  together(ports_.threads, round.size(), config_.lanes_at_once, [&](std::size_t index) {
    Lane& lane = round[index];
    if (!lane.outcome) lane.outcome = still_leads() ? rebuild(lane, token, still_leads) : LaneOutcome::fenced;
  });
  std::vector<LaneOutcome> outcomes;
  for (const auto& lane : round) {
    if (lane.may_be_open) closed_at_.erase(lane.task->lane);
    outcomes.push_back(*lane.outcome);
  }
  return outcomes;
}

// Leadership that could not be proven for a moment may be proven again in the next, with the same token. A step that
// was left out meanwhile stays left out, so this round builds none of the lanes it was for.
void Rebuild::give_up(Round& round) {
  for (auto& lane : round) {
    if (!lane.outcome) lane.outcome = LaneOutcome::fenced;
  }
}

base::Status Rebuild::close(const RebuildTask& task, LeaderToken token) {
  auto closed = ports_.authority.close_lane(task.lane.item, task.lane.lane, token.token);
  if (!closed) return closed;
  // The store's word closes the lane; its server is told so that admissions stop sooner. No answer is needed.
  ports_.scripts.close(task.lane, task.server, task.generation, token, [](const base::Result<LaneCode>&) {});
  return {};
}

void Rebuild::close_all(Round& round, LeaderToken token) {
  if (closed_by_ != token.token) closed_at_.clear();
  closed_by_ = token.token;
  for (auto& lane : round) {
    const auto closed = close(*lane.task, token);
    if (closed) {
      closed_at_.try_emplace(lane.task->lane, ports_.threads.now());
      continue;
    }
    lane.outcome = closed.error().code == Errc::stale ? LaneOutcome::fenced : LaneOutcome::waits;
  }
}

// False when leadership ended meanwhile.
bool Rebuild::wait_node_lease(const Round& round, LeaderToken token, const StillLeads& still_leads) {
  SECKILL_ASSERT(closed_by_ == token.token, "the lanes were closed by this leader");
  std::chrono::nanoseconds until{0};
  for (const auto& lane : round) {
    if (lane.outcome || lane.task->never_installed) continue;
    until = std::max(until, closed_at_.at(lane.task->lane) + config_.node_lease);
  }
  constexpr std::chrono::milliseconds step{250};  // how late a stop is noticed
  for (;;) {
    if (!still_leads()) return false;
    const auto left = until - ports_.threads.now();
    if (left <= std::chrono::nanoseconds{0}) return true;
    ports_.threads.sleep_for(std::min<std::chrono::nanoseconds>(left, step));
  }
}

void Rebuild::find_servers(Round& round) {
  LaneCalls<LaneServer> calls{ports_.threads, round.size()};
  for (std::size_t i = 0; i < round.size(); ++i) {
    if (round[i].outcome) {
      calls.place(i)(LaneServer{});
    } else {
      ports_.scripts.server_of(round[i].task->lane, calls.place(i));
    }
  }
  auto servers = calls.wait(config_.call_longest);
  for (std::size_t i = 0; i < round.size(); ++i) {
    if (round[i].outcome) continue;
    if (servers[i] && !servers[i]->run_id.empty()) {
      round[i].server = std::move(*servers[i]);
    } else if (round[i].task->to == LaneState::lane) {
      round[i].outcome = LaneOutcome::waits;  // no server, no lane
    }
  }
}

void Rebuild::read_marks_of_all(Round& round, LeaderToken token, const StillLeads& still_leads) {
  const auto until = ports_.threads.now() + config_.marks_longest;
  std::vector<Lane*> to_read;
  for (auto& lane : round) {
    if (!lane.outcome && !lane.task->never_installed && !lane.server.run_id.empty()) to_read.push_back(&lane);
  }
  const std::size_t at_once = config_.lanes_at_once;
  together(ports_.threads, to_read.size(), at_once, [&](std::size_t index) {
    Lane& lane = *to_read[index];
    if (!still_leads()) {
      lane.outcome = LaneOutcome::fenced;  // as give_up()
      return;
    }
    // An equal share of what is left, so that one slow lane does not hold up all others.
    const auto turns_left = static_cast<std::int64_t>((to_read.size() - index + at_once - 1) / at_once);
    const std::chrono::nanoseconds share = (until - ports_.threads.now()) / turns_left;
    auto read =
        read_marks(lane, token, ports_.threads.now() + std::max<std::chrono::nanoseconds>(share, config_.call_longest));
    if (read || lane.task->to == LaneState::store) return;
    base::log::warn("rebuild: {} stays closed: {}", name_of(lane.task->lane), read.error().text());
    lane.outcome = LaneOutcome::waits;
  });
}

// On the server that the lane is on now, which need not be the one in the row: what a failover left open is closed
// before it is read.
base::Status Rebuild::read_marks(Lane& lane, LeaderToken token, std::chrono::nanoseconds until) {
  const auto& key = lane.task->lane;
  auto closed = done_or_why(ask_lane<LaneCode>(ports_.threads, config_.call_longest,
                                               [&](auto answer) {
                                                 ports_.scripts.close(key, lane.server, lane.task->generation, token,
                                                                      std::move(answer));
                                               }),
                            "closing a lane");
  if (!closed) return closed;
  std::uint64_t cursor = 0;
  do {
    if (ports_.threads.now() >= until) return base::fail(Errc::timeout, "reading a lane's marks", "out of time");
    auto page = ask_lane<LaneScripts::MarkPage>(ports_.threads, config_.call_longest, [&](auto answer) {
      constexpr auto any_time = std::numeric_limits<base::UtcMs>::max();
      ports_.scripts.live_marks(key, lane.server, any_time, cursor, std::move(answer));
    });
    if (!page) return std::unexpected(page.error());
    cursor = page->next;
    std::ranges::move(page->intents, std::back_inserter(lane.marks));
  } while (cursor != 0);
  return {};
}

// Each partition gets an equal share of the time that is left, so that one without a worker does not take all of it.
std::set<queue::Partition> Rebuild::pass_barriers(std::set<queue::Partition> partitions,
                                                  std::chrono::nanoseconds longest) {
  std::set<queue::Partition> passed;
  const auto until = ports_.threads.now() + longest;
  auto left = std::ssize(partitions);
  for (const auto partition : partitions) {
    const auto share = (until - ports_.threads.now()) / left--;
    const auto at_most = std::chrono::duration_cast<std::chrono::milliseconds>(share);
    if (at_most <= std::chrono::milliseconds{0}) continue;
    if (const auto came_back = ports_.publisher.barrier(partition, at_most); came_back) {
      passed.insert(partition);
    } else {
      base::log::info("rebuild: goes on without the barrier of partition {}: {}", partition, came_back.error().text());
    }
  }
  return passed;
}

void Rebuild::barrier(Round& round) {
  // Before the barriers begin: what a landing meets from here on is counted beyond it.
  std::map<model::ItemKey, base::Result<store::ItemAuthority>> items;
  std::set<queue::Partition> partitions;
  for (auto& lane : round) {
    const auto& key = lane.task->lane;
    if (lane.outcome) continue;
    const auto item = items.try_emplace(key.item, ports_.authority.item_authority(key.item)).first;
    if (!item->second || key.lane >= item->second->lanes.size()) continue;
    const auto& row = item->second->lanes[key.lane];
    if (lane.task->never_installed || !row.undrained()) lane.drained = row.strays;
    if (!lane.task->never_installed) partitions.insert(key.lane % config_.partitions);
  }
  const auto passed = pass_barriers(std::move(partitions), config_.barrier_longest);
  for (auto& lane : round) {
    if (lane.task->never_installed || passed.contains(lane.task->lane.lane % config_.partitions)) continue;
    lane.drained.reset();
  }
}

void Rebuild::drain(const model::ItemKey& item, std::span<const store::LaneAuthorityRow> rows, LeaderToken token) {
  std::set<queue::Partition> partitions;
  for (const auto& row : rows) partitions.insert(row.row.lane % config_.partitions);
  const auto once = pass_barriers(std::move(partitions), config_.drain_longest / 2);
  const auto twice = pass_barriers(once, config_.drain_longest / 2);
  for (const auto& row : rows) {
    if (!twice.contains(row.row.lane % config_.partitions)) continue;
    const auto noted = ports_.authority.drain_lane(item, row.row.lane, row.row.generation, row.strays, token.token);
    if (!noted) base::log::warn("leader: {}", noted.error().text());
  }
}

}  // namespace seckill::admission::leading

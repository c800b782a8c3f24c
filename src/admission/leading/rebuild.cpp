#include "admission/leading/rebuild.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "admission/leading/answers.hpp"
#include "base/assert.hpp"
#include "base/log.hpp"

namespace seckill::admission::leading {
namespace {

using base::Errc;
using store::LaneState;

std::string name_of(const LaneKey& key) { return key.item.text() + " lane " + std::to_string(key.lane); }

// What a lane's answer to an install step means for this attempt.
base::Status done_or_why(const base::Result<LaneCode>& answer, std::string doing) {
  if (!answer) return std::unexpected(answer.error());
  switch (*answer) {
    case LaneCode::done: return {};
    case LaneCode::closed: return base::fail(Errc::unavailable, std::move(doing), "the lane is closed");
    case LaneCode::stale: return base::fail(Errc::stale, std::move(doing), "the lane is of a higher generation");
    case LaneCode::foreign: return base::fail(Errc::unavailable, std::move(doing), "the server has changed");
    case LaneCode::refused: return base::fail(Errc::refused, std::move(doing), "tickets are missing");
  }
  return base::fail(Errc::corrupt, std::move(doing), "an answer that does not exist");
}

// P2: a lane is opened only with the holds that its stock row counts.
base::Status check_sums(const store::RebuiltLane& rebuilt) {
  std::int64_t held = 0;
  std::int64_t sold = 0;
  for (const auto& ticket : rebuilt.tickets) {
    if (model::is_held(ticket.state)) held += ticket.units;
    if (model::is_sold(ticket.state)) sold += ticket.units;
  }
  if (held == rebuilt.stock.held && sold == rebuilt.stock.sold && rebuilt.stock.available >= 0) return {};
  return base::fail(Errc::corrupt, "rebuilding a lane",
                    "tickets hold " + std::to_string(held) + " and own " + std::to_string(sold) +
                        " units, the stock row says " + std::to_string(rebuilt.stock.held) + " and " +
                        std::to_string(rebuilt.stock.sold));
}

}  // namespace

Rebuild::Rebuild(RebuildPorts ports, RebuildConfig config) : ports_{ports}, config_{config} {
  SECKILL_ASSERT(config_.partitions >= 1 && config_.batch_max >= 1 && config_.attempts >= 1, "a rebuild has bounds");
}

std::vector<LaneOutcome> Rebuild::run(std::span<const RebuildTask> tasks, LeaderToken token,
                                      const StillLeads& still_leads) {
  Round round;
  for (const auto& task : tasks) round.emplace_back().task = &task;
  close_all(round, token);
  const bool waited = wait_node_lease(round, token, still_leads);
  if (waited) {
    find_servers(round);
    read_marks_of_all(round, token, still_leads);
    if (still_leads()) barrier(round);
  }
  std::vector<LaneOutcome> outcomes;
  for (auto& lane : round) {
    if (!lane.outcome) lane.outcome = still_leads() ? rebuild(lane, token, still_leads) : LaneOutcome::fenced;
    outcomes.push_back(*lane.outcome);
  }
  return outcomes;
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
  auto left = std::ssize(round);
  for (auto& lane : round) {
    // An equal share of what is left, so that one slow lane does not hold up all others.
    const std::chrono::nanoseconds share = (until - ports_.threads.now()) / left--;
    if (lane.outcome || lane.task->never_installed || lane.server.run_id.empty()) continue;
    if (!still_leads()) return;
    auto read =
        read_marks(lane, token, ports_.threads.now() + std::max<std::chrono::nanoseconds>(share, config_.call_longest));
    if (read || lane.task->to == LaneState::store) continue;
    base::log::warn("rebuild: {} stays closed: {}", name_of(lane.task->lane), read.error().text());
    lane.outcome = LaneOutcome::waits;
  }
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

LaneOutcome Rebuild::rebuild(const Lane& lane, LeaderToken token, const StillLeads& still_leads) {
  for (int i = 0; i < config_.attempts; ++i) {
    if (!still_leads()) return LaneOutcome::fenced;
    const auto outcome = attempt(lane, token, still_leads);
    if (outcome) return *outcome;
    const auto& error = outcome.error();
    if (error.code == Errc::corrupt) {
      base::log::error("rebuild: {} stays closed: {}", name_of(lane.task->lane), error.text());
      return LaneOutcome::waits;
    }
    base::log::info("rebuild: {}, attempt {}: {}", name_of(lane.task->lane), i + 1, error.text());
  }
  return LaneOutcome::waits;
}

// Steps 5 to 8. An Error ends the attempt and nothing else: the next begins with a higher generation.
base::Result<LaneOutcome> Rebuild::attempt(const Lane& lane, LeaderToken token, const StillLeads& still_leads) {
  const auto& key = lane.task->lane;
  const auto item = ports_.authority.item_authority(key.item);
  if (!item) return std::unexpected(item.error());
  const auto* terms = item->sale.find(key.item.sku);
  if (terms == nullptr) return base::fail(Errc::corrupt, "rebuilding a lane", "the sale has no such item");

  auto rebuilt = ports_.authority.rebuild_lane(key.item, key.lane, token.token);
  if (!rebuilt) {
    if (rebuilt.error().code == Errc::stale) return LaneOutcome::fenced;
    return std::unexpected(rebuilt.error());
  }
  if (auto sums = check_sums(*rebuilt); !sums) return std::unexpected(sums.error());
  if (lane.drained) {
    auto noted = ports_.authority.drain_lane(key.item, key.lane, rebuilt->generation, *lane.drained, token.token);
    if (!noted) base::log::warn("rebuild: {}", noted.error().text());  // it stays undrained for a while
  }
  InstallPlan plan{.generation = rebuilt->generation,
                   .leader = token,
                   .terms = model::terms_of(item->sale, *terms),
                   .stock = {},
                   .tickets = 0};
  auto taken = take_over(*rebuilt, lane.marks, plan.terms);
  if (lane.task->to == LaneState::lane) {
    if (auto failed = fail_refused(taken); !failed) return std::unexpected(failed.error());
    plan.stock = taken.stock;
    plan.tickets = taken.tickets.size();
    if (auto installed = install(lane, plan, taken.tickets, still_leads); !installed) {
      return std::unexpected(installed.error());
    }
  } else {
    publish(key.lane, taken);
  }
  if (lane.task->to == LaneState::lane) {
    if (auto finished = finish_outgoing(key); !finished) {
      base::log::info("rebuild: {} waits: {}", name_of(key), finished.error().text());
      return LaneOutcome::waits;
    }
  }
  if (!still_leads()) return LaneOutcome::fenced;
  closed_at_.erase(key);  // from here on it may be open
  if (auto opened = open_in_store(lane, plan.generation, token); !opened) {
    if (opened.error().code == Errc::stale) return LaneOutcome::fenced;
    return LaneOutcome::waits;  // unknown: the next look reads what it is
  }
  if (auto checked = check_opened(lane, plan); !checked) return LaneOutcome::waits;
  base::log::info("rebuild: {} is open, generation {}, {} tickets", name_of(key), plan.generation, plan.tickets);
  return LaneOutcome::opened;
}

// A mark that fits neither limit nor stock ends here, with a row, and is remembered as every ended ticket is. Nothing
// else can land it meanwhile: its generation is over, and no lane is open to adopt it.
base::Status Rebuild::fail_refused(TakenOver& taken) {
  for (const auto& intent : taken.refused) {
    const auto failed = ports_.store.fail_intent(intent, model::FailReason::superseded, ports_.clock.now_utc());
    if (!failed) return failed;
    taken.tickets.push_back(failed_ticket(intent));
  }
  return {};
}

// While the store decides nobody asks the lane, and what only its marks know is decided by the landing. Not insisted
// on: the marks stay, and leaving the mode takes them over.
void Rebuild::publish(model::LaneIndex lane, const TakenOver& taken) {
  constexpr std::size_t message_max = 100;
  std::vector<model::OrderIntent> intents = taken.refused;
  for (const auto& ticket : taken.tickets) {
    if (ticket.intent) intents.push_back(*ticket.intent);
  }
  for (std::size_t from = 0; from < intents.size(); from += message_max) {
    const auto first = intents.begin() + static_cast<std::ptrdiff_t>(from);
    const auto size = static_cast<std::ptrdiff_t>(std::min(message_max, intents.size() - from));
    ports_.publisher.publish(lane % config_.partitions, std::vector<model::OrderIntent>(first, first + size),
                             [](queue::Published) {});
  }
}

base::Status Rebuild::install(const Lane& lane, const InstallPlan& plan, std::span<const InstallTicket> tickets,
                              const StillLeads& still_leads) {
  const auto& key = lane.task->lane;
  const auto step = [&](std::string doing, auto call) {
    if (!still_leads()) return base::Status{base::fail(Errc::stale, std::move(doing), "this node leads no longer")};
    return done_or_why(ask_lane<LaneCode>(ports_.threads, config_.call_longest, std::move(call)), std::move(doing));
  };
  auto begun = step("beginning to install a lane",
                    [&](auto answer) { ports_.scripts.install_begin(key, lane.server, plan, std::move(answer)); });
  if (!begun) return begun;
  for (std::size_t from = 0; from < tickets.size(); from += config_.batch_max) {
    const auto some = tickets.subspan(from, std::min(config_.batch_max, tickets.size() - from));
    std::vector<InstallTicket> batch{some.begin(), some.end()};
    auto added = step("installing tickets", [&](auto answer) {
      ports_.scripts.install_batch(key, lane.server, plan, std::move(batch), std::move(answer));
    });
    if (!added) return added;
  }
  return step("opening a lane",
              [&](auto answer) { ports_.scripts.install_open(key, lane.server, plan, std::move(answer)); });
}

// Asked again when unknown: the same opening twice is one.
base::Status Rebuild::open_in_store(const Lane& lane, model::Generation generation, LeaderToken token) {
  const bool on_server = lane.task->to == LaneState::lane;
  base::Status opened;
  for (int i = 0; i < config_.attempts; ++i) {
    opened = ports_.authority.open_lane(lane.task->lane.item, lane.task->lane.lane, generation, lane.task->to,
                                        on_server ? lane.server.run_id : std::string{},
                                        on_server ? lane.server.replication_id : std::string{}, token.token);
    if (opened || opened.error().code == Errc::stale) break;
  }
  return opened;
}

// The row must say what was installed; and terms that were edited while the lane was closed, when no configure() could
// reach it, are installed now.
base::Status Rebuild::check_opened(const Lane& lane, const InstallPlan& plan) {
  const auto& key = lane.task->lane;
  const auto item = ports_.authority.item_authority(key.item);
  if (!item) return std::unexpected(item.error());
  const auto row =
      std::ranges::find(item->lanes, key.lane, [](const store::LaneAuthorityRow& one) { return one.row.lane; });
  if (row == item->lanes.end() || row->row.generation != plan.generation || row->state != lane.task->to) {
    return base::fail(Errc::stale, "checking an opened lane", "the row has moved on");
  }
  const auto* terms = item->sale.find(key.item.sku);
  if (terms != nullptr && lane.task->to == LaneState::lane && item->sale.version > plan.terms.version) {
    const auto configured = ask_lane<LaneCode>(ports_.threads, config_.call_longest, [&](auto answer) {
      ports_.scripts.configure(key, lane.server, model::terms_of(item->sale, *terms), std::move(answer));
    });
    if (!configured) return std::unexpected(configured.error());
  }
  return {};
}

}  // namespace seckill::admission::leading

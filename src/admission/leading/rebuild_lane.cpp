// One lane of a round: its rows are read under a new generation, installed and opened (steps 5 to 8). Several lanes are
// on their way at once, each on a thread of its own (together.hpp), so nothing here writes to what lanes share.
//
// A lane is read as a whole before its first batch goes to its server: its row is locked as long as it is read, and
// landings must not wait for a server that is slow. While one lane is read, others are installed.
#include <algorithm>
#include <iterator>

#include "admission/leading/answers.hpp"
#include "admission/leading/rebuild.hpp"
#include "admission/leading/rebuild_steps.hpp"
#include "base/log.hpp"

namespace seckill::admission::leading {

using base::Errc;
using store::LaneState;

namespace {

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

LaneOutcome Rebuild::rebuild(Lane& lane, LeaderToken token, const StillLeads& still_leads) {
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
base::Result<LaneOutcome> Rebuild::attempt(Lane& lane, LeaderToken token, const StillLeads& still_leads) {
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
  auto taken = take_over(*std::move(rebuilt), lane.marks, plan.terms);
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
  lane.may_be_open = true;
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

base::Status Rebuild::install(const Lane& lane, const InstallPlan& plan, std::span<InstallTicket> tickets,
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
    std::vector<InstallTicket> batch{std::move_iterator{some.begin()}, std::move_iterator{some.end()}};
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

#include "simulation/devices/lanes/sim_lanes_client.hpp"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

namespace seckill::sim {

using admission::AdoptReply;
using admission::InstallPlan;
using admission::InstallTicket;
using admission::LaneAnswer;
using admission::LaneAsk;
using admission::LaneCode;
using admission::LaneDebit;
using admission::LaneDecisions;
using admission::LaneKey;
using admission::LaneReading;
using admission::LaneServer;
using admission::LaneTransferRecord;
using admission::LeaderToken;
using admission::steps::LaneState;
namespace steps = admission::steps;

namespace {

// How an answer of each kind says `foreign`.
template <typename T>
base::Result<T> foreign(std::string_view script) {
  if constexpr (std::is_same_v<T, LaneCode>) {
    return LaneCode::foreign;
  } else if constexpr (requires(T answer) { answer.code; }) {
    T answer;
    answer.code = LaneCode::foreign;
    return answer;
  } else {
    return base::fail(base::Errc::stale, fmt::format("asking a lane: {}", script), "it is on another server");
  }
}

// A call with every way to answer it but the execution's own.
template <typename T>
std::shared_ptr<LaneCall> call_of(std::string_view script, const LaneKey& lane, Time deadline,
                                  const std::shared_ptr<LaneAnswer<T>>& answer) {
  auto call = std::make_shared<LaneCall>();
  call->script = script;
  call->lane = lane;
  call->deadline = deadline;
  call->give_foreign = [answer, script] { (*answer)(foreign<T>(script)); };
  call->give_error = [answer, script](base::Errc code, std::string cause) {
    (*answer)(base::fail(code, fmt::format("asking a lane: {}", script), std::move(cause)));
  };
  return call;
}

}  // namespace

SimLanesClient::SimLanesClient(Kernel&, SimLanes& cluster, Node& node)
    : connections_{std::make_shared<LaneConnections>(cluster, node)} {}

template <typename T>
void SimLanesClient::looking(std::string_view script, const LaneKey& lane, const LaneServer& server, Step<T> step,
                             LaneAnswer<T> answer) {
  const auto shared = std::make_shared<LaneAnswer<T>>(std::move(answer));
  auto call = call_of<T>(script, lane, connections_->call_deadline(), shared);
  call->expected = server;
  call->execute = [shared, lane, step = std::move(step)](LaneProcess& process, const LaneMoment& at) -> LaneReply {
    LaneState missing{lane};
    const auto found = process.lanes.find(lane);
    T result = step(found == process.lanes.end() ? missing : found->second, at.clock);
    return {.give = [shared, result = std::move(result)]() mutable { (*shared)(std::move(result)); }};
  };
  connections_->start(std::move(call));
}

// A write is logged as the step that it is: the copies replay it with the same clock.
template <typename T>
void SimLanesClient::writing(std::string_view script, const LaneKey& lane, const LaneServer& server, Step<T> step,
                             LaneAnswer<T> answer) {
  const auto shared = std::make_shared<LaneAnswer<T>>(std::move(answer));
  auto call = call_of<T>(script, lane, connections_->call_deadline(), shared);
  call->expected = server;
  call->writes = true;
  call->execute = [shared, lane, step = std::move(step)](LaneProcess& process, const LaneMoment& at) -> LaneReply {
    const auto result = std::make_shared<std::optional<T>>();
    LaneWrite write = [result, lane, step, now = at.clock](LaneMap& lanes) {
      T one = step(lane_in(lanes, lane), now);
      if (!*result) result->emplace(std::move(one));  // replays answer nobody
    };
    process.write(std::move(write), at.now, at.lag);
    return {.give = [shared, result] { (*shared)(std::move(**result)); }};
  };
  connections_->start(std::move(call));
}

// --- buying ---

void SimLanesClient::admit(const LaneKey& lane, const LaneServer& server, model::Generation generation,
                           std::vector<LaneAsk> asks, LaneAnswer<LaneDecisions> answer) {
  writing<LaneDecisions>(
      "admit", lane, server,
      [generation, asks = std::move(asks)](LaneState& state, base::UtcMs now) {
        return steps::admit(state, generation, asks, now);
      },
      std::move(answer));
}

void SimLanesClient::confirm_published(const LaneKey& lane, const LaneServer& server,
                                       std::vector<model::Ticket> tickets, LaneAnswer<LaneCode> answer) {
  writing<LaneCode>(
      "confirm_published", lane, server,
      [tickets = std::move(tickets)](LaneState& state, base::UtcMs) {
        return steps::confirm_published(state, tickets);
      },
      std::move(answer));
}

void SimLanesClient::claim_intents(const LaneKey& lane, const LaneServer& server, std::int64_t age_ms,
                                   std::size_t count, LaneAnswer<std::vector<model::OrderIntent>> answer) {
  writing<std::vector<model::OrderIntent>>(
      "claim_intents", lane, server,
      [age_ms, count](LaneState& state, base::UtcMs now) { return steps::claim_intents(state, age_ms, count, now); },
      std::move(answer));
}

void SimLanesClient::live_marks(const LaneKey& lane, const LaneServer& server, base::UtcMs before, std::uint64_t cursor,
                                LaneAnswer<MarkPage> answer) {
  looking<MarkPage>(
      "live_marks", lane, server,
      [before, cursor](LaneState& state, base::UtcMs) { return steps::live_marks(state, before, cursor); },
      std::move(answer));
}

void SimLanesClient::mark_holders(const LaneKey& lane, const LaneServer& server, std::uint64_t cursor,
                                  LaneAnswer<HolderPage> answer) {
  looking<HolderPage>(
      "mark_holders", lane, server,
      [cursor](LaneState& state, base::UtcMs) { return steps::mark_holders(state, cursor); }, std::move(answer));
}

void SimLanesClient::wait_replicas(const LaneKey& lane, const LaneServer& server, std::chrono::milliseconds longest,
                                   LaneAnswer<LaneCode> answer) {
  const auto shared = std::make_shared<LaneAnswer<LaneCode>>(std::move(answer));
  auto call = call_of<LaneCode>("wait_replicas", lane, connections_->call_deadline() + longest, shared);
  call->expected = server;
  call->in_order = false;  // on a connection of its own
  call->execute = [shared, longest](LaneProcess& process, const LaneMoment& at) -> LaneReply {
    if (!at.replicated) return {.give = [shared] { (*shared)(LaneCode::done); }};
    const std::uint64_t written = process.write([](LaneMap&) {}, at.now, at.lag);
    const std::optional<Time> there = process.replicated_at(written, at.now);
    if (!there || *there - at.now > longest)
      return {.after = longest, .give = [shared] { (*shared)(LaneCode::refused); }};
    // Acknowledged by a replica that is still there when it acknowledges, else by none.
    return {.after = *there - at.now, .give = [shared, &process, attachment = process.attachment()] {
              (*shared)(process.attachment() == attachment ? LaneCode::done : LaneCode::refused);
            }};
  };
  connections_->start(std::move(call));
}

// --- looking ---

void SimLanesClient::read(const LaneKey& lane, const LaneServer& server, LaneAnswer<LaneReading> answer) {
  looking<LaneReading>(
      "read", lane, server, [](LaneState& state, base::UtcMs) { return steps::read(state); }, std::move(answer));
}

void SimLanesClient::buyer_tickets(const LaneKey& lane, const LaneServer& server, const model::BuyerId& buyer,
                                   LaneAnswer<FoundTickets> answer) {
  looking<FoundTickets>(
      "buyer_tickets", lane, server,
      [buyer](LaneState& state, base::UtcMs) { return steps::buyer_tickets(state, buyer); }, std::move(answer));
}

// --- ends ---

void SimLanesClient::release(const LaneKey& lane, const LaneServer& server, const model::Ticket& ticket,
                             LaneAnswer<LaneCode> answer) {
  writing<LaneCode>(
      "release", lane, server, [ticket](LaneState& state, base::UtcMs) { return steps::release(state, ticket); },
      std::move(answer));
}

void SimLanesClient::post(const LaneKey& lane, const LaneServer& server, const model::Ticket& ticket,
                          LaneAnswer<LaneCode> answer) {
  writing<LaneCode>(
      "post", lane, server, [ticket](LaneState& state, base::UtcMs) { return steps::post(state, ticket); },
      std::move(answer));
}

// --- transfers ---

void SimLanesClient::debit(const LaneKey& lane, const LaneServer& server, model::Generation generation,
                           const LaneTransferRecord& transfer, LaneAnswer<LaneDebit> answer) {
  writing<LaneDebit>(
      "debit", lane, server,
      [generation, transfer](LaneState& state, base::UtcMs now) {
        return steps::debit(state, generation, transfer, now);
      },
      std::move(answer));
}

void SimLanesClient::undo_debit(const LaneKey& lane, const LaneServer& server, const std::string& id,
                                LaneAnswer<LaneCode> answer) {
  writing<LaneCode>(
      "undo_debit", lane, server, [id](LaneState& state, base::UtcMs now) { return steps::undo_debit(state, id, now); },
      std::move(answer));
}

void SimLanesClient::credit(const LaneKey& lane, const LaneServer& server, model::Generation generation,
                            const LaneTransferRecord& transfer, LaneAnswer<LaneCode> answer) {
  writing<LaneCode>(
      "credit", lane, server,
      [generation, transfer](LaneState& state, base::UtcMs now) {
        return steps::credit(state, generation, transfer, now);
      },
      std::move(answer));
}

void SimLanesClient::close_transfer(const LaneKey& lane, const LaneServer& server, const std::string& id,
                                    LaneAnswer<LaneCode> answer) {
  writing<LaneCode>(
      "close_transfer", lane, server,
      [id](LaneState& state, base::UtcMs now) { return steps::close_transfer(state, id, now); }, std::move(answer));
}

// --- operating ---

void SimLanesClient::configure(const LaneKey& lane, const LaneServer& server, const model::ItemTerms& terms,
                               LaneAnswer<LaneCode> answer) {
  writing<LaneCode>(
      "configure", lane, server, [terms](LaneState& state, base::UtcMs) { return steps::configure(state, terms); },
      std::move(answer));
}

void SimLanesClient::adopt(const LaneKey& lane, const LaneServer& server, const model::OrderIntent& intent,
                           LaneAnswer<AdoptReply> answer) {
  writing<AdoptReply>(
      "adopt", lane, server, [intent](LaneState& state, base::UtcMs now) { return steps::adopt(state, intent, now); },
      std::move(answer));
}

void SimLanesClient::close(const LaneKey& lane, const LaneServer& server, model::Generation generation,
                           LeaderToken leader, LaneAnswer<LaneCode> answer) {
  writing<LaneCode>(
      "close", lane, server,
      [generation, leader](LaneState& state, base::UtcMs) { return steps::close(state, generation, leader); },
      std::move(answer));
}

void SimLanesClient::install_begin(const LaneKey& lane, const LaneServer& server, const InstallPlan& plan,
                                   LaneAnswer<LaneCode> answer) {
  writing<LaneCode>(
      "install_begin", lane, server,
      [plan](LaneState& state, base::UtcMs) { return steps::install_begin(state, plan); }, std::move(answer));
}

void SimLanesClient::install_batch(const LaneKey& lane, const LaneServer& server, const InstallPlan& plan,
                                   std::vector<InstallTicket> tickets, LaneAnswer<LaneCode> answer) {
  writing<LaneCode>(
      "install_batch", lane, server,
      [plan, tickets = std::move(tickets)](LaneState& state, base::UtcMs) {
        return steps::install_batch(state, plan, tickets);
      },
      std::move(answer));
}

void SimLanesClient::install_open(const LaneKey& lane, const LaneServer& server, const InstallPlan& plan,
                                  LaneAnswer<LaneCode> answer) {
  writing<LaneCode>(
      "install_open", lane, server, [plan](LaneState& state, base::UtcMs) { return steps::install_open(state, plan); },
      std::move(answer));
}

void SimLanesClient::server_of(const LaneKey& lane, LaneAnswer<LaneServer> answer) {
  const auto shared = std::make_shared<LaneAnswer<LaneServer>>(std::move(answer));
  auto call = call_of<LaneServer>("server_of", lane, connections_->call_deadline(), shared);
  call->give_foreign = [shared] {
    (*shared)(base::fail(base::Errc::unavailable, "asking where a lane is", "its slot has moved; ask again"));
  };
  call->execute = [shared](LaneProcess& process, const LaneMoment&) -> LaneReply {
    return {.give = [shared, identity = process.identity] { (*shared)(identity); }};
  };
  connections_->start(std::move(call));
}

}  // namespace seckill::sim

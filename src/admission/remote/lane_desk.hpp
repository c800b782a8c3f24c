// Asking a lane, and what its decisions become.
//
// Life of one admit() on a lane in state `lane`:
//
// clang-format off
//   where it is        | what happens                                    | to
//   -------------------|-------------------------------------------------|-----------------------------------------------
//   entering           | stopping, item unknown, copy old, lane closed,  | answered busy: nothing was taken
//                      | overfull, no place in the relay, line full      |
//   in the lane's line | a call of this lane is under way, or a round of | asked, with all that waits there (≤ 64);
//                      | its server's (server_turns.hpp)                 | copy old by then: answered busy
//   asked              | not executed (unavailable), closed, stale,      | answered busy; a stale copy is read again
//                      | foreign                                         |
//                      | unknown (timeout)                               | answered busy with the ticket: it may exist
//                      | not_started, ended, paused, request_conflict    | answered so
//                      | ended, paused, limit_reached of an undrained    | answered busy: he may have a ticket of an older
//                      | lane                                            | generation that it does not know yet (P4)
//                      | limit_reached, all own tickets published        | answered, naming them
//                      | limit_reached, some are not                     | those are published; answered when all are durable
//                      | replay, ticket published or ended               | answered replayed
//                      | replay, not published                           | published again, waits like the first
//                      | admit                                           | waits for its intent to be durable
//                      | short of stock, sold-out lease covers it        | answered sold_out
//                      | short of stock                                  | waits for a steal (steal_desk.hpp)
//   waits for a steal  | units arrived                                   | asked again, at most tries_max times, else busy
//                      | two equal readings                              | answered sold_out
//                      | 50 ms passed, a lane unknown, store down        | answered busy: nothing was taken
//   waits for durable  | broker confirmed, or the row is in the store    | answered admitted (replayed, limit_reached)
//                      | broker slow, refused or lost                    | replicas are asked; all have it: answered
//                      | neither                                         | answered busy with the ticket
//   anywhere           | deadline (1 s)                                  | answered busy, with the ticket if it may exist
// clang-format on
//
// Nothing in this table releases a unit: what was admitted stays held until its intent's fate is known (P5, DESIGN
// §4.1.5). Same request, same ticket (P4): the ticket is derived, and the lane judges a known request first.
//
// The replicas' word is asked of the server that the lane was read on, after it was read: so it covers a replay's
// intent too, whichever node wrote it.
//
// Threads: ask() from any; decisions are worked off on the thread the lane answers from.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "admission/remote/alarms.hpp"
#include "admission/remote/config.hpp"
#include "admission/remote/gate.hpp"
#include "admission/remote/item_copies.hpp"
#include "admission/remote/relay.hpp"
#include "admission/remote/server_turns.hpp"
#include "admission/remote/steal_desk.hpp"

namespace seckill::admission::remote {

class LaneDesk {
 public:
  // Borrows all of them for its whole life.
  LaneDesk(const Ports& ports, const Config& config, const Gate& gate, ItemCopies& copies, Relay& relay,
           StealDesk& steals, Alarms& alarms);

  // Takes the call into its lane's line, for the first time or again after a steal. Does not block.
  void ask(CallPtr call);

  // Publishes intents and calls back once: true when all are durable. Requires: enough places. Does not block.
  void publish_all(std::vector<model::OrderIntent> intents, std::vector<Places::Place> places,
                   std::move_only_function<void(bool)> done);

 private:
  struct Durable;

  struct SlowBroker;

  void take_turn(const ServerTurns::Turn& turn);
  void end_turn(const ServerTurns::Turn& turn);
  [[nodiscard]] std::vector<CallPtr> next_batch(LaneState& lane) const;
  void send(const ServerTurns::Turn& turn, std::vector<CallPtr> batch);
  // What the copy said of a lane when it was asked; its answer is of the same generation.
  struct AskedLane {
    LaneServer server;
    bool undrained = false;
  };
  void decided(const AskedLane& lane, std::vector<CallPtr>& batch, base::Result<LaneDecisions>& answer);
  // What it admits, and replays not known durable, it adds to what is published together.
  void work_off(const CallPtr& call, const AskedLane& lane, LaneDecision decision,
                std::vector<Relay::Publication>& together);
  [[nodiscard]] Relay::Publication answer_when_durable(const CallPtr& call, const LaneServer& server,
                                                       model::OrderIntent intent, AdmitReply reply);
  void relayed(const std::shared_ptr<Durable>& durable, const Relayed& how);
  void ask_replicas(const std::shared_ptr<Durable>& durable);
  void refuse_by_limit(const CallPtr& call, LaneDecision decision);

  const Ports& ports_;
  const Config& config_;
  const Gate& gate_;
  ItemCopies& copies_;
  Relay& relay_;
  StealDesk& steals_;
  Alarms& alarms_;
  ServerTurns turns_;
};

}  // namespace seckill::admission::remote

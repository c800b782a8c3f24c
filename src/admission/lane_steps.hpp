// What each script of lane_scripts.hpp does in its one atomic step, as pure functions: the executable specification of
// every engine whose lanes are in another process. The simulator's lanes execute them; a real engine's scripts are
// translations, held against them by a randomized test. Memory lanes say the same for the steps both have.
//
// A step does no I/O, reads no clock (`now` is the lane server's), takes no locks and runs alone. It checks all before
// it writes anything. Results and preconditions are those of the port's method of the same name; `foreign` is the
// connection's to say, never a step's.
//
//   the lane          missing ─────────► open ─────────► closed      install_open: the lane beside takes this one's
//   place
//                               ▲  install_open   close │            (open or closed lanes of lower generations too)
//                               └───────────────────────┘
//   the lane beside   none ───install_begin───► installing ───install_open───► none      (close drops it too)
//
// Nothing of a lane is lost before the one that replaces it is whole.
//
// Keeps P1 (ledger rules), P3 (limit before stock), P4 (a ticket is remembered for the life of the sale), P5 (an intent
// is in the stream until it is known durable elsewhere), P6 (units end once).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "admission/lane_steps_state.hpp"

namespace seckill::admission::steps {

// How many marks one page of live_marks looks at.
inline constexpr std::size_t live_marks_page = 100;

// --- buying ---
[[nodiscard]] LaneDecisions admit(LaneState& lane, model::Generation generation, std::span<const LaneAsk> asks,
                                  base::UtcMs now);
LaneCode confirm_published(LaneState& lane, std::span<const model::Ticket> tickets);
[[nodiscard]] std::vector<model::OrderIntent> claim_intents(LaneState& lane, std::int64_t age_ms, std::size_t count,
                                                            base::UtcMs now);
[[nodiscard]] LaneScripts::MarkPage live_marks(const LaneState& lane, base::UtcMs before, std::uint64_t cursor);

[[nodiscard]] LaneScripts::HolderPage mark_holders(const LaneState& lane, std::uint64_t cursor);

// --- looking ---
[[nodiscard]] LaneReading read(const LaneState& lane);
[[nodiscard]] LaneScripts::FoundTickets buyer_tickets(const LaneState& lane, const model::BuyerId& buyer);

// --- ends ---
LaneCode release(LaneState& lane, const model::Ticket& ticket);
LaneCode post(LaneState& lane, const model::Ticket& ticket);

// --- transfers ---
LaneDebit debit(LaneState& lane, model::Generation generation, const LaneTransferRecord& transfer, base::UtcMs now);
LaneCode undo_debit(LaneState& lane, const std::string& id, base::UtcMs now);
LaneCode credit(LaneState& lane, model::Generation generation, const LaneTransferRecord& transfer, base::UtcMs now);
LaneCode close_transfer(LaneState& lane, const std::string& id, base::UtcMs now);

// --- operating ---
LaneCode configure(LaneState& lane, const model::ItemTerms& terms);
AdoptReply adopt(LaneState& lane, const model::OrderIntent& intent, base::UtcMs now);
LaneCode close(LaneState& lane, model::Generation generation, LeaderToken leader);
LaneCode install_begin(LaneState& lane, const InstallPlan& plan);
LaneCode install_batch(LaneState& lane, const InstallPlan& plan, std::span<const InstallTicket> tickets);
LaneCode install_open(LaneState& lane, const InstallPlan& plan);

}  // namespace seckill::admission::steps

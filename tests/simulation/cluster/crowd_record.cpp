#include "simulation/cluster/crowd_record.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace seckill::sim {
namespace {

// Staleness that P8 allows, and what an answer takes from the reading to the buyer.
constexpr Time sold_out_window = 1s + 2s;

std::string who(const BuyersRequest& request) {
  return fmt::format("{} with request {}", request.buyer.view(), request.request_id.view());
}

}  // namespace

void CrowdRecord::broken(std::string what) {
  if (!violation_.empty()) return;
  kernel_.note("BROKEN " + what);
  violation_ = std::move(what);
}

void CrowdRecord::told(const BuyersRequest& request, const admission::AdmitReply& reply, bool undecided) {
  ++answers_[reply.answer];
  const auto known = tickets_.find({request.buyer, request.request_id});
  const Acknowledged* before = nullptr;
  if (known != tickets_.end()) {
    const auto found = acknowledged_.find(known->second);
    // An answer that was on its way before the acknowledgement proves nothing.
    if (found != acknowledged_.end() && found->second.at < request.sent_at && !found->second.excused) {
      before = &found->second;
    }
  }
  if (reply.ticket) {
    const auto [at, is_new] = tickets_.try_emplace({request.buyer, request.request_id}, reply.ticket->ticket);
    if (!is_new && at->second != reply.ticket->ticket) broken("P4: " + who(request) + " got two tickets");
  }
  switch (reply.answer) {
    case model::PurchaseAnswer::admitted:
    case model::PurchaseAnswer::replayed: return told_ticket(request, reply, undecided);
    case model::PurchaseAnswer::request_conflict:
      if (before != nullptr && before->request.digest == request.digest) {
        broken("P4: " + who(request) + " repeats what was acknowledged and hears request_conflict");
      }
      return;
    case model::PurchaseAnswer::sold_out: {
      const auto enough = [&](const FreeUnits& free) { return free.units >= request.units; };
      const bool recent = !free_.empty() && free_.front().at <= kernel_.now() - sold_out_window;
      if (recent && std::ranges::all_of(free_, enough)) {
        broken(fmt::format("P8: {} hears sold_out while {} units were free all the time", who(request),
                           std::ranges::min(free_, {}, &FreeUnits::units).units));
      }
      break;
    }
    case model::PurchaseAnswer::limit_reached:
    case model::PurchaseAnswer::not_started:
    case model::PurchaseAnswer::ended:
    case model::PurchaseAnswer::paused: break;
    case model::PurchaseAnswer::rate_limited:
    case model::PurchaseAnswer::challenge_required:
    case model::PurchaseAnswer::rejected_by_risk:
    case model::PurchaseAnswer::busy:
    case model::PurchaseAnswer::bad_token: return;
  }
  if (before != nullptr) {
    broken(fmt::format("P4: {} has an acknowledged ticket and hears {}", who(request), model::name(reply.answer)));
  }
}

void CrowdRecord::told_ticket(const BuyersRequest& request, const admission::AdmitReply& reply, bool undecided) {
  if (!reply.ticket) return broken("P4: " + who(request) + " is acknowledged without a ticket");
  const auto [found, is_new] = acknowledged_.try_emplace(
      reply.ticket->ticket,
      Acknowledged{.request = request, .ticket = reply.ticket->ticket, .at = kernel_.now(), .undecided = undecided});
  if (is_new) return;
  if (found->second.request.buyer != request.buyer) broken("P4: one ticket is told to two buyers");
  if (found->second.excused || (found->second.undecided && undecided)) return;
  if (found->second.request.digest != request.digest && found->second.at < request.sent_at) {
    broken("P4: " + who(request) + " sends other content and is acknowledged");
  }
}

void CrowdRecord::told_outcome(const BuyersRequest& request, bool found) {
  if (found) return;
  const auto known = tickets_.find({request.buyer, request.request_id});
  if (known == tickets_.end()) return;
  const auto acknowledged = acknowledged_.find(known->second);
  if (acknowledged == acknowledged_.end() || acknowledged->second.at >= request.sent_at) return;
  if (acknowledged->second.excused) return;
  broken("P5: " + who(request) + " was acknowledged and the outcome says no record");
}

void CrowdRecord::excuse(const model::Ticket& ticket) {
  const auto found = acknowledged_.find(ticket);
  if (found != acknowledged_.end()) found->second.excused = true;
}

void CrowdRecord::free_units(std::int64_t units) {
  while (free_.size() >= 2 && free_[1].at <= kernel_.now() - sold_out_window) free_.pop_front();
  if (!free_.empty() && free_.back().units == units) return;
  free_.push_back({kernel_.now(), units});
}

std::optional<model::Ticket> CrowdRecord::ticket_of(const model::BuyerId& buyer,
                                                    const model::RequestId& request_id) const {
  const auto found = tickets_.find({buyer, request_id});
  if (found == tickets_.end()) return std::nullopt;
  return found->second;
}

std::uint64_t CrowdRecord::answers(model::PurchaseAnswer answer) const noexcept {
  const auto found = answers_.find(answer);
  return found == answers_.end() ? 0 : found->second;
}

}  // namespace seckill::sim

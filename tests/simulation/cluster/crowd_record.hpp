// The naive oracle of the cluster world: what buyers were told, and what must follow from it. It knows the promises and
// nothing of how they are kept.
//
//   P4  a request that was acknowledged keeps its ticket: repeats are replayed or busy, other content is refused (what
//       rebuild-keeps-what-the-lane-knows leaves open, in undrained lanes and while the store decides, is not excused
//       here: no seed has met it)
//   P5  an acknowledged ticket has a row once everything has come to rest
//   P8  sold_out is said only when, within the last second, no such quantity was free in the lanes
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admission/admission.hpp"
#include "simulation/kernel/kernel.hpp"

namespace seckill::sim {

struct BuyersRequest {
  model::BuyerId buyer;
  model::RequestId request_id;
  std::int64_t units = 1;
  std::uint64_t digest = 0;
  Time sent_at{};
};

// One acknowledged ticket.
struct Acknowledged {
  BuyersRequest request;  // the first content that was acknowledged
  model::Ticket ticket;
  Time at{};
  bool excused = false;
  bool undecided = false;  // admission by database: 202 says "queued, undecided", and its row is not there yet
};

class CrowdRecord {
 public:
  explicit CrowdRecord(Kernel& kernel) : kernel_{kernel} {}

  // The first broken promise, in words; empty while there is none.
  [[nodiscard]] const std::string& violation() const noexcept { return violation_; }
  void broken(std::string what);

  // What a buyer hears. Answers of one request may come in any order. `undecided`: the landing decides (mode admission
  // by database). Two contents under one request id that were both asked for before the landing decided are told the
  // same ticket, and the first to land is the order: the mode's stated exception to P4's refusal of other content.
  void told(const BuyersRequest& request, const admission::AdmitReply& reply, bool undecided);
  // He asks what became of a request: no record, or a ticket.
  void told_outcome(const BuyersRequest& request, bool found);
  // This ticket's only copies were destroyed together, which no promise covers (P5: the loss of any one machine).
  void excuse(const model::Ticket& ticket);
  // How many units were free in open lanes, at the present moment; an upper bound that counts transfers once.
  void free_units(std::int64_t units);

  [[nodiscard]] std::optional<model::Ticket> ticket_of(const model::BuyerId& buyer,
                                                       const model::RequestId& request_id) const;
  [[nodiscard]] const std::map<model::Ticket, Acknowledged>& acknowledged() const noexcept { return acknowledged_; }
  [[nodiscard]] std::uint64_t answers(model::PurchaseAnswer answer) const noexcept;

 private:
  using Key = std::pair<model::BuyerId, model::RequestId>;
  struct FreeUnits {
    Time at{};
    std::int64_t units = 0;
  };
  void told_ticket(const BuyersRequest& request, const admission::AdmitReply& reply, bool undecided);

  Kernel& kernel_;
  std::string violation_;
  std::map<model::Ticket, Acknowledged> acknowledged_;
  std::map<Key, model::Ticket> tickets_;  // by request, whoever said so, busy included
  std::deque<FreeUnits> free_;            // of the last seconds, ascending
  std::map<model::PurchaseAnswer, std::uint64_t> answers_;
};

}  // namespace seckill::sim

// The oracle: a plain record of who was told what, held against the promises at every step. It knows nothing of lanes'
// rules, queues or landings; it sees what any outsider could: questions, answers, the store's tables, the lanes'
// counts.
//
//   P1 P2 every event · P3 P5 each order, each acknowledgement · P4 each answer · P6 ends as they happen, and at quiet
//   P8 each sold_out, and by buying what is left at quiet
//
// Keeps the first complaint only: what follows a broken promise says little. One run, one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "admission/admission.hpp"
#include "simulation/devices/store/tables.hpp"
#include "simulation/kernel/kernel.hpp"
#include "simulation/oracle/terms_history.hpp"

namespace seckill::sim {

struct OracleRules {
  // An acknowledged ticket has its row already; else only once things are quiet (a broker may hold it).
  bool acknowledged_is_landed = true;
  // How far the clock of whoever judges may be from true time.
  std::chrono::milliseconds clock_error_max{0};
  // The store never refuses what a lane has admitted: no row `failed` appears.
  bool nothing_fails = true;
  // sold_out rests on a reading this old at most (P8).
  std::chrono::milliseconds sold_out_age_max{1'000};
};

class Oracle {
 public:
  struct Complaint {
    std::string promise;
    std::string what;
  };

  // Borrows both.
  Oracle(const Kernel& kernel, const Tables& tables, OracleRules rules = {});

  // --- what operators do: once when an edit is sent, once when it is known to hold everywhere ---
  void may_hold(const model::ItemKey& item, const model::ItemTerms& terms);
  void hold_alone(const model::ItemKey& item, const model::ItemTerms& terms);

  // --- what buyers see ---
  // Before the request is sent. The number names this question in answered().
  std::size_t asked(const admission::AdmitRequest& request);
  // The reply as it reached the buyer; not called for a reply that was lost.
  void answered(std::size_t question, const admission::AdmitReply& reply);
  void answered_early(const model::ItemKey& item, const model::BuyerId& buyer, std::int64_t units,
                      model::PurchaseAnswer answer);
  // The answer to a cancel or a payment. `was_acknowledged`: the ticket was when this was asked.
  void ended(const model::Ticket& ticket, model::OrderEvent event, const base::Result<store::Ended>& ended,
             bool was_acknowledged);
  // An outcome that was read: false = "no such ticket".
  void looked_up(const model::Ticket& ticket, bool known);

  // --- at every event ---
  // The lanes' counts, ascending; empty: unknown (closed, crashed). Cheap.
  void lanes_are(const model::ItemKey& item, std::span<const admission::LaneView> lanes);
  // New and changed rows of the store. Cheap.
  void step();
  // Everything in the store, from its rows alone.
  void check_store();
  // Nothing is under way any more: everything ended, lanes and store say the same.
  void check_quiet(const model::ItemKey& item, std::span<const admission::LaneView> lanes);

  // Free units in an item's lanes, by the last lanes_are().
  [[nodiscard]] std::int64_t free_units(const model::ItemKey& item) const;
  // The ticket that a buyer was told of for this request, whatever became of it.
  [[nodiscard]] std::optional<model::Ticket> ticket_of(const model::ItemKey& item, const model::BuyerId& buyer,
                                                       const model::RequestId& request) const;
  [[nodiscard]] bool is_acknowledged(const model::Ticket& ticket) const;
  [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_; }
  [[nodiscard]] std::uint64_t questions() const noexcept { return questions_.size(); }
  [[nodiscard]] const std::optional<Complaint>& complaint() const noexcept { return complaint_; }
  // For what a world itself finds; kept when it is the first.
  void complain(std::string_view promise, std::string what);

 private:
  struct Item {
    TermsHistory terms;
    std::vector<Time> last_short;  // [n]: when fewer than n free units were last seen
    std::int64_t free = 0;
    bool known = false;
  };
  struct Question {
    admission::AdmitRequest request;
    base::UtcMs asked_at = 0;
  };
  // All that was asked under one request id.
  struct Request {
    std::vector<std::uint64_t> digests;         // of every question
    std::optional<model::Ticket> ticket;        // told
    std::optional<std::uint64_t> acknowledged;  // the digest that was told admitted or replayed
  };
  struct Ticket {
    model::ItemKey item;
    bool acknowledged = false;
    std::optional<model::OrderEvent> done;  // the end that somebody was told is done
    std::optional<model::OrderState> last_state;
  };
  using RequestName = std::tuple<model::ItemKey, model::BuyerId, model::RequestId>;

  [[nodiscard]] base::UtcMs now() const noexcept { return kernel_.utc(); }
  void acknowledge(const Question& question, Request& request, const admission::AdmitReply& reply);
  void check_refusal(const Question& question, const Request& request, const admission::AdmitReply& reply);
  void check_limit_reached(const Question& question, const admission::AdmitReply& reply);
  void check_sold_out(const model::ItemKey& item, std::int64_t units);
  void check_counts(const ItemRow& row);
  void check_first_seen(const OrderRow& row);
  void check_state(const OrderRow& row);
  void check_journal(const OrderRow& row);
  void check_limits(const ItemRow& row);
  void check_sums(const ItemRow& row);
  [[nodiscard]] std::string name_of(const Question& question) const;

  const Kernel& kernel_;
  const Tables& tables_;
  const OracleRules rules_;
  std::map<model::ItemKey, Item> items_;
  std::vector<Question> questions_;
  std::map<RequestName, Request> requests_;
  std::map<model::Ticket, Ticket> tickets_;
  std::uint64_t acknowledged_ = 0;
  std::size_t rows_seen_ = 0;     // orders
  std::size_t changes_seen_ = 0;  // of the store, by what only grows
  std::optional<Complaint> complaint_;
};

}  // namespace seckill::sim

// Landing where lanes have generations (DESIGN §4.2, §4.5): what Landing does, and then what only cluster mode has: an
// intent of an older generation is offered to the open lane, and a ticket that has ended is released in its lane.
//
// The order worker settles what the broker delivers with it, and synchronous ordering what the relay hands over; both
// at once, from several threads. It keeps nothing between calls: the truth it acts on is read when it is needed.
//
//   landing says      | then                                        | settled as
//   ------------------|---------------------------------------------|------------------------------------------
//   ordered           |                                             | ordered
//   already_live      |                                             | duplicate
//   already_ended,    | the lane of this ticket releases it once    | ended, failed
//   failed            | more: its mark may be younger than the row  |
//                     | and the outbox's release (P6, see below)    |
//                     | lane closed, foreign, silent                | later
//                     | no lane: by the database, or closed for good| ended, failed
//   superseded        | row's state lane: adopt, outside any transaction:
//                     |   adopted: lands with the lane's generation | as that landing says; superseded: later
//                     |   refused: row failed(superseded) (P6)      | failed
//                     |   superseded, ticket ended in the lane:     | failed; a row that is there stands
//                     |     row failed(superseded) unless it has one|
//                     |   superseded, ticket live with other content:
//                     |     its intent is durable elsewhere         | replaced: nothing is written
//                     |     its intent is in the lane alone         | later
//                     |   closed, stale, foreign, no answer         | later
//                     | row's state store: the landing decides, so  | as that landing says
//                     |   it is offered under the row's generation  |
//                     | row's state closed                          | later
//
// Why an adoption that finds its ticket ended writes the failure all the same: a lane remembers a refused adoption as
// an ended ticket, and the worker may have died between the refusal and the row. A ticket without a row would then
// never end (P5, P6). Where a row exists, fail_intent changes nothing, so neither a sale nor another end is lost.
//
// Why `replaced` waits until the other intent is durable: this one may be what a buyer was answered for, and the ticket
// is the same (P4); acknowledged away, the ticket would live on by one copy in one lane (P5).
//
// Why a release is sent where none seems to be owed: a ticket failed as superseded has no mark, so its outbox release
// finds nothing and is acknowledged. The buyer asks again under the same request id; the lane, which has forgotten him,
// holds units for the same ticket; its intent comes here, finds the failed row, and this release gives the units back.
// Where the store says `closed` or `store`, none is needed: no lane opens again without being built from the rows.
//
// Errors of messages are not counted yet: a ticket that violates is failed at once by Landing::condemn. Counting them
// in the store and parking after three replaces that call there; nothing here changes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "admission/lane_scripts.hpp"
#include "base/clock.hpp"
#include "base/limits.hpp"
#include "base/threads.hpp"
#include "orders/landing.hpp"
#include "queue/deadline_bell.hpp"
#include "queue/intent_queue.hpp"
#include "store/lane_authority.hpp"
#include "store/store.hpp"

namespace seckill::orders {

// What became of one intent. Everything but `later` is final: its message may be acknowledged.
enum class SettledAs : std::uint8_t { ordered, duplicate, ended, failed, replaced, later };
struct Settled {
  SettledAs as = SettledAs::later;
  store::Landed landed;  // what the landing said last
};

// What has been done since the start. Any thread, each value by itself.
struct ClusterLandingCounters {
  std::atomic<std::uint64_t> adopted{0};
  std::atomic<std::uint64_t> refused{0};   // adoptions refused: failed as superseded
  std::atomic<std::uint64_t> replaced{0};  // the ticket stands for other content
  std::atomic<std::uint64_t> released{0};  // releases sent for tickets that had ended
  std::atomic<std::uint64_t> later{0};     // undecided, to be offered again
};

struct ClusterLandingConfig {
  std::chrono::milliseconds call_longest{1'000};  // a lane call; node lease: row read (≤ 3 s old) + call < 5 s
  std::chrono::milliseconds row_age_max{3'000};   // no lane is told anything on the strength of an older reading
  // Intents inside consume() at one time; past it Errc::limit: the relay answers busy.
  std::size_t consuming_max = 4'096;
};

class ClusterLanding final : public queue::IntentConsumer {
 public:
  // Borrowed for the whole life.
  struct Ports {
    store::Store& store;
    store::LaneAuthority& authority;
    admission::LaneScripts& scripts;
    base::Threads& threads;
    const base::Clock& clock;
    queue::DeadlineBellRinger* bell = nullptr;  // rung once for each pay window that orders have landed with
  };
  ClusterLanding(Ports ports, Landing::OversellGuard guard, ClusterLandingConfig config = {});

  // One Settled for each intent, in order. Errors: the store's (unavailable, timeout, disk_full, corrupt), with nothing
  // counted against any ticket: offer the same again; what was settled before is a duplicate then. Any thread. Blocks
  // until durable.
  [[nodiscard]] base::Result<std::vector<Settled>> settle(std::span<const model::OrderIntent> intents);

  // The same for synchronous ordering: replaced reads as already_live, later as superseded (not durable: keep it).
  // Errc::limit when too many are under way. Records that are transfers are refused (Errc::invalid): lanes on another
  // machine move units by LaneAuthority. Any thread. Blocks until durable.
  base::Result<std::vector<store::Landed>> consume(std::span<const model::LaneRecord> records) override;

  [[nodiscard]] const ClusterLandingCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] const LandingCounters& landing() const noexcept { return landing_.counters(); }

 private:
  using Places = std::vector<std::size_t>;  // indexes of intents in the call
  // The rows as read in this call, and when.
  struct Rows {
    std::chrono::nanoseconds read_at{};
    std::map<model::ItemKey, store::ItemAuthority> items;

    [[nodiscard]] const store::LaneAuthorityRow* row_of(const model::OrderIntent& intent) const;
  };

  [[nodiscard]] base::Result<Places> land(std::span<model::OrderIntent> intents, const Places& places,
                                          std::vector<Settled>& out);
  [[nodiscard]] base::Result<Rows> read_rows(std::span<const model::OrderIntent> intents, const Places& places);
  [[nodiscard]] base::Result<Places> adopt(std::span<model::OrderIntent> intents, const Places& strays,
                                           std::vector<Settled>& out);
  [[nodiscard]] base::Status after_adopt(const admission::AdoptReply& reply, const store::LaneAuthorityRow& row,
                                         model::OrderIntent& intent, Settled& out, bool& again);
  [[nodiscard]] base::Status after_superseded(const store::LaneAuthorityRow& row, const model::OrderIntent& intent,
                                              Settled& out);
  [[nodiscard]] base::Status fail(const model::OrderIntent& intent, Settled& out);
  [[nodiscard]] base::Status verify_failed(std::span<const model::OrderIntent> intents, std::vector<Settled>& out);
  void ring_bell(std::span<const model::OrderIntent> intents, std::span<const Settled> settled) const;
  [[nodiscard]] base::Status release_ended(std::span<const model::OrderIntent> intents, std::vector<Settled>& out);

  Ports ports_;
  const ClusterLandingConfig config_;
  Landing landing_;  // its counters are atomics, its work is one store call: any thread
  ClusterLandingCounters counters_;
  std::atomic<std::size_t> consuming_{0};
};

}  // namespace seckill::orders

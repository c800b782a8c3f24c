// Admission by database (DESIGN §4.6): the item's lanes are in state `store`, so nobody decides before the landing. A
// request is looked up by its ticket, and published as an undecided intent when it is new.
//
//   the store's row of the ticket        answer
//   cannot be read                       busy
//   of this content                      replayed, with the row's state (a failed one says so: try a new request id)
//   of other content                     request_conflict
//   none: phase not open                 not_started, paused, ended, by this node's clock and copy
//   none: more than the limit            limit_reached, whatever the buyer has
//   none: past the rate, queue full      busy: nothing was published
//   none, published and durable          admitted: "queued, undecided"
//   none, published, not known durable   busy with the ticket
//
// The ticket is derived, so a repeat is the same ticket here too (P4); the landing takes it once. No lane has a record
// of it before it lands: what was not confirmed is asked again by its buyer.
//
// Threads: ask() from any; the store is read on the desk's own threads.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "admission/remote/config.hpp"
#include "admission/remote/item_copies.hpp"
#include "admission/remote/relay.hpp"

namespace seckill::admission::remote {

class StoreDesk {
 public:
  // Borrows all of them for its whole life.
  StoreDesk(const Ports& ports, const Config& config, const ItemCopies& copies, Relay& relay);

  void start();
  void stop();  // blocks until the requests under way are published; who still waits is answered busy

  // Takes the call over; busy when too many wait. Does not block.
  void ask(CallPtr call);

 private:
  void run();
  void serve(const CallPtr& call);
  [[nodiscard]] bool within_rate();
  void publish(const CallPtr& call, const ItemCopy& copy);

  const Ports& ports_;
  const Config& config_;
  const ItemCopies& copies_;
  Relay& relay_;
  const std::unique_ptr<base::Signal> changed_;

  std::mutex mutex_;
  // Under the mutex.
  std::deque<CallPtr> waiting_;
  std::int64_t tokens_micro_ = 0;  // admissions left now, in millionths
  std::chrono::nanoseconds filled_at_{};
  bool stopping_ = false;
  std::vector<std::unique_ptr<base::Thread>> threads_;  // owned by start() and stop()
};

}  // namespace seckill::admission::remote

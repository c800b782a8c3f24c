#include "admission/remote/steal_desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "admission/lane_rules.hpp"
#include "base/log.hpp"

namespace seckill::admission::remote {
namespace {

using Kind = StealOutcome::Kind;

// A call stops waiting once: for its steal, or for its time being over.
bool stop_waiting(AdmitCall& call, std::uint32_t serial) {
  return call.steal_wait.compare_exchange_strong(serial, 0, std::memory_order_acq_rel);
}

bool still_waits(const AdmitCall& call, std::uint32_t serial) {
  return call.steal_wait.load(std::memory_order_acquire) == serial;
}

struct WaitOver {
  CallPtr call;
  std::uint32_t serial = 0;
  [[nodiscard]] bool over() const noexcept { return !still_waits(*call, serial); }
  void ring() const {
    if (stop_waiting(*call, serial)) call->answer_busy();
  }
};

bool equal(const std::vector<LaneReading>& a, const std::vector<LaneReading>& b) {
  return std::ranges::equal(a, b, [](const LaneReading& x, const LaneReading& y) {
    return x.generation == y.generation && x.epoch == y.epoch && x.stock.available == y.stock.available;
  });
}

bool any_transfer(const std::vector<LaneReading>& readings) {
  return std::ranges::any_of(readings, [](const LaneReading& one) { return !one.transfers.empty(); });
}

std::int64_t free_units(const std::vector<LaneReading>& readings) {
  std::int64_t units = 0;
  for (const LaneReading& one : readings) units += one.stock.available;
  return units;
}

}  // namespace

StealDesk::StealDesk(const Ports& ports, const Config& config, const ItemCopies& copies, const LaneCalls& calls,
                     TransferSteps& transfers, Alarms& alarms, AskAgain ask_again)
    : ports_{ports},
      config_{config},
      copies_{copies},
      calls_{calls},
      transfers_{transfers},
      alarms_{alarms},
      ask_again_{std::move(ask_again)},
      nonce_{fmt::format("{:016x}", ports.random.next())},
      changed_{ports.threads.make_signal()} {}

void StealDesk::start() {
  for (std::size_t i = 0; i < config_.steal_threads; ++i) {
    threads_.push_back(ports_.threads.start("steals", [this] { run(); }));
  }
}

void StealDesk::stop() {
  {
    const std::scoped_lock lock{mutex_};
    stopping_ = true;
  }
  changed_->notify_all();
  for (const auto& thread : threads_) thread->join();
  threads_.clear();
  std::vector<Waiter> left;
  {
    const std::scoped_lock lock{mutex_};
    for (auto& [place, waiters] : waiting_) std::ranges::move(waiters, std::back_inserter(left));
    waiting_.clear();
    jobs_.clear();
  }
  for (const Waiter& waiter : left) {
    if (stop_waiting(*waiter.call, waiter.serial)) waiter.call->answer_busy();
  }
}

void StealDesk::wait(CallPtr call) {
  std::uint32_t serial = 0;
  {
    const std::scoped_lock lock{mutex_};
    const auto [entry, added] = waiting_.try_emplace(Place{call->item.get(), call->lane});
    std::deque<Waiter>& waiters = entry->second;
    if (waiters.size() >= config_.steal_waiters_max) {
      std::erase_if(waiters, [](const Waiter& one) { return !still_waits(*one.call, one.serial); });
    }
    if (!stopping_ && waiters.size() < config_.steal_waiters_max) {
      serial = ++serials_ == 0 ? ++serials_ : serials_;
      call->steal_wait.store(serial, std::memory_order_release);
      waiters.push_back({call, serial});
      if (added) jobs_.push_back({call->item, call->lane});
    } else if (added) {
      waiting_.erase(entry);
    }
  }
  if (serial == 0) return call->answer_busy();
  changed_->notify_one();
  WaitOver wait_over{std::move(call), serial};
  if (!alarms_.try_set(config_.steal_wait, wait_over)) wait_over.ring();
}

void StealDesk::run() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_->wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    serve(job);
    lock.lock();
  }
}

// One steal for all who wait at the place; whoever needs another goes behind the other places.
void StealDesk::serve(const Job& job) {
  if (const std::int64_t need = first_need(job); need > 0) resolve(job, steal(job.item, job.lane, need));
  const std::scoped_lock lock{mutex_};
  const auto entry = waiting_.find({job.item.get(), job.lane});
  if (entry == waiting_.end()) return;
  if (entry->second.empty()) {
    waiting_.erase(entry);
  } else {
    jobs_.push_back(job);
    changed_->notify_one();
  }
}

// 0: nobody waits any more.
std::int64_t StealDesk::first_need(const Job& job) {
  const std::scoped_lock lock{mutex_};
  std::deque<Waiter>& waiters = waiting_[{job.item.get(), job.lane}];
  while (!waiters.empty() && !still_waits(*waiters.front().call, waiters.front().serial)) waiters.pop_front();
  return waiters.empty() ? 0 : waiters.front().call->request.units;
}

void StealDesk::resolve(const Job& job, const StealOutcome& outcome) {
  std::deque<Waiter> resolved;
  {
    const std::scoped_lock lock{mutex_};
    std::deque<Waiter> still;
    for (Waiter& waiter : waiting_[{job.item.get(), job.lane}]) {
      // Who needs no more than is free was not answered by a reading that says sold_out.
      const bool answered = outcome.kind != Kind::sold_out || waiter.call->request.units > outcome.free_units;
      (answered ? resolved : still).push_back(std::move(waiter));
    }
    waiting_[{job.item.get(), job.lane}] = std::move(still);
  }
  for (const Waiter& waiter : resolved) {
    if (!stop_waiting(*waiter.call, waiter.serial)) continue;
    switch (outcome.kind) {
      case Kind::ask_again: ask_again_(waiter.call); break;
      case Kind::sold_out: waiter.call->answer(model::PurchaseAnswer::sold_out); break;
      case Kind::busy: waiter.call->answer_busy(); break;
    }
  }
}

// Before the flag goes up: who is refused by it is looked up among these marks.
void note_sold_out(RemoteItem& item, const std::vector<LaneReading>& readings) {
  for (model::LaneIndex index = 0; index < item.lane_count; ++index) {
    LaneState& lane = item.lanes[index];
    const std::scoped_lock lock{lane.mutex};
    lane.sold_out_reading = {.generation = readings[index].generation, .marks = readings[index].marks, .version = 0};
  }
}

StealOutcome StealDesk::steal(const ItemPtr& item, model::LaneIndex lane, std::int64_t need) {
  std::vector<LaneReading> before;
  for (std::size_t reading = 0; reading < config_.steal_readings_max; ++reading) {
    const CopyPtr copy = item->copy();
    // Before the lanes are asked: what they say was true after this instant.
    const std::chrono::nanoseconds asked_at = ports_.clock.steady_now();
    std::vector<LaneReading> now;
    if (!copies_.fresh(*copy) || !all_as_copied(*item, *copy, now)) return {};
    if (now[lane].stock.available >= need) return {.kind = Kind::ask_again};
    const std::int64_t free = free_units(now);
    if (free >= need) {
      if (!move_into(item, *copy, lane, now, need)) return {};
      return {.kind = Kind::ask_again};
    }
    const bool in_transit = any_transfer(now);
    if (!in_transit && !before.empty() && equal(before, now)) {
      // Who asks here may have a ticket that this lane does not know yet: he is not denied (P4).
      if (copy->lane(lane).undrained()) return {};
      note_sold_out(*item, now);
      item->sold_out.raise(free, asked_at + config_.sold_out_lease);
      return {.kind = Kind::sold_out, .free_units = free};
    }
    // A reading with units in transit cannot be the first of two.
    before = in_transit ? std::vector<LaneReading>{} : std::move(now);
    if (in_transit) ports_.threads.sleep_for(config_.steal_reading_pause);
  }
  return {};
}

// Whether every lane answered, is open and is what the copy says it is: only then does a reading count.
bool StealDesk::all_as_copied(const RemoteItem& item, const ItemCopy& copy, std::vector<LaneReading>& readings) const {
  for (const store::LaneAuthorityRow& row : copy.authority.lanes) {
    if (row.state != store::LaneState::lane) return false;
  }
  for (auto& reading : calls_.read_all(item, copy)) {
    if (!reading || !reading->known || !reading->open) return false;
    if (reading->generation != copy.lane(static_cast<model::LaneIndex>(readings.size())).row.generation) return false;
    readings.push_back(std::move(*reading));
  }
  return true;
}

// True when the lane is worth asking again: something arrived, or the sources were emptied meanwhile and a new reading
// decides.
bool StealDesk::move_into(const ItemPtr& item, const ItemCopy& copy, model::LaneIndex lane,
                          const std::vector<LaneReading>& readings, std::int64_t need) {
  std::vector<std::int64_t> available;
  available.reserve(readings.size());
  for (const LaneReading& one : readings) available.push_back(one.stock.available);
  const StealPlan plan = plan_steal(available, lane, need);
  std::int64_t arrived = 0;
  for (const StealStep& step : plan.moves()) {
    std::string id;
    {
      const std::scoped_lock lock{mutex_};
      id = fmt::format("steal:{}-{}", nonce_, ++ids_);
    }
    const auto moved = transfers_.move(*item, copy, step.from, static_cast<std::int32_t>(lane), step.units, id);
    if (!moved) {
      base::log::warn("{}", moved.error().text());
      return arrived > 0;
    }
    arrived += *moved;
  }
  return true;
}

}  // namespace seckill::admission::remote

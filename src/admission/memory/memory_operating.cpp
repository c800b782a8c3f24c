// MemoryAdmission: how tickets end in their lane, what operators change, and what others may look at.
#include <fmt/format.h>

#include <memory>
#include <mutex>

#include "admission/lane_rules.hpp"
#include "admission/memory/lane_tickets.hpp"
#include "admission/memory/memory_admission.hpp"
#include "base/log.hpp"

namespace seckill::admission::memory {
namespace {

constexpr std::size_t edits_max = 10'000;        // terms are kept for as long as the item: bounded
constexpr std::size_t credits_max = 100'000;     // remembered transfer ids an item
constexpr std::size_t debits_max = 100'000;      // remembered reductions an item
constexpr std::chrono::seconds reduce_wait{30};  // for the transfers of a reduction to become durable

}  // namespace

// What a reduction took from the lanes, and how many of its transfers are durable. Remembered by the item, so that the
// same id asks for the same units again; shared with the confirmations, which may come late. Any thread.
class Debit {
 public:
  Debit(base::Threads& threads, const StealPlan& plan)
      : threads_{threads}, changed_{threads.make_signal()}, transfers_{plan.count} {
    for (const StealStep& step : plan.moves()) units_ += step.units;
  }
  [[nodiscard]] std::int64_t units() const noexcept { return units_; }
  void confirmed(bool durable) {
    const std::scoped_lock lock{mutex_};
    ++told_;
    if (durable) ++durable_;
    changed_->notify_all();
  }
  // Blocks until every transfer was confirmed, or for the longest wait; true when all are durable.
  [[nodiscard]] bool wait() {
    std::unique_lock lock{mutex_};
    return threads_.wait_for(*changed_, lock, reduce_wait, [this] { return told_ >= transfers_; }) &&
           durable_ >= transfers_;
  }

 private:
  base::Threads& threads_;
  std::mutex mutex_;
  const std::unique_ptr<base::Signal> changed_;
  const std::size_t transfers_;
  std::int64_t units_ = 0;
  std::size_t told_ = 0;
  std::size_t durable_ = 0;
};

template <typename End>
void MemoryAdmission::end_ticket(const model::ItemKey& key, const model::Ticket& ticket, LaneDone& done, End end) {
  const ItemRegistry::Reading reading{items_};
  Item* item = reading.find(key);
  if (item == nullptr) {
    // An install that began before the store's row was written may not have read it: ask again. One that begins from
    // now on reads it. The second look is for one that ended between.
    if (installs_.load() > 0) return done(LaneAck::closed);
    item = reading.find(key);
    if (item == nullptr) return done(LaneAck::applied);
  }
  if (ticket.lane() >= item->lane_count) return done(LaneAck::applied);
  Lane& lane = item->lanes[ticket.lane()];
  LaneAck ack = LaneAck::applied;
  {
    const std::scoped_lock lock{lane.mutex};
    if (!lane.open) {
      ack = LaneAck::closed;
    } else if (TicketRecord* record = lane.marks.find(ticket)) {
      mark_published(lane, *record);  // its end rests on its row
      end(*item, lane, *record);
    }
  }
  done(ack);
}

void MemoryAdmission::release(const model::ItemKey& key, const model::Ticket& ticket, LaneDone done) {
  end_ticket(key, ticket, done, [](Item& item, Lane& lane, TicketRecord& record) {
    if (record.units_state != Units::held) return;
    void_units(item, lane, record);
    if (record.state == model::TicketState::queued) record.state = model::TicketState::ordered;
    if (record.state == model::TicketState::parked) record.state = model::TicketState::failed;  // discarded
  });
}

void MemoryAdmission::post(const model::ItemKey& key, const model::Ticket& ticket, LaneDone done) {
  end_ticket(key, ticket, done, [](Item&, Lane& lane, TicketRecord& record) {
    if (record.units_state != Units::held) return;
    post_units(lane, record);
    record.state = model::TicketState::ordered;
  });
}

void MemoryAdmission::find_ticket(const model::ItemKey& key, const model::BuyerId& buyer, const model::Ticket& ticket,
                                  std::move_only_function<void(base::Result<std::optional<TicketView>>)> done) {
  const ItemRegistry::Reading reading{items_};
  Item* item = reading.find(key);
  base::Result<std::optional<TicketView>> result = std::optional<TicketView>{};
  const auto closed = [&] {
    return base::fail(base::Errc::unavailable, "looking up a ticket of " + key.text(), "its lanes are not open");
  };
  if (item == nullptr) return done(closed());
  Lane& lane = item->lane_of(buyer.view());
  {
    const std::scoped_lock lock{lane.mutex};
    if (!lane.open) {
      result = closed();
    } else {
      const TicketRecord* record = lane.marks.find(ticket);
      // Another buyer's ticket is no ticket (FS-24).
      if (record != nullptr && lane.marks.mark_of(*record).buyer() == buyer.view()) result = view_of(*record);
    }
  }
  done(std::move(result));
}

void MemoryAdmission::buyer_tickets(const model::ItemKey& key, const model::BuyerId& buyer,
                                    std::move_only_function<void(base::Result<std::vector<TicketView>>)> done) {
  const ItemRegistry::Reading reading{items_};
  Item* item = reading.find(key);
  base::Result<std::vector<TicketView>> result = std::vector<TicketView>{};
  const auto closed = [&] {
    return base::fail(base::Errc::unavailable, "looking up a buyer's tickets of " + key.text(),
                      "its lanes are not open");
  };
  if (item == nullptr) return done(closed());
  Lane& lane = item->lane_of(buyer.view());
  {
    const std::scoped_lock lock{lane.mutex};
    if (!lane.open) {
      result = closed();
    } else if (const MarkRecord* mark = lane.marks.find(buyer.view(), MarkTable::hash_of(buyer.view()))) {
      for (const TicketRecord* t = lane.marks.first(*mark); t != nullptr; t = lane.marks.next(*t)) {
        result->push_back(view_of(*t));
      }
    }
  }
  done(std::move(result));
}

std::optional<model::Ticket> MemoryAdmission::ticket_of(const model::ItemKey& key, const model::BuyerId& buyer,
                                                        const model::RequestId& request_id) const {
  const ItemRegistry::Reading reading{items_};
  const Item* item = reading.find(key);
  if (item == nullptr) return std::nullopt;
  return model::derive_ticket(item->ticket_key, key, buyer, request_id.view(),
                              model::lane_of(buyer.view(), item->lane_count));
}

base::Status MemoryAdmission::configure(const model::ItemKey& key, const model::ItemTerms& terms) {
  const std::string doing = "installing new terms of " + key.text();
  const ItemRegistry::Reading reading{items_};
  Item* item = reading.find(key);
  if (item == nullptr) return base::fail(base::Errc::not_found, doing, "its lanes are not in memory");
  const std::scoped_lock operating{item->operating};
  if (terms.version <= item->terms_history.back().version) return {};
  if (item->terms_history.size() >= edits_max) {
    return base::fail(base::Errc::limit, doing, fmt::format("an item takes at most {} edits", edits_max));
  }
  const model::ItemTerms* installed = &item->terms_history.emplace_back(terms);
  for (std::uint32_t i = 0; i < item->lane_count; ++i) {
    const std::scoped_lock lock{item->lanes[i].mutex};
    item->lanes[i].terms = installed;
  }
  // Last: the early answer may only refuse what every lane would refuse by now.
  item->terms.store(installed, std::memory_order_release);
  return {};
}

base::Status MemoryAdmission::credit(const model::StockTransfer& transfer) {
  const std::string doing = fmt::format("crediting transfer {} of {}", transfer.id, transfer.item.text());
  const ItemRegistry::Reading reading{items_};
  Item* item = reading.find(transfer.item);
  if (item == nullptr) return base::fail(base::Errc::not_found, doing, "its lanes are not in memory");
  const bool fits = transfer.from == model::StockTransfer::pool && transfer.to >= 0 &&
                    transfer.to < static_cast<std::int64_t>(item->lane_count) && transfer.units >= 1 &&
                    transfer.units <= base::limits::units_per_item_max;
  if (!fits) return base::fail(base::Errc::invalid, doing, "only units from the pool to one of the item's lanes");
  const std::scoped_lock operating{item->operating};
  if (item->credited.contains(transfer.id)) return {};
  if (item->credited.size() >= credits_max) {
    return base::fail(base::Errc::limit, doing, fmt::format("an item takes at most {} credits a run", credits_max));
  }
  Lane& lane = item->lanes[static_cast<std::size_t>(transfer.to)];
  const std::scoped_lock lock{lane.mutex};
  if (!lane.open) return base::fail(base::Errc::unavailable, doing, "the lane is closed");
  if (transfer.generation != lane.generation) {
    return base::fail(base::Errc::stale, doing, fmt::format("the lane is at generation {}", lane.generation));
  }
  item->credited.insert(transfer.id);
  ledger::credit(lane.stock, transfer.units);
  item->sold_out.lower();
  return {};
}

base::Result<std::int64_t> MemoryAdmission::debit_to_pool(const model::ItemKey& key, std::int64_t units,
                                                          const std::string& id) {
  const std::string doing = fmt::format("reducing {} by {} units", key.text(), units);
  if (units < 1) return base::fail(base::Errc::invalid, doing, "a reduction takes at least one unit");
  auto debit = base::Result<std::shared_ptr<Debit>>{};
  {
    // Not across the wait.
    const ItemRegistry::Reading reading{items_};
    Item* item = reading.find(key);
    if (item == nullptr) return base::fail(base::Errc::not_found, doing, "its lanes are not in memory");
    debit = debit_lanes(*item, units, id, doing);
  }
  if (!debit) return std::unexpected{std::move(debit.error())};
  if (*debit == nullptr) return 0;
  if (!(*debit)->wait()) {
    return base::fail(base::Errc::timeout, doing, "the units left the lanes; their transfers to the pool are queued");
  }
  return (*debit)->units();
}

// The units leave the lanes and their transfers are queued, in one step; nullptr when no unit was free, which is not
// remembered. An id that took units before takes none now.
base::Result<std::shared_ptr<Debit>> MemoryAdmission::debit_lanes(Item& item, std::int64_t units, const std::string& id,
                                                                  const std::string& doing) {
  const std::scoped_lock operating{item.operating};
  if (const auto known = item.debits.find(id); known != item.debits.end()) return known->second;
  if (item.debits.size() >= debits_max) {
    return base::fail(base::Errc::limit, doing, fmt::format("an item takes at most {} reductions a run", debits_max));
  }
  if (!queue_.try_reserve(item.lane_count)) return base::fail(base::Errc::limit, doing, "the queue is full");
  std::shared_ptr<Debit> debit;
  StealPlan plan;
  bool open = true;
  {
    const AllLanes locked{item};
    for (std::uint32_t i = 0; i < item.lane_count; ++i) open = open && item.lanes[i].open;
    const auto available = locked.available();
    if (open) plan = plan_debit({available.data(), item.lane_count}, units);
    if (plan.count > 0) {
      debit = std::make_shared<Debit>(threads_, plan);
      item.debits.emplace(id, debit);
    }
    // Nothing below may fail.
    for (const StealStep& step : plan.moves()) {
      Lane& lane = item.lanes[step.from];
      ledger::debit(lane.stock, step.units);
      queue_.publish(model::StockTransfer{.id = reduction_transfer_id(item.key, id, step.from),
                                          .item = item.key,
                                          .from = static_cast<std::int32_t>(step.from),
                                          .to = model::StockTransfer::pool,
                                          .units = step.units,
                                          .generation = lane.generation,
                                          .at = clock_.now_utc()},
                     [debit](const queue::Confirmation& confirmation) { debit->confirmed(confirmation.durable); });
    }
  }
  if (plan.count < item.lane_count) queue_.cancel_reservation(item.lane_count - plan.count);
  if (!open) return base::fail(base::Errc::unavailable, doing, "its lanes are closed");
  return debit;
}

StockView MemoryAdmission::stock(const model::ItemKey& key) const {
  StockView view;
  const ItemRegistry::Reading reading{items_};
  const Item* item = reading.find(key);
  if (item == nullptr || !item->open.load(std::memory_order_acquire)) return view;
  for (std::uint32_t i = 0; i < item->lane_count; ++i) {
    const std::scoped_lock lock{item->lanes[i].mutex};
    const ledger::LaneStock& stock = item->lanes[i].stock;
    view.available += stock.available;
    view.held += stock.held;
    view.sold += stock.sold;
  }
  view.known = true;
  return view;
}

std::vector<LaneView> MemoryAdmission::lanes(const model::ItemKey& key) const {
  std::vector<LaneView> views;
  const ItemRegistry::Reading reading{items_};
  const Item* item = reading.find(key);
  if (item == nullptr) return views;
  views.reserve(item->lane_count);
  const AllLanes locked{*item};
  for (std::uint32_t i = 0; i < item->lane_count; ++i) {
    const Lane& lane = item->lanes[i];
    views.push_back({.lane = i,
                     .generation = lane.generation,
                     .open = lane.open,
                     .stock = lane.stock,
                     .marks = static_cast<std::int64_t>(lane.marks.marks())});
  }
  return views;
}

void MemoryAdmission::close_lanes(const model::ItemKey& key, std::string_view why) {
  const ItemRegistry::Reading reading{items_};
  Item* item = reading.find(key);
  if (item == nullptr) return;
  item->open.store(false, std::memory_order_release);
  for (std::uint32_t i = 0; i < item->lane_count; ++i) {
    const std::scoped_lock lock{item->lanes[i].mutex};
    item->lanes[i].open = false;
  }
  base::log::error("lanes of {} closed: {}", key.text(), why);
}

}  // namespace seckill::admission::memory

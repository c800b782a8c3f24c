// One lane against its stock row and its orders: units by their sums, tickets one by one.
#include <algorithm>
#include <set>

#include "reconcile/finding_list.hpp"

namespace seckill::reconcile {
namespace {

bool is_committed(store::TransferState state) noexcept { return state != store::TransferState::abandoned; }

// Units that the lane should have and could have available at most.
struct UnitsDue {
  std::int64_t total = 0;
  std::int64_t available = 0;
};

// Its row's, without those that left it or did not reach it yet: a lane debits before the store commits and is credited
// after it. A credit before that is a broken protocol, unless the landing is told of both lanes' part at once.
UnitsDue units_due(const StorePicture& store, const LanePicture& lane, const LaneRowPicture& row) {
  std::map<std::string_view, store::TransferState> states;
  for (const Transfer& transfer : store.transfers) states.emplace(transfer.transfer.id, transfer.state);
  UnitsDue due{.total = row.row.stock.total(), .available = row.row.stock.available};
  std::set<std::string_view> credited;
  for (const LaneRecord& record : lane.transfers) {
    const auto known = states.find(record.id);
    const bool committed = known != states.end() && is_committed(known->second);
    if (!record.debit) credited.insert(record.id);
    if (committed) continue;
    if (record.debit) {
      due.total -= record.units;
    } else if (record.queued) {
      due.total += record.units;
      due.available += record.units;
    }
  }
  for (const Transfer& transfer : store.transfers) {
    const bool comes_here = transfer.transfer.to == lane_number(lane.lane);
    if (transfer.state == store::TransferState::open && comes_here && !credited.contains(transfer.transfer.id)) {
      due.total -= transfer.transfer.units;
    }
  }
  return due;
}

void check_sums(const ItemPicture& picture, const LanePicture& lane, const LaneRowPicture& row, FindingList& list) {
  const Place place{.lane = lane_number(lane.lane)};
  const UnitsDue due = units_due(picture.store, lane, row);
  if (lane.stock.total() != due.total) list.add(DifferenceKind::lane_sum, place, due.total, lane.stock.total());
  if (lane.stock.available > due.available) {
    list.add(DifferenceKind::lane_over_store, place, due.available, lane.stock.available);
  }
  ledger::LaneStock of_marks;
  for (const Mark& mark : lane.marks) {
    if (mark.state == MarkUnits::held) of_marks.held += mark.units;
    if (mark.state == MarkUnits::sold) of_marks.sold += mark.units;
  }
  if (of_marks.held != lane.stock.held || of_marks.sold != lane.stock.sold) {
    list.add(DifferenceKind::lane_marks, place, of_marks.held + of_marks.sold, lane.stock.held + lane.stock.sold);
  }
}

class TicketCheck {
 public:
  TicketCheck(const ItemPicture& picture, const LanePicture& lane, FindingList& list)
      : picture_{picture}, lane_{lane}, list_{list} {}

  void live_mark(const Mark& mark, const store::Order* order) {
    const Place place{.lane = lane_number(lane_.lane), .buyer = &mark.buyer, .ticket = &mark.ticket};
    if (order == nullptr) {
      if (is_old(mark.admitted_at)) list_.add(DifferenceKind::mark_without_row, place, mark.units, 0);
      return;
    }
    if (model::is_ended(order->state)) {
      // A lane that has forgotten a ticket may admit it again; its intent, landing, sends the release again.
      if (is_old(std::max(order->ended_at, mark.admitted_at))) {
        list_.add(DifferenceKind::mark_of_ended_row, place, 0, mark.units);
      }
      return;
    }
    const bool sold = model::is_sold(order->state);
    if (mark.buyer != order->buyer || mark.units != order->units || order->lane != lane_.lane ||
        (mark.state == MarkUnits::sold && !sold)) {
      list_.add(DifferenceKind::mark_row_mismatch, place, order->units, mark.units);
    } else if (sold && mark.state == MarkUnits::held && is_old(order->ended_at)) {
      list_.add(DifferenceKind::mark_not_posted, place, order->units, 0);
    }
  }

  void live_row(const store::Order& order) {
    if (!is_old(order.landed_at)) return;
    list_.add(DifferenceKind::row_without_mark,
              {.lane = lane_number(lane_.lane), .buyer = &order.buyer, .ticket = &order.ticket}, order.units, 0);
  }

 private:
  [[nodiscard]] bool is_old(base::UtcMs since) const noexcept { return since + picture_.grace_ms < picture_.now; }

  const ItemPicture& picture_;
  const LanePicture& lane_;
  FindingList& list_;
};

}  // namespace

void check_lane(const ItemPicture& picture, const LanePicture& lane, const LaneRowPicture& row,
                const OrdersByTicket& orders, FindingList& list) {
  check_sums(picture, lane, row, list);
  TicketCheck check{picture, lane, list};
  std::set<model::Ticket> live;
  for (const Mark& mark : lane.marks) {
    if (!mark.live()) continue;
    live.insert(mark.ticket);
    const auto found = orders.find(mark.ticket);
    check.live_mark(mark, found == orders.end() ? nullptr : found->second);
  }
  for (const store::Order& order : picture.store.orders) {
    if (order.lane == lane.lane && !model::is_ended(order.state) && !live.contains(order.ticket)) check.live_row(order);
  }
}

}  // namespace seckill::reconcile

#include "reconcile/identities.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reconcile/finding_list.hpp"

namespace seckill::reconcile {
namespace {

// The rule that was broken, as the end of a sentence.
std::string_view rule(DifferenceKind kind) noexcept {
  switch (kind) {
    case DifferenceKind::oversell: return "held and sold units are at most the total";
    case DifferenceKind::store_sum: return "pool and stock rows make the total";
    case DifferenceKind::lane_row_sum: return "a stock row's held and sold are its orders'";
    case DifferenceKind::lane_sum: return "a lane has its stock row's units but those in transit";
    case DifferenceKind::lane_marks: return "a lane's held and sold are its marks'";
    case DifferenceKind::lane_over_store: return "a lane has no more available than its stock row";
    case DifferenceKind::mark_without_row: return "a live mark has its order's row in time";
    case DifferenceKind::row_without_mark: return "a live order has its mark";
    case DifferenceKind::mark_row_mismatch: return "a mark agrees with its order's row";
    case DifferenceKind::mark_of_ended_row: return "an ended order's mark is released in time";
    case DifferenceKind::mark_not_posted: return "a sold order's mark is posted in time";
    case DifferenceKind::journal_hold: return "an order has one hold";
    case DifferenceKind::journal_end: return "an order has the end its state says";
    case DifferenceKind::journal_without_order: return "a journal entry is of an order";
    case DifferenceKind::buyer_units: return "a buyer's units are those of his live orders";
    case DifferenceKind::buyer_over_cap: return "a buyer has at most what was allowed";
    case DifferenceKind::release_without_end: return "a pending release or post is of an order that ended so";
    case DifferenceKind::paid_without_payment: return "a sold order with a price has its payment";
    case DifferenceKind::payment_without_order: return "a payment has its order or its refund";
    case DifferenceKind::payment_of_free_order: return "a price-0 order has no payment";
    case DifferenceKind::payment_amount: return "a payment is of its order's amount";
  }
  return "unknown";
}

const LaneRowPicture* row_of(const StorePicture& store, model::LaneIndex lane) {
  const auto found = std::ranges::find_if(store.lanes, [&](const LaneRowPicture& row) { return row.row.lane == lane; });
  return found == store.lanes.end() ? nullptr : &*found;
}

bool takes_part(const LanePicture& lane, const LaneRowPicture& row) noexcept {
  return lane.open && row.state == store::LaneState::lane && lane.generation == row.row.generation;
}

}  // namespace

std::string_view name(DifferenceKind kind) noexcept {
  switch (kind) {
    case DifferenceKind::oversell: return "oversell";
    case DifferenceKind::store_sum: return "store_sum";
    case DifferenceKind::lane_row_sum: return "lane_row_sum";
    case DifferenceKind::lane_sum: return "lane_sum";
    case DifferenceKind::lane_marks: return "lane_marks";
    case DifferenceKind::lane_over_store: return "lane_over_store";
    case DifferenceKind::mark_without_row: return "mark_without_row";
    case DifferenceKind::row_without_mark: return "row_without_mark";
    case DifferenceKind::mark_row_mismatch: return "mark_row_mismatch";
    case DifferenceKind::mark_of_ended_row: return "mark_of_ended_row";
    case DifferenceKind::mark_not_posted: return "mark_not_posted";
    case DifferenceKind::journal_hold: return "journal_hold";
    case DifferenceKind::journal_end: return "journal_end";
    case DifferenceKind::journal_without_order: return "journal_without_order";
    case DifferenceKind::buyer_units: return "buyer_units";
    case DifferenceKind::buyer_over_cap: return "buyer_over_cap";
    case DifferenceKind::release_without_end: return "release_without_end";
    case DifferenceKind::paid_without_payment: return "paid_without_payment";
    case DifferenceKind::payment_without_order: return "payment_without_order";
    case DifferenceKind::payment_of_free_order: return "payment_of_free_order";
    case DifferenceKind::payment_amount: return "payment_amount";
  }
  return "unknown";
}

std::string_view name(Repair repair) noexcept {
  switch (repair) {
    case Repair::republish: return "republish";
    case Repair::resend_release: return "resend_release";
    case Repair::rebuild_lane: return "rebuild_lane";
    case Repair::person: return "person";
  }
  return "unknown";
}

Repair repair_of(DifferenceKind kind) noexcept {
  switch (kind) {
    case DifferenceKind::mark_without_row: return Repair::republish;
    case DifferenceKind::mark_of_ended_row:
    case DifferenceKind::mark_not_posted: return Repair::resend_release;
    case DifferenceKind::lane_sum:
    case DifferenceKind::lane_marks:
    case DifferenceKind::lane_over_store:
    case DifferenceKind::row_without_mark:
    case DifferenceKind::mark_row_mismatch: return Repair::rebuild_lane;
    case DifferenceKind::oversell:
    case DifferenceKind::store_sum:
    case DifferenceKind::lane_row_sum:
    case DifferenceKind::journal_hold:
    case DifferenceKind::journal_end:
    case DifferenceKind::journal_without_order:
    case DifferenceKind::buyer_units:
    case DifferenceKind::buyer_over_cap:
    case DifferenceKind::release_without_end:
    case DifferenceKind::paid_without_payment:
    case DifferenceKind::payment_without_order:
    case DifferenceKind::payment_of_free_order:
    case DifferenceKind::payment_amount: return Repair::person;
  }
  return Repair::person;
}

void FindingList::add(DifferenceKind kind, const Place& place, std::int64_t expected, std::int64_t found) {
  Difference difference;
  difference.kind = kind;
  difference.lane = place.lane;
  difference.expected = expected;
  difference.found = found;
  std::string where = item_.text();
  if (place.lane != no_lane) where += fmt::format(", lane {}", place.lane);
  if (place.ticket != nullptr) {
    difference.ticket = *place.ticket;
    where += ", ticket " + place.ticket->str();
  }
  if (place.buyer != nullptr) {
    difference.buyer = *place.buyer;
    where += fmt::format(", buyer {}", place.buyer->view());
  }
  difference.text =
      fmt::format("{}: {}: {}, but {} is expected and {} found", where, name(kind), rule(kind), expected, found);
  found_.push_back(std::move(difference));
}

std::vector<Difference> differences(const ItemPicture& picture) {
  FindingList list{picture.item};
  OrdersByTicket orders;
  for (const store::Order& order : picture.store.orders) orders.emplace(order.ticket, &order);
  check_store(picture.store, orders, list);
  for (const LanePicture& lane : picture.lanes) {
    const LaneRowPicture* row = row_of(picture.store, lane.lane);
    if (row != nullptr && takes_part(lane, *row)) check_lane(picture, lane, *row, orders, list);
  }
  return list.take();
}

}  // namespace seckill::reconcile

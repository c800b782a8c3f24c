#include "store/mysql/landing_batch.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "store/mysql/lists.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;
using model::FailReason;
using model::OrderIntent;
using model::OrderState;

// What a row that is there already means for a repeated intent.
Landed landed_before(OrderState state, base::UtcMs pay_before) noexcept {
  LandedAs as = LandedAs::already_ended;
  if (state == OrderState::failed) {
    as = LandedAs::failed;
  } else if (!model::is_ended(state)) {
    as = LandedAs::already_live;
  }
  const bool awaited = state == OrderState::awaiting_payment || state == OrderState::closing;
  return {.as = as, .state = state, .pay_before = awaited ? pay_before : 0};
}

constexpr std::int64_t units_beyond_any_lane = 4 * base::limits::units_per_item_max;

const model::ItemKey& item_of(const model::LaneRecord& record) noexcept {
  return std::visit([](const auto& r) -> const model::ItemKey& { return r.item; }, record);
}

}  // namespace

void append_values(std::vector<Value>& values, const NewOrder& row, std::string_view request_id) {
  const OrderIntent& intent = *row.intent;
  const Value columns[insert_order_width] = {bytes_of(intent.ticket),
                                             row.item_id,
                                             intent.buyer.view(),
                                             request_id,
                                             static_cast<std::int64_t>(intent.digest),
                                             std::int64_t{intent.lane},
                                             intent.units,
                                             intent.price_minor,
                                             row.amount_minor,
                                             intent.currency.view(),
                                             static_cast<std::int64_t>(row.state),
                                             static_cast<std::int64_t>(row.reason),
                                             intent.admitted_at,
                                             row.landed_at,
                                             row.pay_before,
                                             row.ended_at,
                                             intent.fields ? std::string_view{*intent.fields} : std::string_view{}};
  values.insert(values.end(), std::begin(columns), std::end(columns));
}

std::optional<std::int64_t> LandingBatch::item_id_of(const model::ItemKey& item) const noexcept {
  const auto known = std::ranges::find(items_, item, &std::pair<model::ItemKey, std::int64_t>::first);
  if (known == items_.end()) return std::nullopt;
  return known->second;
}

LandingBatch::Lane* LandingBatch::lane_of(std::int64_t item_id, std::int64_t lane) noexcept {
  const auto known =
      std::ranges::find_if(lanes_, [&](const Lane& l) { return l.row.lane == lane && l.item_id == item_id; });
  return known == lanes_.end() ? nullptr : &*known;
}

base::Status LandingBatch::prepare(std::span<const model::LaneRecord> records) {
  if (auto found = find_items(records); !found) return found;
  if (auto locked = lock_stock(records); !locked) return locked;
  return read_tickets(records);
}

base::Status LandingBatch::find_items(std::span<const model::LaneRecord> records) {
  for (const model::LaneRecord& record : records) {
    const model::ItemKey& item = item_of(record);
    if (item_id_of(item)) continue;
    auto row = find_item(work_, item);
    if (!row) {
      // To the landing an unknown item is a poison message, not a missing page.
      if (row.error().code == Errc::not_found) row.error().code = Errc::constraint;
      return std::unexpected(std::move(row.error()));
    }
    items_.emplace_back(item, row->item_id);
  }
  return {};
}

base::Status LandingBatch::lock_stock(std::span<const model::LaneRecord> records) {
  std::map<std::int64_t, std::set<std::int64_t>> lanes_of;
  for (const model::LaneRecord& record : records) {
    std::set<std::int64_t>& lanes = lanes_of[item_id_of(item_of(record)).value()];
    if (const auto* intent = std::get_if<OrderIntent>(&record)) {
      lanes.insert(intent->lane);
    } else {
      const auto& transfer = std::get<model::StockTransfer>(record);
      lanes.insert({transfer.from, transfer.to});
      lanes.erase(model::StockTransfer::pool);
    }
  }
  for (const auto& [item_id, wanted] : lanes_of) {
    const auto locked = lock_lanes(work_, item_id, std::vector<std::int64_t>(wanted.begin(), wanted.end()));
    if (!locked) return std::unexpected(locked.error());
    for (const LockedLane& row : *locked) lanes_.push_back({.item_id = item_id, .row = row});
  }
  return {};
}

base::Status LandingBatch::read_tickets(std::span<const model::LaneRecord> records) {
  std::vector<const model::Ticket*> tickets;
  tickets.reserve(records.size());
  for (const model::LaneRecord& record : records) {
    if (const auto* intent = std::get_if<OrderIntent>(&record)) tickets.push_back(&intent->ticket);
  }
  bool sound = true;
  const Visitor note = [&](const Row& row) {
    const auto ticket = ticket_from(row.text(0));
    const auto state = model::order_state_from(row.integer(1));
    sound = sound && ticket && state;
    if (sound) known_.insert_or_assign(*ticket, Known{.state = *state, .pay_before = row.integer(2)});
  };
  const auto read = query_list(work_, note, "SELECT ticket, state, pay_before FROM seckill_order WHERE ticket IN {}",
                               values_of(tickets));
  if (!read) return read;
  if (!sound) return corrupt_row(work_.doing(), "a ticket or its state");
  return {};
}

base::Result<Landed> LandingBatch::decide(const OrderIntent& intent) {
  // A row of this ticket answers before the generation: what landed has landed, whatever was rebuilt since.
  if (const auto known = known_.find(intent.ticket); known != known_.end()) {
    return landed_before(known->second.state, known->second.pay_before);
  }
  const std::int64_t item_id = item_id_of(intent.item).value();
  Lane* lane = lane_of(item_id, intent.lane);
  if (lane == nullptr) return work_.fail(Errc::constraint, fmt::format("an item without lane {}", intent.lane));
  if (lane->row.generation != intent.generation) {
    ++lane->strays;
    return Landed{.as = LandedAs::superseded};
  }
  const auto amount = model::amount_minor(intent.price_minor, intent.units);
  if (!amount) return work_.fail(Errc::constraint, "the amount of ticket " + intent.ticket.str() + " does not fit");
  if (intent.units < 1) return work_.fail(Errc::constraint, "CHECK units of ticket " + intent.ticket.str());
  const bool paid_at_once = intent.price_minor == 0;
  NewOrder row{.intent = &intent,
               .item_id = item_id,
               .state = paid_at_once ? OrderState::paid : OrderState::awaiting_payment,
               .amount_minor = *amount,
               .landed_at = now_,
               .pay_before = paid_at_once ? 0 : now_ + intent.pay_window_ms,
               .ended_at = paid_at_once ? now_ : 0};
  Landed landed{.as = LandedAs::ordered, .state = row.state, .pay_before = row.pay_before};
  if (lane->row.state == LaneState::store) {
    const auto refused = refused_by_store(*lane, intent);
    if (!refused) return std::unexpected(refused.error());
    if (*refused) {
      // No lane holds anything for it, so no release is queued: the loser is only told.
      row = {.intent = &intent,
             .item_id = item_id,
             .state = OrderState::failed,
             .reason = **refused,
             .landed_at = now_,
             .ended_at = now_};
      landed = {.as = LandedAs::failed, .state = OrderState::failed, .pay_before = 0};
    }
  }
  if (landed.as == LandedAs::ordered) {
    std::int64_t& taken = paid_at_once ? lane->sold : lane->held;
    // What no lane can have stays more than any lane has, and write() refuses it.
    taken = std::min(taken, units_beyond_any_lane) + std::min(intent.units, units_beyond_any_lane);
  }
  known_.insert_or_assign(intent.ticket, Known{.state = row.state, .pay_before = row.pay_before});
  rows_.push_back(row);
  return landed;
}

base::Result<LandingBatch::Buyer*> LandingBatch::buyer_of(std::int64_t item_id, const model::BuyerId& buyer) {
  const std::string key = fmt::format("{} {}", item_id, buyer.view());
  if (const auto known = buyers_.find(key); known != buyers_.end()) return &known->second;
  Buyer found;
  const auto units =
      work_.first([&](const Row& row) { found.units = row.integer(0); },
                  "SELECT units FROM buyer_units WHERE item_id = ? AND buyer = ?", item_id, buyer.view());
  if (!units) return std::unexpected(units.error());
  // As a mark counts them: every ticket, ended ones too; but what was refused here never was a ticket of his.
  const auto tickets = work_.first([&](const Row& row) { found.tickets = row.integer(0); },
                                   "SELECT count(*) FROM seckill_order WHERE buyer = ? AND item_id = ? "
                                   "AND reason NOT IN (?, ?)",
                                   buyer.view(), item_id, FailReason::sold_out, FailReason::limit_reached);
  if (!tickets) return std::unexpected(tickets.error());
  if (!tickets_max_.contains(item_id)) {
    std::int64_t most = 0;
    const auto terms = work_.first([&](const Row& row) { most = row.integer(0); },
                                   "SELECT tickets_max FROM sale_item WHERE item_id = ?", item_id);
    if (!terms) return std::unexpected(terms.error());
    tickets_max_.emplace(item_id, std::min<std::int64_t>(most, base::limits::tickets_per_buyer_max));
  }
  return &buyers_.emplace(key, found).first->second;
}

base::Result<std::optional<FailReason>> LandingBatch::refused_by_store(Lane& lane, const OrderIntent& intent) {
  const auto buyer = buyer_of(lane.item_id, intent.buyer);
  if (!buyer) return std::unexpected(buyer.error());
  if (intent.units > intent.limit - (*buyer)->units || (*buyer)->tickets >= tickets_max_.at(lane.item_id)) {
    return FailReason::limit_reached;
  }
  if (intent.units > lane.row.available) return FailReason::sold_out;
  // Nothing below may fail.
  lane.row.available -= intent.units;
  (*buyer)->units += intent.units;
  (*buyer)->tickets += 1;
  return std::nullopt;
}

base::Status LandingBatch::write() {
  if (!rows_.empty()) {
    if (auto written = write_orders(); !written) return written;
    if (auto written = write_journal(); !written) return written;
    if (auto written = write_buyers(); !written) return written;
    rows_.clear();
  }
  return write_stock();
}

base::Status LandingBatch::write_orders() {
  std::vector<Value> values;
  values.reserve(rows_.size() * insert_order_width);
  for (const NewOrder& row : rows_) append_values(values, row, row.intent->request_id.view());
  const auto inserted = work_.run_many(insert_order_sql, insert_order_width, values);
  if (!inserted) return std::unexpected(inserted.error());
  return {};
}

// From the rows themselves, because only they know their order_id.
base::Status LandingBatch::write_journal() {
  std::vector<const model::Ticket*> held;
  std::vector<const model::Ticket*> sold;
  for (const NewOrder& row : rows_) {
    if (row.state == OrderState::failed) continue;
    held.push_back(&row.intent->ticket);
    if (row.state == OrderState::paid) sold.push_back(&row.intent->ticket);
  }
  constexpr std::string_view holds =
      "INSERT INTO stock_journal (entry_id, item_id, lane, units, effect, made_at) "
      "SELECT 2 * order_id, item_id, lane, units, 1, landed_at FROM seckill_order WHERE ticket IN {}";
  constexpr std::string_view posts =
      "INSERT INTO stock_journal (entry_id, item_id, lane, units, effect, made_at) "
      "SELECT 2 * order_id + 1, item_id, lane, units, 2, landed_at FROM seckill_order WHERE ticket IN {}";
  // Nobody else tells the remote lanes that these are sold.
  constexpr std::string_view told =
      "INSERT INTO event_outbox (order_id, effect, made_at) "
      "SELECT order_id, 2, landed_at FROM seckill_order WHERE ticket IN {} ORDER BY order_id";
  if (auto noted = run_list(work_, holds, values_of(held)); !noted) return noted;
  if (auto noted = run_list(work_, posts, values_of(sold)); !noted) return noted;
  return run_list(work_, told, values_of(sold));
}

base::Status LandingBatch::write_buyers() {
  std::vector<const NewOrder*> counted;
  for (const NewOrder& row : rows_) {
    if (row.state == OrderState::failed) continue;
    // As the CHECK would say, before a sum of absurd units leaves the column's range and says something else.
    if (row.intent->units > row.intent->limit) {
      return work_.fail(Errc::constraint, "CHECK buyer_units_cap of buyer_units");
    }
    counted.push_back(&row);
  }
  if (counted.empty()) return {};
  // The lock order; a buyer who comes twice keeps the order of his intents.
  std::ranges::sort(counted, [](const NewOrder* a, const NewOrder* b) {
    return std::tuple{a->item_id, a->intent->buyer.view(), a} < std::tuple{b->item_id, b->intent->buyer.view(), b};
  });
  std::vector<Value> values;
  values.reserve(counted.size() * 4);
  for (const NewOrder* row : counted) {
    values.insert(values.end(), {row->item_id, row->intent->buyer.view(), row->intent->units, row->intent->limit});
  }
  // The CHECK judges the row to be inserted, then the row that it becomes.
  const auto done = work_.run_many(
      "INSERT INTO buyer_units (item_id, buyer, units, cap) VALUES (?, ?, ?, ?) "
      "ON DUPLICATE KEY UPDATE units = units + VALUES(units), cap = GREATEST(cap, VALUES(cap))",
      4, values);
  if (done) return {};
  base::Error error = done.error();
  // Whatever the server names the broken CHECK by, the caller learns that it was the purchase limit.
  if (error.code == Errc::constraint && error.cause.find("buyer_units") == std::string::npos) {
    error.cause = "buyer_units: " + error.cause;
  }
  return std::unexpected(std::move(error));
}

// All rows at once: a batch may touch every lane of an item. Each changes, so those that did not were short (FS-59).
base::Status LandingBatch::write_stock() {
  std::vector<Value> values;
  std::string touched;
  std::int64_t rows = 0;
  for (Lane& lane : lanes_) {
    const std::int64_t taken = lane.held + lane.sold;
    if (taken == 0 && lane.strays == 0) continue;
    const std::int64_t version_step = taken == 0 ? 0 : 1;
    values.insert(values.end(), {taken, lane.held, lane.sold, lane.strays, version_step, lane.item_id, lane.row.lane,
                                 lane.row.generation, taken});
    touched += fmt::format(" {}/{}", lane.item_id, lane.row.lane);
    ++rows;
    lane.held = 0;
    lane.sold = 0;
    lane.strays = 0;
  }
  if (rows == 0) return {};
  const auto moved = work_.run_many(
      "UPDATE lane_stock SET available = available - ?, held = held + ?, sold = sold + ?, strays = strays + ?, "
      "version = version + ? WHERE item_id = ? AND lane = ? AND generation = ? AND available >= ?",
      9, values);
  if (!moved) return std::unexpected(moved.error());
  if (*moved == rows) return {};
  return work_.fail(Errc::oversell_guard, "of these lanes (item/lane) one has fewer units than its holds:" + touched);
}

base::Status LandingBatch::move(const model::StockTransfer& transfer) {
  const std::int64_t item_id = item_id_of(transfer.item).value();
  const auto applied = apply_transfer(work_, item_id, transfer, TransferState::closed);
  if (!applied && applied.error().code != Errc::stale) return std::unexpected(applied.error());
  if (!applied || !*applied) return {};
  if (Lane* from = lane_of(item_id, transfer.from)) from->row.available -= transfer.units;
  if (Lane* to = lane_of(item_id, transfer.to)) to->row.available += transfer.units;
  return {};
}

}  // namespace seckill::store::mysql

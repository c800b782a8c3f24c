#include "orders/order_worker_landing.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <variant>

#include "admission/leading/answers.hpp"
#include "base/assert.hpp"
#include "base/log.hpp"

namespace seckill::orders {
namespace {

using admission::Adopted;
using admission::LaneCode;
using admission::LaneKey;
using admission::LaneServer;
using admission::leading::LaneCalls;
using store::LandedAs;
using store::LaneState;

// Land, adopt, land again. What is superseded then met a second rebuild in that moment and comes again later.
constexpr int landings_max = 2;

void add(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.fetch_add(by, std::memory_order_relaxed);
}

SettledAs settled_as(LandedAs landed) noexcept {
  switch (landed) {
    case LandedAs::ordered: return SettledAs::ordered;
    case LandedAs::already_live: return SettledAs::duplicate;
    case LandedAs::already_ended: return SettledAs::ended;
    case LandedAs::failed: return SettledAs::failed;
    case LandedAs::superseded: return SettledAs::later;
  }
  return SettledAs::later;
}

LaneKey lane_of(const model::OrderIntent& intent) { return {.item = intent.item, .lane = intent.lane}; }

LaneServer server_of(const store::LaneAuthorityRow& row) {
  return {.run_id = row.run_id, .replication_id = row.replication_id};
}

}  // namespace

const store::LaneAuthorityRow* ClusterLanding::Rows::row_of(const model::OrderIntent& intent) const {
  const auto item = items.find(intent.item);
  if (item == items.end()) return nullptr;
  const auto row = std::ranges::find(item->second.lanes, intent.lane,
                                     [](const store::LaneAuthorityRow& one) { return one.row.lane; });
  return row == item->second.lanes.end() ? nullptr : &*row;
}

ClusterLanding::ClusterLanding(Ports ports, Landing::OversellGuard guard, ClusterLandingConfig config)
    : ports_{ports}, config_{config}, landing_{ports.store, ports.clock, std::move(guard)} {
  SECKILL_ASSERT(config_.row_age_max + config_.call_longest < std::chrono::milliseconds{5'000},
                 "a lane is told nothing after the node lease that a rebuild waits for");
}

base::Result<std::vector<Settled>> ClusterLanding::settle(std::span<const model::OrderIntent> intents) {
  std::vector<Settled> out(intents.size());
  std::vector<model::OrderIntent> mine{intents.begin(), intents.end()};  // an adopted one gets another generation
  Places places(intents.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  for (int i = 1; !places.empty(); ++i) {
    const auto strays = land(mine, places, out);
    if (!strays) return std::unexpected(strays.error());
    if (strays->empty() || i == landings_max) break;
    auto again = adopt(mine, *strays, out);
    if (!again) return std::unexpected(again.error());
    places = std::move(*again);
  }
  ring_bell(mine, out);
  if (auto verified = verify_failed(mine, out); !verified) return std::unexpected(verified.error());
  if (auto released = release_ended(mine, out); !released) return std::unexpected(released.error());
  add(counters_.later, static_cast<std::uint64_t>(std::ranges::count(out, SettledAs::later, &Settled::as)));
  return out;
}

// Orders of a batch mostly share one pay window, and a bell that rings for some of them in vain costs one sweep.
void ClusterLanding::ring_bell(std::span<const model::OrderIntent> intents, std::span<const Settled> settled) const {
  if (ports_.bell == nullptr) return;
  std::set<std::int64_t> windows_ms;
  for (std::size_t i = 0; i < intents.size(); ++i) {
    if (settled[i].as == SettledAs::ordered && settled[i].landed.pay_before != 0)
      windows_ms.insert(intents[i].pay_window_ms);
  }
  for (const std::int64_t window : windows_ms) ports_.bell->ring_after(std::chrono::milliseconds{window});
}

// Returns the places of what is superseded.
base::Result<ClusterLanding::Places> ClusterLanding::land(std::span<model::OrderIntent> intents, const Places& places,
                                                          std::vector<Settled>& out) {
  Places strays;
  for (std::size_t from = 0; from < places.size(); from += base::limits::landing_batch_max) {
    const auto size = std::min(base::limits::landing_batch_max, places.size() - from);
    const auto batch = std::span{places}.subspan(from, size);
    std::vector<model::LaneRecord> records;
    records.reserve(size);
    for (const auto place : batch) records.emplace_back(intents[place]);
    const auto landed = landing_.consume(records);
    if (!landed) return std::unexpected(landed.error());
    SECKILL_ASSERT(landed->size() == size, "P6: every intent gets one answer");
    for (std::size_t i = 0; i < size; ++i) {
      out[batch[i]] = {.as = settled_as((*landed)[i].as), .landed = (*landed)[i]};
      if ((*landed)[i].as == LandedAs::superseded) strays.push_back(batch[i]);
    }
  }
  return strays;
}

base::Result<ClusterLanding::Rows> ClusterLanding::read_rows(std::span<const model::OrderIntent> intents,
                                                             const Places& places) {
  Rows rows;
  rows.read_at = ports_.threads.now();
  for (const auto place : places) {
    const auto& item = intents[place].item;
    if (rows.items.contains(item)) continue;
    auto authority = ports_.authority.item_authority(item);
    if (!authority) {
      if (authority.error().code == base::Errc::not_found) continue;
      return std::unexpected(std::move(authority.error()));
    }
    rows.items.emplace(item, std::move(*authority));
  }
  return rows;
}

// Returns the places of what is to be landed once more, under the generation it has now.
base::Result<ClusterLanding::Places> ClusterLanding::adopt(std::span<model::OrderIntent> intents, const Places& strays,
                                                           std::vector<Settled>& out) {
  const auto rows = read_rows(intents, strays);
  if (!rows) return std::unexpected(rows.error());
  Places again;
  Places asked;
  for (const auto place : strays) {
    const auto* row = rows->row_of(intents[place]);
    if (row == nullptr || row->state == LaneState::closed) continue;
    if (row->state == LaneState::store) {
      intents[place].generation = row->row.generation;
      again.push_back(place);
    } else {
      asked.push_back(place);
    }
  }
  if (asked.empty() || ports_.threads.now() - rows->read_at >= config_.row_age_max) return again;

  LaneCalls<admission::AdoptReply> calls{ports_.threads, asked.size()};
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto& intent = intents[asked[i]];
    ports_.scripts.adopt(lane_of(intent), server_of(*rows->row_of(intent)), intent, calls.place(i));
  }
  const auto replies = calls.wait(config_.call_longest);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    auto& intent = intents[asked[i]];
    if (!replies[i] || replies[i]->code != LaneCode::done) continue;
    bool lands_again = false;
    auto handled = after_adopt(*replies[i], *rows->row_of(intent), intent, out[asked[i]], lands_again);
    if (!handled) return std::unexpected(std::move(handled.error()));
    if (lands_again) again.push_back(asked[i]);
  }
  return again;
}

base::Status ClusterLanding::after_adopt(const admission::AdoptReply& reply, const store::LaneAuthorityRow& row,
                                         model::OrderIntent& intent, Settled& out, bool& again) {
  switch (reply.adopted) {
    case Adopted::adopted:
      add(counters_.adopted);
      intent.generation = reply.generation;
      again = true;
      return {};
    case Adopted::refused: add(counters_.refused); return fail(intent, out);
    case Adopted::superseded: return after_superseded(row, intent, out);
  }
  return {};
}

base::Status ClusterLanding::after_superseded(const store::LaneAuthorityRow& row, const model::OrderIntent& intent,
                                              Settled& out) {
  using Found = admission::LaneScripts::FoundTickets;
  const auto found = admission::leading::ask_lane<Found>(ports_.threads, config_.call_longest, [&](auto answer) {
    ports_.scripts.buyer_tickets(lane_of(intent), server_of(row), intent.buyer, std::move(answer));
  });
  if (!found || found->code != LaneCode::done) return {};
  const auto known = std::ranges::find(found->tickets, intent.ticket, &admission::TicketView::ticket);
  if (known == found->tickets.end()) return {};  // rebuilt in between
  if (!known->live) return fail(intent, out);
  if (std::ranges::find(found->unpublished, intent.ticket, &model::OrderIntent::ticket) != found->unpublished.end()) {
    return {};
  }
  add(counters_.replaced);
  base::log::warn("landing: ticket {} of {} stands for other content than an intent of generation {}",
                  intent.ticket.str(), intent.item.text(), intent.generation);
  out.as = SettledAs::replaced;
  return {};
}

base::Status ClusterLanding::fail(const model::OrderIntent& intent, Settled& out) {
  const auto failed = ports_.store.fail_intent(intent, model::FailReason::superseded, ports_.clock.now_utc());
  if (!failed && !blames_content(failed.error().code)) return failed;
  if (!failed) {
    // As in Landing: waiting would stop every other buyer.
    base::log::error("landing: the failure of ticket {} cannot be recorded: {}", intent.ticket.str(),
                     failed.error().text());
  }
  out = {.as = SettledAs::failed, .landed = {.as = LandedAs::failed, .state = model::OrderState::failed}};
  return {};
}

// A failure that was to be written changed nothing if another landing of the same ticket came first: only its row says
// whether it failed or is an order, whose units no one may release (P1).
base::Status ClusterLanding::verify_failed(std::span<const model::OrderIntent> intents, std::vector<Settled>& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].as != SettledAs::failed) continue;
    const auto order = ports_.store.find_order(intents[i].ticket);
    if (!order) return std::unexpected(order.error());
    if (!*order || model::is_ended((*order)->state)) continue;
    out[i] = {.as = SettledAs::duplicate,
              .landed = {.as = LandedAs::already_live, .state = (*order)->state, .pay_before = (*order)->pay_before}};
  }
  return {};
}

// Of what has ended, the lane gives the units back if it still holds them; until it has said so the intent comes again.
base::Status ClusterLanding::release_ended(std::span<const model::OrderIntent> intents, std::vector<Settled>& out) {
  Places ended;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].as == SettledAs::ended || out[i].as == SettledAs::failed) ended.push_back(i);
  }
  if (ended.empty()) return {};
  const auto rows = read_rows(intents, ended);
  if (!rows) return std::unexpected(rows.error());
  std::erase_if(ended, [&](std::size_t place) {
    const auto* row = rows->row_of(intents[place]);
    return row == nullptr || row->state != LaneState::lane;
  });
  const bool too_old = ports_.threads.now() - rows->read_at >= config_.row_age_max;
  LaneCalls<LaneCode> calls{ports_.threads, ended.size()};
  for (std::size_t i = 0; i < ended.size() && !too_old; ++i) {
    const auto& intent = intents[ended[i]];
    ports_.scripts.release(lane_of(intent), server_of(*rows->row_of(intent)), intent.ticket, calls.place(i));
  }
  const auto codes = too_old ? std::vector<base::Result<LaneCode>>{} : calls.wait(config_.call_longest);
  for (std::size_t i = 0; i < ended.size(); ++i) {
    if (!too_old && codes[i] && *codes[i] == LaneCode::done) {
      add(counters_.released);
    } else {
      out[ended[i]].as = SettledAs::later;
    }
  }
  return {};
}

base::Result<std::vector<store::Landed>> ClusterLanding::consume(std::span<const model::LaneRecord> records) {
  std::vector<model::OrderIntent> intents;
  intents.reserve(records.size());
  for (const auto& record : records) {
    const auto* intent = std::get_if<model::OrderIntent>(&record);
    if (intent == nullptr) return base::fail(base::Errc::invalid, "landing in process", "a transfer is no intent");
    intents.push_back(*intent);
  }
  const auto before = consuming_.fetch_add(intents.size());
  // One call alone is let in whatever its size: it must be possible at some time.
  auto settled = before > 0 && before + intents.size() > config_.consuming_max
                     ? base::Result<std::vector<Settled>>{base::fail(base::Errc::limit, "landing in process",
                                                                     "too many intents are under way")}
                     : settle(intents);
  consuming_.fetch_sub(intents.size());
  if (!settled) return std::unexpected(std::move(settled.error()));
  std::vector<store::Landed> landed;
  landed.reserve(settled->size());
  for (const auto& one : *settled) {
    landed.push_back(one.landed);
    if (one.as == SettledAs::replaced) landed.back().as = LandedAs::already_live;
    if (one.as == SettledAs::later) landed.back() = {.as = LandedAs::superseded};
  }
  return landed;
}

}  // namespace seckill::orders

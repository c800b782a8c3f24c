#include "orders/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace seckill::orders {
namespace {

// No buyer is called this (control characters are refused), so the flag is read as a buyer without a mark sees it.
constexpr std::string_view nobody = "\x01";
constexpr std::chrono::milliseconds sold_out_staleness{1'050};  // P8 allows one second
constexpr std::int64_t outbox_count_max = 65'536;

// Collects what is wrong with one promise; only the first finding is told, the others are counted.
class Findings {
 public:
  template <typename... Args>
  void check(bool holds, fmt::format_string<Args...> format, Args&&... args) {
    if (holds) return;
    if (count_++ == 0) first_ = fmt::format(format, std::forward<Args>(args)...);
  }
  [[nodiscard]] PromiseVerdict verdict(std::string_view promise, std::string_view title, std::string when_kept) const {
    if (count_ == 0) return {promise, title, true, std::move(when_kept)};
    if (count_ == 1) return {promise, title, false, first_};
    return {promise, title, false, fmt::format("{} (and {} more)", first_, count_ - 1)};
  }

 private:
  std::size_t count_ = 0;
  std::string first_;
};

ledger::LaneStock sum(const store::ItemStock& stock) noexcept {
  ledger::LaneStock all;
  for (const auto& row : stock.lanes) {
    all.available += row.stock.available;
    all.held += row.stock.held;
    all.sold += row.stock.sold;
  }
  return all;
}

ledger::LaneStock sum(std::span<const admission::LaneView> lanes) noexcept {
  ledger::LaneStock all;
  for (const auto& lane : lanes) {
    all.available += lane.stock.available;
    all.held += lane.stock.held;
    all.sold += lane.stock.sold;
  }
  return all;
}

bool none_negative(const ledger::LaneStock& stock) noexcept {
  return stock.available >= 0 && stock.held >= 0 && stock.sold >= 0;
}

const ledger::LaneStock* row_of(const store::ItemStock& stock, model::LaneIndex lane) noexcept {
  for (const auto& row : stock.lanes) {
    if (row.lane == lane) return &row.stock;
  }
  return nullptr;
}

// Units before and after the flag was read: one that was sold or given back in between is no contradiction.
bool called_sold_out_with_units(const admission::Admission& admission, const model::ItemKey& item) {
  if (sum(admission.lanes(item)).available == 0) return false;
  if (admission.early_answer(item, nobody, 1) != model::PurchaseAnswer::sold_out) return false;
  return sum(admission.lanes(item)).available > 0;
}

std::string_view open_question(const Picture& picture) noexcept {
  return picture.drained ? "" : "; lanes and store are compared once everything has come to rest";
}

PromiseVerdict judge_p1(const Picture& picture) {
  Findings findings;
  std::int64_t taken = 0;
  std::int64_t total = 0;
  for (const auto& item : picture.items) {
    const auto& audit = item.audit;
    const auto name = audit.item.text();
    const auto rows = sum(audit.stock);
    const auto lanes = sum(item.lanes);
    findings.check(rows.held + rows.sold <= audit.stock.total, "{}: {} held and {} sold of {} in the store", name,
                   rows.held, rows.sold, audit.stock.total);
    findings.check(audit.orders_held_units + audit.orders_sold_units <= audit.stock.total,
                   "{}: orders for {} units of {}", name, audit.orders_held_units + audit.orders_sold_units,
                   audit.stock.total);
    findings.check(lanes.held + lanes.sold <= audit.stock.total, "{}: {} held and {} sold of {} in the lanes", name,
                   lanes.held, lanes.sold, audit.stock.total);
    for (const auto& row : audit.stock.lanes) {
      findings.check(none_negative(row.stock), "{}: the stock row of lane {} is below zero", name, row.lane);
    }
    for (const auto& lane : item.lanes) {
      findings.check(none_negative(lane.stock), "{}: lane {} is below zero", name, lane.lane);
    }
    taken += rows.held + rows.sold;
    total += audit.stock.total;
  }
  return findings.verdict("P1", "Never oversell", fmt::format("{} of {} units are held or sold", taken, total));
}

PromiseVerdict judge_p2(const Picture& picture) {
  Findings findings;
  std::int64_t units = 0;
  for (const auto& item : picture.items) {
    const auto& audit = item.audit;
    const auto name = audit.item.text();
    const auto rows = sum(audit.stock);
    units += audit.stock.total;
    findings.check(audit.stock.pool >= 0, "{}: the pool is below zero", name);
    findings.check(audit.stock.pool + rows.total() == audit.stock.total, "{}: pool {} and lanes {} do not make {}",
                   name, audit.stock.pool, rows.total(), audit.stock.total);
    findings.check(rows.held == audit.orders_held_units && rows.sold == audit.orders_sold_units,
                   "{}: stock rows have {} held and {} sold, orders {} and {}", name, rows.held, rows.sold,
                   audit.orders_held_units, audit.orders_sold_units);
    findings.check(audit.journal_mismatch == 0, "{}: {} orders differ from their journal entries", name,
                   audit.journal_mismatch);
    findings.check(audit.lane_mismatch == 0, "{}: {} lanes differ from their orders", name, audit.lane_mismatch);
    if (!picture.drained || item.lanes.empty()) continue;
    findings.check(item.lanes.size() == audit.stock.lanes.size(), "{}: {} lanes are open, the store has {}", name,
                   item.lanes.size(), audit.stock.lanes.size());
    for (const auto& lane : item.lanes) {
      const auto* row = row_of(audit.stock, lane.lane);
      findings.check(row != nullptr && row->total() == lane.stock.total(), "{}: lane {} has {} units, its row {}", name,
                     lane.lane, lane.stock.total(), row == nullptr ? 0 : row->total());
    }
  }
  return findings.verdict(
      "P2", "Conservation",
      fmt::format("all {} units are accounted for, each move in the journal{}", units, open_question(picture)));
}

PromiseVerdict judge_p3(const Picture& picture) {
  Findings findings;
  for (const auto& item : picture.items) {
    const auto name = item.audit.item.text();
    findings.check(item.audit.buyers_over_cap == 0, "{}: {} buyers have more than their limit", name,
                   item.audit.buyers_over_cap);
    findings.check(item.audit.buyer_units_mismatch == 0, "{}: {} buyers' counts differ from their orders", name,
                   item.audit.buyer_units_mismatch);
  }
  return findings.verdict("P3", "Purchase limit", "no buyer has more units than his limit");
}

PromiseVerdict judge_p4(const Picture& picture) {
  Findings findings;
  std::int64_t orders = 0;
  for (const auto& item : picture.items) {
    for (const auto count : item.audit.orders_by_state) orders += count;
  }
  if (!picture.crowd) {
    return findings.verdict("P4", "One request, one ticket",
                            fmt::format("{} orders, each with a ticket and request of its own by key", orders));
  }
  const auto& crowd = *picture.crowd;
  findings.check(crowd.repeats_with_other_ticket == 0, "{} of {} repeated requests got another ticket",
                 crowd.repeats_with_other_ticket, crowd.repeats);
  findings.check(crowd.shared_tickets == 0, "{} tickets were given to more than one request", crowd.shared_tickets);
  return findings.verdict("P4", "One request, one ticket",
                          fmt::format("{} repeated requests got the ticket they had", crowd.repeats));
}

PromiseVerdict judge_p5(const Picture& picture) {
  Findings findings;
  std::int64_t units = 0;
  for (const auto& item : picture.items) {
    if (!picture.drained) break;
    for (const auto& lane : item.lanes) {
      const auto* row = row_of(item.audit.stock, lane.lane);
      const auto kept = row == nullptr ? 0 : row->held + row->sold;
      const auto taken = lane.stock.held + lane.stock.sold;
      units += taken;
      findings.check(taken <= kept, "{}: lane {} has {} units taken, orders were kept for {}", item.audit.item.text(),
                     lane.lane, taken, kept);
    }
  }
  std::string kept = picture.drained ? fmt::format("orders stand for all {} units the lanes have taken", units)
                                     : std::string{"not judged before everything has come to rest"};
  if (picture.crowd) {
    const auto& crowd = *picture.crowd;
    findings.check(crowd.acknowledged_without_row == 0, "{} of {} acknowledged tickets are not in the store",
                   crowd.acknowledged_without_row, crowd.acknowledged);
    kept += fmt::format("; all {} acknowledged tickets are in the store", crowd.acknowledged);
  }
  return findings.verdict("P5", "Durable before acknowledged", std::move(kept));
}

PromiseVerdict judge_p6(const Picture& picture) {
  Findings findings;
  std::int64_t waiting = 0;
  for (const auto& item : picture.items) {
    const auto name = item.audit.item.text();
    waiting += item.audit.orders_held_units;
    findings.check(item.audit.overdue == 0, "{}: {} orders are past their deadline", name, item.audit.overdue);
    if (!picture.drained) continue;
    for (const auto& lane : item.lanes) {
      const auto* row = row_of(item.audit.stock, lane.lane);
      findings.check(row == nullptr || row->sold == lane.stock.sold, "{}: lane {} has {} units sold, its row {}", name,
                     lane.lane, lane.stock.sold, row == nullptr ? 0 : row->sold);
      findings.check(row == nullptr || row->held <= lane.stock.held, "{}: lane {} holds {} units, its row {}", name,
                     lane.lane, lane.stock.held, row == nullptr ? 0 : row->held);
    }
  }
  if (picture.drained) {
    findings.check(picture.in_flight == 0, "{} intents or ends are still under way", picture.in_flight);
    findings.check(picture.releases_pending == 0, "{} ends have not reached their lanes", picture.releases_pending);
  }
  return findings.verdict(
      "P6", "Everything ends",
      fmt::format("nothing is overdue, {} units wait for a payment in time{}", waiting, open_question(picture)));
}

PromiseVerdict judge_p7(const Picture& picture) {
  Findings findings;
  std::int64_t paid = 0;
  for (const auto& item : picture.items) {
    const auto name = item.audit.item.text();
    paid += item.audit.orders_by_state[static_cast<std::size_t>(model::OrderState::paid)];
    findings.check(item.audit.paid_without_payment == 0, "{}: {} paid orders have no payment", name,
                   item.audit.paid_without_payment);
    findings.check(item.audit.payment_without_order == 0, "{}: {} payments have no paid order", name,
                   item.audit.payment_without_order);
  }
  return findings.verdict("P7", "Money matches", fmt::format("{} paid orders and their payments match", paid));
}

PromiseVerdict judge_p8(const Picture& picture) {
  Findings findings;
  std::int64_t available = 0;
  for (const auto& item : picture.items) {
    const auto lanes = sum(item.lanes);
    available += lanes.available;
    findings.check(!(item.sold_out_while_units && lanes.available > 0),
                   "{}: buyers are told sold out while lanes have {} units", item.audit.item.text(), lanes.available);
  }
  return findings.verdict("P8", "No stranded units",
                          fmt::format("{} units are on sale, and nothing with units is called sold out", available));
}

PromiseVerdict judge_p9(const Picture& picture) {
  Findings findings;
  for (const auto& place : picture.places) {
    findings.check(place.depth <= place.capacity, "{}: {}, more than {}", place.what, place.depth, place.capacity);
  }
  return findings.verdict("P9", "A refusal is cheap",
                          fmt::format("all {} queues are within their bounds", picture.places.size()));
}

}  // namespace

std::vector<PromiseVerdict> judge(const Picture& picture) {
  return {judge_p1(picture), judge_p2(picture), judge_p3(picture), judge_p4(picture), judge_p5(picture),
          judge_p6(picture), judge_p7(picture), judge_p8(picture), judge_p9(picture)};
}

bool all_hold(std::span<const PromiseVerdict> verdicts) noexcept {
  return std::ranges::all_of(verdicts, [](const PromiseVerdict& verdict) { return verdict.holds; });
}

bool lanes_match_rows(const Picture& picture) noexcept {
  return std::ranges::all_of(picture.items, [](const ItemPicture& item) {
    return item.lanes.size() == item.audit.stock.lanes.size() &&
           std::ranges::all_of(item.lanes, [&](const admission::LaneView& lane) {
             const auto* row = row_of(item.audit.stock, lane.lane);
             return lane.open && row != nullptr && *row == lane.stock;
           });
  });
}

bool same_units(const Picture& one, const Picture& other) noexcept {
  return std::ranges::equal(one.items, other.items, [](const ItemPicture& a, const ItemPicture& b) {
    return std::ranges::equal(a.lanes, b.lanes, [](const admission::LaneView& x, const admission::LaneView& y) {
      return x.lane == y.lane && x.stock == y.stock;
    });
  });
}

base::Result<Picture> take_picture(store::Store& store, admission::Admission& admission,
                                   std::span<const model::ItemKey> items, base::UtcMs now) {
  Picture picture;
  for (const auto& item : items) {
    auto audit = store.audit_item(item, now);
    if (!audit) return std::unexpected(std::move(audit.error()));
    bool stale = called_sold_out_with_units(admission, item);
    if (stale) {
      std::this_thread::sleep_for(sold_out_staleness);
      stale = called_sold_out_with_units(admission, item);
    }
    picture.items.push_back({std::move(*audit), admission.lanes(item), stale});
  }
  const auto pending = store.pending_releases(outbox_count_max);
  if (!pending) return std::unexpected(pending.error());
  picture.releases_pending = std::ssize(*pending);
  return picture;
}

}  // namespace seckill::orders

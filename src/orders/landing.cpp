#include "orders/landing.hpp"

#include <variant>

#include "base/log.hpp"

namespace seckill::orders {
namespace {

model::FailReason reason_of(const base::Error& why) noexcept {
  if (why.code == base::Errc::oversell_guard) return model::FailReason::oversell_guard;
  if (why.code == base::Errc::constraint && why.cause.find("buyer_units") != std::string::npos) {
    return model::FailReason::limit_reached;
  }
  return model::FailReason::unreadable;
}

void raise_to(std::atomic<std::uint64_t>& largest, std::uint64_t value) noexcept {
  auto known = largest.load(std::memory_order_relaxed);
  while (value > known && !largest.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

void add(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace

bool blames_content(base::Errc code) noexcept {
  switch (code) {
    case base::Errc::unavailable:
    case base::Errc::timeout:
    case base::Errc::disk_full:
    case base::Errc::corrupt:
    case base::Errc::limit: return false;
    case base::Errc::constraint:
    case base::Errc::stale:
    case base::Errc::not_found:
    case base::Errc::already_exists:
    case base::Errc::invalid:
    case base::Errc::refused:
    case base::Errc::oversell_guard: return true;
  }
  return false;
}

Landing::Landing(store::Store& store, const base::Clock& clock, OversellGuard guard)
    : store_{store}, clock_{clock}, guard_{std::move(guard)} {}

base::Result<std::vector<store::Landed>> Landing::consume(std::span<const model::LaneRecord> records) {
  std::vector<store::Landed> landed;
  landed.reserve(records.size());
  const auto began = clock_.steady_now();
  const auto status = land(records, landed);
  if (!status) {
    add(counters_.not_now);
    return std::unexpected(status.error());
  }
  count(records.size(), landed, clock_.steady_now() - began);
  return landed;
}

// Halving finds k culprits among n records in about 2k·log2(n) transactions where one by one takes n; the order of the
// records is kept, so every prefix that commits is a consistent state.
base::Status Landing::land(std::span<const model::LaneRecord> records, std::vector<store::Landed>& out) {
  if (records.empty()) return {};
  auto landed = store_.land(records, clock_.now_utc());
  if (landed) {
    out.insert(out.end(), landed->begin(), landed->end());
    return {};
  }
  if (!blames_content(landed.error().code)) return std::unexpected(std::move(landed.error()));
  if (records.size() == 1) return condemn(records.front(), landed.error(), out);
  add(counters_.splits);
  const auto middle = records.size() / 2;
  if (auto first = land(records.first(middle), out); !first) return first;
  return land(records.subspan(middle), out);
}

// The end of a record that the store refuses by itself.
base::Status Landing::condemn(const model::LaneRecord& record, const base::Error& why,
                              std::vector<store::Landed>& out) {
  if (const auto* transfer = std::get_if<model::StockTransfer>(&record)) {
    // A transfer has no buyer to tell. It is left out, so that the other items' orders are not held up for ever, and
    // the item is closed: its store rows are the truth that a person rebuilds the lanes from.
    add(counters_.guard_trips);
    base::log::error("landing: transfer {} of {} does not land, its lanes are closed: {}", transfer->id,
                     transfer->item.text(), why.text());
    if (guard_) guard_(transfer->item, why.text());
    return {};
  }
  const auto& intent = std::get<model::OrderIntent>(record);
  const auto reason = reason_of(why);
  if (reason == model::FailReason::oversell_guard) {
    add(counters_.guard_trips);
    base::log::error("landing: stock row short for ticket {} of {}, its lanes are closed: {}", intent.ticket.str(),
                     intent.item.text(), why.text());
    if (guard_) guard_(intent.item, why.text());
  } else {
    base::log::warn("landing: ticket {} of {} fails ({}): {}", intent.ticket.str(), intent.item.text(),
                    model::name(reason), why.text());
  }
  if (auto failed = store_.fail_intent(intent, reason, clock_.now_utc()); !failed) {
    if (!blames_content(failed.error().code)) return failed;
    // Even the failure cannot be written (another ticket owns the request id): waiting would stop every other buyer.
    base::log::error("landing: the failure of ticket {} cannot be recorded: {}", intent.ticket.str(),
                     failed.error().text());
  }
  out.push_back({.as = store::LandedAs::failed, .state = model::OrderState::failed});
  return {};
}

void Landing::count(std::size_t records, std::span<const store::Landed> landed,
                    std::chrono::nanoseconds took) noexcept {
  add(counters_.batches);
  add(counters_.records, records);
  raise_to(counters_.batch_records_max, records);
  const auto took_ns = static_cast<std::uint64_t>(took.count());
  add(counters_.commit_ns_total, took_ns);
  raise_to(counters_.commit_ns_max, took_ns);
  for (const auto& one : landed) {
    switch (one.as) {
      case store::LandedAs::ordered: add(counters_.orders); break;
      case store::LandedAs::already_live:
      case store::LandedAs::already_ended: add(counters_.duplicates); break;
      case store::LandedAs::failed: add(counters_.failures); break;
      case store::LandedAs::superseded: add(counters_.superseded); break;
    }
  }
}

}  // namespace seckill::orders

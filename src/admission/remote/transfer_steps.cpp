#include "admission/remote/transfer_steps.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/log.hpp"

namespace seckill::admission::remote {
namespace {

std::unexpected<base::Error> left(base::Errc code, const std::string& id, std::string cause) {
  return base::fail(code, "moving units by transfer " + id, std::move(cause));
}

std::string_view name(LaneCode code) {
  switch (code) {
    case LaneCode::done: return "done";
    case LaneCode::closed: return "closed";
    case LaneCode::stale: return "stale";
    case LaneCode::foreign: return "foreign";
    case LaneCode::refused: return "refused";
  }
  return "?";
}

}  // namespace

base::Result<std::int64_t> TransferSteps::move(const RemoteItem& item, const ItemCopy& copy, model::LaneIndex from,
                                               std::int32_t to, std::int64_t units, const std::string& id) {
  const bool to_lane = to != model::StockTransfer::pool;
  store::LaneTransfer transfer{
      .id = id,
      .item = item.key,
      .from = static_cast<std::int32_t>(from),
      .to = to,
      .units = units,
      .from_generation = copy.lane(from).row.generation,
      .to_generation = to_lane ? copy.lane(static_cast<model::LaneIndex>(to)).row.generation : 0};
  const auto debited = calls_.await<LaneDebit>([&](LaneAnswer<LaneDebit> answer) {
    calls_.scripts.debit(
        item.lane_key(from), copy.server(from), transfer.from_generation,
        {.id = id, .debit = true, .units = units, .other = to, .other_generation = transfer.to_generation, .at = 0},
        std::move(answer));
  });
  if (!debited) return std::unexpected(debited.error());
  if (debited->code == LaneCode::refused) return 0;
  if (debited->code != LaneCode::done) {
    return left(base::Errc::unavailable, id, fmt::format("the source lane is {}", name(debited->code)));
  }
  if (debited->units == 0) return 0;  // an id whose debit was undone: spent
  transfer.units = debited->units;
  const auto committed = ports_.authority.commit_transfer(transfer);
  if (!committed) return std::unexpected(committed.error());  // unknown or down: the row decides later
  if (*committed != store::TransferResult::done) {
    if (auto given_back = abandon(item, copy, transfer); !given_back) base::log::warn("{}", given_back.error().text());
    if (*committed == store::TransferResult::refused) {
      return left(base::Errc::refused, id, "the source's stock row has fewer units than its lane");
    }
    return left(base::Errc::stale, id, "a lane was closed or rebuilt meanwhile");
  }
  if (auto finished = finish(item, copy, transfer); !finished) return std::unexpected(finished.error());
  return transfer.units;
}

base::Status TransferSteps::finish(const RemoteItem& item, const ItemCopy& copy, const store::LaneTransfer& transfer) {
  if (transfer.to != model::StockTransfer::pool) {
    const auto to = static_cast<model::LaneIndex>(transfer.to);
    const auto credited = calls_.await<LaneCode>([&](LaneAnswer<LaneCode> answer) {
      calls_.scripts.credit(item.lane_key(to), copy.server(to), transfer.to_generation,
                            {.id = transfer.id,
                             .debit = false,
                             .units = transfer.units,
                             .other = transfer.from,
                             .other_generation = transfer.from_generation,
                             .at = 0},
                            std::move(answer));
    });
    if (!credited) return std::unexpected(credited.error());
    // stale: the lane was rebuilt since the commit, which was conditional on its generation; its row had the units.
    if (*credited != LaneCode::done && *credited != LaneCode::stale) {
      return left(base::Errc::unavailable, transfer.id, fmt::format("the target lane is {}", name(*credited)));
    }
  }
  if (auto closed = ports_.authority.close_transfer(transfer.id); !closed) return closed;
  (void)close_records(item, copy, transfer);  // what does not get through is closed by recovery
  return {};
}

base::Status TransferSteps::abandon(const RemoteItem& item, const ItemCopy& copy, const store::LaneTransfer& transfer) {
  const auto decided = ports_.authority.abandon_transfer(transfer);
  if (!decided) return std::unexpected(decided.error());
  switch (*decided) {
    case store::TransferResult::done:
    case store::TransferResult::abandoned: return undo(item, copy, transfer);
    case store::TransferResult::committed: return finish(item, copy, transfer);
    case store::TransferResult::stale:
    case store::TransferResult::refused: break;
  }
  return left(base::Errc::refused, transfer.id, "the store neither committed nor abandoned it");
}

// Requires: the store's row says `abandoned`.
base::Status TransferSteps::undo(const RemoteItem& item, const ItemCopy& copy, const store::LaneTransfer& transfer) {
  if (transfer.from == model::StockTransfer::pool) return {};
  const auto from = static_cast<model::LaneIndex>(transfer.from);
  const auto undone = calls_.await<LaneCode>([&](LaneAnswer<LaneCode> answer) {
    calls_.scripts.undo_debit(item.lane_key(from), copy.server(from), transfer.id, std::move(answer));
  });
  if (!undone) return std::unexpected(undone.error());
  if (*undone != LaneCode::done) {
    return left(base::Errc::unavailable, transfer.id, fmt::format("the source lane is {}", name(*undone)));
  }
  (void)close_record(item, copy, transfer.from, transfer.id);
  return {};
}

bool TransferSteps::settle(const RemoteItem& item, const ItemCopy& copy, const store::LaneTransfer& transfer) {
  const auto state = ports_.authority.transfer_state(transfer.id);
  if (!state) return false;
  base::Status settled;
  if (!state->has_value()) {
    if (transfer.units < 1) return false;  // a record of nothing whose row is on its way
    settled = abandon(item, copy, transfer);
  } else {
    switch (**state) {
      case store::TransferState::open: settled = finish(item, copy, transfer); break;
      case store::TransferState::abandoned: settled = undo(item, copy, transfer); break;
      case store::TransferState::closed: return close_records(item, copy, transfer);
    }
  }
  if (!settled) base::log::warn("{}", settled.error().text());
  return settled.has_value();
}

bool TransferSteps::close_records(const RemoteItem& item, const ItemCopy& copy, const store::LaneTransfer& transfer) {
  const bool target = close_record(item, copy, transfer.to, transfer.id);
  const bool source = close_record(item, copy, transfer.from, transfer.id);
  return target && source;
}

bool TransferSteps::close_record(const RemoteItem& item, const ItemCopy& copy, std::int32_t end,
                                 const std::string& id) {
  if (end == model::StockTransfer::pool) return true;
  const auto lane = static_cast<model::LaneIndex>(end);
  const auto closed = calls_.await<LaneCode>([&](LaneAnswer<LaneCode> answer) {
    calls_.scripts.close_transfer(item.lane_key(lane), copy.server(lane), id, std::move(answer));
  });
  return closed && *closed == LaneCode::done;
}

}  // namespace seckill::admission::remote

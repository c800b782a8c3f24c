// The random calls of transfers and operating.
#include <fmt/format.h>

#include "admission/redis/lane_keys.hpp"
#include "lanes/random_lane.hpp"

namespace seckill::admission::redis::test {

void RandomLane::debit() {
  const model::Generation generation = about(model_.generation);
  const LaneTransferRecord transfer{
      .id = transfer_id(), .units = pick(1, 5), .other = static_cast<std::int32_t>(pick(-1, 3)), .other_generation = 4};
  said_ = "debit " + transfer.id;
  const auto script = ask<LaneDebit>(
      [&](auto answer) { redis_.lanes().debit(key_, server_, generation, transfer, std::move(answer)); });
  compare("the answer", text(script), text(steps::debit(model_, generation, transfer, time_at(2))));
}

void RandomLane::undo() {
  const std::string id = transfer_id();
  said_ = "undo_debit " + id;
  const auto script =
      ask<LaneCode>([&](auto answer) { redis_.lanes().undo_debit(key_, server_, id, std::move(answer)); });
  compare("the answer", text(script), text(steps::undo_debit(model_, id, time_at(1))));
}

void RandomLane::credit() {
  const model::Generation generation = about(model_.generation);
  const LaneTransferRecord transfer{
      .id = transfer_id(), .units = pick(1, 5), .other = static_cast<std::int32_t>(pick(-1, 3)), .other_generation = 4};
  said_ = "credit " + transfer.id;
  const auto script = ask<LaneCode>(
      [&](auto answer) { redis_.lanes().credit(key_, server_, generation, transfer, std::move(answer)); });
  compare("the answer", text(script), text(steps::credit(model_, generation, transfer, time_at(1))));
}

void RandomLane::close_transfer() {
  const std::string id = transfer_id();
  said_ = "close_transfer " + id;
  const auto script =
      ask<LaneCode>([&](auto answer) { redis_.lanes().close_transfer(key_, server_, id, std::move(answer)); });
  compare("the answer", text(script), text(steps::close_transfer(model_, id, time_at(1))));
}

// As if a closed transfer had been closed longer ago; the server's clock is not ours to move.
void RandomLane::age_transfers() {
  said_ = "time passing";
  const std::string spent_at = keys_of(key_, LaneKeys::transfers)[7];
  for (auto& [id, memory] : model_.transfers) {
    if (memory.closed_at == 0 || once_in(3)) continue;
    memory.closed_at -= transfer_memory_ms / 2 + 1;
    redis_.command(key_, {"ZADD", spent_at, "XX", std::to_string(memory.closed_at), id});
  }
}

void RandomLane::configure() {
  const model::ItemTerms next = terms();
  said_ = fmt::format("configure version {}", next.version);
  const auto script =
      ask<LaneCode>([&](auto answer) { redis_.lanes().configure(key_, server_, next, std::move(answer)); });
  compare("the answer", text(script), text(steps::configure(model_, next)));
}

void RandomLane::adopt() {
  const auto who = buyer();
  const auto id = request_id();
  const model::OrderIntent intent{.ticket = ticket(who, id),
                                  .item = key_.item,
                                  .buyer = who,
                                  .request_id = id,
                                  .digest = digest(),
                                  .lane = key_.lane,
                                  .generation = model_.generation == 0 ? 0 : about(model_.generation - 1),
                                  .units = pick(-1, 4),
                                  .price_minor = once_in(2) ? 9'900 : 8'800,
                                  .currency = {},
                                  .limit = once_in(20) ? INT64_MAX : pick(0, 5),
                                  .pay_window_ms = 60'000,
                                  .admitted_at = started_ - pick(0, 5'000),
                                  .fields = fields()};
  said_ = "adopt";
  const auto script =
      ask<AdoptReply>([&](auto answer) { redis_.lanes().adopt(key_, server_, intent, std::move(answer)); });
  compare("the answer", text(script), text(steps::adopt(model_, intent, time_at(3))));
}

void RandomLane::close() {
  const model::Generation generation = about(model_.generation);
  const LeaderToken leader{.token = once_in(3) ? plan_.leader.token - 1 : plan_.leader.token};
  said_ = fmt::format("close generation {} leader {}", generation, leader.token);
  const auto script =
      ask<LaneCode>([&](auto answer) { redis_.lanes().close(key_, server_, generation, leader, std::move(answer)); });
  compare("the answer", text(script), text(steps::close(model_, generation, leader)));
}

InstallTicket RandomLane::row() {
  const auto who = buyer();
  const auto id = request_id();
  InstallTicket one{.row = {.ticket = ticket(who, id),
                            .buyer = who,
                            .request_id = id,
                            .digest = digest(),
                            .units = once_in(40)  ? 0
                                     : once_in(8) ? 700
                                                  : pick(1, 3),
                            .state = static_cast<model::OrderState>(pick(1, 8)),
                            .admitted_at = started_ - pick(0, 90'000)}};
  if (!once_in(3)) return one;
  one.row.state = model::OrderState::awaiting_payment;
  one.intent = model::OrderIntent{.ticket = one.row.ticket,
                                  .item = key_.item,
                                  .buyer = who,
                                  .request_id = id,
                                  .digest = one.row.digest,
                                  .lane = key_.lane,
                                  .generation = model_.generation,
                                  .units = one.row.units,
                                  .price_minor = pick(1, 3) * 100,
                                  .currency = {},
                                  .limit = 2,
                                  .pay_window_ms = 60'000,
                                  .admitted_at = one.row.admitted_at,
                                  .fields = fields()};
  return one;
}

// A plan for the next generation, most of the time; its sums are those of its rows, most of the time.
void RandomLane::plan() {
  const std::int64_t leader_step = once_in(6) ? -1 : pick(0, 1);
  plan_.leader.token = std::max<std::uint64_t>(model_.leader, 1ULL << 60) + static_cast<std::uint64_t>(leader_step);
  plan_.generation = std::max(model_.generation, model_.closed_generation) + (once_in(6) ? 0U : 1U);
  plan_.terms = terms();
  plan_.stock = {.available = pick(0, 25), .held = 0, .sold = 0};
  rows_.clear();
  handed_ = 0;
  std::map<model::Ticket, const InstallTicket*> first;
  for (std::int64_t i = pick(0, 9); i > 0; --i) rows_.push_back(row());
  for (const InstallTicket& one : rows_) {
    if (!first.emplace(one.row.ticket, &one).second) continue;
    if (model::is_held(one.row.state)) plan_.stock.held += one.row.units;
    if (model::is_sold(one.row.state)) plan_.stock.sold += one.row.units;
  }
  plan_.tickets = first.size();
  if (once_in(10)) plan_.stock.held += 1;
  if (once_in(10)) plan_.tickets += 1;
}

void RandomLane::begin() {
  if (once_in(2)) plan();
  said_ = fmt::format("install_begin generation {} leader {}", plan_.generation, plan_.leader.token);
  const auto script =
      ask<LaneCode>([&](auto answer) { redis_.lanes().install_begin(key_, server_, plan_, std::move(answer)); });
  const LaneCode step = steps::install_begin(model_, plan_);
  compare("the answer", text(script), text(step));
  if (step == LaneCode::done) handed_ = 0;
}

void RandomLane::batch() {
  if (once_in(3)) handed_ = 0;  // again
  const auto size = static_cast<std::size_t>(pick(0, std::ssize(rows_) - static_cast<std::int64_t>(handed_)));
  const std::vector<InstallTicket> some{rows_.begin() + static_cast<std::ptrdiff_t>(handed_),
                                        rows_.begin() + static_cast<std::ptrdiff_t>(handed_ + size)};
  handed_ += size;
  said_ = fmt::format("install_batch of {}", size);
  const auto script =
      ask<LaneCode>([&](auto answer) { redis_.lanes().install_batch(key_, server_, plan_, some, std::move(answer)); });
  compare("the answer", text(script), text(steps::install_batch(model_, plan_, some)));
}

void RandomLane::open() {
  said_ = fmt::format("install_open generation {}", plan_.generation);
  const auto script =
      ask<LaneCode>([&](auto answer) { redis_.lanes().install_open(key_, server_, plan_, std::move(answer)); });
  compare("the answer", text(script), text(steps::install_open(model_, plan_)));
}

void RandomLane::rebuild() {
  plan();
  begin();
  while (handed_ < rows_.size() && same_) batch();
  open();
}

}  // namespace seckill::admission::redis::test

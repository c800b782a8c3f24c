#include "lanes/lane_engines.hpp"

#include <set>

namespace seckill::admission::redis::test {

OneLane::OneLane(LaneScripts& lane_scripts, LaneKey lane) : lanes{lane_scripts}, key{std::move(lane)} {
  server = wait<LaneServer>([&](auto answer) { lanes.server_of(key, std::move(answer)); });
  const base::UtcMs now = base::SystemClock{}.now_utc();
  plan.generation = 0;
  plan.leader = {.token = 9};
  plan.terms.starts_at = now - 60'000;
  plan.terms.ends_at = now + 3'600'000;
  plan.terms.state = model::SaleState::preloaded;
  plan.terms.price_minor = 9'900;
  plan.terms.pay_window_ms = 900'000;
  plan.terms.version = 7;
}

void OneLane::open(std::int64_t available, std::int64_t limit, std::uint32_t tickets_max) {
  plan.terms.limit = limit;
  plan.terms.tickets_max = tickets_max;
  if (reopen(available, {}) != LaneCode::done) throw std::runtime_error{"the lane could not be opened"};
}

LaneCode OneLane::reopen(std::int64_t available, const std::vector<InstallTicket>& tickets) {
  ++plan.generation;
  plan.stock = {.available = available, .held = 0, .sold = 0};
  plan.tickets = tickets.size();
  for (const InstallTicket& one : tickets) {
    if (model::is_held(one.row.state)) plan.stock.held += one.row.units;
    if (model::is_sold(one.row.state)) plan.stock.sold += one.row.units;
  }
  const auto begun = wait<LaneCode>([&](auto answer) { lanes.install_begin(key, server, plan, std::move(answer)); });
  if (begun != LaneCode::done) return begun;
  const auto added =
      wait<LaneCode>([&](auto answer) { lanes.install_batch(key, server, plan, tickets, std::move(answer)); });
  if (added != LaneCode::done) return added;
  return wait<LaneCode>([&](auto answer) { lanes.install_open(key, server, plan, std::move(answer)); });
}

LaneAsk OneLane::ask(std::string_view buyer, std::string_view request_id, std::int64_t units,
                     std::uint64_t digest) const {
  const auto who = *model::BuyerId::parse(buyer);
  const auto id = *model::RequestId::parse(request_id);
  return {.buyer = who,
          .request_id = id,
          .ticket = model::derive_ticket({}, key.item, who, id.view(), key.lane),
          .units = units,
          .digest = digest,
          .fields = nullptr};
}
LaneDecisions OneLane::admit(std::vector<LaneAsk> asks) {
  return wait<LaneDecisions>(
      [&](auto answer) { lanes.admit(key, server, plan.generation, std::move(asks), std::move(answer)); });
}
Decision OneLane::buy(std::string_view buyer, std::string_view request_id, std::int64_t units, std::uint64_t digest) {
  const LaneDecisions answer = admit({ask(buyer, request_id, units, digest)});
  return answer.code == LaneCode::done ? answer.decisions.at(0).decision : Decision::busy;
}
LaneCode OneLane::confirm(const std::vector<LaneAsk>& asks) {
  std::vector<model::Ticket> tickets;
  for (const LaneAsk& one : asks) tickets.push_back(one.ticket);
  return wait<LaneCode>([&](auto answer) { lanes.confirm_published(key, server, tickets, std::move(answer)); });
}
std::vector<model::OrderIntent> OneLane::claim(std::int64_t age_ms, std::size_t count) {
  return wait<std::vector<model::OrderIntent>>(
      [&](auto answer) { lanes.claim_intents(key, server, age_ms, count, std::move(answer)); });
}
// A ticket that two pages name counts once.
std::vector<model::OrderIntent> OneLane::all_marks() {
  std::vector<model::OrderIntent> intents;
  std::set<model::Ticket> seen;
  std::uint64_t cursor = 0;
  do {
    const auto page = wait<LaneScripts::MarkPage>(
        [&](auto answer) { lanes.live_marks(key, server, INT64_MAX, cursor, std::move(answer)); });
    for (const model::OrderIntent& intent : page.intents) {
      if (seen.insert(intent.ticket).second) intents.push_back(intent);
    }
    cursor = page.next;
  } while (cursor != 0);
  return intents;
}
LaneReading OneLane::read() {
  return wait<LaneReading>([&](auto answer) { lanes.read(key, server, std::move(answer)); });
}
LaneScripts::FoundTickets OneLane::tickets_of(std::string_view buyer) {
  return wait<LaneScripts::FoundTickets>(
      [&](auto answer) { lanes.buyer_tickets(key, server, *model::BuyerId::parse(buyer), std::move(answer)); });
}
LaneCode OneLane::release(const LaneAsk& one) {
  return wait<LaneCode>([&](auto answer) { lanes.release(key, server, one.ticket, std::move(answer)); });
}
LaneCode OneLane::post(const LaneAsk& one) {
  return wait<LaneCode>([&](auto answer) { lanes.post(key, server, one.ticket, std::move(answer)); });
}
LaneDebit OneLane::debit(const std::string& id, std::int64_t units) {
  return wait<LaneDebit>([&](auto answer) {
    lanes.debit(key, server, plan.generation, {.id = id, .units = units, .other = 1}, std::move(answer));
  });
}
LaneCode OneLane::credit(const std::string& id, std::int64_t units) {
  return wait<LaneCode>([&](auto answer) {
    lanes.credit(key, server, plan.generation, {.id = id, .units = units, .other = 1}, std::move(answer));
  });
}
LaneCode OneLane::undo(const std::string& id) {
  return wait<LaneCode>([&](auto answer) { lanes.undo_debit(key, server, id, std::move(answer)); });
}
LaneCode OneLane::close_transfer(const std::string& id) {
  return wait<LaneCode>([&](auto answer) { lanes.close_transfer(key, server, id, std::move(answer)); });
}
LaneCode OneLane::configure(const model::ItemTerms& terms) {
  return wait<LaneCode>([&](auto answer) { lanes.configure(key, server, terms, std::move(answer)); });
}
AdoptReply OneLane::adopt(const model::OrderIntent& intent) {
  return wait<AdoptReply>([&](auto answer) { lanes.adopt(key, server, intent, std::move(answer)); });
}
LaneCode OneLane::close(model::Generation generation, std::uint64_t leader) {
  return wait<LaneCode>(
      [&](auto answer) { lanes.close(key, server, generation, {.token = leader}, std::move(answer)); });
}

InstallTicket OneLane::row(const LaneAsk& ask, model::OrderState state) {
  return {.row = {.ticket = ask.ticket,
                  .buyer = ask.buyer,
                  .request_id = ask.request_id,
                  .digest = ask.digest,
                  .units = ask.units,
                  .state = state,
                  .admitted_at = 1'700'000'000'000}};
}

void LaneContract::SetUp() {
  if (GetParam() == EngineKind::steps) {
    const LaneKey key{.item = {.sale = *model::SaleId::parse("s1"), .sku = *model::Sku::parse("sku1")}, .lane = 3};
    lane_ = std::make_unique<OneLane>(steps_, key);
    return;
  }
  const bool cluster = GetParam() == EngineKind::cluster;
  const auto engine = cluster ? cluster_engine() : standalone_engine();
  if (!engine) {
    GTEST_SKIP() << "needs a real Redis: set " << (cluster ? "SECKILL_TEST_REDIS_CLUSTER" : "SECKILL_TEST_REDIS")
                 << " (tools/cluster/engines.py start does)";
  }
  redis_ = std::make_unique<LanesOnRedis>(*engine);
  lane_ = std::make_unique<OneLane>(redis_->lanes(), redis_->fresh_lane());
}

LaneKey LaneContract::other_lane() {
  LaneKey key = lane().key;
  key.lane = 4;
  return key;
}

}  // namespace seckill::admission::redis::test

// One lane under its steps, with the words the tests of lane_steps speak in.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "admission/lane_steps.hpp"

namespace seckill::test {

using admission::Adopted;
using admission::Decision;
using admission::LaneCode;
using admission::steps::LanePhase;
using admission::steps::LaneState;
namespace steps = admission::steps;

inline model::Ticket ticket_of(std::string_view buyer, std::string_view request_id) {
  return model::derive_ticket({}, {.sale = *model::SaleId::parse("s1"), .sku = *model::Sku::parse("sku1")},
                              *model::BuyerId::parse(buyer), request_id, 3);
}

struct TestLane {
  static constexpr base::UtcMs start = 1'700'000'000'000;

  explicit TestLane(std::int64_t available = 10, std::int64_t limit = 2) {
    plan.generation = 5;
    plan.leader = {.token = 9};
    plan.terms.starts_at = start;
    plan.terms.ends_at = start + 3'600'000;
    plan.terms.state = model::SaleState::preloaded;
    plan.terms.price_minor = 9'900;
    plan.terms.limit = limit;
    plan.terms.tickets_max = 4;
    plan.terms.pay_window_ms = 60'000;
    plan.terms.version = 7;
    plan.stock.available = available;
    EXPECT_EQ(steps::install_begin(lane, plan), LaneCode::done);
    EXPECT_EQ(steps::install_open(lane, plan), LaneCode::done);
  }

  [[nodiscard]] static admission::LaneAsk ask(std::string_view buyer, std::string_view request_id,
                                              std::int64_t units = 1, std::uint64_t digest = 0) {
    return {.buyer = *model::BuyerId::parse(buyer),
            .request_id = *model::RequestId::parse(request_id),
            .ticket = ticket_of(buyer, request_id),
            .units = units,
            .digest = digest,
            .fields = nullptr};
  }
  admission::LaneDecision admit(const admission::LaneAsk& asked) {
    const admission::LaneDecisions answer = steps::admit(lane, plan.generation, std::array{asked}, now);
    EXPECT_EQ(answer.code, LaneCode::done);
    return answer.decisions.at(0);
  }
  Decision buy(std::string_view buyer, std::string_view request_id, std::int64_t units = 1) {
    return admit(ask(buyer, request_id, units)).decision;
  }
  LaneCode release(std::string_view buyer, std::string_view request_id) {
    return steps::release(lane, ticket_of(buyer, request_id));
  }
  LaneCode post(std::string_view buyer, std::string_view request_id) {
    return steps::post(lane, ticket_of(buyer, request_id));
  }
  LaneCode confirm(std::string_view buyer, std::string_view request_id) {
    return steps::confirm_published(lane, std::array{ticket_of(buyer, request_id)});
  }
  [[nodiscard]] std::vector<model::OrderIntent> claim(std::int64_t age_ms) {
    return steps::claim_intents(lane, age_ms, 100, now);
  }
  // An intent that another generation of the lane admitted.
  [[nodiscard]] model::OrderIntent older_intent(std::string_view buyer, std::string_view request_id,
                                                std::int64_t units = 1) const {
    return {.ticket = ticket_of(buyer, request_id),
            .item = lane.key.item,
            .buyer = *model::BuyerId::parse(buyer),
            .request_id = *model::RequestId::parse(request_id),
            .digest = 0,
            .lane = lane.key.lane,
            .generation = plan.generation - 1,
            .units = units,
            .price_minor = 8'800,
            .currency = {},
            .limit = plan.terms.limit,
            .pay_window_ms = 30'000,
            .admitted_at = start - 500,
            .fields = nullptr};
  }
  [[nodiscard]] static admission::InstallTicket row(std::string_view buyer, std::string_view request_id,
                                                    model::OrderState state, std::int64_t units = 1) {
    return {.row = {.ticket = ticket_of(buyer, request_id),
                    .buyer = *model::BuyerId::parse(buyer),
                    .request_id = *model::RequestId::parse(request_id),
                    .digest = 0,
                    .units = units,
                    .state = state,
                    .admitted_at = start}};
  }
  [[nodiscard]] static admission::LaneTransferRecord transfer(std::string id, std::int64_t units) {
    return {.id = std::move(id), .debit = false, .units = units, .other = 1, .other_generation = 2, .at = 0};
  }
  void expect_stock(std::int64_t available, std::int64_t held, std::int64_t sold) const {
    EXPECT_EQ(lane.stock, (ledger::LaneStock{.available = available, .held = held, .sold = sold}))
        << lane.stock.available << " " << lane.stock.held << " " << lane.stock.sold;
  }

  base::UtcMs now = start;
  LaneState lane{{.item = {.sale = *model::SaleId::parse("s1"), .sku = *model::Sku::parse("sku1")}, .lane = 3}};
  admission::InstallPlan plan;
};

}  // namespace seckill::test

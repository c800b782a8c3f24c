// One lane on each engine of the port, in the words the contract suite speaks.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lanes/kept_lane.hpp"
#include "lanes/lanes_on_redis.hpp"
#include "lanes/step_lanes.hpp"

namespace seckill::admission::redis::test {

enum class EngineKind : std::uint8_t { steps, redis, cluster };

// Calls of one lane, waited for. An environment failure throws.
class OneLane {
 public:
  OneLane(LaneScripts& lanes, LaneKey lane);

  // Installs the lane, empty, at the next generation.
  void open(std::int64_t available, std::int64_t limit = 2, std::uint32_t tickets_max = 4);
  // Installs it anew at the next generation with these tickets; `plan` is then of them.
  LaneCode reopen(std::int64_t available, const std::vector<InstallTicket>& tickets);

  [[nodiscard]] LaneAsk ask(std::string_view buyer, std::string_view request_id, std::int64_t units = 1,
                            std::uint64_t digest = 7) const;
  LaneDecisions admit(std::vector<LaneAsk> asks);
  Decision buy(std::string_view buyer, std::string_view request_id, std::int64_t units = 1, std::uint64_t digest = 7);
  LaneCode confirm(const std::vector<LaneAsk>& asks);
  std::vector<model::OrderIntent> claim(std::int64_t age_ms = 0, std::size_t count = 100);
  std::vector<model::OrderIntent> all_marks();
  LaneReading read();
  LaneScripts::FoundTickets tickets_of(std::string_view buyer);
  LaneCode release(const LaneAsk& ask);
  LaneCode post(const LaneAsk& ask);
  LaneDebit debit(const std::string& id, std::int64_t units);
  LaneCode credit(const std::string& id, std::int64_t units);
  LaneCode undo(const std::string& id);
  LaneCode close_transfer(const std::string& id);
  LaneCode configure(const model::ItemTerms& terms);
  AdoptReply adopt(const model::OrderIntent& intent);
  LaneCode close(model::Generation generation, std::uint64_t leader);

  // What the store would hand over of this ask.
  [[nodiscard]] static InstallTicket row(const LaneAsk& ask, model::OrderState state);

  template <typename T, typename Call>
  T wait(const Call& call) {
    auto answer = wait_for<T>(call);
    if (!answer) throw std::runtime_error{answer.error().text()};
    return *std::move(answer);
  }

  LaneScripts& lanes;
  LaneKey key;
  LaneServer server;
  InstallPlan plan;
};

class LaneContract : public testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override;
  [[nodiscard]] OneLane& lane() { return *lane_; }
  [[nodiscard]] LaneKey other_lane();

 private:
  StepLanes steps_;
  std::unique_ptr<LanesOnRedis> redis_;
  std::unique_ptr<OneLane> lane_;
};

}  // namespace seckill::admission::redis::test

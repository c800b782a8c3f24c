// One lane twice: in Redis under its scripts, and as a state under the steps they translate. Each random call goes to
// both, with the time that the script says it has used; reply and all that is kept must be the same afterwards.
#pragma once

#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "admission/lane_steps.hpp"
#include "lanes/kept_lane.hpp"

namespace seckill::admission::redis::test {

class RandomLane {
 public:
  RandomLane(LanesOnRedis& redis, std::uint64_t seed);

  // One random call; false, with the differences added as test failures, when script and step part.
  bool step();
  [[nodiscard]] const std::string& last() const noexcept { return said_; }
  [[nodiscard]] const steps::LaneState& model() const noexcept { return model_; }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high);  // both included
  bool once_in(int times) { return pick(1, times) == 1; }

  model::BuyerId buyer();
  model::RequestId request_id();
  model::OrderFields fields();
  std::uint64_t digest();
  model::Ticket ticket(const model::BuyerId& buyer, const model::RequestId& request_id) const;
  model::Ticket any_ticket();
  model::Generation about(model::Generation generation);
  model::ItemTerms terms();
  InstallTicket row();
  std::string transfer_id();

  void admit();
  void confirm();
  void claim();
  void marks();
  void holders();
  void read();
  void find();
  void end(bool released);
  void debit();
  void undo();
  void credit();
  void close_transfer();
  void age_transfers();
  void configure();
  void adopt();
  void close();
  void begin();
  void batch();
  void open();
  void rebuild();

  void plan();

  // Calls the script; the answer must be there.
  template <typename T, typename Call>
  T ask(const Call& call) {
    auto answer = wait_for<T>(call);
    if (!answer) throw std::runtime_error{said_ + ": " + answer.error().text()};
    return *std::move(answer);
  }
  base::UtcMs time_at(std::size_t place) const;
  void compare(std::string_view what, const std::string& script, const std::string& step);

  LanesOnRedis& redis_;
  std::mt19937_64 random_;
  LaneKey key_;
  LaneServer server_;
  steps::LaneState model_;
  InstallPlan plan_;
  std::vector<InstallTicket> rows_;  // of plan_
  std::size_t handed_ = 0;           // how many of them went into batches
  base::UtcMs started_;
  std::string said_;
  bool same_ = true;
};

}  // namespace seckill::admission::redis::test

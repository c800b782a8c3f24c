// The engines of the broker's port, each behind one place where the contract suite can act: what the simulator proves
// over its broker is worth as much as the suite is passed by both.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "queue/intent_broker.hpp"

namespace seckill::queue::contract {

// One broker with two partitions of the test's own. Time is the engine's: real, or the simulator's.
class BrokerPlace {
 public:
  BrokerPlace() = default;
  virtual ~BrokerPlace() = default;
  BrokerPlace(const BrokerPlace&) = delete;
  BrokerPlace& operator=(const BrokerPlace&) = delete;

  // Accepting. Lives as long as the place.
  virtual IntentPublisher& publisher() = 0;
  // One more worker, which will take every partition that nobody has.
  virtual std::unique_ptr<IntentSource> worker() = 0;
  // Its process is gone without a word: nothing more is acknowledged.
  virtual void kill(std::unique_ptr<IntentSource> worker) = 0;
  virtual void pass(std::chrono::milliseconds time) = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds now() = 0;
  // Runs on a thread of an api node; join() waits for its end.
  virtual void start_beside(std::function<void()> work) = 0;
  virtual void join() = 0;
};

struct BrokerEngine {
  std::string name;
  // Null: the engine is not there, and its tests are skipped.
  std::function<std::unique_ptr<BrokerPlace>()> make_place;
};
[[nodiscard]] std::vector<BrokerEngine> broker_engines();

}  // namespace seckill::queue::contract

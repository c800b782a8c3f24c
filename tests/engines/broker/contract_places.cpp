#include "engines/broker/contract_places.hpp"

#include <fmt/format.h>

#include <thread>
#include <vector>

#include "engines/broker/broker_fixture.hpp"
#include "simulation/devices/broker/sim_broker.hpp"

namespace seckill::queue::contract {
namespace {

using namespace std::chrono_literals;

class SimulatedPlace final : public BrokerPlace {
 public:
  IntentPublisher& publisher() override { return *publisher_; }
  std::unique_ptr<IntentSource> worker() override {
    nodes_.push_back(&kernel_.add_node(fmt::format("worker-{}", nodes_.size())));
    auto source = broker_.source(*nodes_.back(), {0, 1});
    owners_.emplace_back(source.get(), nodes_.back());
    return source;
  }
  void kill(std::unique_ptr<IntentSource> worker) override {
    for (const auto& [source, node] : owners_) {
      if (source == worker.get()) node->crash();
    }
  }
  void pass(std::chrono::milliseconds time) override { kernel_.run_until(kernel_.now() + time); }
  std::chrono::nanoseconds now() override { return kernel_.now(); }
  void start_beside(std::function<void()> work) override {
    beside_ = api_.threads().start("beside", [work = std::move(work)] { work(); });
  }
  void join() override { beside_->join(); }

 private:
  sim::Kernel kernel_{11};
  sim::SimBroker broker_{kernel_, {.partitions = 2}};
  sim::Node& api_ = kernel_.add_node("api");
  std::unique_ptr<IntentPublisher> publisher_ = broker_.publisher(api_);
  std::vector<sim::Node*> nodes_;
  std::vector<std::pair<IntentSource*, sim::Node*>> owners_;
  std::unique_ptr<base::Thread> beside_;
};

class RabbitPlace final : public BrokerPlace {
 public:
  explicit RabbitPlace(rabbit::RabbitConfig config)
      : config_{std::move(config)}, operator_{config_}, publisher_{rabbit::RabbitPublisher::start(config_).value()} {
    EXPECT_TRUE(rabbit::eventually([&] { return publisher_->accepting(); }));
  }
  ~RabbitPlace() override {
    join();
    publisher_.reset();
    operator_.remove_everything({});
  }
  RabbitPlace(const RabbitPlace&) = delete;
  RabbitPlace& operator=(const RabbitPlace&) = delete;

  IntentPublisher& publisher() override { return *publisher_; }
  std::unique_ptr<IntentSource> worker() override { return rabbit::RabbitSource::make(config_).value(); }
  // To the broker the end of a connection is all that it sees of a process's end.
  void kill(std::unique_ptr<IntentSource> worker) override { worker.reset(); }
  void pass(std::chrono::milliseconds time) override { std::this_thread::sleep_for(time); }
  std::chrono::nanoseconds now() override { return std::chrono::steady_clock::now().time_since_epoch(); }
  void start_beside(std::function<void()> work) override { beside_ = std::thread{std::move(work)}; }
  void join() override {
    if (beside_.joinable()) beside_.join();
  }

 private:
  rabbit::RabbitConfig config_;
  rabbit::Operator operator_;
  std::unique_ptr<rabbit::RabbitPublisher> publisher_;
  std::thread beside_;
};

}  // namespace

std::vector<BrokerEngine> broker_engines() {
  return {{.name = "simulated", .make_place = [] { return std::make_unique<SimulatedPlace>(); }},
          {.name = "rabbit", .make_place = []() -> std::unique_ptr<BrokerPlace> {
             auto config = rabbit::config_of_test();
             if (!config) return nullptr;
             return std::make_unique<RabbitPlace>(*std::move(config));
           }}};
}

}  // namespace seckill::queue::contract

// What every test against a real RabbitMQ shares: where it is, queues of the test's own, and intents to send.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "drivers/amqp/connection.hpp"
#include "queue/rabbit/rabbit.hpp"

namespace seckill::queue::rabbit {

using namespace std::chrono_literals;

// Long enough for a loaded machine; nothing waits so long when all is well.
inline constexpr std::chrono::seconds patience{60};

// True as soon as the condition holds.
bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds longest = patience);

// The broker from the environment with queues of this test's own; nullopt: there is none.
[[nodiscard]] std::optional<RabbitConfig> config_of_test();

// An intent that is told from others by its number, in lane `lane`.
[[nodiscard]] model::OrderIntent intent_of(std::uint32_t number, model::LaneIndex lane = 0);
[[nodiscard]] std::uint32_t number_of(const model::OrderIntent& intent);
[[nodiscard]] std::vector<std::uint32_t> numbers_in(const std::vector<Delivery>& deliveries);

// The broker's own side: looks into queues, puts foreign messages there, removes what the test declared.
class Operator {
 public:
  explicit Operator(RabbitConfig config);
  std::uint32_t messages_in(const std::string& queue);
  bool exists(const std::string& queue);
  void purge(const std::string& queue);
  void remove(const std::string& queue);
  void put(const std::string& queue, std::string_view body, const drivers::amqp::Properties& properties = {});
  // Everything in the queue, taken out.
  std::vector<drivers::amqp::Delivered> take_all(const std::string& queue);
  base::Result<drivers::amqp::QueueState> declare(const drivers::amqp::QueueDeclaration& queue);
  void remove_everything(const std::vector<std::chrono::milliseconds>& bells);
  // False as long as nobody answers.
  bool connect();

 private:
  drivers::amqp::Connection& connection();
  RabbitConfig config_;
  std::optional<drivers::amqp::Connection> connection_;
  bool channel_open_ = false;
};

// What became of each published intent, by number.
class Told {
 public:
  [[nodiscard]] PublishDone of(std::uint32_t number);
  [[nodiscard]] std::optional<Published> about(std::uint32_t number);
  [[nodiscard]] std::size_t size();
  [[nodiscard]] std::set<std::uint32_t> all(Published how);
  bool twice = false;

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, Published> told_;
};

// A worker that acknowledges all it gets, on a thread of its own.
class Worker {
 public:
  Worker(const RabbitConfig& config, std::string name, std::chrono::milliseconds each = 0ms);
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  void stop();
  [[nodiscard]] std::set<std::uint32_t> seen();
  [[nodiscard]] std::set<model::LaneIndex> lanes_since_mark();
  void mark();
  [[nodiscard]] RabbitSourceCounters counters() const { return source_->counters(); }

 private:
  void run(std::chrono::milliseconds each);
  std::unique_ptr<RabbitSource> source_;
  std::mutex mutex_;
  std::set<std::uint32_t> seen_;
  std::set<model::LaneIndex> lanes_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// A broker somewhere, with queues that are this test's alone.
class BrokerTest : public ::testing::Test {
 protected:
  // Of the broker from the environment; empty: there is none, and the test is skipped.
  void SetUp() override;
  void TearDown() override;
  virtual std::optional<RabbitConfig> broker();

  std::unique_ptr<RabbitPublisher> make_publisher();  // accepting
  std::unique_ptr<RabbitSource> make_source() { return RabbitSource::make(config).value(); }
  void publish(RabbitPublisher& publisher, std::uint32_t number, Partition partition = 0);
  // Publishes and waits; true when confirmed.
  bool publish_and_wait(RabbitPublisher& publisher, std::uint32_t number, Partition partition = 0);
  // Asks until something comes; the source may have to connect and sit down first.
  std::vector<Delivery> receive(IntentSource& source, std::size_t intents_max = 500);
  // Acknowledges all until nothing came for a while.
  std::vector<std::uint32_t> drain(IntentSource& source, std::chrono::milliseconds quiet = 1500ms);

  RabbitConfig config;
  std::unique_ptr<Operator> rabbit;
  Told told;
  std::vector<std::chrono::milliseconds> bells;
};

}  // namespace seckill::queue::rabbit

#include "engines/broker/broker_fixture.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "queue/rabbit/topology.hpp"

namespace seckill::queue::rabbit {

namespace amqp = drivers::amqp;

namespace {

constexpr amqp::ChannelNumber channel = 1;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string{} : value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from < text.size();) {
    const auto comma = std::min(text.find(',', from), text.size());
    parts.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return parts;
}

// Names that nobody else uses, and bounds that a test can wait for.
void own_queues(RabbitConfig& config) {
  static std::atomic<int> number{0};
  config.prefix = fmt::format("seckill_test_{}_{}", getpid(), ++number);
  config.partitions = 2;
  config.retry_tiers = {300ms, 1'500ms};
}

}  // namespace

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds longest) {
  const auto until = std::chrono::steady_clock::now() + longest;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

model::OrderIntent intent_of(std::uint32_t number, model::LaneIndex lane) {
  base::Bytes16 bytes{};
  bytes[0] = static_cast<std::uint8_t>(lane << 2);
  for (std::size_t i = 0; i < 4; ++i) bytes[15 - i] = static_cast<std::uint8_t>(number >> (8 * i));
  model::OrderIntent intent;
  intent.ticket = model::Ticket{bytes};
  intent.item = {model::SaleId::trusted("sale"), model::Sku::trusted("sku")};
  intent.buyer = model::BuyerId::trusted(fmt::format("buyer-{}", number));
  intent.request_id = model::RequestId::trusted(fmt::format("request-{}", number));
  intent.digest = UINT64_MAX - number;
  intent.lane = lane;
  intent.units = 1;
  intent.price_minor = 199'900;
  intent.limit = 1;
  intent.pay_window_ms = 900'000;
  intent.admitted_at = 1'794'362'400'500;
  return intent;
}

std::uint32_t number_of(const model::OrderIntent& intent) {
  std::uint32_t number = 0;
  for (std::size_t i = 12; i < 16; ++i) number = number << 8 | intent.ticket.bytes()[i];
  return number;
}

std::vector<std::uint32_t> numbers_in(const std::vector<Delivery>& deliveries) {
  std::vector<std::uint32_t> numbers;
  for (const auto& one : deliveries) {
    for (const auto& intent : one.intents) numbers.push_back(number_of(intent));
  }
  return numbers;
}

// --- Operator ---

Operator::Operator(RabbitConfig config) : config_{std::move(config)} {}

bool Operator::connect() {
  const std::string& server = config_.servers.front();
  const auto colon = server.rfind(':');
  auto opened = amqp::Connection::open({.host = server.substr(0, colon),
                                        .port = static_cast<std::uint16_t>(std::stoi(server.substr(colon + 1))),
                                        .user = config_.user,
                                        .password = config_.password,
                                        .name = "operator",
                                        .connect_longest = 5s,
                                        .rpc_longest = 20s,
                                        .heartbeat = 60s});
  if (!opened) return false;
  connection_.emplace(*std::move(opened));
  channel_open_ = false;
  return true;
}

amqp::Connection& Operator::connection() {
  if (!connection_ || !connection_->alive()) EXPECT_TRUE(eventually([&] { return connect(); }));
  if (!channel_open_) channel_open_ = connection_->open_channel(channel).has_value();
  return *connection_;
}

std::uint32_t Operator::messages_in(const std::string& queue) {
  const auto state = connection().look_at(channel, queue);
  channel_open_ = state.has_value();
  return state ? state->messages : 0;
}

bool Operator::exists(const std::string& queue) {
  channel_open_ = connection().look_at(channel, queue).has_value();
  return channel_open_;
}

void Operator::purge(const std::string& queue) { channel_open_ = connection().purge(channel, queue).has_value(); }
void Operator::remove(const std::string& queue) { channel_open_ = connection().remove(channel, queue).has_value(); }

void Operator::put(const std::string& queue, std::string_view body, const amqp::Properties& properties) {
  EXPECT_TRUE(connection().publish(channel, {.routing_key = queue, .body = body, .properties = properties}));
}

std::vector<amqp::Delivered> Operator::take_all(const std::string& queue) {
  auto& broker = connection();
  constexpr amqp::ChannelNumber taking = 2;
  std::vector<amqp::Delivered> all;
  if (!broker.open_channel(taking) || !broker.consume(taking, queue, false, false)) return all;
  for (;;) {
    auto event = broker.next(1s);
    if (!event || !*event) break;
    if (auto* message = std::get_if<amqp::Delivered>(&**event)) {
      (void)broker.acknowledge(taking, message->tag);
      all.push_back(std::move(*message));
    }
  }
  (void)broker.close_channel(taking);
  return all;
}

base::Result<amqp::QueueState> Operator::declare(const amqp::QueueDeclaration& queue) {
  auto state = connection().declare(channel, queue);
  channel_open_ = state.has_value();
  return state;
}

void Operator::remove_everything(const std::vector<std::chrono::milliseconds>& bells) {
  for (Partition p = 0; p < config_.partitions; ++p) {
    remove(intents_queue(config_, p));
    remove(seat_queue(config_, p));
    for (const auto tier : config_.retry_tiers) remove(retry_queue(config_, p, tier));
  }
  for (const auto bell : bells) remove(bell_after_queue(config_, bell));
  remove(parked_queue(config_));
  remove(bell_queue(config_));
}

// --- Told ---

PublishDone Told::of(std::uint32_t number) {
  return [this, number](Published how) {
    const std::scoped_lock lock{mutex_};
    if (!told_.emplace(number, how).second) twice = true;
  };
}

std::optional<Published> Told::about(std::uint32_t number) {
  const std::scoped_lock lock{mutex_};
  const auto found = told_.find(number);
  if (found == told_.end()) return std::nullopt;
  return found->second;
}

std::size_t Told::size() {
  const std::scoped_lock lock{mutex_};
  return told_.size();
}

std::set<std::uint32_t> Told::all(Published how) {
  const std::scoped_lock lock{mutex_};
  std::set<std::uint32_t> numbers;
  for (const auto& [number, what] : told_) {
    if (what == how) numbers.insert(number);
  }
  return numbers;
}

// --- Worker ---

Worker::Worker(const RabbitConfig& config, std::string name, std::chrono::milliseconds each) {
  RabbitConfig own = config;
  own.connection_name = std::move(name);
  source_ = RabbitSource::make(std::move(own)).value();
  thread_ = std::thread{[this, each] { run(each); }};
}

void Worker::run(std::chrono::milliseconds each) {
  while (!stopping_) {
    auto deliveries = source_->receive(500, 200ms);
    if (!deliveries) continue;
    for (const auto& one : *deliveries) {
      if (each > 0ms) std::this_thread::sleep_for(each);
      {
        const std::scoped_lock lock{mutex_};
        for (const auto& intent : one.intents) {
          seen_.insert(number_of(intent));
          lanes_.insert(intent.lane);
        }
      }
      (void)source_->acknowledge(one.tag);
    }
  }
  source_.reset();  // its connection goes with its thread
}

void Worker::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

std::set<std::uint32_t> Worker::seen() {
  const std::scoped_lock lock{mutex_};
  return seen_;
}

std::set<model::LaneIndex> Worker::lanes_since_mark() {
  const std::scoped_lock lock{mutex_};
  return lanes_;
}

void Worker::mark() {
  const std::scoped_lock lock{mutex_};
  lanes_.clear();
}

// --- BrokerTest ---

std::optional<RabbitConfig> config_of_test() {
  const std::string servers = environment("SECKILL_TEST_RABBIT");
  if (servers.empty()) return std::nullopt;
  RabbitConfig found;
  found.servers = split(servers);
  found.user = environment("SECKILL_TEST_RABBIT_USER");
  found.password = environment("SECKILL_TEST_RABBIT_PASSWORD");
  own_queues(found);
  return found;
}

std::optional<RabbitConfig> BrokerTest::broker() { return config_of_test(); }

void BrokerTest::SetUp() {
  auto found = broker();
  if (!found) GTEST_SKIP() << "SECKILL_TEST_RABBIT is not set: no RabbitMQ to test against";
  config = *std::move(found);
  own_queues(config);
  rabbit = std::make_unique<Operator>(config);
}

void BrokerTest::TearDown() {
  EXPECT_FALSE(told.twice) << "PublishDone came twice";
  if (rabbit) rabbit->remove_everything(bells);
}

std::unique_ptr<RabbitPublisher> BrokerTest::make_publisher() {
  auto publisher = RabbitPublisher::start(config).value();
  EXPECT_TRUE(eventually([&] { return publisher->accepting(); }));
  return publisher;
}

void BrokerTest::publish(RabbitPublisher& publisher, std::uint32_t number, Partition partition) {
  publisher.publish(partition, {intent_of(number, partition)}, told.of(number));
}

bool BrokerTest::publish_and_wait(RabbitPublisher& publisher, std::uint32_t number, Partition partition) {
  publish(publisher, number, partition);
  EXPECT_TRUE(eventually([&] { return told.about(number).has_value(); }));
  return told.about(number) == Published::confirmed;
}

std::vector<Delivery> BrokerTest::receive(IntentSource& source, std::size_t intents_max) {
  std::vector<Delivery> all;
  EXPECT_TRUE(eventually([&] {
    if (auto some = source.receive(intents_max, 200ms)) all = *std::move(some);
    return !all.empty();
  }));
  return all;
}

std::vector<std::uint32_t> BrokerTest::drain(IntentSource& source, std::chrono::milliseconds quiet) {
  std::vector<std::uint32_t> all;
  auto last = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - last < quiet) {
    auto deliveries = source.receive(500, 100ms);
    if (!deliveries || deliveries->empty()) continue;
    last = std::chrono::steady_clock::now();
    for (const auto& one : *deliveries) (void)source.acknowledge(one.tag);
    for (const auto number : numbers_in(*deliveries)) all.push_back(number);
  }
  return all;
}

}  // namespace seckill::queue::rabbit

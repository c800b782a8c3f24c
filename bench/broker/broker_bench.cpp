// What RabbitMQ confirms and hands out on this machine: one publisher alone, then one source alone, batches of 100
// intents, quorum queues of one node.
//
// Usage: bench_broker [seconds]. Where the broker is: SECKILL_TEST_RABBIT, …_USER, …_PASSWORD; without them the figures
// are skipped. Its queues are removed afterwards. Prints one figure a line: name value unit.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "drivers/amqp/connection.hpp"
#include "queue/rabbit/message.hpp"
#include "queue/rabbit/rabbit.hpp"
#include "queue/rabbit/topology.hpp"

namespace {

using namespace seckill;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t partitions = 4;
constexpr std::size_t window = 64;  // messages under way
constexpr std::size_t rounds = 3;

void figure(std::string_view name, double value, std::string_view unit) {
  fmt::print("{} {:.1f} {}\n", name, value, unit);
  std::fflush(stdout);
}

// CPU of the whole process, kernel included; the broker's is its own.
double cpu_us() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string{} : value;
}

std::vector<model::OrderIntent> batch_of(std::uint32_t first, model::LaneIndex lane) {
  std::vector<model::OrderIntent> batch(queue::rabbit::message_intents_max);
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    base::Bytes16 bytes{};
    bytes[0] = static_cast<std::uint8_t>(lane << 2);
    for (std::size_t b = 0; b < 4; ++b) bytes[15 - b] = static_cast<std::uint8_t>((first + i) >> (8 * b));
    auto& intent = batch[i];
    intent.ticket = model::Ticket{bytes};
    intent.item = {model::SaleId::trusted("double-eleven"), model::Sku::trusted("phone-256")};
    intent.buyer = model::BuyerId::trusted(fmt::format("buyer-{:08}", first + i));
    intent.request_id = model::RequestId::trusted(fmt::format("7f3e9a52-1d0c-4b7e-9f01-{:012}", first + i));
    intent.digest = 0x9E3779B97F4A7C15ULL * (first + i);
    intent.lane = lane;
    intent.units = 1;
    intent.price_minor = 199'900;
    intent.limit = 1;
    intent.pay_window_ms = 900'000;
    intent.admitted_at = 1'794'362'400'500;
  }
  return batch;
}

struct Published {
  double seconds = 0;
  double cpu = 0;
  std::uint64_t messages = 0;
};

Published publish_for(queue::rabbit::RabbitPublisher& publisher, std::chrono::seconds time) {
  const auto template_of = [] {
    std::vector<std::vector<model::OrderIntent>> all;
    for (std::uint32_t p = 0; p < partitions; ++p) all.push_back(batch_of(1 + p * 100, p));
    return all;
  }();
  std::atomic<std::size_t> under_way{0};
  std::atomic<std::uint64_t> confirmed{0};
  const double cpu = cpu_us();
  const auto start = Clock::now();
  for (std::uint32_t i = 0; Clock::now() - start < time; ++i) {
    while (under_way.load() >= window) std::this_thread::sleep_for(200us);
    ++under_way;
    publisher.publish(i % partitions, template_of[i % partitions], [&](queue::Published how) {
      if (how == queue::Published::confirmed) ++confirmed;
      --under_way;
    });
  }
  while (under_way.load() > 0) std::this_thread::sleep_for(1ms);
  return {.seconds = std::chrono::duration<double>(Clock::now() - start).count(),
          .cpu = cpu_us() - cpu,
          .messages = confirmed.load()};
}

void remove_queues(const queue::rabbit::RabbitConfig& config) {
  const auto& server = config.servers.front();
  const auto colon = server.rfind(':');
  auto connection =
      drivers::amqp::Connection::open({.host = server.substr(0, colon),
                                       .port = static_cast<std::uint16_t>(std::stoi(server.substr(colon + 1))),
                                       .user = config.user,
                                       .password = config.password,
                                       .name = "bench",
                                       .rpc_longest = 60s});
  if (!connection || !connection->open_channel(1)) return;
  for (std::uint32_t p = 0; p < partitions; ++p) {
    (void)connection->remove(1, intents_queue(config, p));
    (void)connection->remove(1, seat_queue(config, p));
    for (const auto tier : config.retry_tiers) (void)connection->remove(1, retry_queue(config, p, tier));
  }
  (void)connection->remove(1, parked_queue(config));
  (void)connection->remove(1, bell_queue(config));
}

void take_all(const queue::rabbit::RabbitConfig& config, std::uint64_t messages) {
  auto source = queue::rabbit::RabbitSource::make(config).value();
  std::uint64_t taken = 0;
  auto start = Clock::now();
  double cpu = cpu_us();
  const auto give_up = start + 120s;
  while (taken < messages && Clock::now() < give_up) {
    const auto some = source->receive(500, 500ms);
    if (!some) continue;
    if (taken == 0) {
      start = Clock::now();
      cpu = cpu_us();
    }
    for (const auto& one : *some) (void)source->acknowledge(one.tag);
    taken += some->size();
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto intents = static_cast<double>(taken) * 100;
  figure("intents_taken_per_s", intents / seconds, "intents/s");
  figure("intents_taken_cpu_us", (cpu_us() - cpu) / intents, "us/intent");
}

}  // namespace

int main(int argc, char** argv) {
  const std::chrono::seconds time{argc > 1 ? std::atoi(argv[1]) : 3};
  const std::string server = environment("SECKILL_TEST_RABBIT");
  if (server.empty() || time <= 0s) {
    fmt::print("intents_confirmed_per_s skipped SECKILL_TEST_RABBIT is not set\n");
    return 0;
  }
  queue::rabbit::RabbitConfig config;
  config.servers = {server.substr(0, server.find(','))};
  config.user = environment("SECKILL_TEST_RABBIT_USER");
  config.password = environment("SECKILL_TEST_RABBIT_PASSWORD");
  config.prefix = fmt::format("seckill_bench_{}", getpid());
  config.partitions = partitions;
  config.confirm_longest = 30s;
  auto publisher = queue::rabbit::RabbitPublisher::start(config);
  if (!publisher) {
    fmt::print(stderr, "{}\n", publisher.error().text());
    return 1;
  }
  for (int i = 0; i < 600 && !(*publisher)->accepting(); ++i) std::this_thread::sleep_for(50ms);
  (void)publish_for(**publisher, 1s);  // warm
  Published best;
  std::uint64_t all = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto one = publish_for(**publisher, time);
    all += one.messages;
    const auto rate = static_cast<double>(one.messages) / one.seconds;
    fmt::print("# round {}: {:.0f} messages/s\n", round + 1, rate);
    if (best.seconds == 0 || rate > static_cast<double>(best.messages) / best.seconds) best = one;
  }
  const auto intents = static_cast<double>(best.messages) * 100;
  figure("intents_confirmed_per_s", intents / best.seconds, "intents/s");
  figure("intents_confirmed_messages_per_s", static_cast<double>(best.messages) / best.seconds, "messages/s");
  figure("intents_confirmed_cpu_us", best.cpu / intents, "us/intent");
  std::string message;
  queue::rabbit::write_intents(message, batch_of(1, 0));
  figure("intent_message_bytes", static_cast<double>(message.size()) / 100, "bytes/intent");
  take_all(config, all);
  (*publisher)->stop();
  remove_queues(config);
  return (*publisher)->counters().confirmed == 0 ? 1 : 0;
}

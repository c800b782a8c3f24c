#include "lanes/lanes_on_redis.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "admission/redis/lane_keys.hpp"
#include "admission/redis/redis_lanes.hpp"

namespace seckill::admission::redis::test {
namespace {

std::optional<RedisEngine> engine_from(const char* variable, bool cluster) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  RedisEngine engine{.servers = {}, .cluster = cluster};
  std::string_view rest = value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    engine.servers.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return engine;
}

std::unique_ptr<drivers::redis::Redis> start(const RedisEngine& engine) {
  drivers::redis::RedisConfig config;
  config.servers = engine.servers;
  config.cluster = engine.cluster;
  auto redis = drivers::redis::Redis::start(config);
  if (!redis) throw std::runtime_error{redis.error().text()};
  return *std::move(redis);
}

}  // namespace

std::optional<RedisEngine> standalone_engine() { return engine_from("SECKILL_TEST_REDIS", false); }
std::optional<RedisEngine> cluster_engine() { return engine_from("SECKILL_TEST_REDIS_CLUSTER", true); }

void ListeningRedis::call(drivers::redis::RedisCall call, drivers::redis::CallDone done) {
  redis_->call(std::move(call),
               [this, done = std::move(done)](base::Result<drivers::redis::CallAnswer> answer) mutable {
                 if (answer) {
                   const std::scoped_lock lock{mutex_};
                   last_ = answer->reply;
                 }
                 done(std::move(answer));
               });
}

RedisReply ListeningRedis::last() const {
  const std::scoped_lock lock{mutex_};
  return last_;
}

LanesOnRedis::LanesOnRedis(const RedisEngine& engine)
    : redis_{std::make_unique<ListeningRedis>(start(engine))},
      lanes_{make_redis_lanes(*redis_,
                              {.call_longest = std::chrono::seconds{20}, .replicas = engine.cluster ? 1U : 0U})} {}

LanesOnRedis::~LanesOnRedis() {
  for (const LaneKey& lane : made_) {
    std::vector<std::string> words = keys_of(lane, LaneKeys::installing);
    words.insert(words.begin(), "UNLINK");
    command(lane, std::move(words));
  }
  redis_->stop();
}

LaneKey LanesOnRedis::fresh_lane(model::LaneIndex index) {
  std::random_device random;
  const std::string sale = fmt::format("t{:08x}{:08x}", random(), random());
  made_.push_back({.item = {.sale = *model::SaleId::parse(sale), .sku = *model::Sku::parse("sku1")}, .lane = index});
  return made_.back();
}

LaneServer LanesOnRedis::server_of(const LaneKey& lane) {
  auto server = wait_for<LaneServer>([&](auto answer) { lanes_->server_of(lane, std::move(answer)); });
  if (!server) throw std::runtime_error{server.error().text()};
  return *std::move(server);
}

RedisReply LanesOnRedis::command(const LaneKey& lane, std::vector<std::string> words) {
  return std::move(commands(lane, {std::move(words)}).front());
}

std::vector<RedisReply> LanesOnRedis::commands(const LaneKey& lane, std::vector<std::vector<std::string>> all) {
  std::vector<std::future<RedisReply>> replies;
  for (auto& words : all) {
    const auto promise = std::make_shared<std::promise<RedisReply>>();
    replies.push_back(promise->get_future());
    drivers::redis::RedisCall call;
    call.routing_key = routing_key_of(lane);
    call.args = std::move(words);
    call.longest = std::chrono::seconds{20};
    redis_->call(std::move(call), [promise](base::Result<drivers::redis::CallAnswer> answer) {
      if (!answer) return promise->set_exception(std::make_exception_ptr(std::runtime_error{answer.error().text()}));
      promise->set_value(std::move(answer->reply));
    });
  }
  std::vector<RedisReply> answers;
  for (auto& reply : replies) answers.push_back(reply.get());
  return answers;
}

}  // namespace seckill::admission::redis::test

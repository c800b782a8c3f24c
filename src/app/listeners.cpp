#include "app/listeners.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/limits.hpp"
#include "base/log.hpp"

namespace seckill::app {
namespace {

namespace http = gateway::http;
using namespace std::chrono_literals;

constexpr auto admin_reply_wait = 10min;  // a backup of a large store is one request

http::ServerConfig listener(const ListenerConfig& config, std::string name) {
  http::ServerConfig made;
  made.address = config.address;
  made.port = config.port;
  made.threads = thread_count(config.threads);
  made.connections_per_thread_max = config.connections_max;
  made.connections_per_address_max = config.connections_per_address_max;
  made.uncapped_addresses = config.trusted_proxies;
  made.header_time = config.header_timeout;
  made.body_time = config.body_timeout;
  made.idle_time = config.idle_timeout;
  made.log_fault = [name](std::string_view what) { base::log::warn("{} port: {}", name, what); };
  made.name = std::move(name);
  return made;
}

}  // namespace

unsigned thread_count(unsigned configured) {
  return configured != 0 ? configured : std::clamp(std::thread::hardware_concurrency(), 1u, 64u);
}

http::ServerConfig buyer_listener(const ListenerConfig& config) {
  http::ServerConfig made = listener(config, "buyer");
  made.replies = gateway::buyer_core_replies();
  return made;
}

http::ServerConfig admin_listener(const ListenerConfig& config) {
  http::ServerConfig made = listener(config, "admin");
  made.body_bytes_max = base::limits::http_admin_body_bytes_max;
  made.reply_wait_time = admin_reply_wait;
  return made;
}

gateway::BuyerApiConfig buyer_api_config(const Config& config) {
  gateway::BuyerApiConfig made;
  made.login = config.login;
  const auto rate = [](std::int64_t capacity, double per_s) {
    return gateway::BucketRate{capacity, std::max<std::int64_t>(std::llround(per_s * 1'000), 1)};
  };
  made.buyer_bucket = rate(config.limits.buyer_bucket_capacity, config.limits.buyer_bucket_per_s);
  made.buyer_calls = rate(config.limits.buyer_calls_capacity, config.limits.buyer_calls_per_s);
  made.demo_mode = config.demo;
  return made;
}

}  // namespace seckill::app

#include "app/cluster_health.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "app/cluster_engines.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/threads.hpp"

namespace seckill::app {
namespace {

constexpr std::chrono::milliseconds every{1'000};
constexpr std::chrono::milliseconds redis_answers_within{1'000};
constexpr double apart_max_ms = 200;

double utc_ms(const base::Clock& clock) { return static_cast<double>(clock.now_utc()); }

// A clock read between two readings of ours.
ClockReading reading(std::string whose, double theirs_ms, double before_ms, double after_ms) {
  return {.whose = std::move(whose),
          .ahead_ms = theirs_ms - (before_ms + after_ms) / 2,
          .give_or_take_ms = (after_ms - before_ms) / 2 + 1};
}

// TIME: seconds and microseconds.
std::optional<double> time_of(const drivers::redis::RedisReply& reply) {
  if (reply.items().size() != 2) return std::nullopt;
  const auto seconds = reply.items()[0].integer();
  const auto micros = reply.items()[1].integer();
  if (!seconds || !micros) return std::nullopt;
  return static_cast<double>(*seconds) * 1e3 + static_cast<double>(*micros) / 1e3;
}

// Whether some master answers, asked by keys spread over the slots. Blocks for a call's deadline at most.
bool some_master_answers(drivers::redis::Redis& redis) {
  constexpr std::size_t keys = 32;
  struct Asked {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t open = keys;
    bool replied = false;
  };
  const auto asked = std::make_shared<Asked>();
  for (std::size_t i = 0; i < keys; ++i) {
    drivers::redis::RedisCall call;
    call.routing_key = fmt::format("health:{{{}}}", i);
    call.args = {"TIME"};
    call.longest = redis_answers_within;
    redis.call(std::move(call), [asked](const base::Result<drivers::redis::CallAnswer>& answer) {
      const std::lock_guard lock{asked->mutex};
      --asked->open;
      asked->replied = asked->replied || (answer && time_of(answer->reply));
      asked->changed.notify_all();
    });
  }
  std::unique_lock lock{asked->mutex};
  asked->changed.wait(lock, [&] { return asked->replied || asked->open == 0; });
  return asked->replied;
}

}  // namespace

std::optional<std::string> clocks_apart(const std::vector<ClockReading>& readings) {
  std::vector<ClockReading> all = readings;
  all.push_back({.whose = "this node"});
  const auto [slowest, fastest] = std::ranges::minmax_element(all, {}, &ClockReading::ahead_ms);
  const double apart = fastest->ahead_ms - slowest->ahead_ms;
  if (apart - fastest->give_or_take_ms - slowest->give_or_take_ms <= apart_max_ms) return std::nullopt;
  return fmt::format("the clocks of {} and {} are {} ms apart; more than {} is not safe to sell by: check NTP",
                     fastest->whose, slowest->whose, std::llround(apart), apart_max_ms);
}

ClusterHealth::ClusterHealth(Ports ports)
    : ports_{std::move(ports)}, thread_{base::system_threads(), base::system_random()} {}

void ClusterHealth::start() {
  thread_.start("health", every, [this] { round(); });
}

void ClusterHealth::stop() { thread_.stop(); }

void ClusterHealth::say(Complaint& complaint, std::string sentence) {
  if (complaint.sentence == sentence) return;
  if (!sentence.empty()) {
    ports_.readiness.block(sentence);
    if (complaint.sentence.empty()) base::log::warn("not ready: {}", sentence);
  }
  if (!complaint.sentence.empty()) ports_.readiness.clear(complaint.sentence);
  if (sentence.empty()) base::log::info("no longer: {}", complaint.sentence);
  complaint.sentence = std::move(sentence);
}

void ClusterHealth::round() {
  std::vector<ClockReading> clocks;
  look_at_store(clocks);
  look_at_redis(clocks);
  if (!ports_.redis_settings_sound) check_redis_settings();
  const bool goes_without = ports_.switches.synchronous_ordering();
  say(broker_, ports_.publisher.accepting() || goes_without
                   ? ""
                   : "the broker takes no orders: it cannot be reached, or is full or blocked; the switch "
                     "synchronous_ordering goes without it");
  say(clocks_, clocks_apart(clocks).value_or(""));
}

void ClusterHealth::look_at_store(std::vector<ClockReading>& clocks) {
  const double before = utc_ms(ports_.clock);
  const auto now = ports_.board.store_now();
  const double after = utc_ms(ports_.clock);
  if (now) clocks.push_back(reading("the database", static_cast<double>(*now), before, after));
  say(store_, now ? "" : "the database cannot be read: " + now.error().text());
}

// One master away is a part of the lanes away, here as on every other node: buyers of the others are still served, so
// that is no reason to turn buyers away from this node.
void ClusterHealth::look_at_redis(std::vector<ClockReading>& clocks) {
  const double before = utc_ms(ports_.clock);
  const auto times = ports_.redis.ask_masters({"TIME"}, redis_answers_within);
  const double after = utc_ms(ports_.clock);
  if (!times) {
    const bool away = !some_master_answers(ports_.redis) && !(ports_.all_by_database && ports_.all_by_database());
    say(redis_, away ? "Redis cannot be reached: " + times.error().text() : "");
    return;
  }
  say(redis_, "");
  for (const auto& one : *times) {
    if (const auto time = time_of(one.reply)) clocks.push_back(reading("Redis " + one.server, *time, before, after));
  }
}

void ClusterHealth::check_redis_settings() {
  const auto faults = redis_faults(ports_.redis, ports_.redis_cluster);
  if (!faults) return;  // away: said already
  ports_.redis_settings_sound = faults->empty();
  say(settings_, fmt::format("{}", fmt::join(*faults, "; ")));
}

}  // namespace seckill::app

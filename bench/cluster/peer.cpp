// Admission in Redis, ours beside nginx + Lua + Redis: the same requests, servers pinned to one core in turns, Redis
// and the generator on the other; short windows in rotation, medians of ratios.
#include <fmt/format.h>

#include <stdexcept>

#include "crowd.hpp"
#include "purchase_load.hpp"
#include "rotation.hpp"

namespace seckill::bench {
namespace {

// The requests of one contender, each once.
struct Turn {
  std::vector<std::string> requests;
  std::size_t next = 0;
};

Contender contender(std::string name, std::uint16_t port, pid_t process, Turn& turn) {
  Contender made{std::move(name), port, threads_of(process), {}, 202};
  made.next_request = [&turn] {
    if (turn.next == turn.requests.size()) throw std::runtime_error("more purchases are needed than were prepared");
    return std::string_view{turn.requests[turn.next++]};
  };
  return made;
}

Turn prepare(const Buyers& buyers, std::uint16_t port, std::size_t count) {
  const std::vector<std::string> looks = buyers.looks(0, count);
  const LoadResult looked = send_all({port}, looks, 64, 0, std::chrono::minutes{5});
  if (looked.replies.size() != 1 || !looked.replies.contains(200))
    throw std::runtime_error("a look was not answered 200");
  return {buyers.purchases(0, count), 0};
}

}  // namespace

// --secret-file --sale --peer-port --peer-pid --ours-port --ours-pid --redis-pids --rounds --requests --connections
void compare_with_peer(const Words& words) {
  const Buyers buyers{words.file("secret-file"), words.text("sale")};
  const auto count = static_cast<std::size_t>(words.number("requests"));
  const auto peer_port = static_cast<std::uint16_t>(words.number("peer-port"));
  const auto ours_port = static_cast<std::uint16_t>(words.number("ours-port"));
  Turn peer = prepare(buyers, peer_port, count);
  Turn ours = prepare(buyers, ours_port, count);
  const std::vector<Contender> contenders{
      contender("nginx + Lua + Redis", peer_port, static_cast<pid_t>(words.number("peer-pid")), peer),
      contender("seckill", ours_port, static_cast<pid_t>(words.number("ours-pid")), ours)};
  const unsigned other = cores() > 1 ? 1 : 0;
  for (const Contender& one : contenders) {
    for (const int thread : one.threads) pin(thread, 0);
  }
  for (const int thread : threads_of(static_cast<pid_t>(words.number("redis-pid")))) pin(thread, other);
  pin(0, other);
  RotationPlan plan;
  plan.rounds = static_cast<unsigned>(words.number("rounds", 40));
  plan.connections = static_cast<unsigned>(words.number("connections", 256));
  plan.window = std::chrono::milliseconds{60};
  plan.pause = std::chrono::milliseconds{15};
  const std::vector<Measured> measured = rotate(contenders, plan);
  for (const Measured& m : measured) {
    fmt::print("# {:<24} {:>9.0f} admitted/s  {:>6.2f} us CPU  by rate {:.2f}  by CPU {:.2f}  windows {}/{}\n", m.name,
               m.requests_per_s, m.cpu_us_per_request, m.rate_ratio, m.cpu_ratio, m.windows, m.windows + m.disturbed);
  }
  fmt::print("admit_redis_vs_lua_peer {:.2f} ratio of admissions a second on one core\n", measured[1].rate_ratio);
  fmt::print("admit_redis_vs_lua_peer_cpu {:.2f} ratio of CPU an admission\n", measured[1].cpu_ratio);
  fmt::print("admit_redis_per_s {:.0f} 1/s\n", measured[1].requests_per_s);
  fmt::print("admit_redis_cpu_us {:.2f} us\n", measured[1].cpu_us_per_request);
  fmt::print("lua_peer_per_s {:.0f} 1/s\n", measured[0].requests_per_s);
  fmt::print("lua_peer_cpu_us {:.2f} us\n", measured[0].cpu_us_per_request);
}

}  // namespace seckill::bench

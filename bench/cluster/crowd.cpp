#include "crowd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "base/clock.hpp"
#include "model/ids.hpp"
#include "purchase_load.hpp"

namespace seckill::bench {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::nanoseconds seconds(double value) {
  return std::chrono::nanoseconds{static_cast<std::int64_t>(value * 1e9)};
}

void look_first(const Words& words, const Buyers& buyers, std::size_t first, std::size_t count) {
  // Each server has a cache of its own, so each is asked.
  for (const std::uint16_t port : words.ports("ports")) {
    const std::vector<std::string> looks = buyers.looks(first, count);
    const LoadResult looked = send_all({port}, looks, 128, 0, std::chrono::minutes{5});
    if (looked.replies.size() != 1 || !looked.replies.contains(200)) {
      throw std::runtime_error("a look was not answered 200");
    }
  }
}

// Of this process, so far.
double cpu_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

// Gaps between the answers 202 of one lane.
struct LaneGaps {
  Clock::time_point last{};
  std::chrono::duration<double> longest{0};
  Clock::time_point longest_from{};
  std::size_t admitted = 0;
};

}  // namespace

Buyers::Buyers(std::string_view login_secret, std::string sale)
    : sale_{std::move(sale)}, now_{base::SystemClock{}.now_utc()} {
  auto signer = gateway::TokenSigner::make(login_secret);
  if (!signer) throw std::runtime_error(signer.error().text());
  signer_ = *std::move(signer);
}

std::string Buyers::id(std::size_t number) { return fmt::format("buyer-{:010}", number); }

std::string Buyers::token(std::size_t number) const {
  auto token = signer_->sign(model::BuyerId::parse(id(number)).value(), now_, std::chrono::hours{12});
  if (!token) throw std::runtime_error(token.error().text());
  return *std::move(token);
}

std::vector<std::string> Buyers::looks(std::size_t first, std::size_t count) const {
  std::vector<std::string> made;
  made.reserve(count);
  for (std::size_t i = first; i < first + count; ++i) {
    made.push_back(fmt::format(
        "GET /api/v1/sales/{}/me HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\r\n", sale_, token(i)));
  }
  return made;
}

std::vector<std::string> Buyers::purchases(std::size_t first, std::size_t count) const {
  std::vector<std::string> made;
  made.reserve(count);
  for (std::size_t i = first; i < first + count; ++i) {
    made.push_back(fmt::format(
        "POST /api/v1/sales/{}/items/item/purchases HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: Mozilla/5.0\r\n"
        "Accept: application/json\r\nContent-Type: application/json\r\nAuthorization: Bearer {}\r\n"
        "Idempotency-Key: 0f8fad5b-d9cb-469f-a165-{:012x}\r\nContent-Length: 14\r\n\r\n{{\"quantity\":1}}",
        sale_, token(i), i));
  }
  return made;
}

Words::Words(int argc, char** argv) {
  for (int i = 2; i + 1 < argc; i += 2) pairs_.emplace_back(std::string_view{argv[i]}.substr(2), argv[i + 1]);
}
const std::string* Words::find(std::string_view name) const {
  const auto found = std::ranges::find(pairs_, name, [](const auto& pair) { return std::string_view{pair.first}; });
  return found == pairs_.end() ? nullptr : &found->second;
}
std::string Words::text(std::string_view name) const {
  const std::string* found = find(name);
  if (found == nullptr) throw std::runtime_error(fmt::format("--{} is missing", name));
  return *found;
}
double Words::number(std::string_view name) const { return std::stod(text(name)); }
double Words::number(std::string_view name, double otherwise) const {
  const std::string* found = find(name);
  return found == nullptr ? otherwise : std::stod(*found);
}
std::vector<std::uint16_t> Words::ports(std::string_view name) const {
  std::vector<std::uint16_t> made;
  std::istringstream all{text(name)};
  for (std::string one; std::getline(all, one, ',');) made.push_back(static_cast<std::uint16_t>(std::stoi(one)));
  return made;
}
std::string Words::file(std::string_view name) const {
  std::ifstream in{text(name)};
  std::string line;
  if (!std::getline(in, line)) throw std::runtime_error(fmt::format("--{} cannot be read", name));
  return line;
}

// --ports --secret-file --sale --first --count [--connections] [--seconds] [--rate] [--looks 0]: buyers of one unit
// each, once.
void run_crowd(const Words& words) {
  const Buyers buyers{words.file("secret-file"), words.text("sale")};
  const auto first = static_cast<std::size_t>(words.number("first"));
  const auto count = static_cast<std::size_t>(words.number("count"));
  if (words.number("looks", 1) != 0) look_first(words, buyers, first, count);
  const std::vector<std::string> requests = buyers.purchases(first, count);
  fmt::print("begun 1 now\n");
  std::fflush(stdout);
  const double cpu = cpu_seconds();
  LoadResult result = send_all(words.ports("ports"), requests, static_cast<unsigned>(words.number("connections", 256)),
                               words.number("rate", 0), seconds(words.number("seconds", 600)));
  const double wall = result.wall.count();
  fmt::print("generator_cpu {:.3f} s\n", cpu_seconds() - cpu);
  fmt::print("wall {:.3f} s\n", wall);
  for (const auto& [status, replies] : result.replies) fmt::print("status_{} {} replies\n", status, replies);
  fmt::print("unsent {} requests\n", result.unsent);
  if (result.latency_ms.empty()) return;
  for (const auto& [name, p] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p100", 1.0}}) {
    fmt::print("{} {:.2f} ms\n", name, quantile(result.latency_ms, p));
  }
}

// As run_crowd, at a fixed rate, with --lanes: the longest time each lane admitted nobody, lane by lane.
void run_gaps(const Words& words) {
  const Buyers buyers{words.file("secret-file"), words.text("sale")};
  const auto first = static_cast<std::size_t>(words.number("first"));
  const auto count = static_cast<std::size_t>(words.number("count"));
  const auto lanes = static_cast<std::uint32_t>(words.number("lanes"));
  std::vector<LaneGaps> gaps(lanes);
  std::map<int, std::size_t> statuses;
  const std::vector<std::string> requests = buyers.purchases(first, count);
  const auto begin = Clock::now();
  for (LaneGaps& lane : gaps) lane.last = begin;
  fmt::print("begun 1 now\n");
  std::fflush(stdout);
  (void)send_all(words.ports("ports"), requests, static_cast<unsigned>(words.number("connections", 512)),
                 words.number("rate"), seconds(words.number("seconds", 600)), [&](const LoadReply& reply) {
                   ++statuses[reply.status];
                   if (reply.status != 202) return;
                   LaneGaps& lane = gaps[model::lane_of(Buyers::id(first + reply.request), lanes)];
                   ++lane.admitted;
                   if (reply.at - lane.last > lane.longest) {
                     lane.longest = reply.at - lane.last;
                     lane.longest_from = lane.last;
                   }
                   lane.last = reply.at;
                 });
  // A lane that never came back has its gap until now.
  const auto end = Clock::now();
  double most = 0;
  for (std::uint32_t i = 0; i < lanes; ++i) {
    LaneGaps& lane = gaps[i];
    if (end - lane.last > lane.longest) {
      lane.longest = end - lane.last;
      lane.longest_from = lane.last;
    }
    const std::chrono::duration<double> from = lane.longest_from - begin;
    fmt::print("lane_{} {:.2f} s without an admission from {:.2f} s; admitted {}\n", i, lane.longest.count(),
               from.count(), lane.admitted);
    most = std::max(most, lane.longest.count());
  }
  fmt::print("busy_longest {:.2f} s\n", most);
  for (const auto& [status, replies] : statuses) fmt::print("status_{} {} replies\n", status, replies);
}

}  // namespace seckill::bench

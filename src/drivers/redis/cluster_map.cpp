#include "drivers/redis/cluster_map.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/random.hpp"

namespace seckill::drivers::redis {
namespace {

// Between two refreshes: a storm of MOVED costs one map each.
constexpr std::chrono::milliseconds refresh_pause{200};

}  // namespace

ClusterMap::ClusterMap(Shared& shared, std::vector<Endpoint> seeds, LinkTo link_to, std::function<void()> arrived)
    : shared_(shared),
      seeds_(std::move(seeds)),
      link_to_(std::move(link_to)),
      arrived_(std::move(arrived)),
      backoff_(shared.config.backoff_min, shared.config.backoff_max) {}

void ClusterMap::check(TimePoint now) {
  if (closed_ || !wanted_ || asking_ || now < next_at_) return;
  asking_ = true;
  std::vector<Endpoint> nodes;
  const SlotMap& map = map_;
  for (const std::vector<Endpoint>* some : {&map.masters, &map.others, &seeds_}) {
    for (const Endpoint& node : *some) {
      if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
    }
  }
  std::ranges::rotate(nodes, nodes.begin() + static_cast<std::ptrdiff_t>(turn_++ % nodes.size()));
  // Taken from the end: who is known to be away comes last.
  candidates_.clear();
  for (const bool away : {true, false}) {
    for (const Endpoint& node : nodes) {
      if (link_to_(node)->is_down() == away) candidates_.push_back(node);
    }
  }
  ask_next();
}

void ClusterMap::ask_next() {
  if (candidates_.empty()) {
    asking_ = false;
    next_at_ = Clock::now() + backoff_.next(base::system_random());
    return;
  }
  const Endpoint node = std::move(candidates_.back());
  candidates_.pop_back();
  static const std::string slots = format_command(std::array<std::string_view, 2>{"CLUSTER", "SLOTS"});
  auto call = std::make_unique<PendingCall>();
  call->wire = slots;
  call->pinned = true;
  call->deadline = Clock::now() + shared_.config.connect_longest;
  call->done = [this, node](base::Result<CallAnswer> answer) { answered(node, std::move(answer)); };
  shared_.open_own(call->wire.size());
  link_to_(node)->push(std::move(call));
}

void ClusterMap::answered(const Endpoint& asked, base::Result<CallAnswer> answer) {
  if (closed_) return;
  std::optional<SlotMap> map;
  if (answer.has_value()) map = parse_slots(answer->reply, asked);
  // A node that has been reset, or never joined, knows of no slots.
  if (!map || map->masters.empty()) {
    ask_next();
    return;
  }
  map_ = *std::move(map);
  known_ = true;
  asking_ = false;
  wanted_ = false;
  candidates_.clear();
  backoff_.reset();
  next_at_ = Clock::now() + refresh_pause;
  arrived_();
}

}  // namespace seckill::drivers::redis

#include "simulation/kernel/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "base/assert.hpp"
#include "base/hash.hpp"
#include "simulation/kernel/kernel_impl.hpp"

namespace seckill::sim {
namespace {

constexpr std::size_t story_lines_max = 4'000;

// The heap's order: the earliest on top, and of one instant the first planned.
constexpr auto later = [](const auto& a, const auto& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; };

// How long a woken thread takes until it runs. Mostly nothing; now and then a busy machine.
Time wake_delay(Random& random) noexcept {
  const std::uint64_t die = random.below(100);
  if (die == 0) return Time{random.between(0, 5'000'000)};
  if (die < 15) return Time{random.between(0, 100'000)};
  return Time{random.between(0, 5'000)};
}

void count(std::vector<std::pair<std::string, std::uint64_t>>& counts, std::string_view name) {
  auto known = std::ranges::find(counts, name, &std::pair<std::string, std::uint64_t>::first);
  if (known == counts.end()) known = counts.insert(known, {std::string{name}, 0});
  ++known->second;
}

}  // namespace

// --- events ---

void Kernel::Impl::plan(Time delay, Node* node, std::move_only_function<void()> run) {
  SECKILL_ASSERT(delay >= Time{0}, "nothing happens before it was planned");
  if (node != nullptr && !node->alive()) return;
  events.push_back({.at = now + delay,
                    .order = next_order++,
                    .node = node,
                    .life = node != nullptr ? node->life() : 0,
                    .run = std::move(run)});
  std::ranges::push_heap(events, later);
}

bool Kernel::Impl::step(Time until) {
  SECKILL_ASSERT(!in_event && current == nullptr, "events are run by the test's own thread alone");
  if (events.empty() || events.front().at > until) return false;
  std::ranges::pop_heap(events, later);
  Event event = std::move(events.back());
  events.pop_back();
  now = event.at;
  ++events_run;
  fingerprint = (fingerprint ^ static_cast<std::uint64_t>(event.at.count()) ^ (event.order << 40)) * 0x9e3779b97f4a7c15;
  fingerprint ^= fingerprint >> 29;
  if (event.node != nullptr && !(event.node->alive() && event.node->life() == event.life)) return true;
  in_event = true;
  running = event.node;
  event.run();
  running = nullptr;
  in_event = false;
  run_crashes();
  return true;
}

// --- crashes ---

// The running code goes on to its next wait: what it does until then is dropped by ports, as if it were not done yet.
void Kernel::Impl::crash(Node& node, Time down_for) {
  const bool at_once = !in_event || (running == nullptr && current == nullptr);
  if (at_once) return unwind(node);
  to_unwind.emplace_back(&node, down_for);
}

void Kernel::Impl::run_crashes() {
  while (!to_unwind.empty()) {
    const auto [node, down_for] = to_unwind.front();
    to_unwind.erase(to_unwind.begin());
    unwind(*node);
    if (down_for < Time{0} || !on_crash) continue;
    in_event = true;
    on_crash(*node, down_for);
    in_event = false;
  }
}

void Kernel::Impl::unwind(Node& node) {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, state] : fibers) {
    if (state->node == &node) ids.push_back(id);
  }
  const bool was_in_event = std::exchange(in_event, true);
  for (const std::uint64_t id : ids) {
    FiberState* state = find_fiber(id);
    if (state == nullptr) continue;
    state->crashed = true;
    if (state->fiber->started()) {
      resume(*state);
      SECKILL_ASSERT(find_fiber(id) == nullptr, "a crashed fiber unwinds to its end; somebody caught NodeCrashed");
    } else {
      fibers.erase(id);
    }
  }
  in_event = was_in_event;
}

// --- fibers ---

Kernel::Impl::FiberState* Kernel::Impl::find_fiber(std::uint64_t id) noexcept {
  const auto found = fibers.find(id);
  return found == fibers.end() ? nullptr : found->second.get();
}

std::uint64_t Kernel::Impl::start_fiber(Node& node, std::move_only_function<void()> body) {
  const std::uint64_t id = next_fiber++;
  auto state = std::make_unique<FiberState>();
  state->id = id;
  state->node = &node;
  state->life = node.life();
  state->fiber = std::make_unique<Fiber>([body = std::move(body)]() mutable {
    try {
      body();
    } catch (const NodeCrashed&) {  // the end of this life
    } catch (const std::exception& thrown) {
      std::fprintf(stderr, "an exception left a fiber: %s\n", thrown.what());
      std::abort();
    }
    body = nullptr;  // what it owns ends on its own stack
  });
  fibers.emplace(id, std::move(state));
  plan(wake_delay(wake_random), &node, [this, id] {
    if (FiberState* found = find_fiber(id); found != nullptr && !found->fiber->started()) resume(*found);
  });
  return id;
}

void Kernel::Impl::resume(FiberState& state) {
  SECKILL_ASSERT(current == nullptr, "fibers are resumed from outside fibers");
  const std::uint64_t id = state.id;
  Node* const before = std::exchange(running, state.node);
  current = &state;
  state.fiber->resume();
  current = nullptr;
  running = before;
  if (!state.fiber->finished()) return;
  const std::vector<WaitToken> joining = std::move(state.joining);
  fibers.erase(id);
  for (const WaitToken& token : joining) wake(token);
}

// --- waits ---

WaitToken Kernel::Impl::begin_wait() {
  if (current == nullptr) {
    SECKILL_ASSERT(!in_event, "an event cannot wait; only fibers and the test's own thread can");
    own_ready = false;
    return {.fiber = 0, .number = ++own_wait};
  }
  if (current->crashed || !current->node->alive() || current->node->life() != current->life) {
    SECKILL_ASSERT(std::uncaught_exceptions() == 0, "no destructor waits while a crashed fiber unwinds");
    throw NodeCrashed{};
  }
  return {.fiber = current->id, .number = ++current->wait};
}

void Kernel::Impl::wait(WaitToken token) {
  if (token.fiber == 0) {
    while (!own_ready) {
      SECKILL_ASSERT(step(Time::max()), "somebody will end this wait");
    }
    return;
  }
  FiberState& state = *current;
  // Woken before it began to wait: `wait` has moved on.
  while (state.wait == token.number) {
    state.waiting = true;
    state.fiber->suspend();
    state.waiting = false;
    if (state.crashed) throw NodeCrashed{};
  }
}

void Kernel::Impl::wake(WaitToken token) {
  if (token.fiber == 0) {
    if (token.number == own_wait) own_ready = true;
    return;
  }
  FiberState* state = find_fiber(token.fiber);
  if (state == nullptr || state->wait != token.number) return;
  ++state->wait;
  if (!state->waiting) return;  // it is about to ask, and will not suspend
  plan(wake_delay(wake_random), state->node, [this, id = token.fiber, number = state->wait] {
    FiberState* woken = find_fiber(id);
    if (woken != nullptr && woken->waiting && woken->wait == number) resume(*woken);
  });
}

bool Kernel::Impl::is_waiting(WaitToken token) noexcept {
  if (token.fiber == 0) return token.number == own_wait && !own_ready;
  const FiberState* state = find_fiber(token.fiber);
  return state != nullptr && state->wait == token.number;
}

// --- the kernel's face ---

Kernel::Kernel(std::uint64_t seed) : impl_{std::make_unique<Impl>(*this, seed)} {}

Kernel::~Kernel() {
  for (const auto& node : impl_->nodes) node->crash();
}

Time Kernel::now() const noexcept { return impl_->now; }
base::UtcMs Kernel::utc() const noexcept { return utc_at_start + impl_->now / 1ms; }
Random& Kernel::random() noexcept { return impl_->random; }

void Kernel::after(Time delay, std::move_only_function<void()> event) { impl_->plan(delay, nullptr, std::move(event)); }
void Kernel::after(Node& node, Time delay, std::move_only_function<void()> event) {
  impl_->plan(delay, &node, std::move(event));
}

void Kernel::run_until(Time until) {
  while (impl_->step(until)) {
  }
  impl_->now = std::max(impl_->now, until);
}

bool Kernel::run_until(const std::function<bool()>& condition, Time longest) {
  const Time until = impl_->now + longest;
  while (!condition()) {
    if (impl_->step(until)) continue;
    impl_->now = std::max(impl_->now, until);
    return condition();
  }
  return true;
}

void Kernel::wait_until_ready(std::move_only_function<void(std::move_only_function<void()>)> begin) {
  const WaitToken token = impl_->begin_wait();
  begin([impl = impl_.get(), token] { impl->wake(token); });
  impl_->wait(token);
}

void Kernel::sleep(Time time) {
  wait_until_ready([&](std::move_only_function<void()> ready) { after(std::max(time, Time{0}), std::move(ready)); });
}

Node* Kernel::running() const noexcept { return impl_->running; }
bool Kernel::on_fiber() const noexcept { return impl_->current != nullptr; }

Node& Kernel::add_node(std::string name) {
  impl_->nodes.push_back(std::unique_ptr<Node>{new Node{*this, std::move(name)}});
  return *impl_->nodes.back();
}
const std::vector<std::unique_ptr<Node>>& Kernel::nodes() const noexcept { return impl_->nodes; }

void Kernel::passing(std::string_view point) {
  count(impl_->passages, point);
  Node* const node = impl_->running;
  if (node == nullptr || !node->alive()) return;
  for (auto planned = impl_->planned.begin(); planned != impl_->planned.end(); ++planned) {
    if (planned->point != point || --planned->left > 0) continue;
    const Time down_for = planned->down_for;
    impl_->planned.erase(planned);
    note(fmt::format("{} crashes at {}", node->name(), point));
    count(impl_->crashed_at, point);
    node->die();
    impl_->crash(*node, down_for);
    return;
  }
}

void Kernel::crash_at(std::string point, std::uint64_t nth, Time down_for) {
  SECKILL_ASSERT(nth >= 1, "passages are counted from one");
  impl_->planned.push_back({std::move(point), nth, down_for});
}

void Kernel::cancel_crashes() { impl_->planned.clear(); }

void Kernel::on_crash(std::function<void(Node&, Time down_for)> crashed) { impl_->on_crash = std::move(crashed); }

const std::vector<std::pair<std::string, std::uint64_t>>& Kernel::passages() const noexcept { return impl_->passages; }

const std::vector<std::pair<std::string, std::uint64_t>>& Kernel::crashed_at() const noexcept {
  return impl_->crashed_at;
}

void Kernel::note(std::string line) {
  impl_->fingerprint ^= base::xxh3_64(line);
  const std::int64_t us = impl_->now / 1us;
  impl_->story.push_back(fmt::format("{:5}.{:06} {}", us / 1'000'000, us % 1'000'000, line));
  if (impl_->story.size() > story_lines_max) impl_->story.pop_front();
}

std::vector<std::string> Kernel::story() const { return {impl_->story.begin(), impl_->story.end()}; }
std::uint64_t Kernel::events_run() const noexcept { return impl_->events_run; }
std::uint64_t Kernel::fingerprint() const noexcept { return impl_->fingerprint; }

}  // namespace seckill::sim

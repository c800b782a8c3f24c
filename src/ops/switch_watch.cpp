#include "ops/switch_watch.hpp"

#include <algorithm>
#include <array>

#include "base/log.hpp"

namespace seckill::ops {
namespace {

constexpr std::array<std::string_view, 2> on_off{"on", "off"};
constexpr std::array kinds{SwitchKind{
    .what = Switch::synchronous_ordering,
    .name = "synchronous_ordering",
    .values = on_off,
    .usual = "off",
    .consequence = "api nodes write orders to the database themselves and need no broker; each is bounded by the "
                   "database's pace and answers busy past it"}};

}  // namespace

std::span<const SwitchKind> switch_kinds() noexcept { return kinds; }

const SwitchKind* find_switch(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kinds, name, &SwitchKind::name);
  return found == kinds.end() ? nullptr : found;
}

SwitchWatch::SwitchWatch(store::SwitchBoard& board, base::Threads& threads, base::Random& random)
    : board_{board}, thread_{threads, random} {}

SwitchWatch::~SwitchWatch() { stop(); }

void SwitchWatch::start() {
  thread_.start("switches", period, [this] { look(); });
}

void SwitchWatch::stop() { thread_.stop(); }

void SwitchWatch::look() {
  const auto rows = board_.switches();
  if (!rows) {
    if (failures_.fetch_add(1) == 0) base::log::warn("switches stay as they were: {}", rows.error().text());
    return;
  }
  bool synchronous = false;
  for (const store::SwitchRow& row : *rows) {
    if (row.name == "synchronous_ordering") synchronous = row.value == "on";
  }
  if (synchronous_.exchange(synchronous) != synchronous) {
    base::log::warn("synchronous ordering is {} on this node", synchronous ? "on" : "off");
  }
}

std::string_view SwitchWatch::followed(Switch what) const noexcept {
  switch (what) {
    case Switch::synchronous_ordering: return synchronous_ ? "on" : "off";
  }
  return "";
}

}  // namespace seckill::ops

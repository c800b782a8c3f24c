#include "rehearse/crowd.hpp"

#include <algorithm>

namespace seckill::rehearse {
namespace {

Clicking draw_clicking(Dice& dice) {
  const std::int32_t roll = dice.between(0, 99);
  if (roll < 6) return Clicking::never;
  if (roll < 16) return Clicking::twice;
  if (roll < 21) return Clicking::two_tabs;
  return Clicking::once;
}

AfterWin draw_after_win(Dice& dice) {
  const std::int32_t roll = dice.between(0, 99);
  if (roll < 68) return AfterWin::pay;
  return roll < 80 ? AfterWin::cancel : AfterWin::walk_away;
}

// The spike and its tail: 60 % in the first second, denser at its beginning, then fewer and fewer.
std::int32_t draw_click(Dice& dice, std::int32_t last) {
  const std::int32_t roll = dice.between(0, 99);
  if (roll < 60) return std::min({dice.between(0, 1'000), dice.between(0, 1'400), last});
  if (roll < 87) return std::min(dice.between(900, 2'600), last);
  return dice.between(std::min(2'500, last), last);
}

}  // namespace

std::uint64_t Dice::next() noexcept {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::int32_t Dice::between(std::int32_t low, std::int32_t high) noexcept {
  const auto span = static_cast<std::uint64_t>(static_cast<std::int64_t>(high) - low) + 1;
  return static_cast<std::int32_t>(low + static_cast<std::int64_t>(next() % span));
}

std::vector<BuyerScript> make_crowd(const CrowdShape& shape, std::uint64_t seed) {
  Dice dice{seed};
  std::vector<BuyerScript> crowd(shape.buyers);
  for (BuyerScript& buyer : crowd) {
    buyer.look_ms = -dice.between(150, std::max(150, shape.look_before_ms));
    buyer.early_ms = dice.chance(12) ? -dice.between(20, 900) : 0;
    buyer.click_ms = draw_click(dice, shape.last_click_ms);
    buyer.decide_ms = dice.between(200, 1'200);
    buyer.item = static_cast<std::uint16_t>(dice.between(0, std::max<std::int32_t>(shape.items, 1) - 1));
    buyer.clicking = draw_clicking(dice);
    buyer.after_win = draw_after_win(dice);
    buyer.comes_back = dice.chance(8) ? 3 : 0;
    if (buyer.clicking == Clicking::never) buyer.early_ms = 0;
  }
  return crowd;
}

}  // namespace seckill::rehearse

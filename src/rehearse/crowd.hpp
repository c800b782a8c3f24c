// Who does what and when in a rehearsal: a crowd drawn from one seed, so that a run can be repeated. Pure.
//
// The shape follows what flash sales see: most people look once, then click within the first second; some click too
// early, twice, or from two tabs; of those who win some pay, some cancel and some walk away; a few come back later for
// units that others gave up.
#pragma once

#include <cstdint>
#include <vector>

namespace seckill::rehearse {

enum class Clicking : std::uint8_t {
  never,  // looks only
  once,
  twice,     // a double click: the same request id twice at the same moment
  two_tabs,  // two request ids at the same moment
};

enum class AfterWin : std::uint8_t { pay, cancel, walk_away };

// All times are milliseconds from the opening; negative is before it.
struct BuyerScript {
  std::int32_t look_ms = 0;   // asks once whether he already took part
  std::int32_t early_ms = 0;  // an impatient click before the opening; 0: none
  std::int32_t click_ms = 0;
  std::int32_t decide_ms = 0;  // from winning to what he does next
  std::uint16_t item = 0;
  Clicking clicking = Clicking::once;
  AfterWin after_win = AfterWin::pay;
  std::uint8_t comes_back = 0;  // how often he tries again after "sold out"
};

struct CrowdShape {
  std::uint32_t buyers = 0;
  std::uint16_t items = 1;
  std::int32_t look_before_ms = 2'500;  // the looks are spread over this time before the opening
  std::int32_t last_click_ms = 5'000;   // first clicks end here
};

// `shape.buyers` scripts. The same shape and seed give the same crowd on every machine.
[[nodiscard]] std::vector<BuyerScript> make_crowd(const CrowdShape& shape, std::uint64_t seed);

// A small generator whose sequence is fixed by its seed everywhere (splitmix64, Steele, Lea and Flood 2014).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) noexcept : state_{seed} {}
  [[nodiscard]] std::uint64_t next() noexcept;
  // Uniform in [low, high]. Requires: low <= high.
  [[nodiscard]] std::int32_t between(std::int32_t low, std::int32_t high) noexcept;
  // True in `percent` of cases.
  [[nodiscard]] bool chance(std::int32_t percent) noexcept { return between(0, 99) < percent; }

 private:
  std::uint64_t state_;
};

}  // namespace seckill::rehearse

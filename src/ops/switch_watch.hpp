// The operator's switches as this node follows them (DESIGN §4.6). They are kept in the store; every node reads them
// each half second, so a change reaches all within one. While the store cannot be read the last known values stand.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "admission/remote/periodic.hpp"
#include "base/random.hpp"
#include "base/threads.hpp"
#include "store/switch_board.hpp"

namespace seckill::ops {

// The closed list.
enum class Switch : std::uint8_t { synchronous_ordering };

struct SwitchKind {
  Switch what;
  std::string_view name;
  std::span<const std::string_view> values;
  std::string_view usual;        // when it was never set
  std::string_view consequence;  // for the operator
};
[[nodiscard]] std::span<const SwitchKind> switch_kinds() noexcept;
[[nodiscard]] const SwitchKind* find_switch(std::string_view name) noexcept;

class SwitchWatch {
 public:
  static constexpr std::chrono::milliseconds period{500};

  // Borrows board and threads for its whole life.
  explicit SwitchWatch(store::SwitchBoard& board, base::Threads& threads = base::system_threads(),
                       base::Random& random = base::system_random());
  ~SwitchWatch();  // stops
  SwitchWatch(const SwitchWatch&) = delete;
  SwitchWatch& operator=(const SwitchWatch&) = delete;

  // Looks at once and then every `period`, on a thread of its own. Once.
  void start();
  void stop();  // idempotent
  // Reads the board now. Blocks. One thread at a time beside the own one.
  void look();
  // The next look begins now. Any thread, does not block.
  void look_soon() { thread_.wake(); }

  // What this node does now. Any thread, does not block.
  [[nodiscard]] bool synchronous_ordering() const noexcept { return synchronous_; }
  [[nodiscard]] std::string_view followed(Switch what) const noexcept;
  // Looks that could not read the board, since the start.
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }

 private:
  store::SwitchBoard& board_;
  admission::remote::Periodic thread_;
  std::atomic<bool> synchronous_{false};
  std::atomic<std::uint64_t> failures_{0};
};

}  // namespace seckill::ops

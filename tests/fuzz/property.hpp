// What the harnesses share: saying that a property is broken, and taking structured values out of a fuzzer's bytes.
// A harness is one file in harness/ that defines LLVMFuzzerTestOneInput; libFuzzer calls it with bytes it made up, and
// fuzz_replay calls it with every file of corpus/<harness>/. Broken properties abort, so both notice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string_view>

namespace seckill::fuzz {

// Prints the property with its place and aborts, unless it holds. `about` is shown as it is, cut to a few hundred
// bytes.
void require(bool holds, std::string_view property, std::string_view about = {},
             const std::source_location& where = std::source_location::current());

[[nodiscard]] inline std::string_view text_of(const std::uint8_t* data, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(data), size};
}

// Takes values from the front of an input; at its end all further values are zero and empty.
class Taker {
 public:
  explicit Taker(std::string_view input) noexcept : left_{input} {}

  [[nodiscard]] bool empty() const noexcept { return left_.empty(); }
  [[nodiscard]] std::uint8_t byte() noexcept {
    if (left_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(left_.front());
    left_.remove_prefix(1);
    return first;
  }
  // Eight bytes as they stand.
  [[nodiscard]] std::int64_t number() noexcept {
    std::int64_t value = 0;
    const std::string_view bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  // A byte of length, then as many bytes.
  [[nodiscard]] std::string_view text() noexcept {
    const std::size_t size = byte();
    return take(size);
  }
  [[nodiscard]] std::string_view rest() noexcept { return take(left_.size()); }
  // Up to, without, the first `end`; everything when there is none.
  [[nodiscard]] std::string_view until(char end) noexcept {
    const std::string_view taken = take(left_.find(end));
    (void)take(1);
    return taken;
  }

 private:
  [[nodiscard]] std::string_view take(std::size_t size) noexcept {
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view left_;
};

}  // namespace seckill::fuzz

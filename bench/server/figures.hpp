// What bench_server measures, one function a group of figures; each prints lines of "name value unit".
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace seckill::bench {

inline void print_figure(std::string_view name, double value, std::string_view unit) {
  fmt::print("{} {:.3f} {}\n", name, value, unit);
  std::fflush(stdout);
}
inline void print_skipped(std::string_view name, std::string_view why) {
  fmt::print("{} skipped {}\n", name, why);
  std::fflush(stdout);
}

// Refusals of the running server beside a bare epoll loop that answers the same bytes, and nginx where it is installed.
void measure_refusals(const std::string& binary, unsigned rounds);

// Admissions that are committed before they are answered: the most per second, and latency at half that rate.
void measure_durable(const std::string& binary, unsigned seconds);

// From start to ready with a million winners in the store.
void measure_restart(const std::string& binary, unsigned winners);

}  // namespace seckill::bench

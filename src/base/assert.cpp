#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace seckill::base {

void assertion_failed(const char* condition, const char* why, const char* file, int line) noexcept {
  std::fprintf(stderr, "seckill: broken promise: %s\n  condition: %s\n  at %s:%d\n", why, condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace seckill::base

// Assertions on broken promises. They stay on in production and never judge input: bad input gets an answer, a broken
// promise stops the process before it can be acknowledged to anyone. The text names the promise (P1…P9) or invariant.
#pragma once

namespace seckill::base {

// Writes the failed condition with its place to standard error and aborts. Any thread.
[[noreturn]] void assertion_failed(const char* condition, const char* why, const char* file, int line) noexcept;

}  // namespace seckill::base

// A macro because it must capture the condition's text and place; the condition is always evaluated.
#define SECKILL_ASSERT(condition, why)                                        \
  do {                                                                        \
    if (!(condition)) [[unlikely]] {                                          \
      ::seckill::base::assertion_failed(#condition, why, __FILE__, __LINE__); \
    }                                                                         \
  } while (false)

// Several pieces of one kind of blocking work at a time.
#pragma once

#include <cstddef>
#include <functional>

#include "base/threads.hpp"

namespace seckill::admission::leading {

// Calls work(0) … work(count - 1), each once, at most `at_once` at a time, and returns when all have returned. The
// calling thread takes part; the others are started for this call. Requires: at_once ≥ 1; `work` may be called from any
// thread.
void together(base::Threads& threads, std::size_t count, std::size_t at_once,
              const std::function<void(std::size_t)>& work);

}  // namespace seckill::admission::leading

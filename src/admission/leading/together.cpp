#include "admission/leading/together.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "base/assert.hpp"

namespace seckill::admission::leading {

void together(base::Threads& threads, std::size_t count, std::size_t at_once,
              const std::function<void(std::size_t)>& work) {
  SECKILL_ASSERT(at_once >= 1, "somebody does the work");
  std::atomic<std::size_t> next{0};
  const auto take_part = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::unique_ptr<base::Thread>> others;
  for (std::size_t i = 1; i < std::min(at_once, count); ++i) {
    others.push_back(threads.start("rebuild-lane", [&take_part] { take_part(); }));
  }
  take_part();
  for (const auto& other : others) other->join();
}

}  // namespace seckill::admission::leading

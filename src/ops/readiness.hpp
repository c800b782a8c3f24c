// Whether this process should get buyers now, and if not, why. A load balancer asks /readyz; every reason is a sentence
// an operator understands.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace seckill::ops {

// Any thread. Holds few reasons, each given by our own code.
class Readiness {
 public:
  // Not ready for `reason` until clear(reason). Idempotent.
  void block(std::string_view reason) {
    const std::lock_guard lock{mutex_};
    if (std::ranges::find(reasons_, reason) == reasons_.end()) reasons_.emplace_back(reason);
  }
  void clear(std::string_view reason) {
    const std::lock_guard lock{mutex_};
    std::erase(reasons_, reason);
  }
  // Empty: ready.
  [[nodiscard]] std::vector<std::string> why_not() const {
    const std::lock_guard lock{mutex_};
    return reasons_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> reasons_;
};

}  // namespace seckill::ops

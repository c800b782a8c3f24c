#include "base/random.hpp"

#include "base/crypto.hpp"

namespace seckill::base {
namespace {

class SystemRandom final : public Random {
 public:
  [[nodiscard]] std::uint64_t next() noexcept override { return random_u64(); }
};

}  // namespace

Random& system_random() noexcept {
  static SystemRandom random;
  return random;
}

}  // namespace seckill::base

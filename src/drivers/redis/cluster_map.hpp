// The cluster's slot map and its refreshing: one CLUSTER SLOTS at a time, however many ask for it, from one node after
// the other until one answers; between two a pause. Owned and used by the driver's thread alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "drivers/redis/breaker.hpp"
#include "drivers/redis/link.hpp"
#include "drivers/redis/pending_call.hpp"
#include "drivers/redis/slots.hpp"

namespace seckill::drivers::redis {

class ClusterMap {
 public:
  using LinkTo = std::function<std::shared_ptr<Link>(const Endpoint&)>;

  // `arrived` is told after each new map. Both outlive it.
  ClusterMap(Shared& shared, std::vector<Endpoint> seeds, LinkTo link_to, std::function<void()> arrived);

  // Asks for a new map, soon. Many askings are one.
  void want() noexcept { wanted_ = true; }
  void check(TimePoint now);
  void assign(std::uint16_t slot, const Endpoint& to) { map_.assign(slot, to); }
  void close() noexcept { closed_ = true; }

  [[nodiscard]] bool is_known() const noexcept { return known_; }
  [[nodiscard]] const SlotMap& map() const noexcept { return map_; }

 private:
  void ask_next();
  void answered(const Endpoint& asked, base::Result<CallAnswer> answer);

  Shared& shared_;
  const std::vector<Endpoint> seeds_;
  const LinkTo link_to_;
  const std::function<void()> arrived_;
  SlotMap map_;
  Backoff backoff_;
  bool known_ = false;
  bool wanted_ = true;
  bool asking_ = false;
  bool closed_ = false;
  TimePoint next_at_ = TimePoint::min();
  std::vector<Endpoint> candidates_;  // of the asking under way, not asked yet; the last is next
  std::size_t turn_ = 0;              // who is asked first; moves on, so that no one node's view lasts
};

}  // namespace seckill::drivers::redis

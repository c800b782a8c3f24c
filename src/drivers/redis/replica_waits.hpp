// WAIT for many callers over one connection of its own to a master: while one WAIT is under way newcomers gather, and
// the next one serves them all. Each is preceded by a tiny expiring write, because WAIT speaks of what its own
// connection wrote last. Owned and used by the driver's thread alone.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "drivers/redis/link.hpp"
#include "drivers/redis/pending_call.hpp"

namespace seckill::drivers::redis {

using WaitDone = std::move_only_function<void(base::Result<std::optional<std::uint32_t>>)>;

struct ReplicaWait {
  std::string routing_key;
  std::uint16_t slot = 0;
  std::optional<RedisIdentity> expected;
  std::uint32_t replicas = 0;
  TimePoint deadline;
  std::uint32_t redirects = 0;
  WaitDone done;
};

// Gives a wait's room back and answers it.
void finish(Shared& shared, ReplicaWait& wait, base::Result<std::optional<std::uint32_t>> answer);

class ReplicaWaits {
 public:
  // `moved` gets a wait whose slot is elsewhere, with the server's words.
  using Moved = std::function<void(ReplicaWait, std::string_view)>;
  ReplicaWaits(Shared& shared, std::shared_ptr<Link> link, Moved moved);

  void add(ReplicaWait wait);
  void check(TimePoint now);
  void close();
  [[nodiscard]] Link& link() noexcept { return *link_; }
  [[nodiscard]] bool is_empty() const noexcept { return waiting_.empty() && under_way_.empty(); }

 private:
  void start();
  void written(base::Result<CallAnswer> answer);
  void waited(base::Result<CallAnswer> answer);

  Shared& shared_;
  const std::shared_ptr<Link> link_;
  const Moved moved_;
  std::deque<ReplicaWait> waiting_;
  std::deque<ReplicaWait> under_way_;  // a late one is taken out; the WAIT goes on for the others
  bool busy_ = false;                  // a WAIT is under way
  bool closed_ = false;
};

}  // namespace seckill::drivers::redis

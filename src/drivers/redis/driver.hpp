// The driver behind redis.hpp: its thread, the way in for other threads, and where each call goes.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/threads.hpp"
#include "drivers/redis/cluster_map.hpp"
#include "drivers/redis/link.hpp"
#include "drivers/redis/pending_call.hpp"
#include "drivers/redis/redis.hpp"
#include "drivers/redis/replica_waits.hpp"

namespace seckill::drivers::redis {

class Driver final : public Redis, public LinkOwner {
 public:
  Driver(RedisConfig config, std::vector<Endpoint> servers);
  ~Driver() override;

  void call(RedisCall call, CallDone done) override;
  void wait_replicas(std::string routing_key, std::optional<RedisIdentity> expected, std::uint32_t replicas,
                     std::chrono::milliseconds longest, WaitDone done) override;
  base::Result<std::vector<FromServer>> ask_masters(std::vector<std::string> command,
                                                    std::chrono::milliseconds longest) override;
  void stop() override;
  RedisCounters counters() const noexcept override;

 private:
  struct Asking;
  struct Postponed {
    TimePoint again_at;
    std::unique_ptr<PendingCall> call;
  };

  // Any thread.
  template <typename Item>
  [[nodiscard]] bool hand_over(std::vector<Item>& inbox, Item& item);
  [[nodiscard]] TimePoint deadline_after(std::chrono::milliseconds longest) const noexcept;

  // The driver's thread, all that follows.
  void drain();
  void route(std::unique_ptr<PendingCall> call);
  void route_wait(ReplicaWait wait);
  void ask(std::shared_ptr<Asking> asking);
  void ask_all(const std::shared_ptr<Asking>& asking, const std::vector<Endpoint>& servers);

  void on_reply(Link& link, std::unique_ptr<PendingCall> call, RedisReply reply) override;
  void on_down(Link& link) override;
  void on_foreign(Link& link) override;
  // True when it took the call: the reply said "not executed", and the call goes on.
  [[nodiscard]] bool follow(Link& link, std::unique_ptr<PendingCall>& call, std::string_view error);
  void redirect(Link& link, std::unique_ptr<PendingCall> call, std::string_view error);
  void postpone(std::unique_ptr<PendingCall> call);

  [[nodiscard]] std::shared_ptr<Link> link_to(const Endpoint& node);
  [[nodiscard]] Link* owner_link(std::uint16_t slot);
  void map_arrived();
  // The node is a master from now on; what it was before is not what calls are meant for.
  void now_master(const Endpoint& node);
  void expire_unrouted(TimePoint now);
  void drop_strangers();
  void arm_tick();
  void quicken_tick();
  void tick();
  void shut_down();

  Shared shared_;
  const std::vector<Endpoint> servers_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;

  std::mutex inbox_mutex_;  // guards the next four
  std::vector<std::unique_ptr<PendingCall>> calls_in_;
  std::vector<ReplicaWait> waits_in_;
  bool drain_posted_ = false;
  bool stopped_ = false;

  boost::asio::steady_timer tick_;
  bool tick_is_slow_ = false;
  std::shared_ptr<Link> standalone_;  // without a cluster
  std::optional<ClusterMap> cluster_;
  std::unordered_map<std::string, std::shared_ptr<Link>> links_;  // of a cluster, by "host:port"
  std::vector<Link*> owner_links_;                                // beside cluster_->map().masters; null: not looked up
  std::unordered_set<std::string> masters_;                       // as the last map and later redirects say
  std::unordered_map<std::string, std::unique_ptr<ReplicaWaits>> waits_;
  std::vector<std::unique_ptr<PendingCall>> unrouted_;  // nobody serves their slot, as far as known
  std::vector<ReplicaWait> unrouted_waits_;
  std::vector<Postponed> postponed_;
  std::vector<std::shared_ptr<Asking>> askings_;  // until a map is known

  std::once_flag stop_once_;
  std::unique_ptr<base::Thread> thread_;
  std::atomic<std::thread::id> thread_id_;
};

}  // namespace seckill::drivers::redis

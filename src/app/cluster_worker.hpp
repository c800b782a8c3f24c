// A node's worker half: order workers, each with a channel to the broker of its own, payment deadlines, and a candidate
// for leader.
//
//   broker ─► source ─► order worker ─► landing (shared: it keeps nothing between calls)
//                │ bell
//                └─► deadlines: sweep now; else every 5 s
#pragma once

#include <memory>
#include <vector>

#include "admission/leading/leader.hpp"
#include "app/cluster_core.hpp"
#include "orders/deadlines.hpp"
#include "orders/order_worker.hpp"

namespace seckill::app {

class ClusterWorker {
 public:
  // Borrows engines, core and clock for the worker's whole life. `items`: those that may have lanes; any thread, quick.
  // Errc::invalid: the broker's configuration.
  [[nodiscard]] static base::Result<std::unique_ptr<ClusterWorker>> make(ClusterEngines& engines, ClusterCore& core,
                                                                         const ClusterConfig& config,
                                                                         const base::Clock& clock,
                                                                         admission::leading::Leader::Items items);
  ClusterWorker(const ClusterWorker&) = delete;
  ClusterWorker& operator=(const ClusterWorker&) = delete;

  void start();
  // No deadline is submitted any more.
  void stop_deadlines() { deadlines_.stop(); }
  // Each worker settles what it has; what is left goes to another. The leader's step under way ends. Blocks.
  void stop();

  [[nodiscard]] const orders::Deadlines& deadlines() const noexcept { return deadlines_; }
  [[nodiscard]] const admission::leading::Leader& leader() const noexcept { return leader_; }
  [[nodiscard]] std::vector<const queue::rabbit::RabbitSource*> sources() const;
  [[nodiscard]] std::vector<const orders::OrderWorker*> workers() const;

 private:
  // One thread's.
  struct Line {
    std::unique_ptr<queue::rabbit::RabbitSource> source;
    std::unique_ptr<orders::OrderWorker> worker;
  };
  ClusterWorker(ClusterEngines& engines, ClusterCore& core, const ClusterConfig& config, const base::Clock& clock,
                admission::leading::Leader::Items items);
  base::Status add_worker(ClusterCore& core, const ClusterConfig& config, std::uint32_t number);

  orders::Deadlines deadlines_;
  admission::leading::Leader leader_;
  std::vector<Line> lines_;
};

}  // namespace seckill::app

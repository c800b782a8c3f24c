// What every node of a deployment does, whatever its role: admission over lanes in Redis with its sweep and transfers,
// the landing (for order workers, and for synchronous ordering), and the ends of tickets. Wired as the simulator wires
// it over its devices.
#pragma once

#include "admission/remote/remote_admission.hpp"
#include "app/cluster_engines.hpp"
#include "base/clock.hpp"
#include "ops/switch_watch.hpp"
#include "orders/order_worker_landing.hpp"
#include "orders/ticket_ends.hpp"

namespace seckill::app {

class ClusterCore {
 public:
  // Borrows engines, clock and switches for its whole life.
  ClusterCore(ClusterEngines& engines, const ClusterConfig& config, const base::Clock& clock,
              const ops::SwitchWatch& switches);
  ClusterCore(const ClusterCore&) = delete;
  ClusterCore& operator=(const ClusterCore&) = delete;

  // Once, before anything is asked.
  void start();
  // Requires: whoever submits ends has stopped. Ends what waits, then answers busy and waits for every call under way;
  // the engines must still answer. Blocks. Idempotent.
  void stop_ends() { ends_.stop(); }
  void stop_admission() { admission_.stop(); }

  [[nodiscard]] orders::ClusterLanding& landing() noexcept { return landing_; }
  [[nodiscard]] admission::remote::RemoteAdmission& admission() noexcept { return admission_; }
  [[nodiscard]] orders::TicketEnds& ends() noexcept { return ends_; }

 private:
  orders::ClusterLanding landing_;
  admission::remote::RemoteAdmission admission_;
  orders::TicketEnds ends_;
};

}  // namespace seckill::app

// A node's api half: the buyers' port over the core's admission. In demo mode with logins and payments that anybody may
// make.
#pragma once

#include <memory>

#include "app/cluster_core.hpp"
#include "app/config.hpp"
#include "gateway/buyer_api.hpp"
#include "gateway/http/server.hpp"
#include "gateway/login/token_signer.hpp"
#include "orders/order_reads.hpp"
#include "payments/demo_provider.hpp"

namespace seckill::app {

class ClusterApi {
 public:
  // Borrows engines, core and clock for its whole life. Errc::invalid: the login's key material.
  [[nodiscard]] static base::Result<std::unique_ptr<ClusterApi>> make(ClusterEngines& engines, ClusterCore& core,
                                                                      const Config& config, const base::Clock& clock);
  ClusterApi(const ClusterApi&) = delete;
  ClusterApi& operator=(const ClusterApi&) = delete;

  // Readers first, the port last. Errors: the port's.
  [[nodiscard]] base::Status start();
  // Finishes what is in flight within `longest`; false when something was cut off. Blocks. Idempotent.
  bool drain(std::chrono::milliseconds longest);
  void stop_reads() { reads_.stop(); }

  [[nodiscard]] gateway::BuyerApi& buyer_api() noexcept { return *buyer_api_; }
  [[nodiscard]] const gateway::http::Server& server() const noexcept { return *server_; }
  [[nodiscard]] const orders::OrderReads& reads() const noexcept { return reads_; }

 private:
  ClusterApi(ClusterEngines& engines, ClusterCore& core, std::size_t readers);

  orders::OrderReads reads_;
  payments::DemoProvider demo_provider_;
  std::unique_ptr<gateway::TokenSigner> signer_;
  std::unique_ptr<gateway::BuyerApi> buyer_api_;
  std::unique_ptr<gateway::http::Server> server_;
};

}  // namespace seckill::app

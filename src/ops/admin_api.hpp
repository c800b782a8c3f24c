// The admin API (/admin/v1, operator token) and the port's probes: /livez, /readyz, /metrics. What blocks runs on ops
// workers, never on an io thread; changes run one after the other on a thread of their own, so two operators cannot
// interleave. Each change is audited in its own transaction. Keeps P9: workers' queues and bodies are bounded.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/http/handler.hpp"
#include "ops/lane_keeper.hpp"
#include "ops/metrics.hpp"
#include "ops/readiness.hpp"
#include "ops/sale_desk.hpp"
#include "ops/switch_watch.hpp"
#include "ops/worker_pool.hpp"
#include "orders/verdict.hpp"
#include "store/lane_authority.hpp"
#include "store/switch_board.hpp"

namespace seckill::ops {

// What only cluster mode has.
struct ClusterParts {
  store::LaneAuthority& authority;
  store::SwitchBoard& board;
  SwitchWatch& switches;
  std::chrono::milliseconds lanes_wait{15'000};  // of a preload, for its lanes to open
};

// A null pointer: this process has no such part.
struct AdminParts {
  store::Store& store;
  admission::Admission& admission;
  const base::Clock& clock;
  Readiness& readiness;
  gateway::GatewayCounters* counters = nullptr;  // of a buyers' port
  const queue::IntentQueue* queue = nullptr;     // of this process; cluster mode has a broker
  const orders::LandingCounters& landing;
  const orders::TicketEnds& ends;
  const orders::Deadlines* deadlines = nullptr;
  const orders::OrderReads* reads = nullptr;
  SaleDesk::SaleChanged sale_changed;
  std::int64_t lanes_kept_ms = lanes_kept_after_end_ms;
  std::optional<ClusterParts> cluster = std::nullopt;
};

struct AdminRoute {
  gateway::http::Method method;
  std::string_view pattern;  // {id}, {sku} and {ticket} stand for one whole segment each
  bool needs_token;
};

// Every route, for the contract test that holds the OpenAPI file against the code.
[[nodiscard]] std::span<const AdminRoute> admin_routes() noexcept;

class AdminApi final : public gateway::http::RequestHandler {
 public:
  // Borrows all of `parts` for its whole life. Requires: a token of at least 1 byte.
  AdminApi(const AdminParts& parts, std::string_view operator_token);
  ~AdminApi() override;  // stops

  // Set once, before the first request: /metrics answers 503 until then.
  void set_metrics(MetricSources sources);
  // What start-up does before buyers come: opens the lanes of every running sale. Blocks; not while requests are
  // served.
  [[nodiscard]] base::Status install_all() { return desk_.install_all(); }
  // Cluster mode's instead: what SaleDesk::know_all() does, now and then every `every` for new sales, among the
  // changes, until stop(). Once. Blocks for the first.
  [[nodiscard]] base::Status know_sales(std::chrono::milliseconds every);
  // From now on /admin is served; before it answers 503, while the probes already speak. Any thread.
  void open() noexcept { open_ = true; }
  [[nodiscard]] const SaleDesk& desk() const noexcept { return desk_; }

  // Asks for a round that gives back the lanes of sales that are over (SaleDesk::retire_over); it runs among the
  // changes. One that still waits is enough. Any thread, does not block.
  void give_back_lanes();
  // The same every so often from now on, until stop(). Once.
  void keep_lanes(std::chrono::milliseconds every) { keeper_.start(every); }

  void handle(const gateway::http::Request& request, gateway::http::ReplySlot reply) override;

  // Finishes what waits; later requests that need a worker are answered 503. Idempotent.
  void stop();

 private:
  friend struct AdminRouteTable;

  // One request as a worker sees it.
  struct Call {
    std::vector<std::string> parameters;  // the pattern's, in order
    std::string query;
    std::string body;
    std::string actor;
  };
  using Reply = gateway::http::Reply;
  using Answer = Reply (AdminApi::*)(const Call&);

  Reply answered(Answer answer, const Call& call);
  Reply livez(const Call& call);
  Reply readyz(const Call& call);
  Reply metrics(const Call& call);
  Reply create_sale(const Call& call);
  Reply list_sales(const Call& call);
  Reply show_sale(const Call& call);
  Reply edit_sale(const Call& call);
  Reply preload(const Call& call) { return command(call, model::SaleCommand::preload); }
  Reply pause(const Call& call) { return command(call, model::SaleCommand::pause); }
  Reply resume(const Call& call) { return command(call, model::SaleCommand::resume); }
  Reply close(const Call& call) { return command(call, model::SaleCommand::close); }
  Reply top_up(const Call& call);
  Reply reduce(const Call& call);
  Reply show_order(const Call& call);
  Reply list_orders(const Call& call);
  Reply verdict(const Call& call);
  Reply funnel(const Call& call);
  Reply audit_log(const Call& call);
  Reply backup(const Call& call);
  // --- admin_cluster.cpp ---
  Reply switches(const Call& call);
  Reply set_switch(const Call& call);
  Reply show_lanes(const Call& call);
  Reply want_lanes(const Call& call);
  Reply await_lanes(const Call& call);

  Reply command(const Call& call, model::SaleCommand command);
  Reply sale_reply(int status, const model::Sale& sale);
  [[nodiscard]] bool authorized(std::string_view authorization) const noexcept;
  [[nodiscard]] std::uint64_t activity() const noexcept;
  [[nodiscard]] bool quiet() const noexcept;
  [[nodiscard]] std::size_t intents_waiting() const noexcept;
  base::Result<orders::Picture> picture_of_all(const std::vector<model::ItemKey>& items);
  void round_over_lanes();
  void round_of_sales();

  // Constant after construction.
  AdminParts parts_;
  base::Bytes32 token_hash_;  // of equal length whatever is offered, so that comparing tells nothing

  SaleDesk desk_;  // changes: change_worker_ only
  MetricSources metrics_;
  std::atomic<bool> metrics_ready_{false};
  std::atomic<bool> open_{false};
  std::atomic<bool> round_waits_{false};
  std::atomic<bool> sales_wait_{false};
  std::atomic<bool> stopping_{false};
  // Owned by the change worker: an outage is logged once.
  bool rounds_fail_ = false;
  bool sales_fail_ = false;
  std::uint64_t sales_rounds_ = 0;
  WorkerPool change_worker_;
  WorkerPool read_workers_;
  LaneKeeper keeper_;
  LaneKeeper sales_keeper_;
};

}  // namespace seckill::ops

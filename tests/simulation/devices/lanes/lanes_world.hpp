// What the tests of the simulated lanes act on: a cluster, one node with a client, and one lane of one item.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulation/devices/lanes/sim_lanes_client.hpp"

namespace seckill::sim {

using admission::LaneCode;
using admission::LaneDecisions;
using admission::LaneReading;
using admission::LaneServer;

class LanesWorld {
 public:
  explicit LanesWorld(std::uint64_t seed = 1, SimLanesOptions options = {})
      : kernel{seed}, cluster{kernel, options}, node{kernel.add_node("api-1")} {
    connect();
    lane.item = {.sale = *model::SaleId::parse("s1"), .sku = *model::Sku::parse("sku1")};
    plan.generation = 1;
    plan.leader = {.token = 1};
    plan.terms.starts_at = Kernel::utc_at_start - 1'000;
    plan.terms.ends_at = Kernel::utc_at_start + 3'600'000;
    plan.terms.state = model::SaleState::preloaded;
    plan.terms.price_minor = 9'900;
    plan.terms.limit = 2;
    plan.terms.pay_window_ms = 60'000;
    plan.terms.version = 1;
    plan.stock.available = 100;
  }

  // The node's client, anew after a crash.
  void connect() { client = std::make_unique<SimLanesClient>(kernel, cluster, node); }
  [[nodiscard]] ShardIndex shard() const { return cluster.shard_of(lane); }

  // Calls a method of the port and waits for its answer.
  template <typename T, typename Method, typename... Args>
  base::Result<T> call(Method method, Args&&... args) {
    return kernel.await<base::Result<T>>([&](std::move_only_function<void(base::Result<T>)> done) {
      (client.get()->*method)(lane, std::forward<Args>(args)..., std::move(done));
    });
  }
  LaneServer find_server() {
    server = *call<LaneServer>(&SimLanesClient::server_of);
    return server;
  }
  // An empty lane of `plan` on the server that is there.
  void install() {
    find_server();
    EXPECT_EQ(*call<LaneCode>(&SimLanesClient::install_begin, server, plan), LaneCode::done);
    EXPECT_EQ(*call<LaneCode>(&SimLanesClient::install_open, server, plan), LaneCode::done);
  }
  [[nodiscard]] static admission::LaneAsk ask(int n) {
    base::Bytes16 bytes{};
    bytes[15] = static_cast<std::uint8_t>(n + 1);
    bytes[14] = static_cast<std::uint8_t>((n + 1) >> 8);
    return {.buyer = *model::BuyerId::parse("buyer-" + std::to_string(n)),
            .request_id = *model::RequestId::parse("r1"),
            .ticket = model::Ticket{bytes},
            .units = 1,
            .digest = 7,
            .fields = nullptr};
  }
  base::Result<LaneDecisions> admit(int n) {
    return call<LaneDecisions>(&SimLanesClient::admit, server, plan.generation, std::vector{ask(n)});
  }
  void expect_admitted(int n) {
    const base::Result<LaneDecisions> got = admit(n);
    ASSERT_TRUE(got.has_value()) << got.error().text();
    ASSERT_EQ(got->code, LaneCode::done);
    EXPECT_EQ(got->decisions.at(0).decision, admission::Decision::admit);
  }
  // Whether the present master's lane knows the buyer.
  [[nodiscard]] bool knows(int n) const {
    const admission::steps::LaneState* state = cluster.lane(lane);
    return state != nullptr && state->buyers.contains(ask(n).ticket);
  }

  Kernel kernel;
  SimLanes cluster;
  Node& node;
  std::unique_ptr<SimLanesClient> client;
  admission::LaneKey lane;
  admission::InstallPlan plan;
  LaneServer server;
};

}  // namespace seckill::sim

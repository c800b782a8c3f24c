// One node of a deployment, in its role: what `seckill serve` runs when the configuration has a `cluster` block.
//
//   start: engines → switches → core → admin port → sales → worker half → buyers' port → ready once all answer
//   stop:  not ready → drain delay → buyers' port drains → admin port drains → deadlines → ticket ends → readers →
//          order workers settle what they have, the leader's step ends → admission: every call is answered →
//          broker and Redis → database
//
// Nothing that was answered is lost by a stop (FS-43): an answer waits for its intent to be durable, and a drain waits
// for the answers.
#pragma once

#include <cstdint>
#include <memory>

#include "app/config.hpp"
#include "base/result.hpp"

namespace seckill::app {

// start() and stop() are for one thread.
class ClusterServer {
 public:
  // Requires: config.cluster.
  ClusterServer(Config config, Role role);
  ~ClusterServer();  // stops without drain delay
  ClusterServer(const ClusterServer&) = delete;
  ClusterServer& operator=(const ClusterServer&) = delete;

  // Serving when it returns; /readyz says when it is ready. On an error everything begun is undone and the sentence
  // says what to do. Once. Blocks.
  [[nodiscard]] base::Status start();

  // The ports really bound; 0: this role has none. Any thread, after start().
  [[nodiscard]] std::uint16_t buyer_port() const noexcept;
  [[nodiscard]] std::uint16_t admin_port() const noexcept;

  // True when everything in flight was finished within the configured drain_limit. Idempotent. Blocks.
  bool stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seckill::app

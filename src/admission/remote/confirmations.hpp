// Tells the lanes which intents the broker has (confirm_published). What is confirmed within a short while goes
// together: a call for each message would cost a lane's server more than the admissions that the message carries.
//
// Until a lane is told, a replay or a look at the ticket publishes it once more, which the landing counts as a
// duplicate; the sweep looks only at intents that are older by far. What does not get through is done by the sweep.
//
// Threads: add() from any; one of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "admission/remote/config.hpp"
#include "admission/remote/gate.hpp"
#include "admission/remote/remote_item.hpp"

namespace seckill::admission::remote {

class Confirmations {
 public:
  struct Confirmed {
    model::ItemKey item;
    model::LaneIndex lane = 0;
    model::Ticket ticket;
  };

  // `not_told` counts the tickets whose lane was not told.
  Confirmations(const Ports& ports, const Config& config, const Gate& gate, RemoteItems& items,
                std::atomic<std::uint64_t>& not_told);

  void start();
  // Sends what was gathered, and ends; to be told, lanes need the gate open. Blocks. Idempotent.
  void stop();

  // Known durable elsewhere. Bounded: past it, and once stopped, they are left to the sweep. Does not block.
  void add(std::vector<Confirmed> confirmed);

 private:
  void run();
  void send(std::vector<Confirmed> confirmed);
  void send(const ItemPtr& item, model::LaneIndex lane, std::vector<model::Ticket> tickets);

  const Ports& ports_;
  const Config& config_;
  const Gate& gate_;
  RemoteItems& items_;
  const std::unique_ptr<base::Signal> changed_;
  std::atomic<std::uint64_t>& not_told_;

  std::mutex mutex_;
  std::vector<Confirmed> gathered_;  // under the mutex
  bool stopping_ = false;
  std::unique_ptr<base::Thread> thread_;  // owned by start() and stop()
};

}  // namespace seckill::admission::remote

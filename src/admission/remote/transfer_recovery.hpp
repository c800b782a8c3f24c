// Finishes or abandons transfers that somebody left half way: open records in lanes and open rows in the store that
// this node has seen stand for recovery_age (transfer_steps.hpp says what happens to each).
//
// "Old" is measured by this node's steady clock from when it first saw the id, so no other machine's clock is trusted.
// Several nodes may recover one transfer at once: every step is idempotent, and the store's key decides.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "admission/remote/config.hpp"
#include "admission/remote/item_copies.hpp"
#include "admission/remote/lane_calls.hpp"
#include "admission/remote/periodic.hpp"
#include "admission/remote/transfer_steps.hpp"

namespace seckill::admission::remote {

class TransferRecovery {
 public:
  // Borrows all of them for its whole life.
  TransferRecovery(const Ports& ports, const Config& config, const ItemCopies& copies, const LaneCalls& calls,
                   TransferSteps& transfers, RemoteItems& items);

  void start();
  void stop();  // blocks until the transfer under way has been seen to

  // One round; start() makes a thread that does it every recovery_period. Blocks. One thread at a time.
  void round();

 private:
  struct Seen {
    std::chrono::nanoseconds first{};
    std::uint64_t round = 0;  // the last one that saw it
  };

  void recover(const ItemPtr& item);
  [[nodiscard]] std::map<std::string, store::LaneTransfer> standing(const RemoteItem& item, const ItemCopy& copy);
  [[nodiscard]] bool is_old(const std::string& id);

  const Ports& ports_;
  const Config& config_;
  const ItemCopies& copies_;
  const LaneCalls& calls_;
  TransferSteps& transfers_;
  RemoteItems& items_;
  Periodic thread_;

  // Owned by the thread that does rounds.
  std::map<std::string, Seen> seen_;  // at most recovery_seen_max; what is more waits for its turn
  std::uint64_t rounds_ = 0;
};

}  // namespace seckill::admission::remote

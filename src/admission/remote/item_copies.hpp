// The node's copies of the items' authority: which generation of each lane is true, on which server, under which terms.
//
// A thread reads each watched item once a second. A copy younger than the lease (3 s, monotonic, counted from before
// the store was asked) is this node's right to call admit; an older one answers busy. So when the store is lost, every
// node has stopped admitting 3 s later, and a rebuild that waits 5 s after closing a lane meets no admission that
// acts on what the lane was. The copy itself may only refuse early.
//
// New terms are installed lane by lane by `configure`, from here, without waiting for any lane.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "admission/remote/config.hpp"
#include "admission/remote/gate.hpp"
#include "admission/remote/periodic.hpp"
#include "admission/remote/remote_item.hpp"

namespace seckill::admission::remote {

class ItemCopies {
 public:
  // Borrows all of them for its whole life.
  ItemCopies(const Ports& ports, const Config& config, const Gate& gate, RemoteItems& items);

  void start();
  void stop();  // blocks until the reading under way has ended

  // Reads the item now and keeps its copy fresh from now on. Errc::refused: it has no lanes yet (preload first);
  // Errc::limit: too many items; else the store's error. Blocks; a worker thread.
  base::Status watch(const model::ItemKey& item);
  // Its copy is read no more; harmless when it is not watched. Any thread.
  void unwatch(const model::ItemKey& item);
  // Reads soon: something suggests that a copy is old. Rate-bounded by the reading itself. Any thread.
  void refresh_soon() { reader_.wake(); }

  // May admit be called, releases be judged and sold_out be said on this copy now? Any thread.
  [[nodiscard]] bool fresh(const ItemCopy& copy) const noexcept {
    return ports_.clock.steady_now() - copy.read_at < config_.copy_lease;
  }

 private:
  base::Result<CopyPtr> read(const model::ItemKey& item);
  static base::Result<CopyPtr> copy_of(const model::ItemKey& item, store::ItemAuthority authority,
                                       std::chrono::nanoseconds asked_at);
  void refresh_all();  // one reading a sale
  void refreshed(const ItemPtr& item, const base::Result<CopyPtr>& copy);
  void install_terms(const ItemPtr& item, const ItemCopy& copy);

  const Ports& ports_;
  const Config& config_;
  const Gate& gate_;
  RemoteItems& items_;
  Periodic reader_;
  bool failing_ = false;  // owned by the reader's thread: an outage is logged once
  std::mutex watching_;   // guards wanted_; never held across a call
  std::size_t wanted_ = 0;
};

}  // namespace seckill::admission::remote

// One life of the embedded server: the product's own parts, wired as app/embedded.cpp wires them, over the simulated
// store, without its ports for HTTP. It ends by destruction, after its node has crashed.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "admission/memory/memory_admission.hpp"
#include "base/random.hpp"
#include "ops/sale_desk.hpp"
#include "orders/deadlines.hpp"
#include "orders/landing.hpp"
#include "orders/ticket_ends.hpp"
#include "payments/demo_provider.hpp"
#include "queue/direct/direct_queue.hpp"
#include "simulation/devices/store/sim_store.hpp"
#include "simulation/embedded/setup.hpp"

namespace seckill::sim::embedded {

// The seed's dice as the product takes them.
class ProductRandom final : public base::Random {
 public:
  explicit ProductRandom(sim::Random random) : random_{random} {}
  [[nodiscard]] std::uint64_t next() noexcept override { return random_.next(); }

 private:
  sim::Random random_;
};

// What a test puts between two parts, to see it caught. Each gets the part behind it and gives back one that
// misbehaves; unset: nothing between.
struct Breakage {
  template <typename Port>
  using Before = std::function<std::unique_ptr<Port>(Port&, Node&)>;

  Before<store::Store> store = {};  // all parts' store
  Before<queue::IntentConsumer> landing = {};
  Before<queue::IntentQueue> queue = {};
  Before<admission::Admission> admission = {};
};

class Server {
 public:
  Server(Node& node, SimDatabase& database, const StoreFaults& faults, const std::uint32_t& unknown_permille,
         const Setup& setup, const Breakage& breakage);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // What start-up does: lanes from the store, then the threads. Blocks; on a fiber of the node.
  base::Status open();
  [[nodiscard]] bool is_open() const noexcept { return open_; }

  // An operator's change: done in turn, by a fiber of its own, as the admin API does.
  void operate(std::move_only_function<void(ops::SaleDesk&)> change);
  // A question that may block, by a fiber of its own.
  void ask(std::move_only_function<void()> question);

  // True when nothing is under way: no record queued, no end owed, no change waiting.
  [[nodiscard]] bool quiet() const noexcept;

  [[nodiscard]] admission::Admission& admission() noexcept { return *admission_; }
  [[nodiscard]] store::Store& store() noexcept { return *store_; }
  [[nodiscard]] orders::TicketEnds& ends() noexcept { return *ends_; }
  [[nodiscard]] payments::DemoProvider& pay() noexcept { return *pay_; }

 private:
  void work();

  Node& node_;
  ProductRandom random_;
  // In the order of their making; each borrows only from those above it.
  SimStore connection_;
  std::unique_ptr<store::Store> unknown_;
  std::unique_ptr<store::Store> broken_store_;
  store::Store* store_;
  orders::Landing landing_;
  std::unique_ptr<queue::IntentConsumer> broken_landing_;
  queue::direct::DirectQueue queue_;
  std::unique_ptr<queue::IntentQueue> broken_queue_;
  admission::memory::MemoryAdmission memory_;
  std::unique_ptr<admission::Admission> broken_admission_;
  admission::Admission* admission_;
  std::unique_ptr<orders::TicketEnds> ends_;
  std::unique_ptr<orders::Deadlines> deadlines_;
  std::unique_ptr<payments::DemoProvider> pay_;
  std::unique_ptr<ops::SaleDesk> desk_;
  bool open_ = false;

  std::mutex mutex_;
  std::unique_ptr<base::Signal> work_came_;
  std::deque<std::move_only_function<void(ops::SaleDesk&)>> changes_;
  bool changing_ = false;
  std::vector<std::unique_ptr<base::Thread>> threads_;
};

}  // namespace seckill::sim::embedded

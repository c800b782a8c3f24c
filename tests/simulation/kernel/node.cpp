// Nodes, and their threads as fibers: base::Threads under virtual time.
#include <algorithm>
#include <deque>

#include "base/assert.hpp"
#include "simulation/kernel/kernel.hpp"
#include "simulation/kernel/kernel_impl.hpp"

namespace seckill::sim {
namespace {

class NodeClock final : public base::Clock {
 public:
  explicit NodeClock(const Kernel& kernel) : kernel_{kernel} {}
  [[nodiscard]] base::UtcMs now_utc() const noexcept override { return kernel_.utc() + skew.count(); }
  [[nodiscard]] std::chrono::nanoseconds steady_now() const noexcept override { return kernel_.now(); }

  std::chrono::milliseconds skew{0};

 private:
  const Kernel& kernel_;
};

class FiberSignal final : public base::Signal {
 public:
  explicit FiberSignal(Kernel::Impl& kernel) : kernel_{kernel} {}

  using base::Signal::wait;
  void wait(std::unique_lock<std::mutex>& lock) override {
    wait_with(lock, [](WaitToken) {});
  }
  void wait_for(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds longest) override {
    wait_with(lock, [&](WaitToken token) {
      kernel_.plan(std::max(longest, std::chrono::nanoseconds{0}), nullptr,
                   [kernel = &kernel_, token] { kernel->wake(token); });
    });
  }
  void notify_all() noexcept override {
    for (const WaitToken& token : std::exchange(waiting_, {})) kernel_.wake(token);
  }
  void notify_one() noexcept override {
    // A wait that ended by its time is still listed: waking it is harmless but would be nobody's wake-up.
    while (!waiting_.empty()) {
      const WaitToken token = waiting_.front();
      waiting_.pop_front();
      if (!kernel_.is_waiting(token)) continue;
      kernel_.wake(token);
      return;
    }
  }

 private:
  template <typename Arrange>
  void wait_with(std::unique_lock<std::mutex>& lock, Arrange arrange) {
    const WaitToken token = kernel_.begin_wait();
    std::erase_if(waiting_, [this](const WaitToken& other) { return !kernel_.is_waiting(other); });
    waiting_.push_back(token);
    arrange(token);
    lock.unlock();
    kernel_.wait(token);
    // One thread in all: a lock that is held now is held by a fiber that waits with it, for ever perhaps.
    SECKILL_ASSERT(lock.try_lock(), "no lock is held across a wait");
  }

  Kernel::Impl& kernel_;
  std::deque<WaitToken> waiting_;
};

class FiberThread final : public base::Thread {
 public:
  FiberThread(Kernel::Impl& kernel, std::uint64_t fiber) : kernel_{kernel}, fiber_{fiber} {}
  void join() override {
    if (kernel_.find_fiber(fiber_) == nullptr) return;
    const WaitToken token = kernel_.begin_wait();
    kernel_.find_fiber(fiber_)->joining.push_back(token);
    kernel_.wait(token);
  }

 private:
  Kernel::Impl& kernel_;
  const std::uint64_t fiber_;
};

class FiberThreads final : public base::Threads {
 public:
  FiberThreads(Kernel::Impl& kernel, Node& node) : kernel_{kernel}, node_{node} {}
  std::unique_ptr<base::Thread> start(std::string name, std::move_only_function<void()> body) override {
    SECKILL_ASSERT(!name.empty() && name.size() <= 15, "a thread has a name of at most 15 characters");
    return std::make_unique<FiberThread>(kernel_, kernel_.start_fiber(node_, std::move(body)));
  }
  std::unique_ptr<base::Signal> make_signal() override { return std::make_unique<FiberSignal>(kernel_); }
  void sleep_for(std::chrono::nanoseconds time) override { kernel_.kernel.sleep(time); }
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override { return kernel_.now; }

 private:
  Kernel::Impl& kernel_;
  Node& node_;
};

}  // namespace

struct Node::Impl {
  Impl(Kernel& kernel_in, Kernel::Impl& inside, Node& node, std::string name_in)
      : kernel{kernel_in}, name{std::move(name_in)}, clock{kernel_in}, threads{inside, node} {}

  Kernel& kernel;
  const std::string name;
  bool alive = true;
  std::uint64_t life = 1;
  NodeClock clock;
  FiberThreads threads;
};

Node::Node(Kernel& kernel, std::string name)
    : impl_{std::make_unique<Impl>(kernel, *kernel.impl_, *this, std::move(name))} {}
Node::~Node() = default;

const std::string& Node::name() const noexcept { return impl_->name; }
Kernel& Node::kernel() noexcept { return impl_->kernel; }
bool Node::alive() const noexcept { return impl_->alive; }
std::uint64_t Node::life() const noexcept { return impl_->life; }
const base::Clock& Node::clock() const noexcept { return impl_->clock; }
void Node::set_skew(std::chrono::milliseconds skew) noexcept { impl_->clock.skew = skew; }
base::Threads& Node::threads() noexcept { return impl_->threads; }

void Node::die() noexcept {
  impl_->alive = false;
  ++impl_->life;
}

void Node::crash() {
  if (!impl_->alive) return;
  die();
  impl_->kernel.impl_->crash(*this, Time{-1});
}

void Node::restart() {
  SECKILL_ASSERT(!impl_->alive, "a node is restarted after a crash");
  impl_->alive = true;
}

}  // namespace seckill::sim

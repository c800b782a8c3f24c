#include "simulation/embedded/server.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "simulation/embedded/unknown_commits.hpp"

namespace seckill::sim::embedded {
namespace {

// The part to use: what the test put before it, or the part itself.
template <typename Port>
Port& through(std::unique_ptr<Port>& broken, const Breakage::Before<Port>& breakage, Port& sound, Node& node) {
  if (!breakage) return sound;
  broken = breakage(sound, node);
  return *broken;
}

}  // namespace

Server::Server(Node& node, SimDatabase& database, const StoreFaults& faults, const std::uint32_t& unknown_permille,
               const Setup& setup, const Breakage& breakage)
    : node_{node},
      random_{node.kernel().random().fork(fmt::format("product {}", node.life()))},
      connection_{&node.kernel(), database, &node, faults},
      unknown_{std::make_unique<UnknownCommits>(
          connection_, node.kernel().random().fork(fmt::format("unknown {}", node.life())), unknown_permille)},
      store_{&through(broken_store_, breakage.store, *unknown_, node)},
      landing_{*store_, node.clock(),
               [this](const model::ItemKey& item, std::string_view what) { admission_->close_lanes(item, what); }},
      queue_{through(broken_landing_, breakage.landing, static_cast<queue::IntentConsumer&>(landing_), node),
             node.clock(), setup.queue, node.threads(), random_},
      memory_{through(broken_queue_, breakage.queue, static_cast<queue::IntentQueue&>(queue_), node), node.clock(),
              node.threads(), random_},
      admission_{&through(broken_admission_, breakage.admission, static_cast<admission::Admission&>(memory_), node)} {
  queue_.on_landed_late(
      [this](const model::OrderIntent& intent, const store::Landed& landed) { memory_.landed_late(intent, landed); });
  ends_ =
      std::make_unique<orders::TicketEnds>(*store_, *admission_, node.clock(), orders::EndsTiming{}, node.threads());
  deadlines_ = std::make_unique<orders::Deadlines>(*store_, *ends_, node.clock(), 250ms, node.threads());
  pay_ = std::make_unique<payments::DemoProvider>(*ends_);
  desk_ = std::make_unique<ops::SaleDesk>(*store_, *admission_, node.clock(), [](const model::SaleId&) {});
  work_came_ = node.threads().make_signal();
}

Server::~Server() {
  // Its node is dead: no thread is left to wait for, and whoever is called back drops the answer.
  deadlines_->stop();
  queue_.stop();
  ends_->stop();
}

base::Status Server::open() {
  if (auto installed = desk_->install_all(); !installed) return installed;
  queue_.start();
  ends_->start();
  deadlines_->start();
  threads_.push_back(node_.threads().start("operator", [this] { work(); }));
  open_ = true;
  return {};
}

void Server::operate(std::move_only_function<void(ops::SaleDesk&)> change) {
  const std::scoped_lock lock{mutex_};
  changes_.push_back(std::move(change));
  work_came_->notify_one();
}

void Server::work() {
  for (;;) {
    std::move_only_function<void(ops::SaleDesk&)> change;
    {
      std::unique_lock lock{mutex_};
      changing_ = false;
      work_came_->wait(lock, [this] { return !changes_.empty(); });
      changing_ = true;
      change = std::move(changes_.front());
      changes_.pop_front();
    }
    change(*desk_);
  }
}

void Server::ask(std::move_only_function<void()> question) {
  threads_.push_back(node_.threads().start("question", std::move(question)));
}

bool Server::quiet() const noexcept {
  return open_ && queue_.depth() == 0 && ends_->quiet() && changes_.empty() && !changing_;
}

}  // namespace seckill::sim::embedded

// What admission over remote lanes stands on when its threads are the system's: lanes that several connections reach,
// and a broker with several consumers. Both answer from threads of their own, in whatever order those run.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "queue/intent_broker.hpp"
#include "queue/intent_queue.hpp"
#include "unit/admission/remote/lanes_device.hpp"

namespace seckill::test {

// A few threads that run what they are given. Destroying it runs what waits.
class Hands {
 public:
  explicit Hands(int count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Hands() {
    {
      const std::scoped_lock lock{mutex_};
      over_ = true;
    }
    changed_.notify_all();
  }
  Hands(const Hands&) = delete;
  Hands& operator=(const Hands&) = delete;

  void run(std::move_only_function<void()> job) {
    {
      const std::scoped_lock lock{mutex_};
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }

 private:
  void work() {
    std::unique_lock lock{mutex_};
    for (;;) {
      changed_.wait(lock, [this] { return over_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::move_only_function<void()>> jobs_;
  bool over_ = false;
  std::vector<std::jthread> threads_;  // joined before what they use goes
};

// LanesDevice behind connections: a call is executed alone, as a script is, and answered outside every lock.
class ConnectedLanes final : public admission::LaneScripts {
  template <typename T>
  using Answer = admission::LaneAnswer<T>;
  using Key = admission::LaneKey;
  using Server = admission::LaneServer;
  using Code = admission::LaneCode;
  using Ticket = model::Ticket;
  using Generation = model::Generation;

 public:
  ConnectedLanes(const base::Clock& clock, int connections) : device_{clock}, connections_{connections} {}

  // The lanes themselves, while no call is executed.
  template <typename Look>
  auto look(Look look) {
    const std::scoped_lock lock{mutex_};
    return look(device_);
  }

  void admit(const Key& k, const Server& s, Generation g, std::vector<admission::LaneAsk> asks,
             Answer<admission::LaneDecisions> answer) override {
    send(std::move(answer), [k, s, g, asks = std::move(asks)](auto& lanes, auto told) mutable {
      lanes.admit(k, s, g, std::move(asks), std::move(told));
    });
  }
  void confirm_published(const Key& k, const Server& s, std::vector<Ticket> tickets, Answer<Code> answer) override {
    send(std::move(answer), [k, s, tickets = std::move(tickets)](auto& lanes, auto told) mutable {
      lanes.confirm_published(k, s, std::move(tickets), std::move(told));
    });
  }
  void claim_intents(const Key& k, const Server& s, std::int64_t age_ms, std::size_t count,
                     Answer<std::vector<model::OrderIntent>> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.claim_intents(k, s, age_ms, count, std::move(told)); });
  }
  void live_marks(const Key& k, const Server& s, base::UtcMs before, std::uint64_t cursor,
                  Answer<MarkPage> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.live_marks(k, s, before, cursor, std::move(told)); });
  }
  void mark_holders(const Key& k, const Server& s, std::uint64_t cursor, Answer<HolderPage> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.mark_holders(k, s, cursor, std::move(told)); });
  }
  void wait_replicas(const Key& k, const Server& s, std::chrono::milliseconds longest, Answer<Code> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.wait_replicas(k, s, longest, std::move(told)); });
  }
  void read(const Key& k, const Server& s, Answer<admission::LaneReading> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.read(k, s, std::move(told)); });
  }
  void buyer_tickets(const Key& k, const Server& s, const model::BuyerId& buyer, Answer<FoundTickets> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.buyer_tickets(k, s, buyer, std::move(told)); });
  }
  void release(const Key& k, const Server& s, const Ticket& ticket, Answer<Code> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.release(k, s, ticket, std::move(told)); });
  }
  void post(const Key& k, const Server& s, const Ticket& ticket, Answer<Code> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.post(k, s, ticket, std::move(told)); });
  }
  void debit(const Key& k, const Server& s, Generation g, const admission::LaneTransferRecord& transfer,
             Answer<admission::LaneDebit> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.debit(k, s, g, transfer, std::move(told)); });
  }
  void undo_debit(const Key& k, const Server& s, const std::string& id, Answer<Code> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.undo_debit(k, s, id, std::move(told)); });
  }
  void credit(const Key& k, const Server& s, Generation g, const admission::LaneTransferRecord& transfer,
              Answer<Code> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.credit(k, s, g, transfer, std::move(told)); });
  }
  void close_transfer(const Key& k, const Server& s, const std::string& id, Answer<Code> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.close_transfer(k, s, id, std::move(told)); });
  }
  void configure(const Key& k, const Server& s, const model::ItemTerms& terms, Answer<Code> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.configure(k, s, terms, std::move(told)); });
  }
  void adopt(const Key& k, const Server& s, const model::OrderIntent& intent,
             Answer<admission::AdoptReply> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.adopt(k, s, intent, std::move(told)); });
  }
  void close(const Key& k, const Server& s, Generation g, admission::LeaderToken leader, Answer<Code> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.close(k, s, g, leader, std::move(told)); });
  }
  void install_begin(const Key& k, const Server& s, const admission::InstallPlan& plan, Answer<Code> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.install_begin(k, s, plan, std::move(told)); });
  }
  void install_batch(const Key& k, const Server& s, const admission::InstallPlan& plan,
                     std::vector<admission::InstallTicket> tickets, Answer<Code> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.install_batch(k, s, plan, tickets, std::move(told)); });
  }
  void install_open(const Key& k, const Server& s, const admission::InstallPlan& plan, Answer<Code> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.install_open(k, s, plan, std::move(told)); });
  }
  void server_of(const Key& k, Answer<Server> answer) override {
    send(std::move(answer), [=](auto& lanes, auto told) { lanes.server_of(k, std::move(told)); });
  }

 private:
  template <typename T, typename Step>
  void send(Answer<T> answer, Step step) {
    connections_.run([this, answer = std::move(answer), step = std::move(step)]() mutable {
      std::optional<base::Result<T>> result;
      {
        const std::scoped_lock lock{mutex_};
        step(device_, Answer<T>{[&result](base::Result<T> got) { result.emplace(std::move(got)); }});
      }
      answer(std::move(*result));
    });
  }

  std::mutex mutex_;
  admission::remote::test::LanesDevice device_;  // guarded by mutex_
  Hands connections_;
};

// A broker whose consumers land at once. Of ten messages one is refused, one is lost, and one lands unconfirmed.
class LandingBroker final : public queue::IntentPublisher {
 public:
  LandingBroker(queue::IntentConsumer& landing, int consumers) : landing_{landing}, consumers_{consumers} {}

  void publish(queue::Partition, std::vector<model::OrderIntent> intents, queue::PublishDone done) override {
    const unsigned fate = messages_++ % 10;
    consumers_.run([this, fate, intents = std::move(intents), done = std::move(done)]() mutable {
      if (fate == 3) return done(queue::Published::refused);
      if (fate == 6) return done(queue::Published::unknown);
      const std::vector<model::LaneRecord> records{intents.begin(), intents.end()};
      const auto landed = landing_.consume(records);
      done(landed && fate != 9 ? queue::Published::confirmed : queue::Published::unknown);
    });
  }
  [[nodiscard]] bool accepting() const noexcept override { return true; }
  base::Status barrier(queue::Partition, std::chrono::milliseconds) override { return {}; }

 private:
  queue::IntentConsumer& landing_;
  std::atomic<unsigned> messages_{0};
  Hands consumers_;
};

}  // namespace seckill::test

#include "admission/remote/relay.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"

namespace seckill::admission::remote {

// What is remembered of an intent while its message is under way.
struct Relay::Sent {
  model::ItemKey item;
  model::LaneIndex lane = 0;
  model::Ticket ticket;
  Places::Place place;
  RelayDone done;
};

Relay::Relay(const Ports& ports, const Config& config, const Gate& gate, RemoteItems& items)
    : ports_{ports},
      config_{config},
      gate_{gate},
      items_{items},
      landing_changed_{ports.threads.make_signal()},
      places_{config.intents_unconfirmed_max},
      landing_places_{config.landing_waiting_max},
      confirmations_{ports, config, gate, items, counters_.not_marked},
      lines_(config.partitions) {}

void Relay::start() {
  confirmations_.start();
  if (ports_.landing == nullptr) return;
  landing_thread_ = ports_.threads.start("relay-landing", [this] { run_landing(); });
}

void Relay::stop() {
  stop_confirming();
  {
    const std::scoped_lock lock{mutex_};
    stopping_ = true;
  }
  landing_changed_->notify_all();
  if (landing_thread_ == nullptr) return;
  landing_thread_->join();
  landing_thread_ = nullptr;
}

bool Relay::synchronous() const { return ports_.landing != nullptr && ports_.synchronous && ports_.synchronous(); }

std::optional<Places::Place> Relay::try_reserve() {
  // A place of the landing's queue is a place of the whole as well: there are fewer of them.
  if (synchronous()) return landing_places_.try_take();
  if (!ports_.publisher.accepting()) return std::nullopt;
  return places_.try_take();
}

void Relay::publish(std::vector<Publication> together) {
  if (together.empty()) return;
  if (synchronous()) {
    {
      const std::scoped_lock lock{mutex_};
      if (!stopping_) {
        std::ranges::move(together, std::back_inserter(landing_));
        landing_changed_->notify_all();
        return;
      }
    }
    for (Publication& one : together) one.done({});
    return;
  }
  std::vector<queue::Partition> partitions;  // few: a lane's intents are of one
  {
    const std::scoped_lock lock{mutex_};
    for (Publication& one : together) {
      const queue::Partition partition = partition_of(one.intent.lane, config_);
      if (std::ranges::find(partitions, partition) == partitions.end()) partitions.push_back(partition);
      lines_[partition].waiting.push_back(std::move(one));
    }
  }
  for (const queue::Partition partition : partitions) pump(partition);
}

// Sends what waits while the partition may have another message in flight.
void Relay::pump(queue::Partition partition) {
  for (;;) {
    std::vector<Publication> batch;
    {
      const std::scoped_lock lock{mutex_};
      PartitionLine& line = lines_[partition];
      if (line.waiting.empty() || line.in_flight >= config_.messages_in_flight_max) return;
      const std::size_t count = std::min(line.waiting.size(), config_.message_intents_max);
      batch.reserve(count);
      for (std::size_t i = 0; i < count; ++i) {
        batch.push_back(std::move(line.waiting.front()));
        line.waiting.pop_front();
      }
      ++line.in_flight;
    }
    send(partition, std::move(batch));
  }
}

void Relay::send(queue::Partition partition, std::vector<Publication> batch) {
  std::vector<model::OrderIntent> intents;
  std::vector<Sent> sent;
  intents.reserve(batch.size());
  sent.reserve(batch.size());
  for (Publication& one : batch) {
    sent.push_back({one.intent.item, one.intent.lane, one.intent.ticket, std::move(one.place), std::move(one.done)});
    intents.push_back(std::move(one.intent));
  }
  auto pass = gate_.enter();
  if (!pass) return published(partition, sent, queue::Published::unknown);  // stopping: nothing is sent any more
  ports_.publisher.publish(
      partition, std::move(intents),
      [this, partition, sent = std::move(sent), pass = std::move(pass)](queue::Published how) mutable {
        published(partition, sent, how);
        pump(partition);
      });
}

void Relay::published(queue::Partition partition, std::vector<Sent>& sent, queue::Published how) {
  {
    const std::scoped_lock lock{mutex_};
    PartitionLine& line = lines_[partition];
    SECKILL_ASSERT(line.in_flight > 0, "a message is answered once");
    --line.in_flight;
  }
  switch (how) {
    case queue::Published::confirmed: counters_.confirmed += sent.size(); break;
    case queue::Published::refused: counters_.refused += sent.size(); break;
    case queue::Published::unknown: counters_.unknown += sent.size(); break;
  }
  const bool durable = how == queue::Published::confirmed;
  std::vector<Confirmations::Confirmed> confirmed;
  if (durable) confirmed.reserve(sent.size());
  for (Sent& one : sent) {
    if (durable) confirmed.push_back({one.item, one.lane, one.ticket});
    one.done({.durable = durable, .landed = std::nullopt});
  }
  sent.clear();  // places are free before anything else begins
  confirmations_.add(std::move(confirmed));
}

void Relay::run_landing() {
  std::unique_lock lock{mutex_};
  for (;;) {
    landing_changed_->wait(lock, [&] { return stopping_ || !landing_.empty(); });
    std::vector<Publication> batch;
    while (!landing_.empty() && batch.size() < base::limits::landing_batch_max) {
      batch.push_back(std::move(landing_.front()));
      landing_.pop_front();
    }
    if (batch.empty()) return;  // stopping, and nothing is left
    const bool stopping = stopping_;
    lock.unlock();
    if (stopping) {
      for (Publication& one : batch) one.done({});
    } else {
      land(std::move(batch));
    }
    lock.lock();
  }
}

void Relay::land(std::vector<Publication> batch) {
  // Landing wants a lane's records in the lane's order, which is the order they came in.
  std::vector<model::LaneRecord> records;
  records.reserve(batch.size());
  for (const Publication& one : batch) records.emplace_back(one.intent);
  auto landed = ports_.landing->consume(records);
  if (!landed) {
    base::log::warn("synchronous ordering: {}", landed.error().text());
    for (Publication& one : batch) one.done({});  // in their streams: the sweep offers them again
    return;
  }
  SECKILL_ASSERT(landed->size() == batch.size(), "the landing answers every intent");
  std::vector<Confirmations::Confirmed> in_store;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const model::OrderIntent& intent = batch[i].intent;
    const store::Landed& how = (*landed)[i];
    bool durable = true;
    switch (how.as) {
      case store::LandedAs::ordered:
      case store::LandedAs::already_live: in_store.push_back({intent.item, intent.lane, intent.ticket}); break;
      case store::LandedAs::already_ended:
      case store::LandedAs::failed: release_then_confirm(intent.item, intent.ticket); break;
      case store::LandedAs::superseded: durable = false; break;
    }
    if (durable) ++counters_.landed;
    batch[i].done({.durable = durable, .landed = durable ? std::optional{how} : std::nullopt});
  }
  confirmations_.add(std::move(in_store));
}

void Relay::release_then_confirm(const model::ItemKey& key, const model::Ticket& ticket) {
  const ItemPtr item = items_.find(key);
  const model::LaneIndex lane = ticket.lane();
  if (item == nullptr || lane >= item->lane_count) return;
  const CopyPtr copy = item->copy();
  if (copy->lane(lane).state != store::LaneState::lane) return;
  auto pass = gate_.enter();
  if (!pass) return;
  ports_.scripts.release(item->lane_key(lane), copy->server(lane), ticket,
                         [this, key, lane, ticket, pass = std::move(pass)](const base::Result<LaneCode>& code) {
                           if (code && *code == LaneCode::done) confirmations_.add({{key, lane, ticket}});
                         });
}

}  // namespace seckill::admission::remote

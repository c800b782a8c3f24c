#include "queue/direct/direct_queue.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace seckill::queue::direct {
namespace {

constexpr std::size_t spare_blocks_max = 8;
// How often overdue confirmations are looked for; the deadline is told this much late at most.
constexpr std::chrono::milliseconds watch_every{50};

}  // namespace

DirectQueue::DirectQueue(IntentConsumer& consumer, const base::Clock& clock, DirectQueueConfig config,
                         base::Threads& threads, base::Random& random)
    : consumer_{consumer},
      clock_{clock},
      config_{config},
      threads_{threads},
      random_{random},
      work_{threads.make_signal()},
      tick_{threads.make_signal()} {
  SECKILL_ASSERT(config_.batch_max >= 1 && config_.batch_max <= config_.capacity, "the queue holds at least one batch");
}

DirectQueue::~DirectQueue() { stop(); }

void DirectQueue::start() {
  SECKILL_ASSERT(!consumer_thread_ && !stopping_, "a queue is started once");
  consumer_thread_ = threads_.start("queue-landing", [this] { run_consumer(); });
  watcher_thread_ = threads_.start("queue-watcher", [this] { run_watcher(); });
}

void DirectQueue::stop() {
  {
    const std::scoped_lock lock{mutex_};
    stopping_ = true;
  }
  work_->notify_all();
  tick_->notify_all();
  if (const auto consumer = std::exchange(consumer_thread_, nullptr)) consumer->join();
  if (const auto watcher = std::exchange(watcher_thread_, nullptr)) watcher->join();
  drop_all();  // only what was refused to the end, or accepted by a queue that never started
}

bool DirectQueue::try_reserve(std::size_t records) noexcept {
  if (refusing_.load(std::memory_order_relaxed) || stopping_.load(std::memory_order_relaxed)) return false;
  if (records > config_.capacity) return false;
  // Two callers at the brink may both be refused although one would fit: harmless, both ask again.
  if (used_.fetch_add(records, std::memory_order_relaxed) + records <= config_.capacity) {
    reserved_.fetch_add(records, std::memory_order_relaxed);
    return true;
  }
  used_.fetch_sub(records, std::memory_order_relaxed);
  return false;
}

void DirectQueue::cancel_reservation(std::size_t records) noexcept {
  const std::size_t before = reserved_.fetch_sub(records, std::memory_order_relaxed);
  SECKILL_ASSERT(before >= records, "P9: only reserved places are given back");
  used_.fetch_sub(records, std::memory_order_relaxed);
}

void DirectQueue::publish(model::LaneRecord record, Confirm confirm) noexcept {
  const std::size_t before = reserved_.fetch_sub(1, std::memory_order_relaxed);
  SECKILL_ASSERT(before >= 1, "P9: a record is published on a reserved place");
  accepted_.fetch_add(1, std::memory_order_relaxed);
  const std::chrono::nanoseconds expires_at = clock_.steady_now() + config_.confirm_deadline;
  bool wake = false;
  {
    const std::scoped_lock lock{mutex_};
    const bool front_is_taken = offered_ && blocks_.size() == 1;
    if (blocks_.empty() || front_is_taken || blocks_.back()->records.size() == config_.batch_max) {
      blocks_.push_back(fresh_block());
    }
    Block& block = *blocks_.back();
    block.records.push_back(std::move(record));
    block.confirms.push_back(std::move(confirm));
    block.expires_at.push_back(expires_at);
    wake = std::exchange(consumer_waits_, false);
  }
  if (wake) work_->notify_one();
}

std::size_t DirectQueue::depth() const noexcept { return accepted_.load(std::memory_order_relaxed); }

DirectQueue::BlockPtr DirectQueue::fresh_block() {
  if (spare_.empty()) {
    auto block = std::make_unique<Block>();
    block->records.reserve(config_.batch_max);  // growing would move records under a lane's lock
    block->confirms.reserve(config_.batch_max);
    block->expires_at.reserve(config_.batch_max);
    return block;
  }
  BlockPtr block = std::move(spare_.back());
  spare_.pop_back();
  return block;
}

// The front block, now the consumer's; nullptr when the queue is stopping and empty.
const DirectQueue::Block* DirectQueue::next_block() {
  std::unique_lock lock{mutex_};
  while (blocks_.empty()) {
    if (stopping_) return nullptr;
    consumer_waits_ = true;
    work_->wait(lock);
  }
  consumer_waits_ = false;
  offered_ = true;
  return blocks_.front().get();
}

void DirectQueue::run_consumer() {
  while (const Block* block = next_block()) {
    std::optional<std::vector<store::Landed>> landed = offer(*block);
    if (!landed) return;
    settle(take_front(), *landed);
  }
}

// Offers one block until it landed. nullopt: stopping, and the consumer refused past the stop deadline.
std::optional<std::vector<store::Landed>> DirectQueue::offer(const Block& block) {
  std::chrono::milliseconds backoff = config_.backoff_min;
  std::chrono::milliseconds refused_while_stopping{0};
  while (true) {
    base::Result<std::vector<store::Landed>> landed = consumer_.consume(block.records);
    if (landed) {
      refusing_.store(false, std::memory_order_relaxed);
      return std::move(*landed);
    }
    refusing_.store(true, std::memory_order_relaxed);
    const std::chrono::milliseconds wait = jittered(backoff);
    if (!wait_backoff(wait)) {
      refused_while_stopping += wait;
      if (refused_while_stopping >= config_.stop_deadline) return std::nullopt;
    }
    backoff = std::min(backoff * 2, config_.backoff_max);
  }
}

// Between half and all of the wait, so that several refused writers do not knock at the same instant.
std::chrono::milliseconds DirectQueue::jittered(std::chrono::milliseconds wait) {
  return std::chrono::milliseconds{random_.between(wait.count() / 2, wait.count())};
}

// Waits, and returns false when the queue is stopping. stop() cuts a wait that was running short, once.
bool DirectQueue::wait_backoff(std::chrono::milliseconds wait) {
  std::unique_lock lock{mutex_};
  if (stopping_) {
    lock.unlock();
    threads_.sleep_for(wait);
    return false;
  }
  (void)threads_.wait_for(*work_, lock, wait, [this] { return stopping_.load(); });
  return true;
}

// The landed front block, out of the watcher's sight: it belongs to the caller alone.
DirectQueue::BlockPtr DirectQueue::take_front() {
  const std::scoped_lock lock{mutex_};
  BlockPtr block = std::move(blocks_.front());
  blocks_.pop_front();
  offered_ = false;
  return block;
}

// Confirms a landed block's records in order, each with what became of it, and keeps the block for later.
void DirectQueue::settle(BlockPtr block, std::span<const store::Landed> landed) {
  // Before the confirmations, so that a caller who was just answered finds the room his record took.
  accepted_.fetch_sub(block->records.size(), std::memory_order_relaxed);
  used_.fetch_sub(block->records.size(), std::memory_order_relaxed);
  std::size_t next_landed = 0;
  for (std::size_t i = 0; i < block->records.size(); ++i) {
    Confirmation confirmation{.durable = true, .landed = std::nullopt};
    if (std::holds_alternative<model::OrderIntent>(block->records[i])) {
      SECKILL_ASSERT(next_landed < landed.size(), "P5: the landing tells what became of every intent");
      confirmation.landed = landed[next_landed++];
    }
    if (block->confirms[i]) {
      block->confirms[i](confirmation);
    } else if (landed_late_ && confirmation.landed) {
      landed_late_(std::get<model::OrderIntent>(block->records[i]), *confirmation.landed);
    }
  }
  SECKILL_ASSERT(next_landed == landed.size(), "P5: the landing tells of no intent it was not given");
  block->records.clear();
  block->confirms.clear();
  block->expires_at.clear();
  block->expired = 0;
  const std::scoped_lock lock{mutex_};
  if (spare_.size() < spare_blocks_max) spare_.push_back(std::move(block));
}

// Takes the confirmations that are due to be told unknown, oldest first. Under the mutex.
void DirectQueue::take_expired(std::chrono::nanoseconds now, std::vector<Confirm>& out) {
  for (const BlockPtr& block : blocks_) {
    while (block->expired < block->confirms.size()) {
      if (block->expires_at[block->expired] > now) return;
      const std::size_t overdue = block->expired++;
      // No buyer waits for a transfer: whoever moved units waits himself for what became of them.
      if (std::holds_alternative<model::StockTransfer>(block->records[overdue])) continue;
      out.push_back(std::exchange(block->confirms[overdue], {}));
    }
  }
}

// A thread of its own, because the consumer may be the one that hangs in a slow disk.
void DirectQueue::run_watcher() {
  std::vector<Confirm> overdue;
  while (true) {
    {
      std::unique_lock lock{mutex_};
      // While stopping, the consumer lands or stop() drops what is left; either confirms it.
      if (threads_.wait_for(*tick_, lock, watch_every, [this] { return stopping_.load(); })) return;
      take_expired(clock_.steady_now(), overdue);
    }
    for (Confirm& confirm : overdue) {
      if (confirm) confirm({.durable = false, .landed = std::nullopt});
    }
    overdue.clear();
  }
}

void DirectQueue::drop_all() {
  std::deque<BlockPtr> left;
  {
    const std::scoped_lock lock{mutex_};
    left.swap(blocks_);
    offered_ = false;
  }
  for (const BlockPtr& block : left) {
    accepted_.fetch_sub(block->records.size(), std::memory_order_relaxed);
    used_.fetch_sub(block->records.size(), std::memory_order_relaxed);
    for (Confirm& confirm : block->confirms) {
      if (confirm) confirm({.durable = false, .landed = std::nullopt});
    }
  }
}

}  // namespace seckill::queue::direct

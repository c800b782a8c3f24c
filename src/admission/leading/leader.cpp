#include "admission/leading/leader.hpp"

#include <algorithm>

#include "admission/leading/answers.hpp"
#include "base/assert.hpp"
#include "base/log.hpp"

namespace seckill::admission::leading {
namespace {

using store::LaneState;

void add(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.fetch_add(by, std::memory_order_relaxed);
}

bool never_installed(const store::LaneAuthorityRow& row) noexcept {
  // Preload writes the first generation and no server; the first rebuild raises it before anyone can be admitted.
  return row.row.generation == 1 && row.run_id.empty();
}

RebuildTask task_of(const model::ItemKey& item, const store::LaneAuthorityRow& row, LaneState to) {
  return {.lane = {.item = item, .lane = row.row.lane},
          .to = to,
          .generation = row.row.generation,
          .server = {.run_id = row.run_id, .replication_id = row.replication_id},
          .never_installed = never_installed(row)};
}

bool as_it_should_be(const store::LaneAuthorityRow& row, const LaneReading& reading) noexcept {
  return reading.known && reading.open && reading.generation == row.row.generation;
}

}  // namespace

RowWants judge_row(const store::LaneAuthorityRow& row, LaneState wanted) noexcept {
  switch (wanted) {
    case LaneState::closed: return row.state == LaneState::closed ? RowWants::nothing : RowWants::close;
    case LaneState::lane:
      if (row.state != wanted || never_installed(row)) return RowWants::rebuild;
      return RowWants::look;
    case LaneState::store: return row.state == wanted ? RowWants::nothing : RowWants::rebuild;
  }
  return RowWants::nothing;
}

Leader::Leader(RebuildPorts ports, Items items, LeaderConfig config)
    : ports_{ports},
      items_{std::move(items)},
      config_{std::move(config)},
      lease_{ports.authority, ports.threads, config_.lease},
      rebuild_{ports, config_.rebuild},
      lost_{ports, config_.lost},
      changed_{ports.threads.make_signal()} {
  SECKILL_ASSERT(config_.lanes_a_round >= 1, "a round has a lane");
}

Leader::~Leader() { stop(); }

void Leader::start() {
  SECKILL_ASSERT(thread_ == nullptr, "Leader is started once");
  lease_.start();
  thread_ = ports_.threads.start("leader-look", [this] { run(); });
}

void Leader::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  changed_->notify_all();
  if (thread_) thread_->join();
  thread_.reset();
  lease_.stop();
}

bool Leader::stopping() const {
  const std::lock_guard lock{mutex_};
  return stopping_;
}

void Leader::run() {
  for (;;) {
    if (lease_.held()) look();
    std::unique_lock lock{mutex_};
    if (ports_.threads.wait_for(*changed_, lock, config_.look_every, [this] { return stopping_; })) return;
  }
}

void Leader::look() {
  const auto token = lease_.held();
  if (!token) return;
  const auto items = items_();
  if (!items) return;
  add(counters_.looks);
  Wants wants;
  Authorities authorities;
  // Begins with another item each time, so that lanes which cannot be rebuilt now do not keep all others waiting.
  const auto first = counters_.looks.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < items->size(); ++i) {
    if (stopping()) return;
    const auto& item = (*items)[(first + i) % items->size()];
    if (const auto* authority = find_authority(item, authorities)) look_at(item, *authority, wants);
    if (wants.rebuild.size() >= config_.lanes_a_round) break;
  }
  for (const auto& task : wants.close) {
    base::log::warn("leader: closes {} lane {}, as it is wanted", task.lane.item.text(), task.lane.lane);
    if (auto closed = rebuild_.close(task, *token); !closed) base::log::warn("leader: {}", closed.error().text());
  }
  if (wants.rebuild.empty()) {
    // Only then: barriers take their time, and a lane that is lost should not wait for them.
    for (const auto& [item, rows] : wants.drain) {
      if (!stopping()) rebuild_.drain(item, rows, *token);
    }
    lost_.look([this] { return lease_.held() && !stopping(); });
    return;
  }
  if (wants.rebuild.size() > config_.lanes_a_round) wants.rebuild.resize(config_.lanes_a_round);
  rebuild(wants.rebuild, *token);
}

// Nullptr: unknown, the next look asks again. A sale is read once a look, so that many items are no more questions than
// one; rows that are older than the lane by what other items took are what a look has to bear anyway.
const store::ItemAuthority* Leader::find_authority(const model::ItemKey& item, Authorities& read) {
  auto known = read.find(item.sale);
  if (known == read.end()) {
    auto sale = ports_.authority.sale_authority(item.sale);
    known = read.emplace(item.sale, sale ? *std::move(sale) : std::vector<store::ItemAuthority>{}).first;
  }
  const auto found = std::ranges::find(known->second, item.sku, &store::ItemAuthority::sku);
  return found == known->second.end() ? nullptr : &*found;
}

void Leader::look_at(const model::ItemKey& item, const store::ItemAuthority& authority, Wants& wants) {
  std::vector<store::LaneAuthorityRow> to_read;
  for (const auto& row : authority.lanes) {
    switch (judge_row(row, authority.wanted)) {
      case RowWants::nothing: break;
      case RowWants::rebuild: wants.rebuild.push_back(task_of(item, row, authority.wanted)); break;
      case RowWants::close: wants.close.push_back(task_of(item, row, authority.wanted)); break;
      case RowWants::look: to_read.push_back(row); break;
    }
  }
  look_at_lanes(item, to_read, wants);
}

// Asks each lane, and of those that do not read as they should, on which server they are now.
void Leader::look_at_lanes(const model::ItemKey& item, const std::vector<store::LaneAuthorityRow>& rows, Wants& wants) {
  LaneCalls<LaneReading> reads{ports_.threads, rows.size()};
  LaneCalls<LaneServer> servers{ports_.threads, rows.size()};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const LaneKey lane{.item = item, .lane = rows[i].row.lane};
    ports_.scripts.read(lane, {.run_id = rows[i].run_id, .replication_id = rows[i].replication_id}, reads.place(i));
    ports_.scripts.server_of(lane, servers.place(i));
  }
  const auto readings = reads.wait(config_.rebuild.call_longest);
  const auto identities = servers.wait(config_.rebuild.call_longest);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto task = task_of(item, rows[i], LaneState::lane);
    const bool moved = identities[i] && !(*identities[i] == task.server);
    const bool foreign = !readings[i] && readings[i].error().code == base::Errc::stale;
    const bool broken = readings[i] && !as_it_should_be(rows[i], *readings[i]);
    if (!moved && !foreign && !broken) {
      if (readings[i]) lost_.note(task.lane, rows[i], *readings[i]);
      if (rows[i].undrained()) wants.drain[item].push_back(rows[i]);
      continue;
    }
    base::log::info("leader: {} lane {} {}", item.text(), task.lane.lane,
                    broken ? "is not what its row says" : "is on another server than its row says");
    wants.rebuild.push_back(task);
  }
}

void Leader::rebuild(std::span<const RebuildTask> tasks, LeaderToken token) {
  add(counters_.lanes_wanting, tasks.size());
  const auto still_leads = [this, token] {
    const auto held = lease_.held();
    return held && held->token == token.token && !stopping();
  };
  const auto outcomes = rebuild_.run(tasks, token, still_leads);
  add(counters_.lanes_opened, static_cast<std::uint64_t>(std::ranges::count(outcomes, LaneOutcome::opened)));
  add(counters_.lanes_waiting, static_cast<std::uint64_t>(std::ranges::count(outcomes, LaneOutcome::waits)));
  if (std::ranges::count(outcomes, LaneOutcome::fenced) > 0) add(counters_.rounds_fenced);
}

}  // namespace seckill::admission::leading

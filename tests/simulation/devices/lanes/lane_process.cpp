#include "simulation/devices/lanes/lane_process.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace seckill::sim {

admission::steps::LaneState& lane_in(LaneMap& lanes, const admission::LaneKey& lane) {
  return lanes.try_emplace(lane, lane).first->second;
}

LaneProcess::LaneProcess(admission::LaneServer server, LaneMap held, Time now)
    : identity{std::move(server)}, lanes{std::move(held)}, replica_seen_{now}, disk_{.lanes = lanes} {}

std::uint64_t LaneProcess::write(LaneWrite step, Time now, Time lag) {
  step(lanes);
  last_replicated_at_ = std::max(last_replicated_at_, now + lag);
  log_.push_back({.at = now, .replicated_at = last_replicated_at_, .step = std::move(step)});
  ++end_;
  catch_up(disk_, [&](const Entry& entry) { return entry.at + 1s <= now; });
  if (replica_) catch_up(*replica_, [&](const Entry& entry) { return entry.replicated_at <= now; });
  trim();
  return end_ - 1;
}

void LaneProcess::attach_replica(Time now) {
  replica_ = Copy{.lanes = lanes, .applied = end_};
  replica_seen_ = now;
  ++attachments_;
}

void LaneProcess::detach_replica(Time now) {
  replica_.reset();
  replica_seen_ = now;
  ++attachments_;
}

std::optional<Time> LaneProcess::replicated_at(std::uint64_t number, Time now) const {
  if (!replica_) return std::nullopt;
  if (number < replica_->applied) return now;
  return std::max(now, log_[number - begin_].replicated_at);
}

LaneMap LaneProcess::replica_lanes(Time now) {
  SECKILL_ASSERT(replica_.has_value(), "only an attached replica has a copy");
  catch_up(*replica_, [&](const Entry& entry) { return entry.replicated_at <= now; });
  return replica_->lanes;
}

bool LaneProcess::refuses_writes(Time now, Time max_lag) const noexcept {
  return !replica_ && now - replica_seen_ >= max_lag;
}

LaneMap LaneProcess::disk_lanes(Time cut) {
  catch_up(disk_, [&](const Entry& entry) { return entry.at <= cut; });
  return disk_.lanes;
}

void LaneProcess::catch_up(Copy& copy, const std::function<bool(const Entry&)>& has) {
  SECKILL_ASSERT(copy.applied >= begin_, "the log keeps what a copy still needs");
  while (copy.applied < end_ && has(log_[copy.applied - begin_])) {
    log_[copy.applied - begin_].step(copy.lanes);
    ++copy.applied;
  }
}

void LaneProcess::trim() {
  const std::uint64_t needed = replica_ ? std::min(disk_.applied, replica_->applied) : disk_.applied;
  for (; begin_ < needed; ++begin_) log_.pop_front();
}

}  // namespace seckill::sim

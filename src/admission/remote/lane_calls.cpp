#include "admission/remote/lane_calls.hpp"

namespace seckill::admission::remote {

std::vector<base::Result<LaneReading>> LaneCalls::read_all(const RemoteItem& item, const ItemCopy& copy) const {
  struct Slot {
    std::mutex mutex;
    std::unique_ptr<base::Signal> told;
    std::vector<base::Result<LaneReading>> readings;
    std::size_t missing = 0;
  };
  const auto slot = std::make_shared<Slot>();
  slot->told = threads_.make_signal();
  slot->readings.assign(item.lane_count, base::fail(base::Errc::timeout, "reading a lane", "no answer in time"));
  slot->missing = item.lane_count;
  for (model::LaneIndex lane = 0; lane < item.lane_count; ++lane) {
    scripts.read(item.lane_key(lane), copy.server(lane), [slot, lane](base::Result<LaneReading> reading) {
      const std::scoped_lock lock{slot->mutex};
      slot->readings[lane] = std::move(reading);
      if (--slot->missing == 0) slot->told->notify_all();
    });
  }
  std::unique_lock lock{slot->mutex};
  (void)threads_.wait_for(*slot->told, lock, longest_, [&] { return slot->missing == 0; });
  return slot->readings;
}

base::Result<LaneReading> LaneCalls::read(const RemoteItem& item, const ItemCopy& copy, model::LaneIndex lane) const {
  return await<LaneReading>(
      [&](LaneAnswer<LaneReading> answer) { scripts.read(item.lane_key(lane), copy.server(lane), std::move(answer)); });
}

}  // namespace seckill::admission::remote

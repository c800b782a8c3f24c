#include "admission/lane_scripts.hpp"

namespace seckill::admission {

void LaneScripts::mark_holders(const LaneKey& lane, const LaneServer& /*server*/, std::uint64_t /*cursor*/,
                               LaneAnswer<HolderPage> answer) {
  answer(base::fail(base::Errc::unavailable, "listing who has a mark in " + lane.item.text(), "not offered"));
}

}  // namespace seckill::admission

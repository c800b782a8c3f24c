// Both sides of the identities (reconcile/identities.hpp) as the simulated devices hold them at one instant.
#pragma once

#include "admission/lane_steps_state.hpp"
#include "reconcile/identities.hpp"
#include "simulation/devices/store/tables.hpp"

namespace seckill::sim {

// Requires: the item exists. Takes no virtual time and asks no connection: a world may call it at every step.
[[nodiscard]] reconcile::StorePicture store_picture(const Tables& tables, const model::ItemKey& item);

// A lane of another process. `on_its_server`: it is the lane on the server that its stock row names; else it is a
// picture of a lane that is not open.
[[nodiscard]] reconcile::LanePicture lane_picture(const admission::steps::LaneState& lane, bool on_its_server);

}  // namespace seckill::sim

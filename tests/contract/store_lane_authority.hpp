// What the suites of LaneAuthority share: a preloaded shop whose store is one, and a leader.
#pragma once

#include "store/lane_authority.hpp"
#include "store_contract.hpp"

namespace seckill::store::contract {

// Runs on every engine of LaneAuthority. The shop "s1"/"sku1" has lanes of eight units each.
class LaneAuthoritySuite : public StoreSuite {
 protected:
  static constexpr std::chrono::milliseconds lease_ttl{2'000};

  LaneAuthority& authority() { return dynamic_cast<LaneAuthority&>(store()); }

  std::uint64_t lead(const std::string& holder = "leader-1") {
    const auto lease = authority().acquire_lease(leader_lease, holder, lease_ttl);
    EXPECT_TRUE(lease.has_value()) << lease.error().text();
    EXPECT_TRUE(lease->has_value()) << "somebody else leads";
    return lease.value().value().token;
  }
  LaneAuthorityRow row(const Shop& shop, model::LaneIndex lane) {
    return authority().item_authority(shop.item()).value().lanes.at(lane);
  }
  // What a rebuild and its installation leave: the lane open under its next generation.
  model::Generation rebuilt(const Shop& shop, model::LaneIndex lane, std::uint64_t token,
                            LaneState to = LaneState::lane) {
    const auto made = authority().rebuild_lane(shop.item(), lane, token);
    EXPECT_TRUE(made.has_value()) << made.error().text();
    const auto opened =
        authority().open_lane(shop.item(), lane, made.value().generation, to, "run-1", "replication-1", token);
    EXPECT_TRUE(opened.has_value()) << opened.error().text();
    return made.value().generation;
  }
  // The row's units may be asked for again by the same id: `from` and `to` as the rows are now.
  LaneTransfer transfer(const Shop& shop, const std::string& id, std::int32_t from, std::int32_t to,
                        std::int64_t units) {
    const auto generation = [&](std::int32_t end) {
      return end == model::StockTransfer::pool ? 0 : row(shop, static_cast<model::LaneIndex>(end)).row.generation;
    };
    return {.id = id,
            .item = shop.item(),
            .from = from,
            .to = to,
            .units = units,
            .from_generation = generation(from),
            .to_generation = generation(to)};
  }
};

}  // namespace seckill::store::contract

// Instantiates a suite for every engine of LaneAuthority.
#define SECKILL_FOR_EVERY_LANE_AUTHORITY(suite)                                                           \
  INSTANTIATE_TEST_SUITE_P(store, suite, testing::ValuesIn(seckill::store::contract::lane_authorities()), \
                           [](const auto& info) { return info.param.name; })

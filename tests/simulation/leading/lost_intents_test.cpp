// Intents that the broker confirmed and then lost: the leader finds them by their marks and publishes them again.
#include <gtest/gtest.h>

#include "simulation/leading/leading_world.hpp"

namespace seckill::sim {
namespace {

TEST(LostIntents, FS_26_APurgedQueueIsMadeGoodFromTheMarks) {
  LeadingWorld world;
  world.open();
  std::vector<model::OrderIntent> intents;
  for (int i = 0; i < 12; ++i) intents.push_back(world.bought("buyer-" + std::to_string(i)));
  world.broker.purge(0);
  world.start_worker();
  world.run(40s);
  for (const auto& intent : intents) EXPECT_TRUE(world.order(intent)) << "P5 " << intent.buyer.str();
  EXPECT_EQ(world.leading[0]->leader.lost_intents().republished(), 12u);
  ASSERT_TRUE(world.run_until_drained());
  EXPECT_EQ(world.broken(true), "");
}

TEST(LostIntents, OnlyWhatIsMissingIsPublishedAgain) {
  LeadingWorld world;
  world.start_worker();
  world.open();
  for (int i = 0; i < 8; ++i) (void)world.bought("landed-" + std::to_string(i));
  ASSERT_TRUE(world.run_until_drained());
  world.stop_worker();
  const auto lost = world.bought("lost");
  world.broker.purge(0);
  world.start_worker();
  world.run(40s);
  EXPECT_TRUE(world.order(lost)) << "P5";
  EXPECT_EQ(world.leading[0]->leader.lost_intents().republished(), 1u);
  ASSERT_TRUE(world.run_until_drained());
  EXPECT_EQ(world.broken(true), "");
}

// More than a page of marks holds and more than one look reads rows for.
TEST(LostIntents, EveryMarkOfALargeLaneIsLookedAt) {
  LeadingWorld world{1, {.total = 2'000, .limit = 1, .lanes = 1}};
  world.open();
  std::vector<model::OrderIntent> intents;
  for (int i = 0; i < 1'200; ++i) intents.push_back(world.bought("buyer-" + std::to_string(i)));
  world.broker.purge(0);
  world.start_worker();
  world.run(90s);
  for (const auto& intent : intents) EXPECT_TRUE(world.order(intent)) << "P5 " << intent.buyer.str();
  ASSERT_TRUE(world.run_until_drained());
  EXPECT_EQ(world.broken(true), "");
}

// Nothing that the broker still has is published again, however long nobody takes it.
TEST(LostIntents, AQueueThatNobodyEmptiesIsNotTakenForALostOne) {
  LeadingWorld world;
  world.open();
  std::vector<model::OrderIntent> intents;
  for (int i = 0; i < 6; ++i) intents.push_back(world.bought("buyer-" + std::to_string(i)));
  world.run(90s);
  EXPECT_EQ(world.leading[0]->leader.lost_intents().republished(), 0u);
  world.start_worker();
  ASSERT_TRUE(world.run_until_drained());
  for (const auto& intent : intents) EXPECT_TRUE(world.order(intent)) << intent.buyer.str();
  EXPECT_EQ(world.leading[0]->leader.lost_intents().republished(), 0u);
  EXPECT_EQ(world.broken(true), "");
}

}  // namespace
}  // namespace seckill::sim

// Of whom a node may say that he has no mark in a lane (P4).
#include "admission/remote/mark_holders.hpp"

#include <gtest/gtest.h>

namespace seckill::admission::remote {
namespace {

MarkHolders::Fingerprints of(std::initializer_list<std::string_view> buyers) {
  MarkHolders::Fingerprints fingerprints;
  for (const std::string_view buyer : buyers) fingerprints.insert(base::xxh3_64(buyer));
  return fingerprints;
}

TEST(MarkHolders, before_a_pass_it_is_whole_for_no_reading) {
  MarkHolders holders;
  EXPECT_FALSE(holders.whole(0, 0));
  EXPECT_FALSE(holders.whole(1, 0));
  holders.add(0, "ann");
  EXPECT_FALSE(holders.may_hold("ann")) << "what nobody may ask is not kept (P9)";
}

TEST(MarkHolders, P4_a_pass_is_whole_for_readings_of_its_generation_that_count_no_more_marks) {
  MarkHolders holders;
  holders.replace(3, 2, of({"ann", "bob"}));
  EXPECT_TRUE(holders.whole(3, 2));
  EXPECT_TRUE(holders.whole(3, 1));
  EXPECT_FALSE(holders.whole(3, 3)) << "somebody got a mark since";
  EXPECT_FALSE(holders.whole(4, 2)) << "a rebuild may have brought others";
  EXPECT_FALSE(holders.whole(2, 2));
  EXPECT_TRUE(holders.may_hold("ann"));
  EXPECT_FALSE(holders.may_hold("eve"));
}

TEST(MarkHolders, P4_who_got_a_mark_through_this_node_is_known_at_once) {
  MarkHolders holders;
  holders.replace(3, 0, {});
  holders.add(3, "ann");
  EXPECT_TRUE(holders.may_hold("ann"));
  holders.add(2, "bob");
  EXPECT_FALSE(holders.may_hold("bob")) << "of a generation that is over";
}

TEST(MarkHolders, a_new_pass_forgets_the_one_before) {
  MarkHolders holders;
  holders.replace(3, 1, of({"ann"}));
  holders.replace(4, 1, of({"bob"}));
  EXPECT_FALSE(holders.may_hold("ann"));
  EXPECT_TRUE(holders.may_hold("bob"));
  EXPECT_FALSE(holders.whole(3, 1));
}

}  // namespace
}  // namespace seckill::admission::remote

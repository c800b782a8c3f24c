// Switches: a node follows what the board says, and keeps what it last knew while the board cannot be read.
#include "ops/switch_watch.hpp"

#include <gtest/gtest.h>

#include <map>

namespace seckill::ops {
namespace {

// A board in memory: one process's own, as a test of one node needs it.
class BoardInMemory final : public store::SwitchBoard {
 public:
  base::Result<std::vector<store::SwitchRow>> switches() override {
    if (away) return base::fail(base::Errc::unavailable, "reading switches", "the test says so");
    std::vector<store::SwitchRow> rows;
    for (const auto& [name, value] : values) rows.push_back({.name = name, .value = value, .actor = "test"});
    return rows;
  }
  base::Status set_switch(const std::string& name, const std::string& value, const store::AuditEntry&) override {
    values[name] = value;
    return {};
  }
  base::Result<base::UtcMs> store_now() override { return 0; }

  std::map<std::string, std::string> values;
  bool away = false;
};

TEST(SwitchWatch, FollowsTheBoardAndStaysWhenItIsAway) {
  BoardInMemory board;
  SwitchWatch watch{board};
  watch.look();
  EXPECT_FALSE(watch.synchronous_ordering()) << "never set: the usual value";
  ASSERT_TRUE(board.set_switch("synchronous_ordering", "on", {}));
  watch.look();
  EXPECT_TRUE(watch.synchronous_ordering());
  EXPECT_EQ(watch.followed(Switch::synchronous_ordering), "on");
  board.away = true;
  watch.look();
  EXPECT_TRUE(watch.synchronous_ordering()) << "not read is not off";
  EXPECT_EQ(watch.failures(), 1u);
  board.away = false;
  ASSERT_TRUE(board.set_switch("synchronous_ordering", "off", {}));
  watch.look();
  EXPECT_FALSE(watch.synchronous_ordering());
}

TEST(SwitchWatch, AnotherProgramsSwitchOrValueChangesNothing) {
  BoardInMemory board;
  board.values = {{"unheard_of", "on"}, {"synchronous_ordering", "maybe"}};
  SwitchWatch watch{board};
  watch.look();
  EXPECT_FALSE(watch.synchronous_ordering());
}

TEST(SwitchWatch, EverySwitchHasItsUsualValueAmongItsValuesAndAConsequence) {
  for (const SwitchKind& kind : switch_kinds()) {
    EXPECT_NE(std::ranges::find(kind.values, kind.usual), kind.values.end()) << kind.name;
    EXPECT_FALSE(kind.consequence.empty()) << kind.name;
    EXPECT_EQ(find_switch(kind.name), &kind);
  }
  EXPECT_EQ(find_switch("nope"), nullptr);
}

}  // namespace
}  // namespace seckill::ops

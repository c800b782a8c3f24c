// Operator switches as every node sees them.
#include <thread>

#include "authority_world.hpp"

namespace seckill::store::mysql {
namespace {

class MysqlSwitches : public AuthorityWorld {
 protected:
  static AuditEntry by(const std::string& actor) {
    return {.actor = actor, .action = "switch.set", .detail = "{}", .at = contract::start_of_sale};
  }
};

TEST_F(MysqlSwitches, what_one_node_sets_another_reads_with_who_and_when) {
  (void)store();
  const auto other = another_store();
  EXPECT_TRUE(other->switches().value().empty());
  const auto before = store().store_now().value();
  ASSERT_TRUE(store().set_switch("pause", "on", by("alice")).has_value());
  ASSERT_TRUE(store().set_switch("rate_scale", "0.5", by("bob")).has_value());
  const auto rows = other->switches().value();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "pause");
  EXPECT_EQ(rows[0].value, "on");
  EXPECT_EQ(rows[0].actor, "alice");
  EXPECT_GE(rows[0].changed_at, before);
  EXPECT_LE(rows[0].changed_at, other->store_now().value());
  EXPECT_EQ(rows[1].value, "0.5");
}

TEST_F(MysqlSwitches, the_same_value_again_changes_nothing_and_is_not_audited) {
  for (const char* value : {"on", "on", "off", "off", "off ", ""}) {
    ASSERT_TRUE(store().set_switch("pause", value, by("alice")).has_value());
  }
  EXPECT_EQ(store().audit_log(0, 100).value().size(), 4U);
  EXPECT_EQ(store().switches().value().at(0).value, "");
  ASSERT_TRUE(store().set_switch("pause", "", by("bob")).has_value());
  EXPECT_EQ(store().switches().value().at(0).actor, "alice");
  EXPECT_EQ(store().set_switch("", "on", by("alice")).error().code, base::Errc::invalid);
}

TEST_F(MysqlSwitches, of_two_operators_who_set_one_for_the_first_time_both_are_heard_and_audited) {
  (void)store();
  const auto other = another_store();
  for (int round = 0; round < 10; ++round) {
    const std::string name = "switch-" + std::to_string(round);
    std::jthread first{[&] { EXPECT_TRUE(store().set_switch(name, "a", by("alice")).has_value()); }};
    std::jthread second{[&] { EXPECT_TRUE(other->set_switch(name, "b", by("bob")).has_value()); }};
    first.join();
    second.join();
    const auto row = store().switches().value().back();
    EXPECT_EQ(row.actor, row.value == "a" ? "alice" : "bob");
  }
  EXPECT_EQ(store().audit_log(0, 100).value().size(), 20U);
}

}  // namespace
}  // namespace seckill::store::mysql

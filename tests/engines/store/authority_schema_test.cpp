// Migration: once, one process at a time, again after it was cut off; and which programs may use which schema.
#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "authority_world.hpp"
#include "store/mysql/schema.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;
using migrations::MysqlMigration;
using migrations::MysqlStatement;

class MysqlSchema : public AuthorityWorld {
 protected:
  base::Result<int> migrate_to(std::span<const MysqlMigration> steps) { return migrate_schema(*plain(), steps); }
  base::Status check(std::span<const MysqlMigration> steps) { return check_schema(*plain(), steps); }
};

// The steps that are, and what later versions might add.
std::vector<MysqlMigration> steps_and(std::initializer_list<MysqlMigration> later) {
  const auto now = migrations::mysql_migrations();
  std::vector<MysqlMigration> steps(now.begin(), now.end());
  steps.insert(steps.end(), later);
  return steps;
}
std::int64_t next_version() { return migrations::mysql_migrations().back().version + 1; }

constexpr std::array add_a_note{
    MysqlStatement{"ALTER TABLE sale ADD COLUMN note VARCHAR(20) NOT NULL DEFAULT ''",
                   "SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'sale' "
                   "AND column_name = 'note'"}};
MysqlMigration additive() {
  return {.version = next_version(),
          .name = "note",
          .oldest_program = migrations::mysql_migrations().back().oldest_program,
          .statements = add_a_note};
}
constexpr std::array drop_titles{MysqlStatement{"ALTER TABLE sale DROP COLUMN title"}};
MysqlMigration breaking() {
  return {.version = next_version(), .name = "no titles", .oldest_program = next_version(), .statements = drop_titles};
}

TEST_F(MysqlSchema, an_empty_database_is_refused_until_it_was_migrated) {
  const auto opened = open(config());
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Errc::refused);
  EXPECT_NE(opened.error().text().find("migrate"), std::string::npos) << opened.error().text();
  EXPECT_EQ(migrate(config()).value(), static_cast<int>(migrations::mysql_migrations().size()));
  EXPECT_EQ(migrate(config()).value(), 0) << "harmless to repeat";
  EXPECT_TRUE(open(config()).has_value());
}

TEST_F(MysqlSchema, of_processes_that_migrate_together_each_step_is_done_by_one) {
  std::atomic<int> done{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto migrated = migrate(config());
      EXPECT_TRUE(migrated.has_value()) << migrated.error().text();
      done += migrated.value_or(0);
    });
  }
  threads.clear();
  EXPECT_EQ(done, static_cast<int>(migrations::mysql_migrations().size()));
}

TEST_F(MysqlSchema, two_versions_run_side_by_side_on_an_additive_step) {
  (void)store();
  const auto newer = steps_and({additive()});
  EXPECT_EQ(check(newer).error().code, Errc::refused) << "the newer program waits for its step";
  EXPECT_EQ(migrate_to(newer).value(), 1) << "while the older one runs";
  EXPECT_TRUE(check(newer).has_value());
  EXPECT_TRUE(check(migrations::mysql_migrations()).has_value()) << "the older one may also start anew";
  EXPECT_EQ(migrate(config()).value(), 0) << "and finds nothing to migrate";
  const auto shop = a_shop(16);
  shop.ordered(shop.intent("alice"));
  EXPECT_EQ(another_store()->find_sale(shop.item().sale).value().title, "Eleven eleven");
  EXPECT_EQ(shop.broken(), "");
}

TEST_F(MysqlSchema, an_older_program_refuses_a_schema_that_shuts_it_out) {
  (void)store();
  ASSERT_EQ(migrate_to(steps_and({breaking()})).value(), 1);
  EXPECT_EQ(check(migrations::mysql_migrations()).error().code, Errc::refused);
  EXPECT_EQ(migrate(config()).error().code, Errc::refused);
  const auto opened = open(config());
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Errc::refused);
  EXPECT_NE(opened.error().text().find("newer"), std::string::npos) << opened.error().text();
}

TEST_F(MysqlSchema, a_step_that_shut_programs_out_still_does_after_an_additive_one) {
  (void)store();
  auto later = additive();
  later.version = next_version() + 1;
  later.oldest_program = next_version();
  ASSERT_EQ(migrate_to(steps_and({breaking(), later})).value(), 2);
  EXPECT_EQ(check(migrations::mysql_migrations()).error().code, Errc::refused);
  EXPECT_TRUE(check(steps_and({breaking()})).has_value());
}

TEST_F(MysqlSchema, a_step_that_was_cut_off_is_begun_again) {
  (void)store();
  auto cut = additive();
  const std::array broken{add_a_note[0], MysqlStatement{"ALTER TABLE no_such_table ADD COLUMN x BIGINT"}};
  cut.statements = broken;
  EXPECT_FALSE(migrate_to(steps_and({cut})).has_value());
  EXPECT_EQ(number("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND "
                   "table_name = 'sale' AND column_name = 'note'"),
            1)
      << "no server takes back half a step";
  EXPECT_EQ(check(steps_and({cut})).error().code, Errc::refused);
  EXPECT_EQ(migrate_to(steps_and({additive()})).value(), 1);
  EXPECT_TRUE(check(steps_and({additive()})).has_value());
}

TEST_F(MysqlSchema, versions_have_no_gap_and_shut_out_no_program_that_they_did_not_shut_out_before) {
  std::int64_t version = 0;
  std::int64_t oldest = 1;
  for (const MysqlMigration& step : migrations::mysql_migrations()) {
    EXPECT_EQ(step.version, ++version);
    EXPECT_GE(step.oldest_program, oldest);
    EXPECT_LE(step.oldest_program, step.version);
    oldest = step.oldest_program;
  }
}

}  // namespace
}  // namespace seckill::store::mysql

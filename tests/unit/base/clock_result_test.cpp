// Time and errors as values: a clock that moves only when told to, an error that says what was attempted.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/result.hpp"

namespace seckill::base {
namespace {

using std::chrono::milliseconds;

TEST(ManualClock, moves_only_when_told_to) {
  ManualClock clock{1'000};
  EXPECT_EQ(clock.now_utc(), 1'000);
  EXPECT_EQ(clock.steady_now(), milliseconds{0});
  clock.advance(milliseconds{250});
  EXPECT_EQ(clock.now_utc(), 1'250);
  EXPECT_EQ(clock.steady_now(), milliseconds{250});
}

TEST(ManualClock, stepping_the_wall_clock_leaves_durations_alone) {
  ManualClock clock{1'000};
  clock.step_utc(milliseconds{-400});
  EXPECT_EQ(clock.now_utc(), 600);
  EXPECT_EQ(clock.steady_now(), milliseconds{0});
}

TEST(SystemClock, durations_never_go_back) {
  const SystemClock clock;
  auto last = clock.steady_now();
  for (int i = 0; i < 1'000; ++i) {
    const auto now = clock.steady_now();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(clock.now_utc(), 1'700'000'000'000);
}

TEST(Error, says_what_was_attempted_and_why_it_failed) {
  EXPECT_EQ((Error{Errc::invalid, "creating sale s1", "starts_at must be before ends_at"}.text()),
            "creating sale s1: starts_at must be before ends_at");
  EXPECT_EQ((Error{Errc::limit, "queueing", ""}.text()), "queueing");
  const Result<int> refused = fail(Errc::refused, "closing sale s1", "tickets are still queued");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::refused);
}

TEST(Error, every_code_has_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Errc::limit); ++code) names.insert(name(static_cast<Errc>(code)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Errc::limit) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

// Lane routing is stored knowledge: if this value ever changes, buyers lose their lanes. Empty input is the vector that
// the xxHash project publishes; the others pin today's values.
TEST(Hash, lane_routing_never_changes) {
  EXPECT_EQ(xxh3_64(""), 0x2D06800538D394C2U);
  EXPECT_EQ(xxh3_64("buyer-1"), 0xE9F47F8202896E87U);
  EXPECT_EQ(xxh3_64("a-buyer-whose-id-is-longer-than-sixteen-bytes"), 0x190297D19F3CD16DU);
  EXPECT_EQ(xxh3_64("buyer-1"), xxh3_64_seeded("buyer-1", 0));
}

TEST(Hash, seeds_separate_tables) {
  EXPECT_NE(xxh3_64_seeded("buyer-1", 1), xxh3_64_seeded("buyer-1", 2));
  EXPECT_NE(xxh3_128_seeded("buyer-1", 1), xxh3_128_seeded("buyer-1", 2));
  EXPECT_EQ(xxh3_128_seeded("buyer-1", 1), xxh3_128_seeded("buyer-1", 1));
}

}  // namespace
}  // namespace seckill::base

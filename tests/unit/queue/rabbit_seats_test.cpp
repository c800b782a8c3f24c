// How the partitions are shared out by who sits where.
#include <gtest/gtest.h>

#include "queue/rabbit/seats.hpp"

namespace seckill::queue::rabbit {
namespace {

TEST(RabbitSeats, EveryPartitionHasExactlyOneWorkerAndSharesDifferByOneAtMost) {
  const std::vector<std::vector<std::uint32_t>> tables{{0}, {0, 1}, {0, 2, 5}, {3}, {0, 1, 2, 3, 4, 5, 6, 7}};
  for (const auto& taken : tables) {
    std::vector<int> owners(16, 0);
    for (const std::uint32_t mine : taken) {
      const Share share = share_of(taken, mine);
      std::size_t has = 0;
      for (Partition p = 0; p < 16; ++p) {
        if (!share.has(p)) continue;
        ++owners[p];
        ++has;
      }
      EXPECT_GE(has, 16 / taken.size());
      EXPECT_LE(has, (16 + taken.size() - 1) / taken.size());
    }
    for (const int count : owners) EXPECT_EQ(count, 1);
  }
}

TEST(RabbitSeats, WhoHasNoSeatHasNoPartition) {
  for (const auto& mine : {std::optional<std::uint32_t>{}, std::optional<std::uint32_t>{4}}) {
    const Share share = share_of({0, 1}, mine);
    for (Partition p = 0; p < 16; ++p) EXPECT_FALSE(share.has(p));
  }
  EXPECT_FALSE(Share{}.has(0));
}

}  // namespace
}  // namespace seckill::queue::rabbit

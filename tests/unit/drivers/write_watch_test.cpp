// A write into a full buffer ends when its time has passed, and a write that ends in time leaves the socket alone.
#include "drivers/amqp/write_watch.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

namespace seckill::drivers::amqp {
namespace {

using namespace std::chrono_literals;

class WriteWatchTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0); }
  void TearDown() override {
    for (const int end : ends) (void)close(end);
  }
  // What a peer that reads nothing makes wait for ever.
  int write_until_it_fails() {
    const std::array<char, 65'536> block{};
    while (send(ends[0], block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
    return errno;
  }
  std::array<int, 2> ends{-1, -1};
};

TEST_F(WriteWatchTest, a_write_that_nobody_takes_fails_when_its_time_has_passed) {
  WriteWatch watch{ends[0], 100ms};
  const WriteWatch::Writing writing{watch, 0ms};
  EXPECT_EQ(write_until_it_fails(), EPIPE);
}

TEST_F(WriteWatchTest, a_call_that_waits_for_an_answer_has_its_own_time_besides) {
  WriteWatch watch{ends[0], 20ms};
  const WriteWatch::Writing asking{watch, 1h};
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(send(ends[0], "x", 1, MSG_NOSIGNAL), 1);
}

TEST_F(WriteWatchTest, writes_that_end_in_time_are_left_alone_however_many_there_are) {
  WriteWatch watch{ends[0], 1s};
  for (int i = 0; i < 200; ++i) {
    const WriteWatch::Writing writing{watch, 0ms};
    ASSERT_EQ(send(ends[0], "x", 1, MSG_NOSIGNAL), 1);
    char taken = 0;
    ASSERT_EQ(recv(ends[1], &taken, 1, 0), 1);
    std::this_thread::sleep_for(10ms);
  }
}

TEST_F(WriteWatchTest, nothing_is_ended_while_nothing_is_written) {
  WriteWatch watch{ends[0], 20ms};
  {
    const WriteWatch::Writing writing{watch, 0ms};
  }
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(send(ends[0], "x", 1, MSG_NOSIGNAL), 1);
}

}  // namespace
}  // namespace seckill::drivers::amqp

// The cryptographic pieces against the vectors their authors published.
#include "base/crypto.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace seckill::base {
namespace {

// The reference implementation's vectors_sip128: key 00 01 .. 0f, message 00 01 .. (n-1)
// (https://github.com/veorq/SipHash, vectors.h).
TEST(SipHash, agrees_with_the_published_vectors) {
  Key128 key{};
  std::string message;
  for (std::size_t i = 0; i < 64; ++i) {
    if (i < key.size()) key[i] = static_cast<std::uint8_t>(i);
    message.push_back(static_cast<char>(i));
  }
  const auto hash = [&](std::size_t size) { return to_hex(siphash_128(key, message.substr(0, size))); };
  EXPECT_EQ(hash(0), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(hash(1), "da87c1d86b99af44347659119b22fc45");
  EXPECT_EQ(hash(2), "8177228da4a45dc7fca38bdef60affe4");
  EXPECT_EQ(hash(3), "9c70b60c5267a94e5f33b6b02985ed51");
  EXPECT_EQ(hash(63), "5150d1772f50834a503e069a973fbd7c");
}

TEST(SipHash, depends_on_the_key_and_on_every_byte) {
  Key128 key{};
  const Bytes16 plain = siphash_128(key, "buyer-1");
  EXPECT_NE(siphash_128(key, "buyer-2"), plain);
  EXPECT_NE(siphash_128(key, "buyer-1 "), plain);
  key[15] = 1;
  EXPECT_NE(siphash_128(key, "buyer-1"), plain);
}

TEST(SipHash, is_the_same_on_every_thread) {
  const Key128 key{1, 2, 3};
  const Bytes16 expected = siphash_128(key, "the same bytes");
  std::array<Bytes16, 4> seen{};
  std::vector<std::thread> threads;
  for (Bytes16& out : seen) {
    threads.emplace_back([&out, &key] {
      for (int i = 0; i < 200; ++i) out = siphash_128(key, "the same bytes");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Bytes16& out : seen) EXPECT_EQ(out, expected);
}

// FIPS 180-4, examples by NIST.
TEST(Sha256, agrees_with_the_published_vectors) {
  EXPECT_EQ(to_hex(sha_256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha_256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(ConstantTimeEqual, compares_bytes_and_lengths) {
  EXPECT_TRUE(constant_time_equal("", ""));
  EXPECT_TRUE(constant_time_equal("secret", "secret"));
  EXPECT_FALSE(constant_time_equal("secret", "secreT"));
  EXPECT_FALSE(constant_time_equal("secret", "secret1"));
  EXPECT_FALSE(constant_time_equal("secret", ""));
}

TEST(Hex, reads_what_it_prints_and_refuses_the_rest) {
  const std::array<std::uint8_t, 3> bytes{0x00, 0xAB, 0xFF};
  EXPECT_EQ(to_hex(bytes), "00abff");
  std::array<std::uint8_t, 3> out{};
  EXPECT_TRUE(from_hex("00ABff", out));
  EXPECT_EQ(out, bytes);
  for (const char* bad : {"", "00abf", "00abfff", "00abfg", "00ab f", "0x00ab"})
    EXPECT_FALSE(from_hex(bad, out)) << bad;
}

TEST(Random, does_not_repeat) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1'000; ++i) seen.insert(random_u64());
  EXPECT_EQ(seen.size(), 1'000U);
}

}  // namespace
}  // namespace seckill::base

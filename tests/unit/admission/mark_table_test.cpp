// The packed marks: nothing is lost or confused in packing, whatever the ids look like, and the filter never denies a
// mark.
#include "admission/memory/mark_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "admission/memory/item_lanes.hpp"

namespace seckill::admission::memory {
namespace {

model::RequestId request_id(std::string_view text) { return *model::RequestId::parse(text); }

model::Ticket numbered(std::uint64_t n) {
  base::Bytes16 bytes{};
  std::memcpy(bytes.data(), &n, sizeof n);
  const std::uint64_t mixed = n * 0x9E3779B97F4A7C15ULL;
  std::memcpy(bytes.data() + 8, &mixed, sizeof mixed);
  return model::Ticket{bytes};
}

TEST(PackedRequestId, a_lower_case_uuid_takes_16_bytes_and_anything_else_its_own) {
  EXPECT_EQ(PackedRequestId{request_id("0123abcd-4567-89ef-8123-456789abcdef")}.bytes().size(), 16U);
  for (const char* other : {"0123ABCD-4567-89ef-8123-456789abcdef", "0123abcd-4567-89ef-8123-456789abcde",
                            "0123abcd_4567-89ef-8123-456789abcdef", "0123abcd-4567-89ef-8123-456789abcdeg",
                            "0123abcd-4567-89ef-81234456789abcdef", "x"}) {
    EXPECT_EQ(PackedRequestId{request_id(other)}.bytes(), other);
  }
}

RC_GTEST_PROP(PackedRequestIdProperty, every_id_unpacks_to_itself, ()) {
  static constexpr std::string_view alphabet = "0123456789abcdefABCDEFxyz_.-";
  std::string text;
  if (*rc::gen::inRange(0, 2) == 0) {
    text = "00000000-0000-0000-0000-000000000000";
    for (char& c : text) {
      if (c != '-') c = alphabet[*rc::gen::inRange<std::size_t>(0, 17)];
    }
  } else {
    text.resize(*rc::gen::inRange<std::size_t>(1, 65));
    for (char& c : text) c = alphabet[*rc::gen::inRange<std::size_t>(0, alphabet.size())];
  }
  const PackedRequestId packed{request_id(text)};
  RC_ASSERT(PackedRequestId::unpack(packed.tag(), packed.bytes()) == request_id(text));
}

TEST(MarkTable, finds_each_of_many_buyers_and_tickets_again) {
  MarkTable marks;
  constexpr std::uint64_t count = 30'000;
  const auto name = [](std::uint64_t i) { return fmt::format("{}{}", std::string(i % 50, 'b'), i); };
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string buyer = name(i);
    const std::uint64_t hash = MarkTable::hash_of(buyer);
    ASSERT_EQ(marks.find(buyer, hash), nullptr);
    const PackedRequestId id{request_id(fmt::format("r{}", i))};
    (void)marks.add(nullptr, buyer, hash, id, numbered(i), i, 1 + static_cast<std::int64_t>(i % 1'000));
  }
  EXPECT_EQ(marks.marks(), count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string buyer = name(i);
    const MarkRecord* mark = marks.find(buyer, MarkTable::hash_of(buyer));
    ASSERT_NE(mark, nullptr) << buyer;
    EXPECT_EQ(mark->buyer(), buyer);
    const TicketRecord* ticket = marks.find(numbered(i));
    ASSERT_EQ(ticket, marks.first(*mark));
    EXPECT_EQ(ticket->digest, i);
    EXPECT_EQ(ticket->units, 1 + i % 1'000);
    EXPECT_TRUE(ticket->is_of(PackedRequestId{request_id(fmt::format("r{}", i))}));
    EXPECT_EQ(&marks.mark_of(*ticket), mark);
  }
  EXPECT_EQ(marks.find(numbered(count)), nullptr);
}

TEST(MarkTable, a_buyers_tickets_come_oldest_first) {
  MarkTable marks;
  const std::uint64_t hash = MarkTable::hash_of("u");
  for (std::uint64_t i = 0; i < 16; ++i) {
    const PackedRequestId id{request_id(fmt::format("r{}", i))};
    (void)marks.add(marks.find("u", hash), "u", hash, id, numbered(i), i, 1);
    // Others' records lie between.
    const std::string other = fmt::format("other{}", i);
    (void)marks.add(nullptr, other, MarkTable::hash_of(other), id, numbered(100 + i), i, 1);
  }
  const MarkRecord* mark = marks.find("u", hash);
  EXPECT_EQ(mark->tickets, 16U);
  std::uint64_t expected = 0;
  for (const TicketRecord* t = marks.first(*mark); t != nullptr; t = marks.next(*t)) EXPECT_EQ(t->digest, expected++);
  EXPECT_EQ(expected, 16U);
}

TEST(PlaceIndex, equal_hashes_are_told_apart_by_the_caller) {
  PlaceIndex index;
  for (Place place = 1; place <= 1'000; ++place) index.insert(place % 3, place);  // three hashes for a thousand places
  EXPECT_EQ(index.size(), 1'000U);
  for (Place place = 1; place <= 1'000; ++place) {
    EXPECT_EQ(index.find(place % 3, [&](Place at) { return at == place; }), place);
  }
  EXPECT_EQ(index.find(1, [](Place) { return false; }), 0U);
  EXPECT_EQ(PlaceIndex{}.find(1, [](Place) { return true; }), 0U);
}

TEST(MarkFilter, never_denies_a_mark_and_seldom_suspects_a_stranger) {
  MarkFilter filter{10'000};
  for (int i = 0; i < 10'000; ++i) filter.add(MarkTable::hash_of(fmt::format("winner{}", i)));
  int suspected = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_TRUE(filter.maybe(MarkTable::hash_of(fmt::format("winner{}", i))));
    suspected += filter.maybe(MarkTable::hash_of(fmt::format("loser{}", i))) ? 1 : 0;
  }
  EXPECT_LT(suspected, 1'000) << "about 1 in 20";
}

TEST(SoldOutFlag, is_leased_monotone_and_lowered_at_once) {
  SoldOutFlag flag;
  EXPECT_FALSE(flag.covers(1'000, 0));
  flag.raise(2, 50);
  EXPECT_FALSE(flag.covers(2, 60));
  EXPECT_TRUE(flag.covers(3, 60));
  EXPECT_TRUE(flag.covers(1'000, 60));
  EXPECT_TRUE(flag.covers(3, 50 + SoldOutFlag::lease_ns - 1));
  EXPECT_FALSE(flag.covers(3, 50 + SoldOutFlag::lease_ns));
  flag.lower();
  EXPECT_FALSE(flag.covers(1'000, 60));
}

}  // namespace
}  // namespace seckill::admission::memory

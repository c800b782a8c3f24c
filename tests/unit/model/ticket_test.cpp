// Tickets, ids, digests, money and answers: what crosses every boundary of the system.
#include "model/ticket.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "model/money.hpp"
#include "model/purchase.hpp"

namespace seckill::model {
namespace {

const ItemKey item{.sale = *SaleId::parse("s"), .sku = *Sku::parse("k")};

Ticket ticket(std::uint8_t key_byte, const ItemKey& key, std::string_view buyer, std::string_view request,
              LaneIndex lane) {
  TicketKey secret{};
  secret.fill(key_byte);
  return derive_ticket(secret, key, *BuyerId::parse(buyer), request, lane);
}

TEST(Ticket, FS_60_is_derived_from_its_request_alone_and_names_its_lane) {
  for (LaneIndex lane = 0; lane < 64; ++lane) {
    const Ticket derived = ticket(1, item, "buyer", "r1", lane);
    EXPECT_EQ(derived.lane(), lane);
    EXPECT_EQ(derived, ticket(1, item, "buyer", "r1", lane));
  }
}

TEST(Ticket, FS_60_differs_when_any_part_differs) {
  const ItemKey other_sku{.sale = item.sale, .sku = *Sku::parse("k2")};
  const ItemKey other_sale{.sale = *SaleId::parse("s2"), .sku = item.sku};
  const std::set<Ticket> all{ticket(1, item, "buyer", "r1", 0),      ticket(2, item, "buyer", "r1", 0),
                             ticket(1, other_sku, "buyer", "r1", 0), ticket(1, other_sale, "buyer", "r1", 0),
                             ticket(1, item, "buyer2", "r1", 0),     ticket(1, item, "buyer", "r2", 0),
                             ticket(1, item, "buyer", "late:r1", 0)};
  EXPECT_EQ(all.size(), 7U);
}

TEST(Ticket, the_boundaries_between_its_parts_count) {
  // "ab"+"c" and "a"+"bc" are different requests.
  EXPECT_NE(ticket(1, item, "ab", "c", 0), ticket(1, item, "a", "bc", 0));
}

TEST(Ticket, FS_60_a_hundred_thousand_requests_make_as_many_tickets) {
  std::unordered_set<Ticket, TicketHash> all;
  for (int i = 0; i < 100'000; ++i)
    all.insert(ticket(1, item, fmt::format("u{}", i % 1'000), fmt::format("r{}", i), 3));
  EXPECT_EQ(all.size(), 100'000U);
}

RC_GTEST_PROP(TicketProperty, text_reads_back_and_has_one_spelling, ()) {
  base::Bytes16 bytes{};
  for (auto& byte : bytes) byte = *rc::gen::arbitrary<std::uint8_t>();
  const Ticket made{bytes};
  RC_ASSERT(made.str().size() == 26U);
  RC_ASSERT(Ticket::parse(made.str()) == std::optional{made});
  std::string lower = made.str();
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  RC_ASSERT(lower == made.str() || !Ticket::parse(lower).has_value());
}

TEST(Ticket, what_is_no_ticket_is_refused) {
  for (const char* text :
       {"", "0", "Z", "ZZZZZZZZZZZZZZZZZZZZZZZZZZ", "IIIIIIIIIIIIIIIIIIIIIIIIII", "0000000000000000000000000 "}) {
    EXPECT_FALSE(Ticket::parse(text).has_value()) << text;
  }
  EXPECT_TRUE(Ticket{}.is_none());
}

TEST(Ids, FS_68_are_compared_byte_for_byte) {
  EXPECT_NE(*BuyerId::parse("Ann"), *BuyerId::parse("ann"));
  EXPECT_NE(*BuyerId::parse("e\u0301"), *BuyerId::parse("\u00e9")) << "nothing is normalised";
  EXPECT_NE(*BuyerId::parse("ann"), *BuyerId::parse("ann ")) << "nothing is trimmed";
}

TEST(Ids, each_kind_has_its_alphabet_and_its_length) {
  for (const char* good : {"a", "A-Z_09", "12345678901234567890123456789012"}) {
    EXPECT_TRUE(SaleId::parse(good).has_value()) << good;
    EXPECT_TRUE(Sku::parse(good).has_value()) << good;
  }
  for (const char* bad : {"", "a b", "a.b", "a/b", "ä", "123456789012345678901234567890123", "a\n"}) {
    EXPECT_FALSE(SaleId::parse(bad).has_value()) << bad;
    EXPECT_FALSE(Sku::parse(bad).has_value()) << bad;
  }
  EXPECT_TRUE(RequestId::parse("0123abcd-4567-89ef-8123-456789abcdef").has_value());
  EXPECT_TRUE(RequestId::parse("a.b_c-D").has_value());
  EXPECT_FALSE(RequestId::parse("late:1").has_value()) << "a colon is for the system";
  EXPECT_FALSE(RequestId::parse(std::string(65, 'x')).has_value());
  EXPECT_TRUE(BuyerId::parse("用户-1").has_value());
  EXPECT_FALSE(BuyerId::parse("a\tb").has_value());
  EXPECT_FALSE(BuyerId::parse("\xc3").has_value());
  EXPECT_FALSE(BuyerId::parse(std::string_view{"a\0b", 3}).has_value());
  EXPECT_FALSE(BuyerId::parse(std::string(65, 'x')).has_value());
}

TEST(Lanes, the_route_of_a_buyer_never_changes) {
  // Stored knowledge: a sale in a database was routed by exactly these values.
  EXPECT_EQ(lane_of("u1", 16), 1U);
  EXPECT_EQ(lane_of("u1", 64), 49U);
  EXPECT_EQ(lane_of("buyer-42", 16), 9U);
  EXPECT_EQ(lane_of("用户-1", 64), 34U);
  for (std::uint32_t lanes = 1; lanes <= 64; ++lanes) EXPECT_LT(lane_of("buyer", lanes), lanes);
  std::vector<int> load(16);
  for (int i = 0; i < 16'000; ++i) ++load[lane_of(fmt::format("buyer-{}", i), 16)];
  for (const int buyers : load) EXPECT_NEAR(buyers, 1'000, 200);
}

TEST(Digest, FS_36_covers_quantity_and_declared_fields) {
  const auto fields = [](const char* text) { return std::make_shared<const std::string>(text); };
  const std::set<std::uint64_t> digests{
      content_digest(1, nullptr), content_digest(2, nullptr), content_digest(1, fields(R"({"a":"1"})")),
      content_digest(1, fields(R"({"a":"2"})")), content_digest(2, fields(R"({"a":"1"})"))};
  EXPECT_EQ(digests.size(), 5U);
  EXPECT_EQ(content_digest(1, fields("x")), content_digest(1, fields("x")));
}

TEST(Money, FS_17_amounts_never_wrap) {
  EXPECT_EQ(amount_minor(9'900, 3), 29'700);
  EXPECT_EQ(amount_minor(0, 1'000), 0);
  EXPECT_FALSE(amount_minor(std::numeric_limits<std::int64_t>::max(), 2).has_value());
  EXPECT_TRUE(amount_minor(base::limits::price_minor_max, base::limits::limit_max).has_value());
  EXPECT_EQ(Currency{}.view(), "CNY");
  EXPECT_TRUE(Currency::parse("EUR").has_value());
  for (const char* bad : {"", "eur", "EURO", "E1R"}) EXPECT_FALSE(Currency::parse(bad).has_value()) << bad;
}

TEST(Answers, every_answer_has_its_name_code_and_status) {
  std::set<std::string_view> names;
  std::set<int> codes;
  for (const PurchaseAnswer answer : all_purchase_answers) {
    EXPECT_TRUE(names.insert(name(answer)).second) << name(answer);
    codes.insert(answer_code(answer));
    EXPECT_GE(http_status(answer), 200);
  }
  EXPECT_EQ(names.size(), 13U);
  EXPECT_EQ(codes.size(), 12U) << "admitted and replayed share code 1";
  EXPECT_EQ(answer_code(PurchaseAnswer::admitted), 1);
  EXPECT_EQ(answer_code(PurchaseAnswer::sold_out), 0);
  EXPECT_EQ(answer_code(PurchaseAnswer::limit_reached), -1);
  EXPECT_EQ(http_status(PurchaseAnswer::admitted), 202);
  EXPECT_EQ(http_status(PurchaseAnswer::replayed), 200);
  EXPECT_EQ(http_status(PurchaseAnswer::request_conflict), 422);
  EXPECT_EQ(http_status(PurchaseAnswer::busy), 503);
}

}  // namespace
}  // namespace seckill::model

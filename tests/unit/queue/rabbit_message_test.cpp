// How intents are written for RabbitMQ and what is made of whatever comes back.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/limits.hpp"
#include "queue/rabbit/message.hpp"

namespace seckill::queue::rabbit {
namespace {

model::OrderIntent some_intent(std::uint8_t number = 1) {
  base::Bytes16 bytes{};
  bytes[0] = 3 << 2;
  bytes[15] = number;
  model::OrderIntent intent;
  intent.ticket = model::Ticket{bytes};
  intent.item = {model::SaleId::parse("11-11").value(), model::Sku::parse("phone_x").value()};
  intent.buyer = model::BuyerId::parse("alice").value();
  intent.request_id = model::RequestId::parse("r-1").value();
  intent.digest = UINT64_MAX;
  intent.lane = 3;
  intent.units = 2;
  intent.price_minor = 199'900;
  intent.limit = 5;
  intent.pay_window_ms = 900'000;
  intent.admitted_at = 1'794'362'400'500;
  return intent;
}

std::string written(const std::vector<model::OrderIntent>& intents) {
  std::string text;
  write_intents(text, intents);
  return text;
}

void expect_same(const model::OrderIntent& a, const model::OrderIntent& b) {
  EXPECT_EQ(a.ticket, b.ticket);
  EXPECT_EQ(a.item, b.item);
  EXPECT_EQ(a.buyer, b.buyer);
  EXPECT_EQ(a.request_id, b.request_id);
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_EQ(a.lane, b.lane);
  EXPECT_EQ(a.generation, b.generation);
  EXPECT_EQ(a.units, b.units);
  EXPECT_EQ(a.price_minor, b.price_minor);
  EXPECT_EQ(a.currency, b.currency);
  EXPECT_EQ(a.limit, b.limit);
  EXPECT_EQ(a.pay_window_ms, b.pay_window_ms);
  EXPECT_EQ(a.admitted_at, b.admitted_at);
  ASSERT_EQ(a.fields == nullptr, b.fields == nullptr);
  if (a.fields) EXPECT_EQ(*a.fields, *b.fields);
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(RabbitMessage, IsACloudEventsBatchThatAnyReaderUnderstands) {
  const auto batch = boost::json::parse(written({some_intent()}));
  const auto& event = batch.as_array().at(0).as_object();
  EXPECT_EQ(event.at("specversion"), "1.0");
  EXPECT_EQ(event.at("id").as_string(), some_intent().ticket.str());
  EXPECT_EQ(event.at("type"), "seckill.intent");
  EXPECT_EQ(event.at("source"), "/sales/11-11/items/phone_x/lanes/3");
  EXPECT_EQ(event.at("time"), "2026-11-11T02:00:00.500Z");
  EXPECT_EQ(event.at("data").as_object().at("digest"), "18446744073709551615");
  EXPECT_FALSE(event.at("data").as_object().contains("fields"));
}

TEST(RabbitMessage, IsReadAsItWasWrittenInItsOrder) {
  std::vector<model::OrderIntent> intents;
  for (std::uint8_t i = 1; i <= 100; ++i) intents.push_back(some_intent(i));
  intents[1].buyer = model::BuyerId::parse("王 \"小\\明\"").value();
  intents[2].request_id = model::RequestId::trusted("offer:7,1");
  intents[3].fields = std::make_shared<const std::string>(R"({"receiver":"[\"{,","remark":"快"})");
  intents[4].generation = UINT32_MAX;
  intents[5].price_minor = base::limits::price_minor_max;
  const auto read = read_intents(written(intents));
  EXPECT_TRUE(read.unreadable.empty());
  ASSERT_EQ(read.intents.size(), intents.size());
  for (std::size_t i = 0; i < intents.size(); ++i) expect_same(read.intents[i], intents[i]);
}

TEST(RabbitMessage, FS_09_ABadEventDoesNotTouchItsNeighbours) {
  const std::string good = written({some_intent(1)});
  const std::string event = good.substr(1, good.size() - 2);
  for (const std::string& bad : {
           std::string{"7"},
           std::string{"null"},
           std::string{"{}"},
           std::string{"[]"},
           std::string{"\"x,]\""},
           std::string{"{\"a\":1,\"a\":2}"},
           std::string{"\"\xff\""},
           std::string{"nonsense"},
           replaced(event, "seckill.intent", "other"),
           replaced(event, R"("units":2)", R"("units":-2)"),
           replaced(event, R"("units":2)", R"("units":2.0)"),
           replaced(event, R"("units":2)", R"("units":"2")"),
           replaced(event, R"("units":2)", R"("units":99999999999999999999)"),
           replaced(event, R"("units":2)", R"("units":2,"units":3)"),
           replaced(event, R"("lane":3)", R"("lane":4)"),
           replaced(event, R"("lane":3)", R"("lane":64)"),
           replaced(event, R"("generation":1)", R"("generation":0)"),
           replaced(event, "18446744073709551615", "18446744073709551616"),
           replaced(event, "18446744073709551615", "-1"),
           replaced(event, R"("currency":"CNY")", R"("currency":"cny")"),
           replaced(event, R"("buyer":"alice")", R"("buyer":"")"),
           replaced(event, R"("sku":"phone_x")", R"("sku":"phone x")"),
           replaced(event, R"(,"request_id":"r-1")", ""),
           replaced(event, some_intent().ticket.str(), "0000000000000000000000000Z"),
           replaced(event, R"("limit":5)", R"("limit":5,"fields":"not json")"),
           replaced(event, R"("limit":5)", R"("limit":5,"fields":{"a":"b"})"),
           replaced(event, R"("limit":5)", R"("limit":5,"fields":"{\"a\":1}")"),
       }) {
    const std::string before = written({some_intent(1), some_intent(2)});
    const std::string after = written({some_intent(3)});
    const auto read = read_intents(before.substr(0, before.size() - 1) + " , " + bad + "\n," + after.substr(1));
    ASSERT_EQ(read.intents.size(), 3U) << bad;
    expect_same(read.intents[2], some_intent(3));
    ASSERT_EQ(read.unreadable.size(), 1U) << bad;
    EXPECT_EQ(read.unreadable.front().raw, bad);
    EXPECT_FALSE(read.unreadable.front().reason.empty());
  }
}

TEST(RabbitMessage, FS_09_WhatIsNoArrayIsUnreadableAsAWhole) {
  std::string too_many = "[7";
  for (int i = 0; i < 100; ++i) too_many += ",7";
  too_many += "]";
  const std::string good = written({some_intent()});
  for (const std::string& bad :
       {std::string{}, std::string{" "}, std::string{"["}, std::string{"]"}, std::string{"[]"}, std::string{"{}"},
        std::string{"[[]"}, std::string{"[]]"}, std::string{"[\"]"}, std::string{"\xff"}, std::string(100'000, '['),
        too_many, good.substr(0, good.size() - 1), good + good, std::string(message_bytes_max + 1, ' ')}) {
    const auto read = read_intents(bad);
    EXPECT_TRUE(read.intents.empty());
    ASSERT_EQ(read.unreadable.size(), 1U) << bad.substr(0, 100);
    EXPECT_EQ(read.unreadable.front().raw, bad);
  }
}

TEST(RabbitMessage, FS_09_AMemberThatIsNotKnownYetIsPassedOver) {
  const auto read = read_intents(replaced(written({some_intent()}), R"("limit":5)", R"("limit":5,"colour":{"a":[1]})"));
  ASSERT_EQ(read.intents.size(), 1U);
  expect_same(read.intents.front(), some_intent());
}

TEST(RabbitMessage, TheLongestMessageFits) {
  auto longest = some_intent();
  std::string fields = "{";
  for (std::size_t i = 0; i < base::limits::order_fields_max; ++i) {
    fields += (i == 0 ? "\"" : ",\"") + std::string(base::limits::order_field_name_bytes_max - 1, 'n') +
              std::to_string(i) + "\":\"";
    for (std::size_t c = 0; c < base::limits::order_field_characters_max; ++c) fields += "\\u0001";
    fields += '"';
  }
  fields += '}';
  longest.fields = std::make_shared<const std::string>(fields);
  std::vector<model::OrderIntent> intents(message_intents_max, longest);
  const auto text = written(intents);
  EXPECT_LE(text.size(), message_bytes_max);
  EXPECT_EQ(read_intents(text).intents.size(), fields.size() <= base::limits::http_body_bytes_max ? 100U : 0U);
}

RC_GTEST_PROP(RabbitMessageProperty, FS_09_WhateverComesIsReadOrParkedAndNothingElse, (const std::string& noise)) {
  std::string text = written({some_intent(1), some_intent(2), some_intent(3)});
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  const auto gone = *rc::gen::inRange<std::size_t>(0, 20);
  text.replace(at, gone, noise);
  const auto read = read_intents(text);
  RC_ASSERT(read.intents.size() + read.unreadable.size() >= 1);
  for (const auto& one : read.unreadable) RC_ASSERT(text.find(one.raw) != std::string::npos);
}

}  // namespace
}  // namespace seckill::queue::rabbit

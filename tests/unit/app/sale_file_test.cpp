// Sale files: what YAML says becomes the JSON the admin API judges, times relative to now included. The samples are
// sound.
#include "app/sale_file.hpp"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "ops/sale_json.hpp"

namespace seckill::app {
namespace {

constexpr base::UtcMs now = 1'800'000'000'000;

std::string json_of(const std::string& yaml) {
  const auto sale = parse_sale_text(yaml, "s.yaml", now);
  return sale ? boost::json::serialize(*sale) : sale.error().front().text();
}

TEST(SaleFile, ScalarsKeepTheirKindSoThatTheServerCanRefuseThem) {
  EXPECT_EQ(
      json_of("a: 1\nb: -1\nc: 1.5\nd: '1'\ne: true\nf: text\ng:\nh: 2026-11-11T10:00:00+08:00\ni: 0x10\nj: 01\n"),
      R"({"a":1,"b":-1,"c":1.5E0,"d":"1","e":true,"f":"text","g":null,"h":"2026-11-11T10:00:00+08:00","i":"0x10",)"
      R"("j":"01"})");
  EXPECT_EQ(json_of(R"({"title": "茶", "items": [{"sku": "a"}]})"), R"({"title":"茶","items":[{"sku":"a"}]})");
}

TEST(SaleFile, RelativeTimesBecomeInstants) {
  EXPECT_EQ(json_of("starts_in: 5s\nduration: 2m\n"), R"({"starts_at":1800000005000,"ends_at":1800000125000})");
  EXPECT_EQ(json_of("starts_at: 2027-01-15T08:00:00Z\nduration: 1h\n"),
            R"({"starts_at":"2027-01-15T08:00:00Z","ends_at":1800003600000})");
}

TEST(SaleFile, SaysWhatIsWrongWithTheFile) {
  EXPECT_EQ(json_of("- a\n"), "s.yaml:1: must be a map of keys and values");
  EXPECT_EQ(json_of("a: 1\na: 2\n"), "s.yaml:2: a: is written twice; keep one");
  EXPECT_EQ(json_of("starts_in: soon\n"), "s.yaml: starts_in: must be a length of time like 5s or 2m");
  EXPECT_EQ(json_of("duration: 5m\n"), "s.yaml: duration: needs starts_in, or starts_at with an offset, to count from");
  EXPECT_EQ(json_of("starts_in: 1s\nstarts_at: 5\n"), "s.yaml: starts_in: stands beside starts_at; keep one");
  EXPECT_EQ(json_of("starts_at: 9223372036854775807\nduration: 1s\n"), "s.yaml: starts_at: is later than any date");
  EXPECT_FALSE(load_sale_file("/nonexistent.yaml", now));
}

TEST(SaleFile, EverySampleIsASoundSale) {
  for (const char* sample : {"goods", "coupon", "slot", "entry"}) {
    const auto file = load_sale_file(std::string{SECKILL_SOURCE_DIR} + "/examples/" + sample + ".yaml", now);
    ASSERT_TRUE(file) << file.error().front().text();
    const auto sale = ops::read_sale(boost::json::serialize(*file));
    ASSERT_TRUE(sale) << sample << ": " << sale.error().front();
    EXPECT_EQ(sale->starts_at, now + 5'000);
    EXPECT_EQ(std::string{model::name(sale->kind)}, sample);
  }
}

}  // namespace
}  // namespace seckill::app

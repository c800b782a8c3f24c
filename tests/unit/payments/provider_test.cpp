// What the port says of all providers: replies by each one's convention, the comparison with an order, set-up that
// names what is wrong and shows no secret.
#include "payments/provider.hpp"

#include <gtest/gtest.h>

#include "payments/match.hpp"
#include "unit/payments/counterparties.hpp"

namespace seckill::payments::test {
namespace {

void expect_reply(std::string_view provider, Reception reception, int status, std::string_view body) {
  const NoticeReply reply = provider_named(provider).reply(reception);
  EXPECT_EQ(reply.status, status) << provider << " " << name(reception);
  EXPECT_EQ(reply.body, body) << provider << " " << name(reception);
  EXPECT_EQ(reply.content_type.empty(), body.empty());
}

TEST(PaymentProviders, a_notice_is_answered_as_its_provider_wants) {
  expect_reply("generic", Reception::taken, 204, "");
  expect_reply("generic", Reception::again_later, 503, R"({"code":"again_later"})");
  expect_reply("generic", Reception::refused, 400, R"({"code":"refused"})");
  expect_reply("wechat", Reception::taken, 204, "");
  expect_reply("wechat", Reception::again_later, 503, R"({"code":"FAIL","message":"again later"})");
  expect_reply("wechat", Reception::refused, 401, R"({"code":"FAIL","message":"refused"})");
  expect_reply("alipay", Reception::taken, 200, "success");
  expect_reply("alipay", Reception::again_later, 200, "fail");
  expect_reply("alipay", Reception::refused, 200, "fail");
}

TEST(PaymentProviders, only_what_needs_nothing_more_is_acknowledged_without_being_stored) {
  EXPECT_EQ(reception_of(NoticeFault::repeated), Reception::taken);
  EXPECT_EQ(reception_of(NoticeFault::nothing_to_do), Reception::taken);
  for (const NoticeFault fault : {NoticeFault::too_large, NoticeFault::malformed, NoticeFault::unsupported,
                                  NoticeFault::too_old, NoticeFault::unknown_key, NoticeFault::bad_signature,
                                  NoticeFault::undecipherable, NoticeFault::wrong_merchant}) {
    EXPECT_EQ(reception_of(fault), Reception::refused) << name(fault);
  }
}

TEST(PaymentProviders, only_alipay_makes_its_order_when_the_buyer_comes) {
  EXPECT_FALSE(provider_named("generic").forgets_unopened_orders());
  EXPECT_FALSE(provider_named("wechat").forgets_unopened_orders());
  EXPECT_TRUE(provider_named("alipay").forgets_unopened_orders());
}

TEST(PaymentMatch, only_the_exact_payment_of_the_order_matches) {
  const model::Ticket ticket = *model::Ticket::parse(ticket_text);
  const Expected expected{ticket, 8'888, model::Currency{}, "1900000109"};
  Notice paid;
  paid.out_trade_no = ticket_text;
  paid.ticket = ticket;
  paid.amount_minor = 8'888;
  paid.merchant_id = "1900000109";
  EXPECT_EQ(match(paid, expected), Match::exact);
  for (const std::int64_t amount : {8'887, 8'889, 1, 0, 888'800}) {
    Notice other = paid;
    other.amount_minor = amount;
    EXPECT_EQ(match(other, expected), Match::wrong_amount) << amount;
  }
  Notice other = paid;
  other.currency = *model::Currency::parse("USD");
  EXPECT_EQ(match(other, expected), Match::wrong_currency);
  other = paid;
  other.merchant_id = "1900000110";
  EXPECT_EQ(match(other, expected), Match::wrong_merchant);
  other = paid;
  other.ticket.reset();
  EXPECT_EQ(match(other, expected), Match::other_order);
  other.ticket = model::Ticket{};
  EXPECT_EQ(match(other, expected), Match::other_order);
}

TEST(PaymentSetUp, names_what_is_wrong_and_shows_no_secret) {
  const auto complaint = [](const auto& made) { return made ? std::string{} : made.error().text(); };
  generic::Config generic = generic_config();
  generic.secrets[1] = Secret{"whsec_dG9vIHNob3J0"};
  EXPECT_NE(complaint(generic::GenericProvider::make(generic)).find("secret 2"), std::string::npos);
  EXPECT_EQ(complaint(generic::GenericProvider::make(generic)).find("dG9v"), std::string::npos);
  generic = generic_config();
  generic.url = "http://pay.example";
  EXPECT_NE(complaint(generic::GenericProvider::make(generic)).find("https://"), std::string::npos);

  wechat::Config wechat = wechat_config();
  wechat.api_v3_key = Secret{"short"};
  EXPECT_NE(complaint(wechat::WechatProvider::make(wechat)).find("32 bytes"), std::string::npos);
  wechat = wechat_config();
  wechat.platform_keys[1].serial = "5157";
  EXPECT_NE(complaint(wechat::WechatProvider::make(wechat)).find(key_text("certificate_serial")), std::string::npos);
  wechat = wechat_config();
  wechat.platform_keys[0].pem = key_text("small_public");
  EXPECT_NE(complaint(wechat::WechatProvider::make(wechat)).find("2048"), std::string::npos);
  wechat = wechat_config();
  wechat.platform_keys[1] = wechat.platform_keys[0];
  EXPECT_NE(complaint(wechat::WechatProvider::make(wechat)).find("twice"), std::string::npos);
  wechat = wechat_config();
  wechat.private_key = Secret{key_text("shop_public")};
  EXPECT_NE(complaint(wechat::WechatProvider::make(wechat)).find("private_key"), std::string::npos);

  alipay::Config alipay = alipay_config();
  alipay.alipay_keys = {key_text("shop_public")};
  EXPECT_NE(complaint(alipay::AlipayProvider::make(alipay)).find("the app's own"), std::string::npos);
  alipay = alipay_config();
  alipay.alipay_keys.clear();
  EXPECT_NE(complaint(alipay::AlipayProvider::make(alipay)).find("1 to 4"), std::string::npos);
}

}  // namespace
}  // namespace seckill::payments::test

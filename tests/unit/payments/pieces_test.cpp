// The small pure parts of the adapters: exact amounts, forms, base 64, signatures against published values, headers.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.hpp"
#include "payments/alipay/alipay_signatures.hpp"
#include "payments/form.hpp"
#include "payments/generic/standard_webhooks.hpp"
#include "payments/signatures.hpp"
#include "payments/wire.hpp"
#include "payments/yuan.hpp"
#include "unit/payments/counterparties.hpp"

namespace seckill::payments::test {
namespace {

TEST(Yuan, is_read_to_the_fen_or_not_at_all) {
  EXPECT_EQ(parse_yuan("0.01"), 1);
  EXPECT_EQ(parse_yuan("0.1"), 10);
  EXPECT_EQ(parse_yuan("0.10"), 10);
  EXPECT_EQ(parse_yuan("0"), 0);
  EXPECT_EQ(parse_yuan("1.29"), 129);  // 1.29 × 100 is 128.99… in floating point
  EXPECT_EQ(parse_yuan("9999999999999.99"), 999'999'999'999'999);
  for (const char* text : {"", ".", "1.", ".1", "1e-2", "1E2", "0.001", "0.010", "-1", "+1", " 1", "1 ", "01", "1,00",
                           "0x1", "１", "99999999999999", "1.2.3", "NaN"}) {
    EXPECT_EQ(parse_yuan(text), std::nullopt) << text;
  }
}

RC_GTEST_PROP(Yuan, every_amount_comes_back, ()) {
  const auto minor = *rc::gen::inRange<std::int64_t>(0, 999'999'999'999'999);
  RC_ASSERT(parse_yuan(format_yuan(minor)) == minor);
}

// The specification's own example, and a request to the address that it was sent to.
TEST(StandardWebhooks, the_published_signature_verifies) {
  const std::vector<Secret> secrets{*generic::parse_secret(Secret{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})};
  const std::string_view body = R"({"test": 2432232314})";
  const std::vector<Header> headers{{"webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"},
                                    {"webhook-timestamp", "1614265330"},
                                    {"webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}};
  const base::UtcMs at = 1'614'265'330'000;
  const auto verified = generic::verify(secrets, headers, body, at);
  ASSERT_TRUE(verified.has_value());
  EXPECT_EQ(verified->id, "msg_p5jXN8AQM9LWM0D4loKWxJek");
  EXPECT_EQ(verified->signed_at, at);
  EXPECT_EQ(generic::sign(secrets[0], "msg_p5jXN8AQM9LWM0D4loKWxJek", at, body)[2].value, headers[2].value);
  EXPECT_EQ(generic::verify(secrets, headers, "{}", at).error(), NoticeFault::bad_signature);
}

TEST(StandardWebhooks, a_secret_has_24_to_64_bytes_and_its_prefix) {
  const auto secret_of = [](std::size_t bytes) { return Secret{"whsec_" + to_base64(std::string(bytes, 'k'))}; };
  EXPECT_FALSE(generic::parse_secret(secret_of(23)));
  EXPECT_TRUE(generic::parse_secret(secret_of(24)));
  EXPECT_TRUE(generic::parse_secret(secret_of(64)));
  EXPECT_FALSE(generic::parse_secret(secret_of(65)));
  EXPECT_FALSE(generic::parse_secret(Secret{"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}));
  EXPECT_FALSE(generic::parse_secret(Secret{"whsec_!"}));
}

TEST(Hmac, of_RFC_4231) {
  const base::Bytes32 mac = hmac_sha_256(Secret{"Jefe"}, "what do ya want for nothing?");
  EXPECT_EQ(base::to_hex(mac), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

// Test case 16 of the GCM specification (McGrew and Viega, 2005).
TEST(AesGcm, opens_the_published_ciphertext_and_nothing_else) {
  const auto bytes = [](std::string_view hex) {
    std::string out(hex.size() / 2, '\0');
    EXPECT_TRUE(base::from_hex(hex, {reinterpret_cast<std::uint8_t*>(out.data()), out.size()}));
    return out;
  };
  const Secret key{bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")};
  const std::string nonce = bytes("cafebabefacedbaddecaf888");
  const std::string data = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2");
  std::string sealed = bytes(
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0a"
      "bcc9f66276fc6ece0f4e1768cddf8853bb2d551b");
  const std::string plain = bytes(
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657"
      "ba637b39");
  EXPECT_EQ(open_aes_256_gcm(key, nonce, data, sealed), plain);
  EXPECT_EQ(open_aes_256_gcm(key, nonce, "", sealed), std::nullopt);
  EXPECT_EQ(open_aes_256_gcm(key, "", data, sealed), std::nullopt);
  EXPECT_EQ(open_aes_256_gcm(key, nonce, data, sealed.substr(0, 15)), std::nullopt);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 0x40);
    EXPECT_EQ(open_aes_256_gcm(key, nonce, data, changed), std::nullopt) << i;
  }
}

TEST(Base64, has_one_text_for_each_value) {
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("Zg=="), "f");
  EXPECT_EQ(from_base64("Zm9vYmFy"), "foobar");
  for (const char* text : {"Zg", "Zg=", "Zh==", "Zg==\n", " Zg==", "Zg==Zg==", "Z===", "====", "Zm9v=mFy", "Zm-_"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

RC_GTEST_PROP(Base64, every_text_comes_back, (const std::string& bytes)) {
  RC_ASSERT(from_base64(to_base64(bytes)) == bytes);
}

TEST(Rsa, a_signature_belongs_to_its_key_and_message) {
  const auto mine = RsaPrivateKey::parse(Secret{key_text("shop_private")});
  const auto same = RsaPublicKey::parse(key_text("shop_public"));
  const auto other = RsaPublicKey::parse(key_text("alipay_public"));
  ASSERT_TRUE(mine && same && other);
  const std::string signature = mine->sign("message");
  EXPECT_TRUE(same->verifies("message", signature));
  EXPECT_FALSE(same->verifies("messagf", signature));
  EXPECT_FALSE(same->verifies("message", signature.substr(1)));
  EXPECT_FALSE(same->verifies("message", ""));
  EXPECT_FALSE(same->verifies("", signature));
  EXPECT_FALSE(other->verifies("message", signature));
}

TEST(Rsa, what_is_no_key_is_refused) {
  EXPECT_TRUE(RsaPublicKey::parse(key_text("alipay_next_bare")).has_value());
  EXPECT_TRUE(RsaPublicKey::parse(key_text("alipay_next_bare") + "\n").has_value());
  EXPECT_EQ(RsaPublicKey::parse(key_text("wechat_certificate"))->certificate_serial(), key_text("certificate_serial"));
  for (const std::string& text :
       {std::string{}, std::string{"AAAA"}, key_text("small_public"), std::string(20'000, 'A'),
        std::string{"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}, key_text("shop_private")}) {
    EXPECT_FALSE(RsaPublicKey::parse(text).has_value()) << text.substr(0, 40);
  }
  EXPECT_FALSE(RsaPrivateKey::parse(Secret{key_text("shop_public")}).has_value());
}

TEST(Form, is_decoded_once_and_exactly) {
  const auto fields = parse_form("a=1+2%2B3&b=&c=%25E4&%E4%BD%A0=%e5%a5%bd");
  ASSERT_TRUE(fields && fields->size() == 4);
  EXPECT_EQ((*fields)[0].value, "1 2+3");
  EXPECT_EQ((*fields)[1].value, "");
  EXPECT_EQ((*fields)[2].value, "%E4");
  EXPECT_EQ((*fields)[3].name, "你");
  EXPECT_EQ((*fields)[3].value, "好");
  for (const char* text : {"a", "=1", "a=1&a=2", "a=%", "a=%4", "a=%zz", "a=1&&b=2", "a=1&%61=2"}) {
    EXPECT_FALSE(parse_form(text).has_value()) << text;
  }
  std::string many;
  for (std::size_t i = 0; i <= form_fields_max; ++i) many += "f" + std::to_string(i) + "=1&";
  EXPECT_FALSE(parse_form(many).has_value());
}

RC_GTEST_PROP(Form, every_value_comes_back, (const std::string& value)) {
  const auto fields = parse_form(format_form({{"name", value}}));
  RC_ASSERT(fields && fields->size() == 1 && fields->front().value == value);
}

TEST(RawMember, is_the_exact_text_of_a_value) {
  const std::string_view json = R"( { "x":"a\"}" , "y" : { "z":[1,{"y":2}], "s":"]}\\" } ,"n":-1.5e3,"sign":"s"} )";
  EXPECT_EQ(alipay::raw_member(json, "x"), R"("a\"}")");
  EXPECT_EQ(alipay::raw_member(json, "y"), R"({ "z":[1,{"y":2}], "s":"]}\\" })");
  EXPECT_EQ(alipay::raw_member(json, "n"), "-1.5e3");
  EXPECT_EQ(alipay::raw_member(json, "sign"), R"("s")");
  EXPECT_EQ(alipay::raw_member(json, "z"), std::nullopt);
  EXPECT_EQ(alipay::raw_member("{}", "x"), std::nullopt);
}

TEST(Headers, two_of_one_name_are_none) {
  const std::vector<Header> headers{{"A", "1"}, {"b", "2"}, {"B", "2"}, {"long", std::string(8'193, 'x')}};
  EXPECT_EQ(header_of(headers, "a"), "1");
  EXPECT_EQ(header_of(headers, "b"), std::nullopt);
  EXPECT_EQ(header_of(headers, "c"), std::nullopt);
  EXPECT_EQ(header_of(headers, "long"), std::nullopt);
}

TEST(ShortCode, is_printable_and_fits_its_column) {
  EXPECT_EQ(short_code("ACQ.TRADE_NOT_EXIST"), "ACQ.TRADE_NOT_EXIST");
  EXPECT_EQ(short_code(std::string(64, 'x')), std::string(64, 'x'));
  EXPECT_EQ(short_code(std::string(65, 'x')), std::string(61, 'x') + "...");
  EXPECT_EQ(short_code("a\nb"), "a?b");
  EXPECT_EQ(short_code(""), "");
}

RC_GTEST_PROP(ShortCode, never_exceeds_its_column, (const std::string& text)) {
  RC_ASSERT(short_code(text + text + text).size() <= code_bytes_max);
}

TEST(ChinaTime, is_eight_hours_ahead) {
  EXPECT_EQ(alipay::parse_china_time("2026-11-11 10:00:00"), vectors_now);
  EXPECT_EQ(alipay::parse_china_time("2026-11-11 10:00:00.320"), vectors_now + 320);
  EXPECT_EQ(alipay::format_china_time(vectors_now), "2026-11-11 10:00:00");
  for (const char* text : {"", "2026-11-11T10:00:00", "2026-11-11 25:00:00", "2026-11-11 10:00:00Z"}) {
    EXPECT_EQ(alipay::parse_china_time(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace seckill::payments::test

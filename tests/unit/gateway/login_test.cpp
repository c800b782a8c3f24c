// Who may say who he is: tokens by algorithm, key, time and claim; the cache; the careful look before the login.
#include "gateway/login/login.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/clock.hpp"
#include "gateway/login/base64url.hpp"
#include "gateway/login/token_signer.hpp"
#include "unit/gateway/login_keys.hpp"

namespace seckill::gateway {
namespace {

using namespace testing;

constexpr base::UtcMs now = 1'700'000'000'000;
const std::string good_claims = R"({"sub":"alice","exp":1700003600})";

LoginConfig hs256() {
  LoginConfig config;
  config.hs256_secret = secret;
  return config;
}

std::unique_ptr<TokenVerifier> make_verifier(const LoginConfig& config) {
  auto made = TokenVerifier::make(config);
  if (!made) {
    ADD_FAILURE() << made.error().text();
    return nullptr;
  }
  return std::move(*made);
}

// "alice", or the fault's name.
std::string verdict(const TokenVerifier& verifier, std::string_view token, base::UtcMs at = now) {
  const auto verified = verifier.verify(token, at);
  return verified ? verified->buyer.str() : std::string{name(verified.error())};
}

TEST(TokenVerifier, AcceptsTheSignersTokens) {
  const auto verifier = make_verifier(hs256());
  const auto signer = TokenSigner::make(secret);
  ASSERT_TRUE(signer);
  for (const std::string_view buyer : {"alice", "\xE5\xBC\xA0\xE4\xB8\x89", "a\"b\\c", "0"}) {
    const auto token = (*signer)->sign(*model::BuyerId::parse(buyer), now, std::chrono::hours{1});
    ASSERT_TRUE(token);
    EXPECT_EQ(verdict(*verifier, *token), buyer);
  }
  EXPECT_FALSE(TokenSigner::make("short"));
}

TEST(TokenVerifier, TheAlgorithmIsTheConfigurationsNeverTheTokens) {
  const auto verifier = make_verifier(hs256());
  for (const std::string_view header :
       {R"({"alg":"none"})", R"({"alg":"None"})", R"({"alg":"HS384"})", R"({"alg":"HS512"})", R"({"alg":"RS256"})",
        R"({"alg":"hs256"})", R"({"alg":""})", R"({})", R"({"alg":null})", R"({"alg":["HS256"]})",
        R"({"alg":"HS256","crit":["exp"]})", R"({"alg":"HS256","b64":false})"}) {
    EXPECT_EQ(verdict(*verifier, sign_raw(header, good_claims)), "wrong_algorithm") << header;
  }
  EXPECT_EQ(verdict(*verifier, base64url(R"({"alg":"none"})") + "." + base64url(good_claims) + "."), "wrong_algorithm");
  EXPECT_EQ(verdict(*verifier, sign_raw(R"({"alg":"HS256","alg":"none"})", good_claims)), "malformed");
  EXPECT_EQ(verdict(*verifier, sign_raw(R"({"alg":"HS256","typ":"JWT"})", good_claims)), "alice");
}

TEST(TokenVerifier, APublicKeyIsNoHmacSecret) {
  const KeyFolder folder;
  const PrivateKey rsa = new_rsa();
  const std::string pem = public_pem(rsa.get());
  LoginConfig config;
  config.algorithm = JwtAlgorithm::rs256;
  config.pem_file = folder.write("key.pem", pem);
  const auto verifier = make_verifier(config);
  EXPECT_EQ(verdict(*verifier, sign_with(*jose_rsa(rsa.get()), "RS256", good_claims)), "alice");
  // The classic confusion: HMAC with the public key's text.
  EXPECT_EQ(verdict(*verifier, sign_with(*secret_key(pem), "HS256", good_claims)), "wrong_algorithm");
  EXPECT_EQ(verdict(*verifier, sign_with(*jose_rsa(new_rsa().get()), "RS256", good_claims)), "bad_signature");
}

TEST(TokenVerifier, ReadsEcKeysFromPem) {
  const KeyFolder folder;
  const PrivateKey ec = new_ec();
  LoginConfig config;
  config.algorithm = JwtAlgorithm::es256;
  config.pem_file = folder.write("key.pem", public_pem(ec.get()));
  const auto verifier = make_verifier(config);
  EXPECT_EQ(verdict(*verifier, sign_with(*jose_ec(ec.get()), "ES256", good_claims)), "alice");
  EXPECT_EQ(verdict(*verifier, sign_with(*jose_ec(new_ec().get()), "ES256", good_claims)), "bad_signature");
}

TEST(TokenVerifier, ChoosesFromAKeySetByName) {
  const KeyFolder folder;
  const jose::Key first = jose_rsa(new_rsa().get());
  const jose::Key second = jose_rsa(new_rsa().get());
  const jose::Key curve = jose_ec(new_ec().get());
  LoginConfig config;
  config.algorithm = JwtAlgorithm::rs256;
  config.jwks_file =
      folder.write("keys.json", "{\"keys\":[" + public_jwk(*first, "k1") + "," + public_jwk(*curve, "ec") + "," +
                                    public_jwk(*second, "k2") + R"(,{"kty":"new"},7]})");
  const auto verifier = make_verifier(config);
  EXPECT_EQ(verdict(*verifier, sign_with(*first, "RS256", good_claims, "k1")), "alice");
  EXPECT_EQ(verdict(*verifier, sign_with(*second, "RS256", good_claims, "k2")), "alice");
  EXPECT_EQ(verdict(*verifier, sign_with(*second, "RS256", good_claims, "k1")), "bad_signature");
  EXPECT_EQ(verdict(*verifier, sign_with(*second, "RS256", good_claims, "ec")), "unknown_key");
  EXPECT_EQ(verdict(*verifier, sign_with(*second, "RS256", good_claims, "k3")), "unknown_key");
  EXPECT_EQ(verdict(*verifier, sign_with(*second, "RS256", good_claims)), "unknown_key");
}

TEST(TokenVerifier, UnusableKeyMaterialIsRefusedAtStart) {
  const KeyFolder folder;
  LoginConfig config;
  config.hs256_secret = "short";
  EXPECT_FALSE(TokenVerifier::make(config));
  config.algorithm = JwtAlgorithm::rs256;
  EXPECT_FALSE(TokenVerifier::make(config)) << "no file named";
  for (const std::string& text : {std::string{}, std::string{"hello"}, public_pem(new_ec().get()),
                                  public_pem(new_rsa(1'024).get()), std::string(100'000, 'a')}) {
    config.pem_file = folder.write("key.pem", text);
    EXPECT_FALSE(TokenVerifier::make(config));
  }
  config.pem_file = "/nowhere/key.pem";
  const auto missing = TokenVerifier::make(config);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("/nowhere/key.pem"), std::string::npos);
  config.pem_file.clear();
  for (const std::string_view text : {"", "{}", "[]", R"({"keys":[]})", R"({"keys":{}})", R"({"keys":[{"kty":"RSA"}]})",
                                      R"({"keys":[{"kty":"oct","k":"AAAA"}]})"}) {
    config.jwks_file = folder.write("keys.json", text);
    EXPECT_FALSE(TokenVerifier::make(config)) << text;
  }
}

TEST(TokenVerifier, TimesAreJudgedWithTheLeeway) {
  const auto verifier = make_verifier(hs256());
  const auto with = [&](const std::string& claims) {
    return verdict(*verifier, sign_hs256(R"({"sub":"alice",)" + claims + "}"));
  };
  EXPECT_EQ(with(R"("exp":1700000000)"), "alice") << "within the leeway";
  EXPECT_EQ(with(R"("exp":1699999971)"), "alice");
  EXPECT_EQ(with(R"("exp":1699999970)"), "expired");
  EXPECT_EQ(with(R"("exp":1700003600,"nbf":1700000030)"), "alice");
  EXPECT_EQ(with(R"("exp":1700003600,"nbf":1700000031)"), "not_yet_valid");
  EXPECT_EQ(with(R"("exp":1700003600,"nbf":"soon")"), "malformed");
  EXPECT_EQ(with(R"("iat":1700000000)"), "expired") << "a token that never ends is not accepted";
  for (const std::string_view exp : {"\"1700003600\"", "null", "true", "[]", "{}", "-1", "0", "1", "-1e300"}) {
    EXPECT_EQ(with("\"exp\":" + std::string{exp}), "expired") << exp;
  }
  for (const std::string_view exp :
       {"1700003600.5", "1.7000036e9", "1e300", "9223372036854775807", "18446744073709551615"}) {
    EXPECT_EQ(with("\"exp\":" + std::string{exp}), "alice") << exp;
  }
}

TEST(TokenVerifier, IssuerAudienceAndSubjectMustFit) {
  LoginConfig config = hs256();
  config.issuer = "https://login.example";
  config.audience = "shop";
  const auto verifier = make_verifier(config);
  const auto with = [&](const std::string& claims) {
    return verdict(*verifier, sign_hs256(R"({"exp":1700003600,)" + claims + "}"));
  };
  EXPECT_EQ(with(R"("sub":"alice","iss":"https://login.example","aud":"shop")"), "alice");
  EXPECT_EQ(with(R"("sub":"alice","iss":"https://login.example","aud":["x","shop"])"), "alice");
  EXPECT_EQ(with(R"("sub":"alice","aud":"shop")"), "wrong_issuer");
  EXPECT_EQ(with(R"("sub":"alice","iss":"https://login.example/","aud":"shop")"), "wrong_issuer");
  EXPECT_EQ(with(R"("sub":"alice","iss":"https://login.example","aud":["x"])"), "wrong_audience");
  EXPECT_EQ(with(R"("sub":"alice","iss":"https://login.example")"), "wrong_audience");
  const std::string rest = R"(,"iss":"https://login.example","aud":"shop")";
  for (const std::string_view sub : {"\"\"", "1", "null", "[\"alice\"]", "{}", "\"a\\nb\"", "\"a\\u0000\""}) {
    EXPECT_EQ(with("\"sub\":" + std::string{sub} + rest), "bad_subject") << sub;
  }
  EXPECT_EQ(with("\"sub\":\"" + std::string(65, 'a') + "\"" + rest), "bad_subject");
  EXPECT_EQ(with("\"Sub\":\"alice\"" + rest), "bad_subject");
  EXPECT_EQ(with(R"("sub":"alice","sub":"bob")" + rest), "malformed");
}

TEST(TokenVerifier, FS_31_NonsenseIsRefusedAndNothingFalls) {
  const auto verifier = make_verifier(hs256());
  const std::string good = sign_hs256(good_claims);
  ASSERT_EQ(verdict(*verifier, good), "alice");
  for (const std::string& token :
       {std::string{}, std::string{"."}, std::string{".."}, std::string{"..."}, std::string{"a.b.c"}, good + ".",
        good + "=", "." + good, good.substr(0, good.rfind('.')), good.substr(0, good.rfind('.') + 1),
        std::string(5'000, 'a'), std::string{"\xFF\xFE.\xC3\x28.\0", 7}, good + "A", good.substr(1)}) {
    EXPECT_NE(verdict(*verifier, token), "alice") << token;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string changed = good;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_NE(verdict(*verifier, changed), "alice") << at;
  }
  EXPECT_EQ(verdict(*verifier, sign_raw(R"({"alg":"HS256"})", "\xFF\xFE")), "malformed");
  EXPECT_EQ(verdict(*verifier, sign_raw(R"({"alg":"HS256"})", std::string(2'000, '['))), "malformed");
}

TEST(TokenCache, KnowsExactlyTheTokensPutIn) {
  TokenCache cache{1'024};
  const VerifiedToken alice{*model::BuyerId::parse("alice"), now};
  cache.put("a.b.c", alice);
  ASSERT_TRUE(cache.find("a.b.c"));
  EXPECT_EQ(cache.find("a.b.c")->buyer, alice.buyer);
  EXPECT_FALSE(cache.find("a.b.d"));
  EXPECT_FALSE(cache.find("a.b"));
  EXPECT_FALSE(cache.find(""));
  cache.put("a.b.c", {*model::BuyerId::parse("alice"), now + 1});
  EXPECT_EQ(cache.find("a.b.c")->expires_at, now + 1);
  cache.put(std::string(TokenCache::token_bytes_max + 1, 'x'), alice);
  EXPECT_EQ(cache.bytes(), 5U);
}

TEST(TokenCache, FS_49_StaysWithinItsBounds) {
  constexpr std::size_t bytes_max = 64 * 1'024;
  TokenCache cache{256, bytes_max};
  for (int i = 0; i < 20'000; ++i) {
    const std::string token = std::string(200, 'x') + std::to_string(i);
    cache.put(token, {*model::BuyerId::parse("u" + std::to_string(i)), now + i});
    const auto found = cache.find(token);
    ASSERT_TRUE(!found || found->buyer.view() == "u" + std::to_string(i));
  }
  EXPECT_LE(cache.bytes(), bytes_max);
  EXPECT_LE(cache.bytes(), std::size_t{256} * 206);
}

TEST(Base64url, IsStrict) {
  char out[64];
  const auto decode = [&](std::string_view text) -> std::optional<std::string> {
    const auto size = decode_base64url(text, out);
    if (!size) return std::nullopt;
    return std::string{out, *size};
  };
  for (const std::string_view text : {"", "f", "fo", "foo", "foob", "fooba", "foobar", "\xFF\xFE\xFD", "\0\0"}) {
    EXPECT_EQ(decode(base64url(text)), std::string{text});
  }
  for (const std::string_view bad :
       {"A", "AAAAA", "Zg==", "Zh", "Zm9=", "Z g", "Zm9+", "Zm9/", "Zm\n9", "\xFF\xFF\xFF\xFF"}) {
    EXPECT_EQ(decode(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(decode_base64url("AAAA", std::span<char>{out, 2}), std::nullopt);
}

TEST(SubjectPeek, TakesOnlyThePlainestPayloads) {
  EXPECT_EQ(flat_subject(R"({"sub":"alice"})"), "alice");
  EXPECT_EQ(flat_subject(" { \"exp\" : 17.5e3 , \"x\":true,\"y\":null, \"sub\" : \"alice\" ,\"iat\":-1 } "), "alice");
  EXPECT_EQ(flat_subject("{\"sub\":\"\xE5\xBC\xA0\"}"), "\xE5\xBC\xA0");
  for (const std::string_view text : {"",
                                      "{",
                                      "{}",
                                      "[]",
                                      R"({"sub":"alice")",
                                      R"({"sub":"alice"}x)",
                                      R"({"sub":"alice"}})",
                                      R"({"sub":"alice",})",
                                      R"({"sub":"a","sub":"b"})",
                                      R"({"sub":"al\u0069ce"})",
                                      R"({"x":"\"","sub":"alice"})",
                                      R"({"s\u0075b":"bob","sub":"alice"})",
                                      R"({"x":{"sub":"bob"},"sub":"alice"})",
                                      R"({"aud":["sub"],"sub":"alice"})",
                                      R"({"sub":1})",
                                      R"({"sub":null})",
                                      R"({"sub":["alice"]})",
                                      R"({"Sub":"alice"})",
                                      R"({"sub" "alice"})",
                                      R"({sub:"alice"})",
                                      R"({"sub":'alice'})",
                                      "{\"sub\":\"a\nb\"}",
                                      R"({"sub":"alice" "x":1})",
                                      R"({"x":,"sub":"alice"})",
                                      R"("sub":"alice")"}) {
    EXPECT_EQ(flat_subject(text), std::nullopt) << text;
  }
}

TEST(SubjectPeek, NeverReadsAnotherSubjectThanTheLogin) {
  const auto verifier = make_verifier(hs256());
  for (const std::string_view claims :
       {R"({"sub":"alice","exp":1700003600})", R"({"exp":1700003600,"aud":"sub","sub":"alice"})",
        R"({"exp":1700003600,"sub":"\u0061lice"})", R"({"exp":1700003600,"roles":["a"],"sub":"alice"})",
        R"({"exp":1700003600,"x":"\"sub\":\"bob\"","sub":"alice"})", R"({"exp":1700003600,"sub":"a b"})"}) {
    const std::string token = sign_raw(R"({"alg":"HS256"})", claims);
    const auto verified = verifier->verify(token, now);
    ASSERT_TRUE(verified) << claims;
    PeekBuffer buffer;
    const auto peeked = peek_subject(token, buffer);
    if (peeked) {
      EXPECT_EQ(*peeked, verified->buyer.view()) << claims;
    }
  }
  PeekBuffer buffer;
  EXPECT_EQ(peek_subject("a.b", buffer), std::nullopt);
  EXPECT_EQ(peek_subject("a." + base64url(R"({"sub":"alice"})") + ".c.d", buffer), std::nullopt);
  EXPECT_EQ(
      peek_subject("a." + base64url("{\"sub\":\"alice\",\"x\":\"" + std::string(2'000, 'x') + "\"}") + ".c", buffer),
      std::nullopt);
}

TEST(Login, ChecksASignatureOnceAndEndsWithTheToken) {
  base::ManualClock clock{now};
  GatewayCounters counters;
  Login login{make_verifier(hs256()), hs256(), clock, counters};
  const std::string header = "Bearer " + sign_hs256(good_claims);
  for (int i = 0; i < 3; ++i) {
    Glance glance;
    login.glance(header, glance);
    EXPECT_EQ(glance.subject, "alice");
    EXPECT_EQ(glance.verified.has_value(), i > 0);
    const auto buyer = login.confirm(glance);
    ASSERT_TRUE(buyer);
    EXPECT_EQ(buyer->view(), "alice");
  }
  EXPECT_EQ(counters.events(GatewayEvent::token_verified), 1U);
  EXPECT_EQ(counters.events(GatewayEvent::token_cache_hit), 2U);
  clock.advance(std::chrono::milliseconds{3'630'000});  // the token's hour and the leeway
  Glance glance;
  login.glance(header, glance);
  EXPECT_EQ(glance.subject, "alice") << "still good for a look that trusts nothing";
  const auto buyer = login.confirm(glance);
  ASSERT_FALSE(buyer);
  EXPECT_EQ(buyer.error(), TokenFault::expired);
}

TEST(Login, TakesTheTokenOfTheBearerSchemeAlone) {
  EXPECT_EQ(bearer_token("Bearer a.b.c"), "a.b.c");
  EXPECT_EQ(bearer_token("bEARER a.b.c"), "a.b.c");
  for (const std::string_view text :
       {"", "Bearer", "Bearer ", "a.b.c", "Basic a.b.c", "Bearer\ta.b.c", "BearerX a.b.c"}) {
    EXPECT_EQ(bearer_token(text), "") << text;
  }
}

}  // namespace
}  // namespace seckill::gateway

// The configuration: each bad key, number and secret has its sentence, all are told at once, and nothing weak passes
// outside demo mode.
#include "app/config.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace seckill::app {
namespace {

constexpr const char* token = "an-operator-token-of-enough-bytes-0123456789";
constexpr const char* secret = "a-login-secret-of-quite-enough-bytes-0123456789";

// A configuration that is sound outside demo mode, with `extra` lines at its top level.
std::string sound(const std::string& extra = {}) {
  return fmt::format("admin:\n  operator_token: {}\nlogin:\n  secret: {}\n{}", token, secret, extra);
}

Problems problems_of(const std::string& text, const ConfigOverrides& overrides = {}) {
  const auto config = parse_config(text, "c.yaml", overrides);
  return config ? Problems{} : config.error();
}

bool tells(const Problems& problems, std::string_view part) {
  return std::ranges::any_of(problems, [&](const Problem& one) { return one.text().find(part) != std::string::npos; });
}

std::string all_of(const Problems& problems) {
  std::string out;
  for (const Problem& one : problems) out += one.text() + "\n";
  return out;
}

class TempFile {
 public:
  explicit TempFile(const std::string& content) {
    std::string pattern = (std::filesystem::temp_directory_path() / "seckill-config-XXXXXX").string();
    const int file = ::mkstemp(pattern.data());
    if (file < 0) std::abort();
    ::close(file);
    path_ = pattern;
    std::ofstream{path_} << content;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Config, DefaultsAreTheDocumentedOnes) {
  const auto config = parse_config(sound(), "c.yaml", {});
  ASSERT_TRUE(config) << all_of(config.error());
  EXPECT_EQ(config->buyer.port, 8080);
  EXPECT_EQ(config->admin.address, "127.0.0.1");
  EXPECT_EQ(config->limits.buyer_bucket_capacity, 5);
  EXPECT_EQ(config->drain_delay, std::chrono::milliseconds{500});
  EXPECT_FALSE(config->demo);
}

// The sample documents every key: with a token and a secret put in, it is sound, and says what the defaults are.
TEST(Config, TheSampleFileIsSoundAndRepeatsTheDefaults) {
  const std::string sample = std::string{SECKILL_SOURCE_DIR} + "/examples/seckill.yaml";
  ConfigOverrides overrides;
  overrides.operator_token = token;
  overrides.login_secret = secret;
  const auto config = load_config(sample, overrides);
  ASSERT_TRUE(config) << all_of(config.error());
  const Config defaults;
  EXPECT_EQ(config->data_dir, defaults.data_dir);
  EXPECT_EQ(config->drain_delay, defaults.drain_delay);
  EXPECT_EQ(config->drain_limit, defaults.drain_limit);
  EXPECT_EQ(config->lanes_after_end, defaults.lanes_after_end);
  for (const auto& [read, usual] :
       {std::pair{config->buyer, defaults.buyer}, std::pair{config->admin, defaults.admin}}) {
    EXPECT_EQ(read.address, usual.address);
    EXPECT_EQ(read.port, usual.port);
    EXPECT_EQ(read.threads, usual.threads);
    EXPECT_EQ(read.connections_max, usual.connections_max);
    EXPECT_EQ(read.connections_per_address_max, usual.connections_per_address_max);
    EXPECT_EQ(read.header_timeout, usual.header_timeout);
    EXPECT_EQ(read.body_timeout, usual.body_timeout);
    EXPECT_EQ(read.idle_timeout, usual.idle_timeout);
  }
  EXPECT_EQ(config->limits.buyer_bucket_per_s, defaults.limits.buyer_bucket_per_s);
  EXPECT_EQ(config->limits.buyer_calls_capacity, defaults.limits.buyer_calls_capacity);
  EXPECT_EQ(config->log.level, defaults.log.level);
}

TEST(Config, TellsEveryProblemAtOnceWithFileLineKeyAndWhatIsValid) {
  const auto problems = problems_of(
      "demo: yes\n"
      "buyer:\n"
      "  port: 99999\n"
      "  prot: 1\n"
      "  threads: -1\n"
      "drain_delay: 5\n"
      "log:\n"
      "  level: loud\n"
      "  level: info\n"
      "limits: 7\n");
  const std::string told = all_of(problems);
  for (const char* part :
       {"c.yaml:1: demo: yes is neither true nor false",
        "c.yaml:3: buyer.port: 99999 is not a whole number from 0 to 65535",
        "c.yaml:4: buyer.prot: is not a known key; known here: address, port", "c.yaml:5: buyer.threads: -1 is not",
        "c.yaml:6: drain_delay: 5 is not a length of time from 0s to 5m, written like 500ms",
        "c.yaml:8: log.level: loud is none of: debug, info, warn, error", "c.yaml:9: log.level: is written twice",
        "c.yaml:10: limits: must be a map", "admin.operator_token: is missing", "login.secret: is missing"}) {
    EXPECT_NE(told.find(part), std::string::npos) << part << "\nin\n" << told;
  }
  EXPECT_EQ(problems.size(), 10u) << told;
}

TEST(Config, FS_50_LimitsOutOfRangeAreRefusedAndZeroIsAllowed) {
  for (const char* number : {"-1", "1.5", "abc", "1e3", "0x10", "+1", "9223372036854775807", "9223372036854775808",
                             "99999999999999999999", "''", "[]", "~x"}) {
    EXPECT_TRUE(tells(problems_of(sound(fmt::format("limits:\n  buyer_bucket_capacity: {}\n", number))),
                      "limits.buyer_bucket_capacity: "))
        << number;
  }
  for (const char* number : {"-0.1", "0", "0.0001", "1000001", "1,5", ".5", "5.", "1e3", "nan", "inf", "0x1"}) {
    EXPECT_TRUE(
        tells(problems_of(sound(fmt::format("limits:\n  buyer_bucket_per_s: {}\n", number))), "buyer_bucket_per_s: "))
        << number;
  }
  const auto config =
      parse_config(sound("limits:\n  buyer_bucket_capacity: 0\n  buyer_bucket_per_s: 0.125\n"), "c.yaml", {});
  ASSERT_TRUE(config) << all_of(config.error());
  EXPECT_EQ(config->limits.buyer_bucket_capacity, 0);
  EXPECT_DOUBLE_EQ(config->limits.buyer_bucket_per_s, 0.125);
}

TEST(Config, WeakAndPublishedSecretsAreRefusedOutsideDemoMode) {
  for (const char* weak :
       {"changeme", "0123456789abcdef0123456789abcdef", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "replace-this-operator-token-with-your-own", "\"a secret with spaces, long enough to count\""}) {
    const std::string text = fmt::format("admin:\n  operator_token: {}\nlogin:\n  secret: {}\n", weak, secret);
    const auto problems = problems_of(text);
    ASSERT_EQ(problems.size(), 1u) << weak << all_of(problems);
    EXPECT_EQ(problems.front().key, "admin.operator_token");
    EXPECT_EQ(problems.front().text().find(weak), std::string::npos) << "a secret is never shown";
    const auto demo = parse_config("demo: true\n" + text, "c.yaml", {});
    ASSERT_TRUE(demo) << all_of(demo.error());
    EXPECT_EQ(demo->warnings.size(), 1u);
  }
}

TEST(Config, DemoModeDrawsWhatIsMissingAnewEachTimeAndStaysOnThisMachine) {
  const auto one = parse_config("demo: true\n", "c.yaml", {});
  const auto two = parse_config("demo: true\n", "c.yaml", {});
  ASSERT_TRUE(one && two);
  EXPECT_TRUE(one->operator_token_drawn && one->login_secret_drawn);
  EXPECT_NE(one->operator_token.reveal(), two->operator_token.reveal());
  EXPECT_NE(one->login.hs256_secret, two->login.hs256_secret);
  EXPECT_FALSE(secret_weakness(one->operator_token.reveal()));
  EXPECT_EQ(one->buyer.address, "127.0.0.1");
  EXPECT_EQ(parse_config("demo: true\nbuyer:\n  address: 0.0.0.0\n", "c.yaml", {})->buyer.address, "0.0.0.0");
}

TEST(Config, SecretsComeFromFilesOrTheEnvironmentAndLoseTheirLineEnd) {
  const TempFile file{std::string{token} + "\n"};
  ConfigOverrides overrides;
  overrides.login_secret = secret;
  const auto config = parse_config("admin:\n  operator_token_file: " + file.path() + "\n", "c.yaml", overrides);
  ASSERT_TRUE(config) << all_of(config.error());
  EXPECT_EQ(config->operator_token.reveal(), token);
  EXPECT_EQ(config->login.hs256_secret, secret);
  const auto both = problems_of(fmt::format(
      "admin:\n  operator_token: {}\n  operator_token_file: {}\nlogin:\n  secret: {}\n", token, file.path(), secret));
  EXPECT_TRUE(tells(both, "give operator_token or operator_token_file, not both"));
  const auto missing = problems_of("admin:\n  operator_token_file: /nonexistent/token\n", overrides);
  EXPECT_TRUE(tells(missing, "/nonexistent/token cannot be read: No such file"));
  EXPECT_EQ(missing.size(), 1u);
}

TEST(Config, TheLoginsKeyFitsItsAlgorithm) {
  const std::string admin = fmt::format("admin:\n  operator_token: {}\n", token);
  EXPECT_TRUE(tells(problems_of(admin + "login:\n  alg: none\n"), "none is none of: HS256, RS256, ES256"));
  EXPECT_TRUE(tells(problems_of(admin + "login:\n  alg: RS256\n"), "RS256 takes either pem_file or jwks_file"));
  EXPECT_TRUE(tells(problems_of(admin + fmt::format("login:\n  alg: ES256\n  secret: {}\n", secret)), "is for HS256"));
  EXPECT_TRUE(tells(problems_of(admin + fmt::format("login:\n  secret: {}\n  pem_file: x.pem\n", secret)),
                    "pem_file: is for RS256 and ES256"));
  const TempFile garbage{"-----BEGIN PUBLIC KEY-----\nnope\n"};
  EXPECT_TRUE(
      tells(problems_of(admin + "login:\n  alg: RS256\n  pem_file: " + garbage.path() + "\n"), "login.pem_file: "));
  EXPECT_TRUE(tells(problems_of(admin + "login:\n  alg: RS256\n  jwks_file: /nonexistent\n"), "login.jwks_file: "));
}

TEST(Config, WhatIsNoYamlIsToldWithItsLine) {
  EXPECT_TRUE(tells(problems_of("buyer:\n  port: [1\n"), "is not valid YAML"));
  EXPECT_TRUE(tells(problems_of("\xff"), "is not valid UTF-8"));
  EXPECT_TRUE(tells(problems_of("- 1\n- 2\n"), "must be a map"));
  EXPECT_TRUE(tells(problems_of("a: &a [x]\nb: [*a, *a]\n? [1]\n: 2\n"), "a key must be a plain word"));
  std::string deep = "a: ";
  for (int i = 0; i < 40; ++i) deep += "[";
  for (int i = 0; i < 40; ++i) deep += "]";
  EXPECT_TRUE(tells(problems_of(deep), "nested too deeply"));
  std::string laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 8; ++i) {
    laughs += fmt::format("a{0}: &a{0} [*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1}]\n", i, i - 1);
  }
  EXPECT_TRUE(tells(problems_of(laughs), "nested too deeply")) << "aliases cannot blow the reading up";
  const auto missing = load_config("/nonexistent.yaml", {});
  ASSERT_FALSE(missing);
  EXPECT_TRUE(tells(missing.error(), "/nonexistent.yaml: cannot be read: No such file"));
}

TEST(Config, TheCommandLineWinsAndIsCheckedToo) {
  ConfigOverrides overrides;
  overrides.port = 0;
  overrides.admin_port = 70'000;
  overrides.data_dir = "/elsewhere";
  EXPECT_TRUE(tells(problems_of(sound(), overrides), "--admin-port: 70000 is not a port"));
  overrides.admin_port = 9'000;
  const auto config = parse_config(sound("data_dir: here\n"), "c.yaml", overrides);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->buyer.port, 0);
  EXPECT_EQ(config->admin.port, 9'000);
  EXPECT_EQ(config->data_dir, "/elsewhere");
  overrides.port = 9'000;
  EXPECT_TRUE(tells(problems_of(sound(), overrides), "they must differ"));
}

}  // namespace
}  // namespace seckill::app

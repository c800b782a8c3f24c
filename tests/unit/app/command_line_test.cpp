// The operator's commands against a server in this process: what they print and how they end (0 done, 1 refused, 2
// usage).
#include "app/command_line.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "app/embedded.hpp"
#include "unit/orders/shop.hpp"

namespace seckill::app {
namespace {

constexpr const char* token = "an-operator-token-of-enough-bytes-0123456789";
constexpr const char* secret = "a-login-secret-of-quite-enough-bytes-0123456789";

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

Ran ran(std::vector<std::string> words) {
  words.insert(words.begin(), "seckill");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Ran result;
  result.code = run(static_cast<int>(arguments.size()), arguments.data());
  result.out = ::testing::internal::GetCapturedStdout();
  result.err = ::testing::internal::GetCapturedStderr();
  return result;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class Commands : public ::testing::Test {
 protected:
  Commands() {
    ::setenv("SECKILL_OPERATOR_TOKEN", token, 1);
    ::setenv("SECKILL_LOGIN_SECRET", secret, 1);
    ConfigOverrides overrides = overrides_from_environment();
    overrides.port = 0;
    overrides.admin_port = 0;
    overrides.data_dir = folder_.path() + "/data";
    server_ = std::make_unique<EmbeddedServer>(*parse_config("demo: true\ndrain_delay: 0s\n", "c.yaml", overrides));
    const auto started = server_->start();
    EXPECT_TRUE(started) << started.error().text();
  }
  ~Commands() override {
    ::unsetenv("SECKILL_OPERATOR_TOKEN");
    ::unsetenv("SECKILL_LOGIN_SECRET");
  }
  // With the running server's address.
  Ran call(std::vector<std::string> words) {
    words.insert(words.end(), {"--admin", fmt::format("127.0.0.1:{}", server_->admin_port())});
    return ran(std::move(words));
  }
  std::string file(const std::string& name, const std::string& content) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream{path} << content;
    return path;
  }

  test::TempFolder folder_;
  std::unique_ptr<EmbeddedServer> server_;
};

TEST_F(Commands, ASaleFromItsFileToItsEnd) {
  const std::string sample = std::string{SECKILL_SOURCE_DIR} + "/examples/goods.yaml";
  const Ran created = call({"sale", "create", "-f", sample});
  EXPECT_EQ(created.code, 0) << created.err;
  EXPECT_TRUE(has(created.out, "goods, draft (now not_started), version 1")) << created.out;
  const Ran twice = call({"sale", "create", "-f", sample});
  EXPECT_EQ(twice.code, 1);
  EXPECT_TRUE(has(twice.err, "a sale with this id exists")) << twice.err;
  EXPECT_EQ(call({"sale", "create", "-f", sample, "--id", "other"}).code, 0);
  EXPECT_EQ(call({"sale", "preload", "demo-goods"}).code, 0);
  const Ran more = call({"sale", "top-up", "demo-goods", "phone", "10", "--id", "t1"});
  EXPECT_TRUE(has(more.out, "moved 10: total 110, pool 0, available 110")) << more.out;
  EXPECT_TRUE(has(call({"sale", "top-up", "demo-goods", "phone", "10", "--id", "t1"}).out, "done before"));
  EXPECT_TRUE(has(call({"sale", "reduce", "demo-goods", "phone", "30"}).out, "taken 30: total 80"));
  const std::string edit = file("edit.yaml", "version: 2\ntitle: 新的\nitems:\n  - sku: phone\n    limit: 2\n");
  EXPECT_TRUE(has(call({"sale", "edit", "demo-goods", "-f", edit}).out, "demo-goods  新的"));
  EXPECT_EQ(call({"sale", "edit", "demo-goods", "-f", edit}).code, 1) << "stale";
  EXPECT_TRUE(has(call({"sale", "pause", "demo-goods"}).out, "paused"));
  EXPECT_TRUE(has(call({"sale", "list"}).out, "demo-goods  goods  paused"));
  EXPECT_TRUE(has(call({"sale", "show", "demo-goods", "--json"}).out, R"("state":"paused")"));
  EXPECT_EQ(call({"sale", "close", "demo-goods"}).code, 0);
  EXPECT_EQ(call({"sale", "resume", "demo-goods"}).code, 1);
  EXPECT_EQ(call({"orders", "list", "--sale", "demo-goods"}).code, 0);
  EXPECT_EQ(call({"order", "show", "00000000000000000000000001"}).code, 1);
  EXPECT_EQ(call({"backup", "--to", folder_.path() + "/copy.db"}).code, 0);
}

TEST_F(Commands, EveryProblemOfAFileIsPrinted) {
  const Ran refused =
      call({"sale", "create", "-f", file("bad.yaml", "id: a b\ntitle: t\nstarts_at: noon\nitems: []\n")});
  EXPECT_EQ(refused.code, 1);
  for (const char* part : {"id must be", "starts_at \"noon\" is no instant", "ends_at is missing", "number of items"}) {
    EXPECT_TRUE(has(refused.err, part)) << part << refused.err;
  }
  EXPECT_EQ(call({"sale", "create", "-f", "/nonexistent.yaml"}).code, 2);
}

TEST_F(Commands, WithoutATokenOrAServerTheSentenceSaysWhatToDo) {
  ::setenv("SECKILL_OPERATOR_TOKEN", "another-operator-token-of-enough-bytes-01234", 1);
  EXPECT_TRUE(has(call({"sale", "list"}).err, "token is missing or wrong"));
  ::unsetenv("SECKILL_OPERATOR_TOKEN");
  const Ran missing = call({"sale", "list"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(has(missing.err, "set SECKILL_OPERATOR_TOKEN"));
  ::setenv("SECKILL_OPERATOR_TOKEN", token, 1);
  const Ran nobody = ran({"sale", "list", "--admin", "127.0.0.1:1"});
  EXPECT_EQ(nobody.code, 1);
  EXPECT_TRUE(has(nobody.err, "Is `seckill serve` running there?")) << nobody.err;
}

TEST_F(Commands, TestLoginsAreMadeForHs256Only) {
  const Ran made = ran({"token", "--buyer", "张三", "--ttl", "1h"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(std::ranges::count(made.out, '.'), 2);
  EXPECT_EQ(ran({"token", "--buyer", "a\nb"}).code, 2);
  EXPECT_EQ(ran({"token", "--buyer", "a", "--ttl", "forever"}).code, 2);
  ::unsetenv("SECKILL_LOGIN_SECRET");
  EXPECT_TRUE(has(ran({"token", "--buyer", "a"}).err, "the login secret is missing"));
}

TEST(CommandLine, WrongUsageEndsWithTwo) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"frobnicate"},
                                                {"serve", "--nope"},
                                                {"sale"},
                                                {"sale", "top-up", "a", "b", "0"},
                                                {"sale", "top-up", "a", "b", "-5"},
                                                {"sale", "top-up", "a", "b", "x"},
                                                {"orders", "list", "--limit", "0"},
                                                {"serve", "--config", "/nonexistent.yaml"},
                                                {"config", "check", "/nonexistent.yaml"}}) {
    const Ran result = ran(words);
    EXPECT_EQ(result.code, 2) << fmt::format("{}", fmt::join(words, " "));
    EXPECT_FALSE(result.err.empty());
  }
  EXPECT_EQ(ran({"--help"}).code, 0);
  EXPECT_TRUE(ran({"version"}).out.starts_with("seckill "));
}

TEST(CommandLine, ConfigCheckPrintsEveryProblem) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/c.yaml";
  std::ofstream{path} << "demo: true\nbuyer:\n  port: x\n  speed: 9\n";
  const Ran bad = ran({"config", "check", path});
  EXPECT_EQ(bad.code, 2);
  EXPECT_TRUE(has(bad.err, "2 problems")) << bad.err;
  std::ofstream{path} << "demo: true\n";
  EXPECT_TRUE(has(ran({"config", "check", path}).out, "is in order"));
}

}  // namespace
}  // namespace seckill::app

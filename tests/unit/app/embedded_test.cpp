// The embedded server in process: it starts, sells, stops in order with nothing lost (FS-43), and says what is wrong
// when it cannot start.
#include "app/embedded.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/json.hpp"
#include "drivers/http_client.hpp"
#include "gateway/login/token_signer.hpp"
#include "unit/orders/shop.hpp"

namespace seckill::app {
namespace {

constexpr const char* token = "an-operator-token-of-enough-bytes-0123456789";
constexpr const char* secret = "a-login-secret-of-quite-enough-bytes-0123456789";

Config config_in(const std::string& folder) {
  ConfigOverrides overrides;
  overrides.operator_token = token;
  overrides.login_secret = secret;
  overrides.port = 0;
  overrides.admin_port = 0;
  overrides.data_dir = folder + "/data";
  auto config = parse_config("demo: true\ndrain_delay: 0s\nbuyer: {threads: 2}\nlimits: {buyer_calls_capacity: 1000}\n",
                             "c.yaml", overrides);
  EXPECT_TRUE(config);
  return *config;
}

struct Answer {
  int status = 0;
  std::string body;
};

Answer call(drivers::HttpClient& client, std::uint16_t port, const std::string& method, const std::string& path,
            const std::string& body = {}, std::vector<std::string> headers = {}) {
  const auto response = client.send({.method = method,
                                     .url = fmt::format("http://127.0.0.1:{}{}", port, path),
                                     .headers = std::move(headers),
                                     .body = body,
                                     .timeout = std::chrono::seconds{60}});
  return response ? Answer{response->status, response->body} : Answer{0, response.error().text()};
}

std::vector<std::string> operator_login() { return {std::string{"Authorization: Bearer "} + token}; }

void make_sale(std::uint16_t admin_port, const std::string& id, std::int64_t total) {
  drivers::HttpClient client;
  const base::UtcMs now = base::SystemClock{}.now_utc();
  const std::string sale =
      fmt::format(R"({{"id":"{}","title":"t","starts_at":{},"ends_at":{},"items":[{{"sku":"tea","title":"t",)"
                  R"("price_minor":100,"total":{}}}]}})",
                  id, now - 1'000, now + 3'600'000, total);
  ASSERT_EQ(call(client, admin_port, "POST", "/admin/v1/sales", sale, operator_login()).status, 201);
  ASSERT_EQ(call(client, admin_port, "POST", "/admin/v1/sales/" + id + "/preload", {}, operator_login()).status, 200);
}

std::string field(const std::string& body, std::string_view key) {
  const auto json = base::parse_json(body);
  if (!json || !json->is_object()) return {};
  const auto* found = json->get_object().if_contains(boost::json::string_view{key.data(), key.size()});
  return found != nullptr && found->is_string() ? std::string{found->get_string()} : std::string{};
}

class Buyer {
 public:
  explicit Buyer(std::string name) : name_{std::move(name)} {
    const auto signer = gateway::TokenSigner::make(secret);
    token_ = *(*signer)->sign(*model::BuyerId::parse(name_), base::SystemClock{}.now_utc(), std::chrono::hours{1});
  }
  Answer buy(std::uint16_t port, const std::string& sale) {
    return call(client_, port, "POST", "/api/v1/sales/" + sale + "/items/tea/purchases", R"({"quantity":1})",
                {"Authorization: Bearer " + token_, "Idempotency-Key: click-" + name_});
  }
  Answer outcome(std::uint16_t port, const std::string& sale, const std::string& ticket) {
    return call(client_, port, "GET", "/api/v1/sales/" + sale + "/items/tea/tickets/" + ticket, {},
                {"Authorization: Bearer " + token_});
  }

 private:
  std::string name_;
  std::string token_;
  drivers::HttpClient client_;
};

TEST(EmbeddedServer, FS_43_WhatWasAcknowledgedBeforeAndDuringAStopIsThereAfterwards) {
  const test::TempFolder folder;
  std::vector<std::pair<std::string, std::string>> accepted;  // buyer, ticket
  {
    EmbeddedServer server{config_in(folder.path())};
    const auto started = server.start();
    ASSERT_TRUE(started) << started.error().text();
    make_sale(server.admin_port(), "s1", 10'000);
    std::atomic<bool> stopping{false};
    std::atomic<int> bought{0};
    std::mutex mutex;
    std::vector<std::thread> crowd;
    for (int i = 0; i < 4; ++i) {
      crowd.emplace_back([&, i, port = server.buyer_port()] {
        for (int n = 0; n < 5'000; ++n) {
          const std::string name = fmt::format("b{}-{}", i, n);
          const Answer answer = Buyer{name}.buy(port, "s1");
          if (answer.status == 0 && stopping) return;  // refused by the system: the port is closed
          if (answer.status != 202) continue;
          ++bought;
          const std::lock_guard lock{mutex};
          accepted.emplace_back(name, field(answer.body, "ticket"));
        }
      });
    }
    while (bought < 50) std::this_thread::yield();
    stopping = true;
    EXPECT_TRUE(server.stop());
    for (std::thread& thread : crowd) thread.join();
  }
  EmbeddedServer again{config_in(folder.path())};
  const auto started = again.start();
  ASSERT_TRUE(started) << started.error().text();
  for (const auto& [buyer, ticket] : accepted) {
    const Answer outcome = Buyer{buyer}.outcome(again.buyer_port(), "s1", ticket);
    ASSERT_EQ(outcome.status, 200) << outcome.body;
    EXPECT_EQ(field(outcome.body, "state"), "ordered");
  }
}

TEST(EmbeddedServer, FS_53_ANewSaleAndAnEditAreSeenByTheNextQuestion) {
  const test::TempFolder folder;
  EmbeddedServer server{config_in(folder.path())};
  ASSERT_TRUE(server.start());
  drivers::HttpClient client;
  const auto show = [&] { return call(client, server.buyer_port(), "GET", "/api/v1/sales/s1"); };
  EXPECT_EQ(show().status, 404);
  make_sale(server.admin_port(), "s1", 10);
  EXPECT_EQ(show().status, 200) << "that it was not there before is not remembered against it";
  const Answer edited = call(client, server.admin_port(), "PATCH", "/admin/v1/sales/s1",
                             R"({"version":2,"title":"renamed"})", operator_login());
  ASSERT_EQ(edited.status, 200) << edited.body;
  EXPECT_EQ(field(show().body, "title"), "renamed");
}

TEST(EmbeddedServer, ASecondServerOnTheSameFolderIsRefused) {
  const test::TempFolder folder;
  EmbeddedServer first{config_in(folder.path())};
  ASSERT_TRUE(first.start());
  EmbeddedServer second{config_in(folder.path())};
  const auto refused = second.start();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Errc::refused) << refused.error().text();
}

TEST(EmbeddedServer, ATakenPortIsNamedAndEverythingBegunIsUndone) {
  const test::TempFolder one;
  const test::TempFolder two;
  EmbeddedServer first{config_in(one.path())};
  ASSERT_TRUE(first.start());
  for (const bool buyer : {true, false}) {
    Config config = config_in(two.path());
    (buyer ? config.buyer : config.admin).port = buyer ? first.buyer_port() : first.admin_port();
    EmbeddedServer second{config};
    const auto refused = second.start();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find(fmt::format("{}", buyer ? first.buyer_port() : first.admin_port())),
              std::string::npos)
        << refused.error().text();
  }
  EmbeddedServer third{config_in(two.path())};
  EXPECT_TRUE(third.start()) << "the folder was given up";
}

TEST(EmbeddedServer, AnAddressThisMachineDoesNotHaveAndAFolderThatIsNoneAreSaid) {
  const test::TempFolder folder;
  Config config = config_in(folder.path());
  config.buyer.address = "192.0.2.1";
  const auto no_address = EmbeddedServer{config}.start();
  ASSERT_FALSE(no_address);
  EXPECT_NE(no_address.error().text().find("192.0.2.1"), std::string::npos) << no_address.error().text();
  config = config_in(folder.path());
  config.data_dir = "/proc/self/status";
  const auto no_folder = EmbeddedServer{config}.start();
  ASSERT_FALSE(no_folder);
  EXPECT_NE(no_folder.error().text().find("/proc/self/status"), std::string::npos) << no_folder.error().text();
}

TEST(EmbeddedServer, StoppingBeforeStartingAndTwiceIsHarmless) {
  const test::TempFolder folder;
  {
    const EmbeddedServer never{config_in(folder.path())};
  }
  EmbeddedServer server{config_in(folder.path())};
  ASSERT_TRUE(server.start());
  EXPECT_TRUE(server.stop());
  EXPECT_TRUE(server.stop());
}

}  // namespace
}  // namespace seckill::app

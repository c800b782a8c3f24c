// FS-21, P9: a process that holds one sale after another does not grow. A real server sells a whole sale to a crowd
// over HTTP, some of whom pay, cancel or walk away; the sale is closed, its last orders expire, its lanes are given
// back; and then the live heap is where it was before. A first sale, not judged, fills what is filled once: caches and
// pools.
//
// Live bytes of the heap are counted, not resident memory, which an allocator keeps for itself. The store's page caches
// are left out: they are bounded (store/sqlite/open.cpp) and fill over many sales.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sqlite3.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "app/embedded.hpp"
#include "base/json.hpp"
#include "drivers/http_client.hpp"
#include "gateway/login/token_signer.hpp"
#include "unit/orders/shop.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#include <sanitizer/allocator_interface.h>
#define SECKILL_SANITIZER_COUNTS_HEAP 1
#endif
#endif

namespace seckill::app {
namespace {

constexpr const char* operator_token = "an-operator-token-of-enough-bytes-0123456789";
constexpr const char* login_secret = "a-login-secret-of-quite-enough-bytes-0123456789";
constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
constexpr std::int64_t growth_max = 2 * mebibyte;
constexpr std::int64_t page_caches_max = (64 + 5 * 16) * mebibyte;  // one writer, five readers
constexpr int crowd_threads = 4;
constexpr int buyers = 1'000;
constexpr int quantity_each = 3;
constexpr std::int64_t units = 1'500;

std::int64_t heap_bytes() {
#ifdef SECKILL_SANITIZER_COUNTS_HEAP
  const auto all = static_cast<std::int64_t>(__sanitizer_get_current_allocated_bytes());
#else
  const struct mallinfo2 info = mallinfo2();
  const auto all = static_cast<std::int64_t>(info.uordblks + info.hblkhd);
#endif
  return all - sqlite3_memory_used();
}

std::string in_mib(std::int64_t bytes) {
  return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / static_cast<double>(mebibyte));
}

// Waits for a condition that must come; false when it never does.
template <typename Condition>
bool wait_until(Condition condition) {
  const auto give_up = std::chrono::steady_clock::now() + test::patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  return true;
}

struct Answer {
  int status = 0;
  std::string body;
  [[nodiscard]] std::string text(std::string_view key) const {
    const auto json = base::parse_json(body);
    return json && json->is_object() ? base::text_of(json->get_object(), key) : std::string{};
  }
};

Answer call(drivers::HttpClient& client, std::uint16_t port, const std::string& method, const std::string& path,
            const std::string& body, std::vector<std::string> headers) {
  const auto response = client.send({.method = method,
                                     .url = fmt::format("http://127.0.0.1:{}{}", port, path),
                                     .headers = std::move(headers),
                                     .body = body,
                                     .timeout = std::chrono::seconds{60}});
  return response ? Answer{response->status, response->body} : Answer{0, response.error().text()};
}

class SalesInARow : public testing::Test {
 protected:
  void SetUp() override {
    ConfigOverrides overrides;
    overrides.operator_token = operator_token;
    overrides.login_secret = login_secret;
    overrides.port = 0;
    overrides.admin_port = 0;
    overrides.data_dir = folder_.path() + "/data";
    const auto config = parse_config(
        "demo: true\ndrain_delay: 0s\nbuyer: {threads: 2}\nkeeping: {lanes_after_end: 100ms}\n"
        "limits: {buyer_bucket_capacity: 1000, buyer_calls_capacity: 1000}\nlog: {level: warn}\n",
        "c.yaml", overrides);
    ASSERT_TRUE(config);
    server_ = std::make_unique<EmbeddedServer>(*config);
    const auto started = server_->start();
    ASSERT_TRUE(started) << started.error().text();
    const auto signer = gateway::TokenSigner::make(login_secret);
    for (int i = 0; i < buyers; ++i) {
      tokens_.push_back(*(*signer)->sign(*model::BuyerId::parse(fmt::format("regular-{}", i)),
                                         base::SystemClock{}.now_utc(), std::chrono::hours{1}));
    }
  }

  Answer admin(const std::string& method, const std::string& path, const std::string& body = {}) {
    return call(operator_, server_->admin_port(), method, path, body,
                {std::string{"Authorization: Bearer "} + operator_token});
  }
  Answer buy(drivers::HttpClient& client, const std::string& sale, int buyer, std::string_view request,
             int quantity = quantity_each) {
    return call(client, server_->buyer_port(), "POST", fmt::format("/api/v1/sales/{}/items/tea/purchases", sale),
                fmt::format(R"({{"quantity":{}}})", quantity),
                {"Authorization: Bearer " + tokens_[static_cast<std::size_t>(buyer)],
                 fmt::format("Idempotency-Key: {}", request)});
  }
  Answer end(drivers::HttpClient& client, int buyer, const std::string& ticket, std::string_view how) {
    return call(client, server_->buyer_port(), "POST", fmt::format("/api/v1/orders/{}/{}", ticket, how), {},
                {"Authorization: Bearer " + tokens_[static_cast<std::size_t>(buyer)]});
  }

  // "socks" is stock that nobody asks for: its lanes are what a sale of 100,000 units takes.
  void open(const std::string& sale) {
    const base::UtcMs now = base::SystemClock{}.now_utc();
    const std::string body =
        fmt::format(R"({{"id":"{}","title":"t","starts_at":{},"ends_at":{},"items":[)"
                    R"({{"sku":"tea","title":"t","price_minor":100,"total":{},"limit":{},"pay_window_ms":1500}},)"
                    R"({{"sku":"socks","title":"s","price_minor":100,"total":100000,"pay_window_ms":1500}}]}})",
                    sale, now - 1'000, now + 3'600'000, units, quantity_each);
    ASSERT_EQ(admin("POST", "/admin/v1/sales", body).status, 201);
    ASSERT_EQ(admin("POST", "/admin/v1/sales/" + sale + "/preload").status, 200);
  }

  // A third of the winners pays, a third cancels, a third lets the order expire.
  void let_the_crowd_in(const std::string& sale) {
    std::vector<std::jthread> crowd;
    for (int t = 0; t < crowd_threads; ++t) {
      crowd.emplace_back([this, &sale, t] {
        drivers::HttpClient client;
        for (int buyer = t; buyer < buyers; buyer += crowd_threads) shop(client, sale, buyer);
      });
    }
  }
  void shop(drivers::HttpClient& client, const std::string& sale, int buyer) {
    Answer answer = buy(client, sale, buyer, "click");
    for (int again = 0; answer.status == 503 && again < 100; ++again) answer = buy(client, sale, buyer, "click");
    const std::string ticket = answer.text("ticket");
    if (ticket.empty()) {
      if (answer.status == 409) ++refused_;
      return;
    }
    if (buyer % 3 == 0 && end(client, buyer, ticket, "pay").status == 200) ++paid_;
    if (buyer % 3 == 1 && end(client, buyer, ticket, "cancel").status == 200) ++cancelled_;
    const std::scoped_lock lock{mutex_};
    tickets_.insert_or_assign(buyer, ticket);
  }

  // The whole life of a sale; the live heap at its height.
  std::int64_t hold(const std::string& sale) {
    tickets_.clear();
    paid_ = cancelled_ = refused_ = 0;
    open(sale);
    let_the_crowd_in(sale);
    const std::int64_t height = heap_bytes();
    EXPECT_EQ(admin("POST", "/admin/v1/sales/" + sale + "/close").status, 200);
    EXPECT_TRUE(wait_until([&] { return admin("GET", "/metrics").body.contains("\nseckill_items_installed 0\n"); }))
        << "the lanes of sale " << sale << " stay";
    EXPECT_TRUE(wait_until([&] { return admin("GET", verdict_of(sale)).body.contains("\"drained\":true"); }));
    EXPECT_TRUE(admin("GET", verdict_of(sale)).body.contains("\"holds\":true")) << admin("GET", verdict_of(sale)).body;
    EXPECT_GT(paid_, 0);
    EXPECT_GT(cancelled_, 0);
    EXPECT_GE(static_cast<std::int64_t>(tickets_.size()), units / quantity_each);
    expect_everybody_keeps_his_ticket(sale);
    return height;
  }
  static std::string verdict_of(const std::string& sale) { return "/admin/v1/sales/" + sale + "/verdict"; }

  void expect_everybody_keeps_his_ticket(const std::string& sale) {
    drivers::HttpClient client;
    int asked = 0;
    for (const auto& [buyer, ticket] : tickets_) {
      if (++asked > 30) break;
      const Answer again = buy(client, sale, buyer, "click");
      EXPECT_EQ(again.status, 200) << "P4: " << again.body;
      EXPECT_EQ(again.text("ticket"), ticket);
      EXPECT_EQ(buy(client, sale, buyer, "click", 2).text("reason"), "request_conflict");
      EXPECT_EQ(buy(client, sale, buyer, "another").text("reason"), "ended");
    }
  }

  test::TempFolder folder_;
  std::unique_ptr<EmbeddedServer> server_;
  drivers::HttpClient operator_;
  std::vector<std::string> tokens_;  // logins, a buyer: the same people come to every sale
  std::mutex mutex_;
  std::map<int, std::string> tickets_;  // by buyer
  std::atomic<int> paid_ = 0;
  std::atomic<int> cancelled_ = 0;
  std::atomic<int> refused_ = 0;
};

TEST_F(SalesInARow, FS_21_P9_ThreeSalesInOneProcessAndTheMemoryIsBackAfterEach) {
  (void)hold("warm-up");
  std::int64_t base = heap_bytes();
  // What the last answers still held has gone when two looks agree.
  EXPECT_TRUE(wait_until([&] { return std::abs(std::exchange(base, heap_bytes()) - heap_bytes()) < mebibyte / 16; }));
  fmt::print("base {}\n", in_mib(base));
  for (int i = 1; i <= 3; ++i) {
    const std::int64_t height = hold(fmt::format("sale-{}", i));
    (void)wait_until([&] { return std::abs(heap_bytes() - base) <= growth_max; });
    const std::int64_t after = heap_bytes();
    fmt::print("sale {}: {} tickets, {} paid, {} cancelled, {} refused; at its height {}, afterwards {}; pages {}\n", i,
               tickets_.size(), paid_.load(), cancelled_.load(), refused_.load(), in_mib(height - base),
               in_mib(after - base), in_mib(sqlite3_memory_used()));
    EXPECT_GT(height - base, growth_max) << "a sale too small to show anything";
    EXPECT_LE(std::abs(after - base), growth_max);
  }
  EXPECT_LE(sqlite3_memory_used(), page_caches_max);
}

}  // namespace
}  // namespace seckill::app

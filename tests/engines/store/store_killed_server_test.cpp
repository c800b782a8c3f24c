// P5 against a MariaDB server that is killed with -9 in the middle of landings and started again on its own data: what
// was acknowledged is there, what was not may be, and landing all of it again ends with every order once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "../../contract/store_contract.hpp"
#include "backend.hpp"

namespace seckill::store::mysql {
namespace {

using contract::a_sale;
using contract::an_item;
using contract::by;
using contract::Shop;
using contract::start_of_sale;

// Starts a program; its output goes to a file.
::pid_t start(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&files, 1, 2);
  ::pid_t child = -1;
  const int failed = ::posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  return failed == 0 ? child : -1;
}

// A server of this test alone, on a Unix socket in a folder of its own.
class Server {
 public:
  Server() {
    std::string pattern = (std::filesystem::temp_directory_path() / "seckill-mariadb-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    folder_ = pattern;
  }
  ~Server() {
    kill();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  bool install() {
    const ::pid_t child = mysql::start({"mariadb-install-db", "--no-defaults", "--datadir=" + folder_ + "/data",
                                        "--auth-root-authentication-method=normal", "--skip-test-db"},
                                       folder_ + "/install.log");
    int status = -1;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
  }
  // Until it answers; false after a minute.
  bool run() {
    std::vector<std::string> words{"mariadbd",
                                   "--no-defaults",
                                   "--datadir=" + folder_ + "/data",
                                   "--socket=" + socket(),
                                   "--pid-file=" + folder_ + "/pid",
                                   "--skip-networking",
                                   "--innodb-buffer-pool-size=64M",
                                   "--innodb-flush-log-at-trx-commit=1"};
    if (::geteuid() == 0) words.emplace_back("--user=root");
    pid_ = mysql::start(words, folder_ + "/server.log");
    for (int i = 0; pid_ > 0 && i < 600; ++i) {
      if (drivers::mariadb::Connection::open({.unix_socket = socket(), .user = "root", .password = {}, .database = {}}))
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
    return false;
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] MysqlConfig config() const {
    MysqlConfig config;
    config.unix_socket = socket();
    config.user = "root";
    config.database = "seckill_test_killed";
    return config;
  }

 private:
  [[nodiscard]] std::string socket() const { return folder_ + "/socket"; }
  std::string folder_;
  ::pid_t pid_ = -1;
};

TEST(StoreKilledServer, P5_a_server_killed_while_landing_keeps_all_that_was_acknowledged) {
  if (!test_server()) GTEST_SKIP() << no_test_server;
  Server server;
  if (!server.install()) GTEST_SKIP() << "mariadb-install-db is not here to make a server of the test's own";
  ASSERT_TRUE(server.run());
  MysqlConfig config = server.config();
  {
    const auto administrator = drivers::mariadb::Connection::open(
        {.unix_socket = config.unix_socket, .user = "root", .password = {}, .database = {}});
    ASSERT_TRUE((*administrator)->execute("making a database", "CREATE DATABASE " + config.database));
  }
  ASSERT_TRUE(migrate(config).has_value());
  auto opened = open(config);
  ASSERT_TRUE(opened.has_value()) << opened.error().text();
  MysqlStore& store = **opened;  // lives through all that follows
  model::SaleItem item = an_item("sku1", 1'000'000, 2);
  item.lanes = 2;
  const model::Sale sale = a_sale("s1", {item});
  ASSERT_TRUE(store.create_sale(sale, by("create")).has_value());
  ASSERT_TRUE(store.preload(sale.id, start_of_sale, by("preload")).has_value());
  const Shop shop{store, sale};

  const auto batch_of = [&](int life, int consumer, int number) {
    std::vector<model::OrderIntent> intents;
    for (int i = 0; i < 50; ++i) {
      intents.push_back(shop.intent("b" + std::to_string(life) + "-" + std::to_string(consumer) + "-" +
                                        std::to_string(number) + "-" + std::to_string(i),
                                    "r1", 1, consumer));
    }
    return intents;
  };
  for (int life = 0; life < 3; ++life) {
    std::atomic<int> acknowledged[2] = {0, 0};
    base::Error said[2] = {};
    {
      std::vector<std::jthread> consumers;
      for (int consumer = 0; consumer < 2; ++consumer) {
        consumers.emplace_back([&, consumer] {
          for (;;) {
            const auto landed = shop.land(batch_of(life, consumer, acknowledged[consumer]));
            if (!landed) {
              said[consumer] = landed.error();
              return;
            }
            acknowledged[consumer] += 1;
          }
        });
      }
      while (acknowledged[0] + acknowledged[1] < 8 + 5 * life) std::this_thread::yield();
      server.kill();
    }
    for (const base::Error& error : said) {
      EXPECT_TRUE(error.code == base::Errc::unavailable || error.code == base::Errc::timeout) << error.text();
    }
    ASSERT_TRUE(server.run());
    for (int consumer = 0; consumer < 2; ++consumer) {
      for (int number = 0; number < acknowledged[consumer]; ++number) {
        for (const model::OrderIntent& intent : batch_of(life, consumer, number)) {
          const auto order = store.find_order(intent.ticket);
          ASSERT_TRUE(order.has_value()) << order.error().text();
          ASSERT_TRUE(order->has_value()) << "an acknowledged order is lost";
        }
      }
      // The batch that nobody answered for, whole or not at all; then whole.
      const auto again = shop.land(batch_of(life, consumer, acknowledged[consumer]));
      ASSERT_TRUE(again.has_value()) << again.error().text();
      for (const Landed& landed : *again) EXPECT_EQ(landed.as, again->front().as);
      EXPECT_TRUE(again->front().as == LandedAs::ordered || again->front().as == LandedAs::already_live);
    }
    EXPECT_EQ(shop.broken(), "");
  }
}

}  // namespace
}  // namespace seckill::store::mysql

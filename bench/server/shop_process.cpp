#include "shop_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "base/clock.hpp"

namespace seckill::bench {
namespace {

using Steady = std::chrono::steady_clock;

constexpr const char* secret = "a-login-secret-that-only-this-benchmark-knows-0123456789";
constexpr const char* operator_token = "an-operator-token-that-only-this-benchmark-knows-01234";
constexpr std::chrono::seconds ready_within{120};

// A connected loopback socket, or -1.
int connect_to(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket >= 0 && ::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return socket;
  if (socket >= 0) ::close(socket);
  return -1;
}

std::string exchange(std::uint16_t port, const std::string& request) {
  const int socket = connect_to(port);
  if (socket < 0) return {};
  std::string response;
  if (::send(socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    std::array<char, 4096> bytes;
    rehearse::Response parsed;
    do {
      const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
      if (got <= 0) break;
      response.append(bytes.data(), static_cast<std::size_t>(got));
    } while (rehearse::parse_response(response, parsed) == rehearse::Parsed::incomplete);
  }
  ::close(socket);
  return response;
}

}  // namespace

std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = socket >= 0 && ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (socket >= 0) ::close(socket);
  if (!bound) throw std::runtime_error("no free loopback port");
  return ntohs(address.sin_port);
}

ShopProcess::ShopProcess(std::string binary, unsigned threads, std::filesystem::path folder)
    : binary_{std::move(binary)}, threads_{threads}, folder_{std::move(folder)} {
  if (folder_.empty()) {
    std::string name = (std::filesystem::temp_directory_path() / "seckill-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder can be made");
    folder_ = name;
    own_folder_ = true;
  }
  auto signer = gateway::TokenSigner::make(secret);
  if (!signer) throw std::runtime_error(signer.error().text());
  signer_ = std::move(*signer);
}

ShopProcess::~ShopProcess() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  std::error_code ignored;
  if (own_folder_) std::filesystem::remove_all(folder_, ignored);
}

void ShopProcess::write_config() const {
  std::ofstream config{folder_ / "seckill.yaml"};
  config << fmt::format(
      "data_dir: {}\ndemo: false\ndrain_delay: 0ms\n"
      "buyer: {{address: 127.0.0.1, port: {}, threads: {}, connections_per_address_max: 0}}\n"
      "admin: {{address: 127.0.0.1, port: {}, operator_token: \"{}\"}}\n"
      "login: {{alg: HS256, secret: \"{}\"}}\n"
      // The generator plays all buyers through few logins; pace is not what is measured.
      "limits: {{buyer_bucket_capacity: 1000000, buyer_bucket_per_s: 1000000, buyer_calls_capacity: 1000000, "
      "buyer_calls_per_s: 1000000}}\n"
      "log: {{level: warn}}\n",
      (folder_ / "data").string(), port_, threads_, admin_port_, operator_token, secret);
}

std::chrono::duration<double> ShopProcess::start() {
  port_ = free_port();
  admin_port_ = free_port();
  write_config();
  const std::string config = (folder_ / "seckill.yaml").string();
  const std::string log = (folder_ / "server.log").string();
  const auto begin = Steady::now();
  process_ = ::fork();
  if (process_ < 0) throw std::runtime_error("no process can be started");
  if (process_ == 0) {
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    ::execl(binary_.c_str(), binary_.c_str(), "serve", "--config", config.c_str(), nullptr);
    ::_exit(127);
  }
  const std::string question = "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n";
  while (!exchange(admin_port_, question).starts_with("HTTP/1.1 200")) {
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) == process_) {
      process_ = -1;
      std::ifstream said{log};
      throw std::runtime_error("the server ended before it was ready: " +
                               std::string{std::istreambuf_iterator<char>{said}, {}});
    }
    if (Steady::now() - begin > ready_within) throw std::runtime_error("the server did not become ready");
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  const std::chrono::duration<double> took = Steady::now() - begin;
  admin_ = std::make_unique<rehearse::AdminApi>(admin_port_, operator_token);
  return took;
}

void ShopProcess::stop() {
  if (process_ <= 0) return;
  ::kill(process_, SIGTERM);
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("the server did not stop cleanly");
}

void ShopProcess::open_sale(const SaleShape& shape) {
  const std::int64_t now = base::SystemClock{}.now_utc();
  const boost::json::object item{{"sku", "item"},        {"title", "bench"},     {"price_minor", 9'900},
                                 {"total", shape.total}, {"limit", shape.limit}, {"pay_window_ms", 86'400'000},
                                 {"lanes", shape.lanes}};
  const boost::json::object sale{{"id", shape.id},
                                 {"title", "bench"},
                                 {"kind", "goods"},
                                 {"currency", "CNY"},
                                 {"starts_at", now + shape.starts_in_ms},
                                 {"ends_at", now + 86'400'000},
                                 {"items", boost::json::array{item}}};
  if (auto made = admin_->create_sale(sale); !made) throw std::runtime_error(made.error().text());
  if (auto loaded = admin_->preload(shape.id); !loaded) throw std::runtime_error(loaded.error().text());
}

std::string ShopProcess::token(std::string_view buyer) const {
  const auto id = model::BuyerId::parse(buyer);
  if (!id) throw std::runtime_error("not a buyer id");
  auto token = signer_->sign(*id, base::SystemClock{}.now_utc(), std::chrono::hours{12});
  if (!token) throw std::runtime_error(token.error().text());
  return *token;
}

std::string ShopProcess::purchase(std::string_view sale, std::string_view token, std::string_view request_id,
                                  int quantity) {
  return fmt::format(
      "POST /api/v1/sales/{}/items/item/purchases HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: Mozilla/5.0\r\n"
      "Accept: application/json\r\nContent-Type: application/json\r\nAuthorization: Bearer {}\r\nIdempotency-Key: "
      "{}\r\n"
      "Content-Length: 14\r\n\r\n{{\"quantity\":{}}}",
      sale, token, request_id, quantity);
}

std::string ShopProcess::ask(const std::string& request) const { return exchange(port_, request); }

}  // namespace seckill::bench

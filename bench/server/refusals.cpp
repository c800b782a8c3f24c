// Refusals as a buyer would cause them: a whole purchase request with a login, refused before login (not started, sold
// out) or after it (a quantity that is sold out, seen only by the lane).
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>

#include "bare_epoll.hpp"
#include "figures.hpp"
#include "rotation.hpp"
#include "shop_process.hpp"

namespace seckill::bench {
namespace {

constexpr std::string_view request_id = "0f8fad5b-d9cb-469f-a165-70867728950e";

void expect(const ShopProcess& shop, const std::string& request, std::string_view start, std::string_view reason) {
  const std::string reply = shop.ask(request);
  if (!reply.starts_with(start) || reply.find(reason) == std::string::npos) {
    throw std::runtime_error(fmt::format("expected {} and {}, got: {}", start, reason, reply.substr(0, 300)));
  }
}

struct Requests {
  std::string not_started;
  std::string sold_out;
  std::string after_login;
};

// Opens the sales and brings them into the state that is refused.
Requests prepare(ShopProcess& shop) {
  shop.open_sale({.id = "early", .total = 10, .starts_in_ms = 3'600'000});
  shop.open_sale({.id = "gone1", .total = 16, .limit = 16, .lanes = 2});
  shop.open_sale({.id = "left1", .total = 17, .limit = 16, .lanes = 2});
  const std::string winner = shop.token("winner");
  expect(shop, ShopProcess::purchase("gone1", winner, request_id, 9), "HTTP/1.1 202", "admitted");
  expect(shop, ShopProcess::purchase("gone1", winner, "second", 7), "HTTP/1.1 202", "admitted");
  expect(shop, ShopProcess::purchase("left1", winner, request_id, 9), "HTTP/1.1 202", "admitted");
  expect(shop, ShopProcess::purchase("left1", winner, "second", 7), "HTTP/1.1 202", "admitted");
  const std::string loser = shop.token("loser1");
  Requests requests{ShopProcess::purchase("early", loser, request_id, 1),
                    ShopProcess::purchase("gone1", loser, request_id, 1),
                    ShopProcess::purchase("left1", loser, request_id, 2)};
  expect(shop, requests.not_started, "HTTP/1.1 409", "not_started");
  expect(shop, requests.sold_out, "HTTP/1.1 409", "sold_out");
  expect(shop, requests.after_login, "HTTP/1.1 409", "sold_out");
  return requests;
}

// nginx that answers the same body to everything, one worker, when it is installed.
class Nginx {
 public:
  explicit Nginx(const std::filesystem::path& folder, std::string_view body) : port_{free_port()} {
    const auto config = folder / "nginx.conf";
    std::ofstream{config} << fmt::format(
        "daemon off; master_process off; worker_processes 1; pid {0}/nginx.pid; error_log {0}/nginx.log;\n"
        "events {{ worker_connections 512; }}\n"
        "http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 3600s; client_body_temp_path "
        "{0}/body;\n"
        "  proxy_temp_path {0}/proxy; fastcgi_temp_path {0}/fastcgi; uwsgi_temp_path {0}/uwsgi; scgi_temp_path "
        "{0}/scgi;\n"
        "  server {{ listen 127.0.0.1:{1}; default_type application/json; location / {{ return 409 '{2}'; }} }} }}\n",
        folder.string(), port_, body);
    process_ = ::fork();
    if (process_ == 0) {
      ::execlp("nginx", "nginx", "-c", config.c_str(), nullptr);
      ::execl("/usr/sbin/nginx", "nginx", "-c", config.c_str(), nullptr);
      ::_exit(127);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{500});
    if (process_ > 0 && ::waitpid(process_, nullptr, WNOHANG) == process_) process_ = -1;
  }
  ~Nginx() {
    if (process_ <= 0) return;
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  Nginx(const Nginx&) = delete;
  Nginx& operator=(const Nginx&) = delete;

  [[nodiscard]] bool runs() const noexcept { return process_ > 0; }
  [[nodiscard]] Contender contender(const std::string& request) const {
    return {"nginx return", port_, threads_of(process_), request, 409};
  }

 private:
  std::uint16_t port_;
  pid_t process_ = -1;
};

// The rotation of one group: the bare loop that answers the same bytes first.
std::vector<Measured> compare(std::vector<Contender> contenders, const std::string& reply, unsigned rounds) {
  const BareEpoll bare{contenders.front().request.size(), reply};
  contenders.insert(contenders.begin(),
                    {"bare epoll", bare.port(), {bare.thread_id()}, contenders.front().request, 409});
  for (const Contender& contender : contenders) {
    for (const int thread : contender.threads) pin(thread, 0);
  }
  pin(0, cores() > 1 ? 1 : 0);
  const std::vector<Measured> measured = rotate(contenders, {.rounds = rounds});
  for (const Measured& m : measured) {
    fmt::print("# {:<24} {:>9.0f} requests/s  {:>6.2f} us CPU  by rate {:.2f}  by CPU {:.2f}  windows {}/{}\n", m.name,
               m.requests_per_s, m.cpu_us_per_request, m.rate_ratio, m.cpu_ratio, m.windows, m.windows + m.disturbed);
  }
  return measured;
}

std::string_view body_of(std::string_view response) { return response.substr(response.find("\r\n\r\n") + 4); }

}  // namespace

void measure_refusals(const std::string& binary, unsigned rounds) {
  ShopProcess one{binary, 1};
  ShopProcess two{binary, 2};
  one.start();
  two.start();
  const Requests requests = prepare(one);
  const Requests same = prepare(two);
  const std::vector<int> one_threads = threads_of(one.process());
  const std::vector<int> two_threads = threads_of(two.process());
  const std::string reply = one.ask(requests.sold_out);
  const Nginx nginx{one.folder(), body_of(reply)};

  std::vector<Contender> contenders{{"sold out, before login", one.port(), one_threads, requests.sold_out, 409},
                                    {"not started", one.port(), one_threads, requests.not_started, 409},
                                    {"sold out, after login", one.port(), one_threads, requests.after_login, 409},
                                    {"sold out, 2 threads", two.port(), two_threads, same.sold_out, 409}};
  if (nginx.runs()) contenders.push_back(nginx.contender(requests.sold_out));
  const std::vector<Measured> measured = compare(std::move(contenders), reply, rounds);
  print_figure("refusal_vs_epoll", measured[1].cpu_ratio, "ratio by CPU a request");
  print_figure("refusal_not_started_vs_epoll", measured[2].cpu_ratio, "ratio by CPU a request");
  print_figure("refusal_after_login_vs_epoll", measured[3].cpu_ratio, "ratio by CPU a request");
  if (nginx.runs()) {
    print_figure("refusal_vs_nginx", measured[1].cpu_ratio / measured[5].cpu_ratio, "ratio by CPU a request");
  } else {
    print_skipped("refusal_vs_nginx", "nginx is not installed");
  }
  print_figure("cpu_2_threads_vs_1", measured[1].cpu_ratio / measured[4].cpu_ratio, "ratio of CPU a request");
}

}  // namespace seckill::bench

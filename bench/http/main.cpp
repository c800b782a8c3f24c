// bench_http: what the HTTP core costs beside a bare epoll loop that answers the same bytes.
//
//   bench_http [--rounds N]     compares; prints a table and one line per figure
//   bench_http serve core|bare  serves alone until standard input ends, for callgrind or other tools
//   bench_http load PORT N      sends N requests to a server started that way
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "bare_epoll.hpp"
#include "gateway/http/server.hpp"
#include "load.hpp"
#include "rotation.hpp"

namespace {

using namespace seckill::bench;
namespace http = seckill::gateway::http;

constexpr double bar = 0.87;
constexpr std::size_t request_bytes = 290;

// A purchase as the page sends it, without login, padded to the size the figures are stated for.
std::string purchase_request() {
  const std::string body = R"({"quantity":1})";
  std::string request =
      "POST /api/v1/sales/demo/items/sku-1/purchases HTTP/1.1\r\n"
      "Host: 127.0.0.1\r\n"
      "User-Agent: Mozilla/5.0\r\n"
      "Accept: application/json\r\n"
      "Content-Type: application/json\r\n"
      "Idempotency-Key: 0123456789abcdef\r\n"
      "Content-Length: 14\r\n"
      "X-Padding: ";
  request.append(request_bytes - request.size() - 4 - body.size(), 'p');
  return request + "\r\n\r\n" + body;
}

const http::PreparedReply& sold_out() {
  static const http::PreparedReply reply{
      http::Reply::json(409, R"({"code":0,"reason":"sold_out","msg":"sold out, thank you for coming"})")};
  return reply;
}

class Refuse final : public http::RequestHandler {
 public:
  void handle(const http::Request& /*request*/, http::ReplySlot reply) override { reply.send(sold_out()); }
};

http::ServerConfig config(unsigned threads) {
  http::ServerConfig config;
  config.name = "bench";
  config.threads = threads;
  return config;
}

int compare(unsigned rounds) {
  Refuse refuse;
  BareEpoll bare{request_bytes, std::string{sold_out().bytes(false, false)}};
  http::Server one{config(1), refuse};
  http::Server two{config(2), refuse};
  for (http::Server* server : {&one, &two}) {
    if (const auto started = server->start(); !started) {
      fmt::print(stderr, "bench_http: {}\n", started.error().text());
      return 1;
    }
  }
  std::vector<Contender> contenders = {
      {"bare epoll", bare.port(), {bare.thread_id()}, purchase_request(), 409},
      {"http core", one.port(), one.thread_ids(), purchase_request(), 409},
      {"http core, 2 threads", two.port(), two.thread_ids(), purchase_request(), 409},
  };
  if (cores() < 2) {
    fmt::print("only one core: servers and generator share it, so rates say little; CPU a request still does\n");
  }
  for (const Contender& contender : contenders) {
    for (const int thread : contender.threads) {
      pin(thread, 0);
    }
  }
  pin(0, cores() > 1 ? 1 : 0);
  const std::vector<Measured> results = rotate(contenders, {.rounds = rounds});
  fmt::print("{:<22} {:>10} {:>10} {:>9} {:>9} {:>9}\n", "", "req/s", "CPU us", "by rate", "by CPU", "windows");
  for (const Measured& m : results) {
    fmt::print("{:<22} {:>10.0f} {:>10.2f} {:>9.2f} {:>9.2f} {:>4}/{}\n", m.name, m.requests_per_s,
               m.cpu_us_per_request, m.rate_ratio, m.cpu_ratio, m.windows, m.windows + m.disturbed);
  }
  fmt::print("refusal core: {:.2f} of bare epoll by CPU (bar {:.2f})\n", results[1].cpu_ratio, bar);
  fmt::print("cpu_2_threads_vs_1: {:.2f} (bar 1.1)\n", results[1].cpu_ratio / results[2].cpu_ratio);
  return 0;
}

void until_input_ends(std::uint16_t port) {
  fmt::print("{}\n", port);
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}

int serve(std::string_view which) {
  if (which == "bare") {
    const BareEpoll bare{request_bytes, std::string{sold_out().bytes(false, false)}};
    until_input_ends(bare.port());
    return 0;
  }
  Refuse refuse;
  http::Server server{config(1), refuse};
  if (const auto started = server.start(); !started) {
    fmt::print(stderr, "bench_http: {}\n", started.error().text());
    return 1;
  }
  until_input_ends(server.port());
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "serve") {
    return serve(words[1]);
  }
  if (words.size() == 3 && words[0] == "load") {
    Load load{{"server", static_cast<std::uint16_t>(std::atoi(argv[2])), {}, purchase_request(), 409}, 64};
    const Window window = load.run_requests(static_cast<std::uint64_t>(std::atoll(argv[3])));
    fmt::print("{} replies\n", window.replies);
    return 0;
  }
  const int rounds = words.size() == 2 && words[0] == "--rounds" ? std::atoi(argv[2]) : 60;
  if (rounds < 1 || (!words.empty() && words[0] != "--rounds")) {
    fmt::print(stderr, "usage: bench_http [--rounds N] | serve core|bare | load PORT N\n");
    return 2;
  }
  return compare(static_cast<unsigned>(rounds));
} catch (const std::exception& e) {
  fmt::print(stderr, "bench_http: {}\n", e.what());
  return 1;
}

// Admissions over HTTP that are committed to disk before they are answered, and what the disk itself costs.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "figures.hpp"
#include "purchase_load.hpp"
#include "shop_process.hpp"

namespace seckill::bench {
namespace {

constexpr unsigned peak_rate_most = 50'000;  // requests prepared for each second of the closed loop
constexpr unsigned connections = 256;
constexpr int flushes = 500;

// Buyers with 16-byte ids; each has asked for his state before the start, as the page does, so logins are cached.
std::vector<std::string> make_buyers(const ShopProcess& shop, unsigned count, unsigned first) {
  std::vector<std::string> tokens;
  tokens.reserve(count);
  std::vector<std::string> looks;
  looks.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    tokens.push_back(shop.token(fmt::format("buyer-{:010}", first + i)));
    looks.push_back(fmt::format(
        "GET /api/v1/sales/durable/me HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\r\n", tokens.back()));
  }
  const LoadResult looked = send_all({shop.port()}, looks, connections, 0, std::chrono::minutes{2});
  if (looked.replies.size() != 1 || !looked.replies.contains(200))
    throw std::runtime_error("a look was not answered 200");
  return tokens;
}

std::vector<std::string> purchases(const std::vector<std::string>& tokens) {
  std::vector<std::string> requests;
  requests.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    requests.push_back(
        ShopProcess::purchase("durable", tokens[i], fmt::format("0f8fad5b-d9cb-469f-a165-{:012x}", i), 1));
  }
  return requests;
}

// The time of one small write and fdatasync on the same disk.
std::vector<float> flush_times(const std::filesystem::path& folder) {
  const std::string name = (folder / "flush").string();
  const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) throw std::runtime_error("no file can be made beside the data");
  const std::string page(4096, 'x');
  std::vector<float> times;
  for (int i = 0; i < flushes; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (::write(file, page.data(), page.size()) < 0 || ::fdatasync(file) != 0)
      throw std::runtime_error("the disk refuses");
    times.push_back(std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  ::close(file);
  return times;
}

std::uint64_t admitted(const LoadResult& result) {
  const auto found = result.replies.find(202);
  return found == result.replies.end() ? 0 : found->second;
}

void report(std::string_view what, LoadResult& result) {
  fmt::print("# {}: {:.1f} s, p50 {:.2f} ms, p99 {:.2f} ms, slowest {:.2f} ms;", what, result.wall.count(),
             quantile(result.latency_ms, 0.5), quantile(result.latency_ms, 0.99), quantile(result.latency_ms, 1.0));
  for (const auto& [status, count] : result.replies) fmt::print(" {} x {}", count, status);
  fmt::print("\n");
}

}  // namespace

void measure_durable(const std::string& binary, unsigned seconds) {
  ShopProcess shop{binary, 0};
  shop.start();
  const unsigned most = peak_rate_most * seconds;
  shop.open_sale({.id = "durable", .total = 10'000'000, .lanes = 16});
  const std::vector<std::string> crowd = make_buyers(shop, most, 0);
  LoadResult peak = send_all({shop.port()}, purchases(crowd), connections, 0, std::chrono::seconds{seconds});
  report("closed loop", peak);
  const double rate = static_cast<double>(admitted(peak)) / peak.wall.count();

  const auto calm_buyers = static_cast<unsigned>(rate / 2 * seconds);
  const std::vector<std::string> calm = make_buyers(shop, calm_buyers, most);
  LoadResult half = send_all({shop.port()}, purchases(calm), connections, rate / 2, std::chrono::seconds{2 * seconds});
  report("open loop at half the rate", half);
  std::vector<float> flushed = flush_times(shop.folder());

  print_figure("embedded_admitted_per_s", rate, "1/s");
  print_figure("embedded_p99_ms", quantile(half.latency_ms, 0.99), "ms");
  print_figure("embedded_p50_ms", quantile(half.latency_ms, 0.5), "ms");
  print_figure(
      "embedded_refused_share",
      1 - static_cast<double>(admitted(half)) / static_cast<double>(std::max<std::size_t>(half.latency_ms.size(), 1)),
      "of 1");
  print_figure("disk_flush_p99_ms", quantile(flushed, 0.99), "ms");
  shop.stop();
}

}  // namespace seckill::bench

// Operators' files: a configuration and a sale in YAML. Whatever the text, the answer is a configuration within its
// bounds or problems that name a line of the file in printable words, and the same again for the same text; a sale file
// is refused or becomes JSON that the admin API reads or complains about.
#include "app/config.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <string>
#include <string_view>

#include "app/sale_file.hpp"
#include "app/yaml_reader.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "fuzz/property.hpp"
#include "ops/sale_json.hpp"

namespace seckill::fuzz {
namespace {

using namespace std::chrono_literals;

constexpr base::UtcMs now = 1'800'000'000'000;

void require_told(const app::Problems& problems, std::string_view text) {
  const auto lines = std::count(text.begin(), text.end(), '\n') + std::count(text.begin(), text.end(), '\r') + 1;
  require(!problems.empty(), "a refused file is told why", text);
  for (const app::Problem& problem : problems) {
    require(!problem.what.empty() && problem.text().starts_with("file"), "each problem has its file and a sentence",
            text);
    require(problem.line >= 0 && problem.line <= lines + 1, "and a line of it", text);
    require(base::utf8_length(problem.text()).has_value(), "and can be printed", text);
  }
}

void require_bounded(const app::ListenerConfig& listener, std::string_view text) {
  require(!listener.address.empty() && listener.address.size() <= 64, "an address keeps its bound", text);
  require(listener.threads <= 256 && listener.connections_max >= 1 && listener.connections_max <= 1'000'000,
          "threads and connections keep their bounds", text);
  for (const auto time : {listener.header_timeout, listener.body_timeout, listener.idle_timeout}) {
    require(time >= 100ms && time <= 1h, "deadlines keep their bounds (P9)", text);
  }
  require(listener.trusted_proxies.size() <= 64, "proxies keep their bound", text);
}

void check_config(const std::string& text, bool demo) {
  app::ConfigOverrides overrides;
  overrides.demo = demo;
  const auto config = app::parse_config(text, "file", overrides);
  const auto again = app::parse_config(text, "file", overrides);
  require(config.has_value() == again.has_value(), "a text is judged alike each time", text);
  if (!config) return require_told(config.error(), text);
  require_bounded(config->buyer, text);
  require_bounded(config->admin, text);
  require(config->buyer.port != config->admin.port || config->buyer.port == 0, "two listeners have two ports", text);
  require(config->limits.buyer_bucket_capacity >= 0 && config->limits.buyer_bucket_per_s >= 0.001 &&
              config->limits.buyer_calls_per_s <= 1'000'000,
          "limits keep their bounds", text);
  if (config->demo) return;
  require(!app::secret_weakness(config->operator_token.reveal()), "outside demo mode no weak secret is accepted", text);
  require(!config->operator_token_drawn && !config->login_secret_drawn, "nor one drawn at random", text);
  if (config->login.algorithm == gateway::JwtAlgorithm::hs256) {
    require(!app::secret_weakness(config->login.hs256_secret), "nor a weak login secret", text);
  }
}

void check_sale(const std::string& text) {
  const auto sale = app::parse_sale_text(text, "file", now);
  if (!sale) return require_told(sale.error(), text);
  const std::string json = boost::json::serialize(*sale);
  const auto again = base::parse_json(json);
  // Its depth may exceed what the server takes; then the server says so.
  require(!again || again->is_object(), "a sale file becomes a JSON object", json);
  const auto read = ops::read_sale(json);
  require(read.has_value() || !read.error().empty(), "which the server takes or complains about", json);
  require(!sale->contains("starts_in") && !sale->contains("duration"), "relative times are resolved", json);
  if (read) require(read->ends_at > read->starts_at, "a sale ends after it starts", json);
}

}  // namespace
}  // namespace seckill::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seckill::fuzz;
  const std::string text{text_of(data, size)};
  // A configuration names files of keys; an input must not make the fuzzer read this machine's.
  if (text.find("_file") == std::string::npos || text.find('/') == std::string::npos) {
    check_config(text, false);
    check_config(text, true);
  }
  check_sale(text);
  return 0;
}

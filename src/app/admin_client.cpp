#include "app/admin_client.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>

#include "app/commands.hpp"
#include "app/config.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace seckill::app {
namespace {

constexpr auto call_timeout = std::chrono::minutes{10};  // a backup is one call

// An address to listen on as an address to connect to.
std::string reachable(const ListenerConfig& listener) {
  if (listener.address == "0.0.0.0" || listener.address == "::")
    return fmt::format("http://127.0.0.1:{}", listener.port);
  const bool v6 = listener.address.find(':') != std::string::npos;
  return v6 ? fmt::format("http://[{}]:{}", listener.address, listener.port)
            : fmt::format("http://{}:{}", listener.address, listener.port);
}

std::string text_of(const boost::json::object& object, std::string_view key) {
  const auto* value = object.if_contains(boost::json::string_view{key.data(), key.size()});
  return value != nullptr && value->is_string() ? base::printable(std::string{value->get_string()}, 2'000)
                                                : std::string{};
}

}  // namespace

void add_client_options(CLI::App& command, ClientOptions& options) {
  command.add_option("--config", options.config, "the server's configuration file (admin address, operator token)");
  command.add_option("--admin", options.admin, "the admin port, as HOST:PORT (default 127.0.0.1:8081)");
  command.add_flag("--json", options.json, "print the server's answer as JSON");
}

std::string url_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain) {
      out.push_back(c);
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

bool AdminClient::connect() {
  if (!url_.empty()) return true;
  ConfigOverrides overrides = overrides_from_environment();
  overrides.demo = true;  // here only admin address and token matter, so a missing login secret is no complaint
  const auto config = load_config(options_.config.empty() ? std::nullopt : std::optional{options_.config}, overrides);
  if (!config) {
    for (const Problem& problem : config.error()) std::fprintf(stderr, "%s\n", problem.text().c_str());
    exit_code_ = exit_usage;
    return false;
  }
  if (config->operator_token_drawn) {
    std::fputs("the operator token is missing: set SECKILL_OPERATOR_TOKEN, or give --config with one\n", stderr);
    exit_code_ = exit_usage;
    return false;
  }
  token_ = config->operator_token.reveal();
  if (options_.admin.empty()) {
    url_ = reachable(config->admin);
  } else {
    url_ = options_.admin.find("://") == std::string::npos ? "http://" + options_.admin : options_.admin;
    while (url_.ends_with('/')) url_.pop_back();
  }
  return true;
}

std::optional<boost::json::object> AdminClient::call(const std::string& method, const std::string& path,
                                                     std::string body) {
  if (!connect()) return std::nullopt;
  drivers::HttpRequest request{
      .method = method, .url = url_ + path, .headers = {}, .body = std::move(body), .timeout = call_timeout};
  request.headers = {"Authorization: Bearer " + token_, "Content-Type: application/json"};
  const auto response = http_.send(request);
  exit_code_ = exit_failed;
  if (!response) {
    const bool unreachable = response.error().code == base::Errc::unavailable;
    std::fprintf(stderr, "%s\n%s\n", response.error().text().c_str(),
                 unreachable
                     ? "Is `seckill serve` running there? --admin HOST:PORT or --config FILE says where to look."
                     : "Whether it was done is not known; asking again is harmless.");
    return std::nullopt;
  }
  auto answer = base::parse_json(response->body);
  if (response->status < 200 || response->status > 299) {
    if (raw()) std::printf("%s\n", response->body.c_str());
    complain(method, path, *response);
    return std::nullopt;
  }
  if (!answer || !answer->is_object()) {
    std::fprintf(stderr, "%s%s answered something that is no JSON object\n", url_.c_str(), path.c_str());
    return std::nullopt;
  }
  if (raw()) std::printf("%s\n", response->body.c_str());
  exit_code_ = exit_ok;
  return answer->get_object();
}

void AdminClient::complain(const std::string& method, const std::string& path, const drivers::HttpResponse& response) {
  const auto answer = base::parse_json(response.body);
  if (!answer || !answer->is_object()) {
    std::fprintf(stderr, "%s %s%s: status %d\n", method.c_str(), url_.c_str(), path.c_str(), response.status);
    return;
  }
  const boost::json::object& problem = answer->get_object();
  std::fprintf(stderr, "refused (%d): %s: %s\n", response.status, text_of(problem, "title").c_str(),
               text_of(problem, "detail").c_str());
  const auto* problems = problem.if_contains("problems");
  if (problems == nullptr || !problems->is_array()) return;
  for (const boost::json::value& one : problems->get_array()) {
    if (one.is_string()) std::fprintf(stderr, "  %s\n", base::printable(std::string{one.get_string()}, 2'000).c_str());
  }
}

}  // namespace seckill::app

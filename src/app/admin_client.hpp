// The command line's way to a running server: the admin API over HTTP with the operator token. Prints what went wrong
// in words an operator can act on.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "drivers/http_client.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace seckill::app {

// The options every command that talks to a server takes.
struct ClientOptions {
  std::string config;  // --config: admin address and operator token are read from it
  std::string admin;   // --admin HOST:PORT or URL; wins over the configuration
  bool json = false;   // --json: print the server's answer as it came
};
void add_client_options(CLI::App& command, ClientOptions& options);

// One thread.
class AdminClient {
 public:
  explicit AdminClient(const ClientOptions& options) : options_{options} {}

  // The answer's JSON, when its status is 2xx. Otherwise the complaint has been printed on standard error and
  // exit_code() says how to end. With --json the answer has been printed too, and the caller prints nothing.
  [[nodiscard]] std::optional<boost::json::object> call(const std::string& method, const std::string& path,
                                                        std::string body = {});
  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }
  [[nodiscard]] bool raw() const noexcept { return options_.json; }

 private:
  bool connect();
  void complain(const std::string& method, const std::string& path, const drivers::HttpResponse& response);

  ClientOptions options_;
  drivers::HttpClient http_;
  std::string url_;
  std::string token_;
  int exit_code_ = 0;
};

// Percent-encodes all but RFC 3986's unreserved characters.
[[nodiscard]] std::string url_encoded(std::string_view text);

}  // namespace seckill::app

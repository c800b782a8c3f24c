// A thin owner of one libcurl connection: what the command line (and later payment providers) call over HTTP.
// Bounded in time and size; follows no redirect, uses no proxy, keeps the connection between calls.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace seckill::drivers {

struct HttpRequest {
  std::string method = "GET";
  std::string url;                   // http or https
  std::vector<std::string> headers;  // "Name: value"
  std::string body;                  // sent when not empty, or when the method is POST, PUT or PATCH
  std::chrono::milliseconds timeout{10'000};
};

struct HttpResponse {
  int status = 0;
  std::string content_type;
  std::string body;  // at most response_bytes_max
};

// One thread at a time.
class HttpClient {
 public:
  static constexpr std::size_t response_bytes_max = 64u << 20;

  HttpClient();
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;

  // Any HTTP status is a response. Errors: unavailable (no connection: nothing was sent), timeout (unknown whether it
  // happened), limit (the response is larger than the bound), invalid (the URL). Blocking.
  [[nodiscard]] base::Result<HttpResponse> send(const HttpRequest& request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seckill::drivers

#include "drivers/http_client.hpp"

#include <curl/curl.h>

#include "base/assert.hpp"

namespace seckill::drivers {
namespace {

// curl_global_init is not thread-safe in every build; a function-local static is run once.
void init_once() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  SECKILL_ASSERT(done == CURLE_OK, "libcurl can be initialised");
}

struct Headers {
  curl_slist* list = nullptr;
  ~Headers() { curl_slist_free_all(list); }
};

std::size_t keep_body(char* data, std::size_t size, std::size_t count, void* into) {
  auto& body = *static_cast<std::string*>(into);
  if (body.size() + size * count > HttpClient::response_bytes_max) return 0;  // ends the transfer
  body.append(data, size * count);
  return size * count;
}

base::Errc errc_of(CURLcode code) noexcept {
  if (code == CURLE_OPERATION_TIMEDOUT || code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR ||
      code == CURLE_SEND_ERROR || code == CURLE_PARTIAL_FILE) {
    return base::Errc::timeout;
  }
  if (code == CURLE_WRITE_ERROR) return base::Errc::limit;
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) return base::Errc::invalid;
  return base::Errc::unavailable;
}

}  // namespace

struct HttpClient::Impl {
  CURL* curl = nullptr;
  Impl() {
    init_once();
    curl = curl_easy_init();
    SECKILL_ASSERT(curl != nullptr, "a libcurl handle can be made");
  }
  ~Impl() { curl_easy_cleanup(curl); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
};

HttpClient::HttpClient() : impl_{std::make_unique<Impl>()} {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

base::Result<HttpResponse> HttpClient::send(const HttpRequest& request) {
  CURL* curl = impl_->curl;
  curl_easy_reset(curl);  // options only; the connection stays
  HttpResponse response;
  char why[CURL_ERROR_SIZE] = "";
  Headers headers;
  headers.list = curl_slist_append(headers.list, "Expect:");  // no 100-continue round trip
  for (const std::string& header : request.headers) headers.list = curl_slist_append(headers.list, header.c_str());
  const bool with_body =
      !request.body.empty() || request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.list);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &keep_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &response.body);
  if (with_body) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
  }
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  const CURLcode code = curl_easy_perform(curl);
  if (code != CURLE_OK) {
    return base::fail(errc_of(code), request.method + " " + request.url, *why != '\0' ? why : curl_easy_strerror(code));
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  const char* type = nullptr;
  curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
  response.status = static_cast<int>(status);
  if (type != nullptr) response.content_type = type;
  return response;
}

}  // namespace seckill::drivers

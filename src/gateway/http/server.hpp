// One listening port: io threads that each own an event loop, an acceptor (SO_REUSEPORT) and their connections.
// A connection lives and dies on its thread, so requests share nothing and take no lock (DESIGN section 7).
// Keeps P9: connections, headers, bodies, waiting times and memory are bounded here, before anything else is asked.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.hpp"
#include "base/result.hpp"
#include "gateway/http/handler.hpp"

namespace seckill::gateway::http {

// Answers the core gives by itself. Each has a stated default; a listener may bring its own wording. Constant.
struct CoreReplies {
  CoreReplies();
  PreparedReply bad_request;         // 400 malformed or ambiguous
  PreparedReply not_found;           // 404 a target that is legal but not canonical
  PreparedReply request_timeout;     // 408 header or body took too long
  PreparedReply body_too_large;      // 413
  PreparedReply target_too_long;     // 414
  PreparedReply expectation_failed;  // 417 an Expect other than 100-continue
  PreparedReply headers_too_large;   // 431
  PreparedReply internal;            // 500 the handler threw
  PreparedReply busy;                // 503 the handler gave no answer, or too late; also over a connection cap
};

struct ServerConfig {
  std::string address = "127.0.0.1";  // IPv4 or IPv6 text; "::" serves IPv4 too
  std::uint16_t port = 0;             // 0: the system chooses, see port()
  std::string name = "http";          // for messages and thread names
  unsigned threads = 1;
  int backlog = 4096;

  std::size_t connections_per_thread_max = 20'000;
  // Counted over all threads; IPv6 by /64. 0: no cap.
  std::size_t connections_per_address_max = 1'024;
  std::vector<std::string> uncapped_addresses;  // trusted proxies; exact addresses

  std::size_t header_bytes_max = base::limits::http_header_bytes_max;
  std::size_t headers_max = base::limits::http_headers_max;
  std::size_t target_bytes_max = base::limits::http_target_bytes_max;
  std::size_t body_bytes_max = base::limits::http_body_bytes_max;

  // All are total times, judged to one tick of `tick`.
  std::chrono::milliseconds header_time{5'000};  // from a request's first byte to its empty line
  std::chrono::milliseconds body_time{5'000};    // from there to the body's last byte
  std::chrono::milliseconds idle_time{30'000};   // between requests, and before the first byte
  std::chrono::milliseconds write_time{10'000};  // for a reply, plus the time its size takes at the next line's rate
  std::size_t write_bytes_per_second_min = 32 * 1024;  // the slowest reader that is waited for
  std::chrono::milliseconds reply_wait_time{30'000};   // handler's time to answer; then 503
  std::chrono::milliseconds tick{250};

  CoreReplies replies;
  // Told of exceptions from handlers and of accept errors, at most once a tick a thread. Called on io threads.
  std::function<void(std::string_view)> log_fault;
};

// Approximate while threads run; each counter never goes back but `open`.
struct ServerStats {
  std::uint64_t accepted = 0;
  std::uint64_t open = 0;
  std::uint64_t requests = 0;  // complete requests given to the handler
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t refused_over_thread_cap = 0;
  std::uint64_t refused_over_address_cap = 0;
  std::uint64_t bad_request = 0;         // 400
  std::uint64_t not_canonical = 0;       // 404 by the core
  std::uint64_t body_too_large = 0;      // 413
  std::uint64_t target_too_long = 0;     // 414
  std::uint64_t expectation_failed = 0;  // 417
  std::uint64_t headers_too_large = 0;   // 431
  std::uint64_t header_timeouts = 0;
  std::uint64_t body_timeouts = 0;
  std::uint64_t idle_timeouts = 0;
  std::uint64_t write_timeouts = 0;
  std::uint64_t reply_timeouts = 0;      // 503 because the handler was late
  std::uint64_t unanswered = 0;          // 503 because the handler dropped the slot
  std::uint64_t handler_exceptions = 0;  // 500
  std::uint64_t accept_errors = 0;       // EMFILE and its like; accepting resumes by itself
};

// Not movable. All members but stats(), loop_lag() and port() are for one owning thread that is not an io thread.
class Server {
 public:
  // `handler` must outlive the server.
  Server(ServerConfig config, RequestHandler& handler);
  // Stops at once when drain() was not called.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Runs `task(thread)` on every io thread about each `interval`, rounded up to whole ticks. Requires: before start().
  // The task must not block or throw.
  void every(std::chrono::milliseconds interval, std::function<void(unsigned thread)> task);

  // Binds, listens and starts the threads; connections are served when it returns. Errors, with a sentence that helps:
  // already_exists (port in use), invalid (address or port cannot be used here), unavailable (system limits).
  [[nodiscard]] base::Status start();

  // The port really bound; 0 before start(). Any thread.
  [[nodiscard]] std::uint16_t port() const noexcept;

  // New connections are refused by the system from now on; those established, also in the backlog, are served.
  void stop_accepting();

  // stop_accepting(); idle connections close, replies say "Connection: close", requests in flight finish; then the
  // threads end. True when everything finished before `limit`; else the rest was cut off. Blocks. Idempotent.
  bool drain(std::chrono::milliseconds limit);

  [[nodiscard]] ServerStats stats() const noexcept;  // any thread
  // How late the thread's last tick came: its event loop's lag. Requires: thread < config.threads. Any thread.
  [[nodiscard]] std::chrono::microseconds loop_lag(unsigned thread) const noexcept;
  // Kernel ids of the io threads (for CPU accounting); empty before start().
  [[nodiscard]] std::vector<int> thread_ids() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seckill::gateway::http

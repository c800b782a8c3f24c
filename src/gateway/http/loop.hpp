// One io thread: its event loop, its acceptor, its sessions and its timer wheel. Nothing here is touched by another
// thread but the mailbox, the counters and what is handed over by post.
#pragma once

#include <atomic>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "gateway/http/connection_caps.hpp"
#include "gateway/http/mailbox.hpp"
#include "gateway/http/ready_set.hpp"
#include "gateway/http/server.hpp"
#include "gateway/http/session.hpp"
#include "gateway/http/timer_wheel.hpp"

namespace seckill::gateway::http {

// Written by its io thread alone, read by any: no read-modify-write, so no locked instruction a request.
class Counter {
 public:
  void add(std::uint64_t n = 1) noexcept { value_.store(read() + n, std::memory_order_relaxed); }
  void subtract(std::uint64_t n = 1) noexcept { value_.store(read() - n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t read() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct alignas(64) LoopCounters {
  Counter accepted, open, requests, bytes_in, bytes_out;
  Counter over_thread_cap, over_address_cap;
  Counter bad_request, not_canonical, body_too_large, target_too_long, expectation_failed, headers_too_large;
  Counter header_timeouts, body_timeouts, idle_timeouts, write_timeouts, reply_timeouts;
  Counter unanswered, handler_exceptions, accept_errors;
  std::atomic<std::int64_t> lag_us{0};
  std::atomic<int> thread_id{0};
};

// Work that each io thread does again and again.
struct PeriodicTask {
  std::uint64_t every_ticks;
  std::function<void(unsigned)> run;
};

// What the loops of a server share. Constant once the threads run, but for `caps`.
struct ServerShared {
  ServerShared(ServerConfig with, RequestHandler& answered_by, std::function<void()> quiet_callback);

  ServerConfig config;
  RequestHandler& handler;
  ConnectionCaps caps;
  ParseLimits limits;
  std::vector<PeriodicTask> tasks;
  std::function<void()> on_quiet;  // told by a draining loop when its last connection has closed; any io thread

  // Whole ticks, rounded up, at least one.
  [[nodiscard]] std::uint64_t ticks(std::chrono::milliseconds time) const noexcept;
};

class Loop {
 public:
  // Takes over the listening socket.
  Loop(ServerShared& shared, unsigned index, int listener);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void start();  // the thread
  // Any thread; each takes effect soon, on the io thread.
  void stop_accepting();
  void begin_drain();
  // Cuts what is left and ends the thread. Blocks until it has ended. Idempotent.
  void stop();

  [[nodiscard]] LoopCounters& counters() noexcept { return counters_; }
  [[nodiscard]] const LoopCounters& counters() const noexcept { return counters_; }
  // Draining, and no connection left. Any thread.
  [[nodiscard]] bool quiet() const noexcept { return drain_begun_.load() && counters_.open.read() == 0; }

  // --- for its sessions, on the io thread ---
  [[nodiscard]] ServerShared& shared() noexcept { return shared_; }
  [[nodiscard]] ReadySet& ready_set() noexcept { return ready_set_; }
  // Calls the session's read_on() after what else is ready.
  void read_on_later(Session& session);
  [[nodiscard]] TimerWheel& wheel() noexcept { return wheel_; }
  [[nodiscard]] Mailbox& mailbox() noexcept { return *mailbox_; }
  [[nodiscard]] bool draining() const noexcept { return draining_; }
  [[nodiscard]] std::uint64_t next_serial() noexcept { return ++serial_; }
  [[nodiscard]] RenderedReply& scratch() noexcept { return scratch_; }
  // The session is closed.
  void recycle(Session& session);
  // At most one line a tick reaches the log.
  void fault(std::string_view text);

  struct Ticks {  // deadlines in ticks, computed once
    std::uint64_t header, body, idle, write, reply_wait, linger, per_second;
  };
  [[nodiscard]] const Ticks& ticks() const noexcept { return ticks_; }

 private:
  using Timer =
      boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                        boost::asio::io_context::executor_type>;
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

  using Descriptor = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

  void run();
  void arm_ready();
  void serve_ready();
  void arm_tick();
  void on_tick();
  void take_deliveries();
  // accept.cpp
  void arm_accept();
  void accept_ready();
  [[nodiscard]] bool accept_one(int& failures);
  void admit(int socket, const PeerAddress& peer);
  void turn_away(int socket) noexcept;
  void back_off(int error);
  void close_acceptor();
  [[nodiscard]] Session& free_session();

  ServerShared& shared_;
  const unsigned index_;
  const Ticks ticks_;
  boost::asio::io_context io_{1};
  Mailbox* const mailbox_;  // holds one of its references
  TimerWheel wheel_;
  LoopCounters counters_;
  std::uint64_t serial_;
  bool draining_ = false;
  std::atomic<bool> drain_begun_{false};            // the backlog was emptied and idle connections were closed
  std::vector<std::unique_ptr<Session>> sessions_;  // all ever needed at one time; bounded by the connection cap
  std::vector<Session*> free_;
  std::vector<Delivery> deliveries_;
  RenderedReply scratch_;
  ReadySet ready_set_;
  Descriptor ready_;  // watches ready_set_'s descriptor without owning it
  std::vector<Session*> reading_on_;
  Acceptor acceptor_;
  Timer accept_timer_;
  Timer tick_timer_;
  std::chrono::steady_clock::time_point next_tick_;
  std::uint64_t faults_this_tick_ = 0;
  bool stopped_ = false;  // owner's thread
  std::thread thread_;
};

}  // namespace seckill::gateway::http

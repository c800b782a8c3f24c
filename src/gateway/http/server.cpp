#include "gateway/http/server.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "gateway/http/listeners.hpp"
#include "gateway/http/loop.hpp"

namespace seckill::gateway::http {

// Codes below -100 are this layer's own: the transport refused, before any answer of the sale.
CoreReplies::CoreReplies()
    : bad_request{Reply::json(400, R"({"code":-400,"reason":"bad_request","msg":"malformed request"})")},
      not_found{Reply::json(404, R"({"code":-404,"reason":"not_found","msg":"no such resource"})")},
      request_timeout{
          Reply::json(408, R"({"code":-408,"reason":"request_timeout","msg":"the request came too slowly"})")},
      body_too_large{Reply::json(413, R"({"code":-413,"reason":"body_too_large","msg":"the body is too large"})")},
      target_too_long{Reply::json(414, R"({"code":-414,"reason":"target_too_long","msg":"the address is too long"})")},
      expectation_failed{
          Reply::json(417, R"({"code":-417,"reason":"expectation_failed","msg":"unknown expectation"})")},
      headers_too_large{
          Reply::json(431, R"({"code":-431,"reason":"headers_too_large","msg":"the headers are too large"})")},
      internal{Reply::json(500, R"({"code":-500,"reason":"internal","msg":"an error on our side"})")},
      busy{Reply::json(503, R"({"code":-9,"reason":"busy","msg":"busy, please try again"})")
               .retry_after(std::chrono::seconds{1})} {}

struct Server::Impl {
  ServerShared shared;
  std::vector<std::unique_ptr<Loop>> loops;
  std::atomic<std::uint16_t> port{0};
  std::mutex mutex;
  std::condition_variable quiet_changed;
  bool drained = false;

  Impl(ServerConfig config, RequestHandler& handler)
      : shared{std::move(config), handler, [this] {
                 const std::scoped_lock lock{mutex};
                 quiet_changed.notify_all();
               }} {}

  [[nodiscard]] bool all_quiet() const noexcept {
    for (const auto& loop : loops) {
      if (!loop->quiet()) {
        return false;
      }
    }
    return true;
  }
};

Server::Server(ServerConfig config, RequestHandler& handler)
    : impl_{std::make_unique<Impl>(std::move(config), handler)} {}

Server::~Server() {
  for (const auto& loop : impl_->loops) {
    loop->stop();  // all threads, before any loop goes: a handler on one may still answer on another
  }
}

void Server::every(std::chrono::milliseconds interval, std::function<void(unsigned)> task) {
  SECKILL_ASSERT(impl_->loops.empty(), "periodic work is registered before the threads run");
  impl_->shared.tasks.push_back({impl_->shared.ticks(interval), std::move(task)});
}

base::Status Server::start() {
  SECKILL_ASSERT(impl_->loops.empty(), "a server starts once");
  auto listeners = open_listeners(impl_->shared.config);
  if (!listeners) {
    return std::unexpected(std::move(listeners.error()));
  }
  unsigned index = 0;
  try {
    for (const int socket : listeners->sockets) {
      impl_->loops.push_back(std::make_unique<Loop>(impl_->shared, index++, socket));
    }
  } catch (const std::exception& e) {  // Asio throws when the system has no epoll or timer descriptor left
    impl_->loops.clear();
    return base::fail(base::Errc::unavailable, "starting the " + impl_->shared.config.name + " listener", e.what());
  }
  for (const auto& loop : impl_->loops) {
    loop->start();
  }
  impl_->port.store(listeners->port);
  return {};
}

std::uint16_t Server::port() const noexcept { return impl_->port.load(); }

void Server::stop_accepting() {
  for (const auto& loop : impl_->loops) {
    loop->stop_accepting();
  }
}

bool Server::drain(std::chrono::milliseconds limit) {
  if (!impl_->drained) {
    for (const auto& loop : impl_->loops) {
      loop->begin_drain();
    }
    {
      std::unique_lock lock{impl_->mutex};
      impl_->drained = impl_->quiet_changed.wait_for(lock, limit, [this] { return impl_->all_quiet(); });
    }
    for (const auto& loop : impl_->loops) {
      loop->stop();
    }
  }
  return impl_->drained;
}

ServerStats Server::stats() const noexcept {
  ServerStats sum;
  for (const auto& loop : impl_->loops) {
    const LoopCounters& c = loop->counters();
    sum.accepted += c.accepted.read();
    sum.open += c.open.read();
    sum.requests += c.requests.read();
    sum.bytes_in += c.bytes_in.read();
    sum.bytes_out += c.bytes_out.read();
    sum.refused_over_thread_cap += c.over_thread_cap.read();
    sum.refused_over_address_cap += c.over_address_cap.read();
    sum.bad_request += c.bad_request.read();
    sum.not_canonical += c.not_canonical.read();
    sum.body_too_large += c.body_too_large.read();
    sum.target_too_long += c.target_too_long.read();
    sum.expectation_failed += c.expectation_failed.read();
    sum.headers_too_large += c.headers_too_large.read();
    sum.header_timeouts += c.header_timeouts.read();
    sum.body_timeouts += c.body_timeouts.read();
    sum.idle_timeouts += c.idle_timeouts.read();
    sum.write_timeouts += c.write_timeouts.read();
    sum.reply_timeouts += c.reply_timeouts.read();
    sum.unanswered += c.unanswered.read();
    sum.handler_exceptions += c.handler_exceptions.read();
    sum.accept_errors += c.accept_errors.read();
  }
  return sum;
}

std::chrono::microseconds Server::loop_lag(unsigned thread) const noexcept {
  return std::chrono::microseconds{impl_->loops[thread]->counters().lag_us.load(std::memory_order_relaxed)};
}

std::vector<int> Server::thread_ids() const {
  std::vector<int> ids;
  for (const auto& loop : impl_->loops) {
    ids.push_back(loop->counters().thread_id.load());
  }
  return ids;
}

}  // namespace seckill::gateway::http

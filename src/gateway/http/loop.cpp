#include "gateway/http/loop.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <csignal>
#include <utility>

#include "base/assert.hpp"

namespace seckill::gateway::http {
namespace {

constexpr std::chrono::milliseconds linger_time{2'000};
constexpr int batches_per_turn = 4;

// Signals are for the main thread; an io thread must not be the one that is interrupted.
void block_signals() noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

ServerShared::ServerShared(ServerConfig with, RequestHandler& answered_by, std::function<void()> quiet_callback)
    : config{std::move(with)},
      handler{answered_by},
      caps{config.connections_per_address_max, config.uncapped_addresses},
      limits{static_cast<std::uint32_t>(config.header_bytes_max), static_cast<std::uint32_t>(config.headers_max),
             static_cast<std::uint32_t>(config.target_bytes_max), config.body_bytes_max},
      on_quiet{std::move(quiet_callback)} {
  SECKILL_ASSERT(config.tick.count() > 0 && config.write_bytes_per_second_min > 0, "deadlines can be computed");
}

std::uint64_t ServerShared::ticks(std::chrono::milliseconds time) const noexcept {
  const auto tick = config.tick.count();
  const auto whole = (time.count() + tick - 1) / tick;
  return whole < 1 ? 1 : static_cast<std::uint64_t>(whole);
}

// Serials of different loops differ in their upper bits, so a request's id is unique on its listener.
Loop::Loop(ServerShared& shared, unsigned index, int listener)
    : shared_{shared},
      index_{index},
      ticks_{shared.ticks(shared.config.header_time),     shared.ticks(shared.config.body_time),
             shared.ticks(shared.config.idle_time),       shared.ticks(shared.config.write_time),
             shared.ticks(shared.config.reply_wait_time), shared.ticks(linger_time),
             shared.ticks(std::chrono::seconds{1})},
      mailbox_{new Mailbox{[this] { boost::asio::post(io_, [this] { take_deliveries(); }); }}},
      serial_{static_cast<std::uint64_t>(index) << 48U},
      ready_{io_.get_executor(), ready_set_.descriptor()},
      acceptor_{io_.get_executor()},
      accept_timer_{io_.get_executor()},
      tick_timer_{io_.get_executor()} {
  acceptor_.assign(boost::asio::ip::tcp::v4(), listener);  // the family only matters to Asio's endpoint calls
}

Loop::~Loop() {
  stop();
  ready_.release();
  mailbox_->close();
  mailbox_->release();
}

void Loop::start() {
  next_tick_ = std::chrono::steady_clock::now() + shared_.config.tick;
  arm_tick();
  arm_accept();
  arm_ready();
  thread_ = std::thread{[this] { run(); }};
  counters_.thread_id.wait(0);
}

void Loop::run() {
  block_signals();
  pthread_setname_np(pthread_self(), fmt::format("{:.11}-{}", shared_.config.name, index_).c_str());
  Mailbox::set_of_this_thread(mailbox_);
  counters_.thread_id.store(static_cast<int>(::gettid()));
  counters_.thread_id.notify_all();
  io_.run();
}

void Loop::arm_ready() {
  ready_.async_wait(Descriptor::wait_read, [this](const boost::system::error_code& ec) {
    if (!ec) {
      serve_ready();
      arm_ready();
    }
  });
}

// Serves what is ready, a few batches at most before timers, accepts and late answers get their turn.
void Loop::serve_ready() {
  for (int i = 0; i < batches_per_turn; ++i) {
    const std::span<const ReadySet::Ready> ready = ready_set_.take();
    for (const ReadySet::Ready& one : ready) {
      one.session->on_ready(one.readable, one.writable, one.ended);
    }
    if (ready.size() < ReadySet::batch) {
      return;  // asking again would most likely find nothing; the descriptor says when there is more
    }
  }
}

void Loop::read_on_later(Session& session) {
  reading_on_.push_back(&session);
  if (reading_on_.size() > 1) {
    return;
  }
  boost::asio::post(io_, [this] {
    // A session that was closed, or serves another connection by now, finds nothing to do.
    const std::vector<Session*> sessions = std::exchange(reading_on_, {});
    for (Session* session : sessions) {
      session->read_on();
    }
  });
}

void Loop::arm_tick() {
  tick_timer_.expires_at(next_tick_);
  tick_timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) {
      on_tick();
    }
  });
}

void Loop::on_tick() {
  const auto now = std::chrono::steady_clock::now();
  counters_.lag_us.store(std::chrono::duration_cast<std::chrono::microseconds>(now - next_tick_).count(),
                         std::memory_order_relaxed);
  faults_this_tick_ = 0;
  while (next_tick_ <= now) {  // a late tick catches up, so that deadlines stay true
    next_tick_ += shared_.config.tick;
    wheel_.advance([](WheelEntry& entry) { static_cast<Session&>(entry).expire(); });  // only sessions are scheduled
    for (const PeriodicTask& task : shared_.tasks) {
      if (wheel_.now() % task.every_ticks == 0) {
        task.run(index_);
      }
    }
  }
  arm_tick();
}

void Loop::take_deliveries() {
  mailbox_->take(deliveries_);
  for (Delivery& delivery : deliveries_) {
    delivery.session->deliver(delivery);
  }
  deliveries_.clear();
}

void Loop::recycle(Session& session) {
  free_.push_back(&session);
  counters_.open.subtract();
  if (draining_ && quiet()) {
    shared_.on_quiet();
  }
}

void Loop::fault(std::string_view text) {
  if (faults_this_tick_++ == 0 && shared_.config.log_fault) {
    shared_.config.log_fault(text);
  }
}

void Loop::stop_accepting() {
  boost::asio::post(io_, [this] { close_acceptor(); });
}

void Loop::begin_drain() {
  boost::asio::post(io_, [this] {
    draining_ = true;
    close_acceptor();
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      sessions_[i]->close_if_idle();
    }
    drain_begun_.store(true);
    if (quiet()) {
      shared_.on_quiet();
    }
  });
}

void Loop::stop() {
  if (std::exchange(stopped_, true) || !thread_.joinable()) {
    return;
  }
  boost::asio::post(io_, [this] {
    for (const auto& session : sessions_) {
      session->close();
    }
    io_.stop();
  });
  thread_.join();
}

}  // namespace seckill::gateway::http

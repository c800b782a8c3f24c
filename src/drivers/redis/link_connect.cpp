// How a link becomes ready, and what happens when it is lost.
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address.hpp>
#include <utility>

#include "base/random.hpp"
#include "drivers/redis/link.hpp"

namespace seckill::drivers::redis {
namespace {

using boost::asio::ip::tcp;

constexpr std::size_t input_bytes = 64u << 10;  // of one read
// A peer that is gone without a word: unacknowledged bytes are given up after this, so that they never arrive late.
constexpr int unacknowledged_ms_max = 3'000;
constexpr int keepalive_idle_s = 5;
constexpr int keepalive_every_s = 2;
constexpr int keepalive_tries = 3;

// The value of "name:value\r\n" in INFO's text; empty when it is not there.
std::string_view info_field(std::string_view info, std::string_view name) {
  std::size_t at = 0;
  while (at < info.size()) {
    std::size_t end = info.find("\r\n", at);
    if (end == std::string_view::npos) end = info.size();
    const std::string_view line = info.substr(at, end - at);
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':') {
      return line.substr(name.size() + 1);
    }
    at = end + 2;
  }
  return {};
}

const std::string& info_server() {
  static const std::string wire = format_command(std::array<std::string_view, 2>{"INFO", "server"});
  return wire;
}

const std::string& info_replication() {
  static const std::string wire = format_command(std::array<std::string_view, 2>{"INFO", "replication"});
  return wire;
}

std::string auth(const RedisConfig& config) {
  if (config.user.empty()) return format_command(std::array<std::string_view, 2>{"AUTH", config.password});
  return format_command(std::array<std::string_view, 3>{"AUTH", config.user, config.password});
}

}  // namespace

Link::Link(boost::asio::io_context& io, Shared& shared, LinkOwner& owner, std::vector<Endpoint> addresses)
    : io_(io),
      shared_(shared),
      owner_(owner),
      addresses_(std::move(addresses)),
      socket_(io),
      resolver_(io),
      input_(input_bytes),
      breaker_(shared.config.breaker_failures, shared.config.breaker_open),
      backoff_(shared.config.backoff_min, shared.config.backoff_max) {}

void Link::connect() {
  state_ = State::connecting;
  ++connection_;
  connect_deadline_ = Clock::now() + shared_.config.connect_longest;
  count(shared_.connects);
  boost::system::error_code not_literal;
  const boost::asio::ip::address literal = boost::asio::ip::make_address(endpoint().host, not_literal);
  if (!not_literal) {
    socket_.async_connect(tcp::endpoint(literal, endpoint().port),
                          step([this](const auto& error) { connected(error); }));
    return;
  }
  resolver_.async_resolve(endpoint().host, std::to_string(endpoint().port),
                          step([this](const auto& error, const tcp::resolver::results_type& found) {
                            if (error) return lost(error.message());
                            connect_to(found);
                          }));
}

void Link::connect_to(const tcp::resolver::results_type& found) {
  boost::asio::async_connect(socket_, found,
                             step([this](const auto& error, const tcp::endpoint&) { connected(error); }));
}

void Link::connected(const boost::system::error_code& error) {
  if (error) {
    lost(error.message());
    return;
  }
  boost::system::error_code ignored;
  // A port that nobody listens on, drawn by the kernel for our own end: TCP then connects to itself.
  if (socket_.local_endpoint(ignored) == socket_.remote_endpoint(ignored)) {
    lost("connected to itself");
    return;
  }
  set_options();
  greet();
}

void Link::set_options() {
  boost::system::error_code ignored;  // each only improves matters
  socket_.non_blocking(true, ignored);
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.set_option(boost::asio::socket_base::keep_alive(true), ignored);
  const auto set = [this](int name, int value) {
    (void)::setsockopt(socket_.native_handle(), IPPROTO_TCP, name, &value, sizeof value);
  };
  set(TCP_USER_TIMEOUT, unacknowledged_ms_max);
  set(TCP_KEEPIDLE, keepalive_idle_s);
  set(TCP_KEEPINTVL, keepalive_every_s);
  set(TCP_KEEPCNT, keepalive_tries);
}

void Link::greet() {
  state_ = State::greeting;
  reader_ = std::make_unique<ReplyReader>();
  if (!shared_.config.password.empty()) append(Part::auth, auth(shared_.config), connect_deadline_);
  ask_identity();
  read();
}

void Link::ask_identity() {
  append(Part::server, info_server(), connect_deadline_);
  append(Part::replication, info_replication(), connect_deadline_);
  ++replications_asked_;
}

void Link::greet_again() {
  if (state_ != State::ready && state_ != State::greeting) return;  // it has yet to greet
  state_ = State::greeting;
  connect_deadline_ = Clock::now() + shared_.config.connect_longest;
  if (!pipeline_.empty()) connect_deadline_ = std::max(connect_deadline_, latest_under_way_);
  ask_identity();
}

void Link::read() {
  socket_.async_read_some(boost::asio::buffer(input_), step([this](const auto& error, std::size_t bytes) {
                            error ? lost(error.message()) : received(bytes);
                          }));
}

void Link::handle(Sent sent, RedisReply reply) {
  switch (sent.part) {
    case Part::auth:
      if (reply.is_error()) lost(reply.text());
      break;
    case Part::server:
      if (reply.is_error()) {
        lost(reply.text());
        break;
      }
      identity_.run_id = info_field(reply.text(), "run_id");
      break;
    case Part::replication:
      --replications_asked_;
      if (state_ == State::greeting && reply.is_error()) {
        lost(reply.text());
        break;
      }
      if (!reply.is_error()) identity_.replication_id = info_field(reply.text(), "master_replid");
      // An answer to an earlier asking may be about what the server was.
      if (state_ == State::greeting && replications_asked_ == 0) became_ready();
      break;
    case Part::load:
    case Part::asking: break;  // what depends on them says so itself
    case Part::call:
      breaker_.succeeded();
      owner_.on_reply(*this, std::move(sent.call), std::move(reply));
      break;
  }
}

void Link::became_ready() {
  if (identity_.run_id.empty() || identity_.replication_id.empty()) {
    lost("INFO tells no identity");
    return;
  }
  state_ = State::ready;
  backoff_.reset();
  next_probe_ = Clock::now() + shared_.config.probe_period;
  for (std::unique_ptr<PendingCall>& call : take_waiting()) send(std::move(call));
}

void Link::probe() {
  if (state_ != State::ready || replications_asked_ > 0) return;
  const TimePoint now = Clock::now();
  next_probe_ = now + shared_.config.probe_period;
  // Behind a long script it is no earlier due than that script's own call.
  const TimePoint due = now + shared_.config.connect_longest;
  append(Part::replication, info_replication(), pipeline_.empty() ? due : std::max(due, latest_under_way_));
  ++replications_asked_;
}

// Drops the connection at once: what the kernel still holds is not sent (RST), nothing that comes is read.
void Link::disconnect() {
  ++connection_;
  boost::system::error_code ignored;
  if (socket_.is_open()) {
    socket_.set_option(boost::asio::socket_base::linger(true, 0), ignored);
    socket_.close(ignored);
  }
  resolver_.cancel();
  out_.clear();
  out_taken_ = 0;
  write_blocked_ = false;
  leaving_ = false;
  replications_asked_ = 0;
  loads_.clear();
  identity_ = {};
  const std::uint64_t taken = std::exchange(bytes_taken_, 0);
  bytes_appended_ = 0;
  earliest_under_way_ = TimePoint::max();
  std::deque<Sent> cut = std::exchange(pipeline_, {});
  for (Sent& sent : cut) {
    if (sent.call == nullptr) continue;
    const bool written = sent.begins_at < taken;
    shared_.fail(std::move(sent.call), written ? base::Errc::timeout : base::Errc::unavailable, trouble_);
  }
}

void Link::rest() {
  state_ = State::resting;
  retry_at_ = Clock::now() + backoff_.next(base::system_random());
  address_ = (address_ + 1) % addresses_.size();
  refuse_waiting(breaker_.is_open());
  owner_.on_down(*this);
}

// Pinned calls, or all.
void Link::refuse_waiting(bool all) {
  std::deque<std::unique_ptr<PendingCall>> refused;
  std::deque<std::unique_ptr<PendingCall>> kept;
  for (std::unique_ptr<PendingCall>& call : take_waiting()) {
    if (all || call->pinned) {
      refused.push_back(std::move(call));
    } else {
      earliest_waiting_ = std::min(earliest_waiting_, call->deadline);
      kept.push_back(std::move(call));
    }
  }
  waiting_ = std::move(kept);
  for (std::unique_ptr<PendingCall>& call : refused) refuse(std::move(call));
}

void Link::lost(std::string_view why) {
  if (is_connecting()) count_failure(Clock::now());
  trouble_ = endpoint().text() + ": " + std::string(why);
  state_ = State::resting;
  disconnect();
  rest();
}

void Link::close() {
  if (state_ == State::closed) return;
  trouble_ = "closed";
  state_ = State::closed;
  disconnect();
  for (std::unique_ptr<PendingCall>& call : take_waiting()) refuse(std::move(call));
}

}  // namespace seckill::drivers::redis

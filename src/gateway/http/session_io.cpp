// The half of Session (session.hpp) that touches the socket: reads, writes, lingering close and their deadlines. Every
// buffer it fills has a cap (P9).
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <cerrno>
#include <cstring>

#include "base/assert.hpp"
#include "gateway/http/loop.hpp"
#include "gateway/http/session.hpp"

namespace seckill::gateway::http {
namespace {

// While lingering we throw away at most this much of what the client still sends.
constexpr std::size_t linger_bytes_max = 256 * 1024;
// An output buffer larger than this is given back once it is empty.
constexpr std::size_t out_bytes_kept = 16 * 1024;

}  // namespace

struct Session::ReadDone {
  Session* session;
  void operator()(const boost::system::error_code& ec, std::size_t bytes) const {
    session->on_read(bytes, static_cast<bool>(ec));
  }
};

struct Session::WriteReady {
  Session* session;
  void operator()(const boost::system::error_code& ec) const { session->on_writable(static_cast<bool>(ec)); }
};

bool Session::open(int socket, const PeerAddress& peer, ConnectionCaps::Key cap_key) {
  SECKILL_ASSERT(state_ == State::closed && !reading_ && !write_armed_, "a session serves one connection at a time");
  boost::system::error_code ec;
  socket_.assign(boost::asio::ip::tcp::v4(), socket, ec);  // the family only matters to Asio's endpoint calls
  if (ec) {
    ::close(socket);
    return false;
  }
  peer_ = peer;
  cap_key_ = cap_key;
  serial_ = 0;
  start_ = filled_ = request_bytes_ = discarded_ = 0;
  head_done_ = close_after_ = broken_ = dropped_ = false;
  parser_.reset();
  enter(State::idle, loop_.ticks().idle);
  arm_read();
  return true;
}

void Session::enter(State state, std::uint64_t ticks) noexcept {
  state_ = state;
  loop_.wheel().schedule(*this, ticks);
}

std::uint64_t Session::write_ticks(std::size_t bytes) const noexcept {
  return loop_.ticks().write + bytes / loop_.shared().config.write_bytes_per_second_min * loop_.ticks().per_second;
}

void Session::arm_read() {
  if (state_ == State::idle && loop_.draining()) {
    close_if_idle();
    if (state_ == State::closed) {
      return;
    }
  }
  make_room();
  reading_ = true;
  socket_.async_read_some(boost::asio::buffer(data() + filled_, capacity_ - filled_), ReadDone{this});
}

void Session::on_read(std::size_t bytes, bool failed) {
  reading_ = false;
  if (state_ == State::closed) {
    recycle_when_quiet();
    return;
  }
  if (failed) {
    close();
    return;
  }
  loop_.counters().bytes_in.add(bytes);
  if (state_ == State::lingering) {
    discarded_ += bytes;
    if (discarded_ > linger_bytes_max) {
      close();
    } else {
      arm_read();
    }
    return;
  }
  filled_ += bytes;
  process();
}

// Requires: the request being read fits its caps, which the parser judged before more is read.
void Session::make_room() {
  if (filled_ < capacity_) {
    return;
  }
  if (state_ == State::lingering) {
    start_ = filled_ = 0;
    return;
  }
  if (start_ > 0) {
    std::memmove(data(), data() + start_, filled_ - start_);
    filled_ -= start_;
    start_ = 0;
    return;
  }
  const ParseLimits& limits = loop_.shared().limits;
  const std::size_t capacity_max = limits.header_bytes + static_cast<std::size_t>(limits.body_bytes) + 1024;
  SECKILL_ASSERT(capacity_ < capacity_max,
                 "a request that outgrows its caps is refused before more of it is read (P9)");
  const std::size_t wanted = std::min(capacity_ * 2, capacity_max);
  auto bigger = std::make_unique_for_overwrite<char[]>(wanted);
  std::memcpy(bigger.get(), data(), filled_);
  big_ = std::move(bigger);
  capacity_ = wanted;
}

void Session::drop_big_buffer() noexcept {
  if (big_) {
    big_.reset();
    capacity_ = inline_bytes;
  }
}

std::size_t Session::send_some(std::string_view bytes) {
  if (broken_) {
    return 0;
  }
  // The plain call: Asio's synchronous write costs more instructions than the system call's own user side.
  const ssize_t sent = ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) {
    loop_.counters().bytes_out.add(static_cast<std::uint64_t>(sent));
    return static_cast<std::size_t>(sent);
  }
  broken_ = errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
  return 0;
}

// Sends at once, unless more replies will follow in this turn or earlier ones still wait.
void Session::put_out(std::string_view bytes, bool more_to_come) {
  if (!more_to_come && out_empty()) [[likely]] {
    const std::size_t sent = send_some(bytes);
    if (sent == bytes.size()) [[likely]] {
      return;
    }
    bytes.remove_prefix(sent);
  }
  SECKILL_ASSERT(held_ == nullptr, "a held reply is sent before the next request is read");
  out_.append(bytes);
}

// True when everything is sent. Otherwise either broken_, or on_writable() will go on.
bool Session::flush() {
  if (out_at_ < out_.size()) {
    out_at_ += send_some(std::string_view{out_}.substr(out_at_));
    if (out_at_ < out_.size()) {
      arm_write();
      return false;
    }
    out_at_ = 0;
    out_.clear();
    if (out_.capacity() > out_bytes_kept) {
      out_ = {};
    }
  }
  if (held_ != nullptr) {
    held_left_.remove_prefix(send_some(held_left_));
    if (!held_left_.empty()) {
      arm_write();
      return false;
    }
    held_.reset();
  }
  return !broken_;
}

void Session::arm_write() {
  if (write_armed_ || broken_) {
    return;
  }
  write_armed_ = true;
  socket_.async_wait(Socket::wait_write, WriteReady{this});
}

void Session::on_writable(bool failed) {
  write_armed_ = false;
  if (state_ == State::closed) {
    recycle_when_quiet();
    return;
  }
  const bool all_sent = flush();
  if (failed || broken_) {
    close();
    return;
  }
  if (!all_sent || state_ != State::writing) {
    return;  // still waiting, or the reply to come goes on from here
  }
  if (close_after_) {
    shut_down();
    return;
  }
  state_ = State::handling;  // so that the next wait gets its own deadline
  process();
}

// The last reply is with the kernel. Closing now could reset the connection and take the reply along when the client
// has sent more than was read, so the send side is shut and input is thrown away for a while.
void Session::shut_down() {
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  start_ = filled_ = 0;
  discarded_ = 0;
  enter(State::lingering, loop_.ticks().linger);
  if (!reading_) {
    arm_read();
  }
}

void Session::close() {
  if (state_ == State::closed) {
    return;
  }
  SECKILL_ASSERT(!handling_, "a handler's request outlives its handle()");
  state_ = State::closed;
  serial_ = 0;
  unlink();
  boost::system::error_code ignored;
  socket_.close(ignored);
  loop_.shared().caps.release(cap_key_);
  recycle_when_quiet();
}

void Session::recycle_when_quiet() {
  if (reading_ || write_armed_) {
    return;  // a cancelled operation still refers to this session
  }
  out_ = {};
  out_at_ = 0;
  held_.reset();
  chunked_body_ = {};
  drop_big_buffer();
  loop_.recycle(*this);
}

}  // namespace seckill::gateway::http

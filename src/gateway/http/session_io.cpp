// The half of Session (session.hpp) that touches the socket: reads, writes, lingering close and their deadlines. Every
// buffer it fills has a cap (P9).
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "gateway/http/loop.hpp"
#include "gateway/http/session.hpp"

namespace seckill::gateway::http {
namespace {

// While lingering we throw away at most this much of what the client still sends.
constexpr std::size_t linger_bytes_max = 256 * 1024;
// An output buffer larger than this is given back once it is empty.
constexpr std::size_t out_bytes_kept = 16 * 1024;
// Reads of one connection in a row before others get their turn.
constexpr int reads_per_turn = 16;

}  // namespace

bool Session::open(int socket, const PeerAddress& peer, ConnectionCaps::Key cap_key) {
  SECKILL_ASSERT(state_ == State::closed && socket_ < 0, "a session serves one connection at a time");
  if (!loop_.ready_set().add(socket, *this)) {
    ::close(socket);
    return false;
  }
  socket_ = socket;
  peer_ = peer;
  cap_key_ = cap_key;
  serial_ = 0;
  start_ = filled_ = request_bytes_ = discarded_ = 0;
  head_done_ = close_after_ = broken_ = dropped_ = false;
  reading_ = readable_ = ended_ = write_armed_ = false;
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
}

void Session::on_ready(bool readable, bool writable, bool ended) {
  if (state_ == State::closed) {
    return;
  }
  readable_ |= readable;
  ended_ |= ended;
  if (writable && write_armed_) {
    on_writable();
  }
  read_on();
}

// Reads as long as the session wants bytes and there may be some. Whoever may have armed a read calls it last, so that
// serving a request never nests inside serving another.
void Session::read_on() {
  for (int reads = 0; reading_ && readable_; ++reads) {
    if (reads == reads_per_turn) {
      loop_.read_on_later(*this);
      return;
    }
    read_some();
  }
}

void Session::read_some() {
  const std::size_t room = capacity_ - filled_;
  const ssize_t got = ::recv(socket_, data() + filled_, room, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    readable_ = false;
    return;
  }
  if (got < 0 && errno == EINTR) {
    return;
  }
  // Fewer bytes than there was room for: the socket is empty now, and the next byte makes a new edge (epoll(7)). Only
  // the end of the stream makes none, if its edge has come already.
  if (got > 0 && static_cast<std::size_t>(got) < room && !ended_) {
    readable_ = false;
  }
  on_read(got > 0 ? static_cast<std::size_t>(got) : 0, got <= 0);
}

void Session::on_read(std::size_t bytes, bool failed) {
  reading_ = false;
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
  const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
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

// The set watches for room all the time; this says that somebody waits for it. No edge can be missed: a send that found
// the buffer full was made on this thread, after whatever edge was taken before.
void Session::arm_write() { write_armed_ = !broken_; }

void Session::on_writable() {
  write_armed_ = false;
  const bool all_sent = flush();
  if (broken_) {
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
  ::shutdown(socket_, SHUT_WR);
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
  ::close(std::exchange(socket_, -1));  // leaves the ready set by itself
  reading_ = readable_ = write_armed_ = false;
  loop_.shared().caps.release(cap_key_);
  recycle();
}

void Session::recycle() {
  out_ = {};
  out_at_ = 0;
  held_.reset();
  chunked_body_ = {};
  drop_big_buffer();
  loop_.recycle(*this);
}

}  // namespace seckill::gateway::http

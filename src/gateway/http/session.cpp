#include "gateway/http/session.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <exception>

#include "base/assert.hpp"
#include "gateway/http/handler.hpp"
#include "gateway/http/loop.hpp"

namespace seckill::gateway::http {
namespace {

// Replies to pipelined requests gather up to this, then they are sent before the next request is read.
constexpr std::size_t coalesce_bytes_max = 64 * 1024;
constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

Session::Session(Loop& loop) : loop_{loop}, parser_{loop.shared().limits} {}

Session::~Session() {
  if (socket_ >= 0) {
    ::close(socket_);
  }
}

// Serves whatever is complete in the buffer, then waits for what it needs. The only place that starts a request.
void Session::process() {
  for (;;) {
    const ParseOutcome outcome = parse_next();
    if (outcome == ParseOutcome::need_more) {
      if (flush()) {
        arm_read();
      } else if (broken_) {
        close();
      } else {
        enter(State::writing, write_ticks(out_.size()));
      }
      return;
    }
    if (outcome != ParseOutcome::done) {
      refuse(outcome);
      return;
    }
    dispatch();
    if (serial_ != 0) {
      enter(State::awaiting, loop_.ticks().reply_wait);
      (void)flush();  // earlier replies should not wait for this one; what cannot go now goes when writable
      if (broken_) {
        close();
      }
      return;
    }
    if (!finish_request()) {
      return;
    }
  }
}

ParseOutcome Session::parse_next() {
  const bool new_head = !head_done_;
  if (new_head) {
    if (start_ == filled_) {
      if (state_ != State::idle) {
        enter(State::idle, loop_.ticks().idle);
      }
      return ParseOutcome::need_more;
    }
    const ParseOutcome outcome = parser_.parse_head({data() + start_, filled_ - start_});
    if (outcome == ParseOutcome::need_more && state_ != State::reading_head) {
      enter(State::reading_head, loop_.ticks().header);
    }
    if (outcome != ParseOutcome::done) {
      return outcome;
    }
    head_done_ = true;
    const RequestHead& head = parser_.head();
    request_bytes_ = head.bytes + static_cast<std::size_t>(head.content_length);
    if (!head.chunked && request_bytes_ <= filled_ - start_) [[likely]] {
      return ParseOutcome::done;
    }
  }
  const bool body_begun = filled_ - start_ > parser_.head().bytes;
  const ParseOutcome outcome = parse_body();
  if (outcome == ParseOutcome::need_more && state_ != State::reading_body) {
    enter(State::reading_body, loop_.ticks().body);
    if (new_head && !body_begun && parser_.head().expect_continue) {
      put_out(continue_line, /*more_to_come=*/false);
    }
  }
  return outcome;
}

ParseOutcome Session::parse_body() {
  if (!parser_.head().chunked) {
    return request_bytes_ <= filled_ - start_ ? ParseOutcome::done : ParseOutcome::need_more;
  }
  // Decoded bytes leave the buffer at once; the head stays, because the request's views point into it.
  const std::size_t from = start_ + parser_.head().bytes;
  std::size_t consumed = 0;
  const ParseOutcome outcome = parser_.parse_chunks({data() + from, filled_ - from}, consumed, chunked_body_);
  std::char_traits<char>::move(data() + from, data() + from + consumed, filled_ - from - consumed);
  filled_ -= consumed;
  request_bytes_ = parser_.head().bytes;
  return outcome;
}

// Answers the request, or leaves serial_ set when the handler will answer later.
void Session::dispatch() {
  const RequestHead& head = parser_.head();
  close_after_ = must_close();
  state_ = State::handling;
  serial_ = loop_.next_serial();
  dropped_ = false;
  if (!head.canonical) [[unlikely]] {
    loop_.counters().not_canonical.add();
    core_answer(loop_.shared().config.replies.not_found);
    return;
  }
  loop_.counters().requests.add();
  handling_ = true;
  // The one catch of a connection: whatever a handler throws costs its client a 500 and nobody else anything.
  try {
    give_to_handler();
  } catch (const std::exception& e) {
    loop_.counters().handler_exceptions.add();
    loop_.fault(e.what());
    close_after_ = true;
    core_answer(loop_.shared().config.replies.internal);
  } catch (...) {
    loop_.counters().handler_exceptions.add();
    loop_.fault("an exception of unknown type");
    close_after_ = true;
    core_answer(loop_.shared().config.replies.internal);
  }
  handling_ = false;
  if (serial_ != 0 && dropped_) {
    loop_.counters().unanswered.add();
    core_answer(loop_.shared().config.replies.busy);
  }
}

void Session::give_to_handler() {
  const RequestHead& head = parser_.head();
  Request request;
  request.id = serial_;
  request.method = head.method;
  request.has_idempotency_key = head.idempotency_key.at != 0;
  request.path = view(head.path);
  request.query = view(head.query);
  request.host = view(head.host);
  request.authorization = view(head.authorization);
  request.idempotency_key = view(head.idempotency_key);
  request.content_type = view(head.content_type);
  request.accept_language = view(head.accept_language);
  request.if_match = view(head.if_match);
  request.if_none_match = view(head.if_none_match);
  request.user_agent = view(head.user_agent);
  request.forwarded_for = parser_.joined_forwarded_for().empty() ? view(head.forwarded_for)
                                                                 : std::string_view{parser_.joined_forwarded_for()};
  request.body = head.chunked ? std::string_view{chunked_body_}
                              : view({head.bytes, static_cast<std::uint32_t>(head.content_length)});
  request.peer = peer_;
  loop_.shared().handler.handle(request, ReplySlot{loop_.mailbox(), *this, serial_});
}

bool Session::must_close() const noexcept { return !parser_.head().keep_alive || loop_.draining(); }

bool Session::head_only() const noexcept { return parser_.head().method == Method::head; }

void Session::answer(const PreparedReply& reply) {
  const bool more = start_ + request_bytes_ < filled_;
  serial_ = 0;
  put_out(reply.bytes(close_after_, head_only()), more);
}

void Session::answer(std::shared_ptr<const PreparedReply> reply) {
  serial_ = 0;
  const std::string_view bytes = reply->bytes(close_after_, head_only());
  const std::size_t sent = out_empty() ? send_some(bytes) : 0;
  if (sent < bytes.size()) {
    held_ = std::move(reply);
    held_left_ = bytes.substr(sent);
  }
}

void Session::answer(const Reply& reply) {
  RenderedReply& rendered = loop_.scratch();
  RenderedReply::render(reply, /*with_date=*/true, rendered);
  if (close_after_) {
    rendered.say_close();
  }
  serial_ = 0;
  put_out(head_only() ? rendered.without_body() : rendered.all(), start_ + request_bytes_ < filled_);
}

// An answer of our own; when a handler had sent one already, only the connection's end is left to do.
void Session::core_answer(const PreparedReply& reply) {
  if (serial_ != 0) {
    answer(reply);
  }
}

void Session::deliver(Delivery& delivery) {
  if (serial_ != delivery.serial || state_ != State::awaiting) {
    return;  // the connection died or gave up waiting; the sender need not know
  }
  close_after_ = must_close();
  if (delivery.shared != nullptr) {
    answer(std::move(delivery.shared));
  } else if (delivery.rendered.all().empty()) {
    loop_.counters().unanswered.add();
    answer(loop_.shared().config.replies.busy);
  } else {
    if (close_after_) {
      delivery.rendered.say_close();
    }
    serial_ = 0;
    put_out(head_only() ? delivery.rendered.without_body() : delivery.rendered.all(),
            start_ + request_bytes_ < filled_);
  }
  if (finish_request()) {
    process();
  }
  read_on();
}

// The request is answered: forgets it. True when the next one may be looked at now.
bool Session::finish_request() {
  if (broken_) {
    close();
    return false;
  }
  start_ += request_bytes_;
  head_done_ = false;
  parser_.reset();
  if (!chunked_body_.empty()) {
    chunked_body_ = {};
  }
  const bool nothing_left = start_ == filled_;
  if (nothing_left) {
    start_ = filled_ = 0;
    drop_big_buffer();
  }
  if (!out_empty() &&
      (nothing_left || close_after_ || held_ != nullptr || out_.size() - out_at_ > coalesce_bytes_max) && !flush()) {
    if (broken_) {
      close();
    } else {
      enter(State::writing, write_ticks(out_.size() - out_at_ + held_left_.size()));
    }
    return false;
  }
  if (close_after_) {
    shut_down();
    return false;
  }
  return true;
}

void Session::refuse(ParseOutcome why) {
  LoopCounters& counters = loop_.counters();
  const CoreReplies& replies = loop_.shared().config.replies;
  const PreparedReply* reply = &replies.bad_request;
  switch (why) {
    case ParseOutcome::need_more:
    case ParseOutcome::done: SECKILL_ASSERT(false, "only a refused request is refused");
    case ParseOutcome::bad_request: counters.bad_request.add(); break;
    case ParseOutcome::target_too_long:
      counters.target_too_long.add();
      reply = &replies.target_too_long;
      break;
    case ParseOutcome::headers_too_large:
      counters.headers_too_large.add();
      reply = &replies.headers_too_large;
      break;
    case ParseOutcome::body_too_large:
      counters.body_too_large.add();
      reply = &replies.body_too_large;
      break;
    case ParseOutcome::expectation_failed:
      counters.expectation_failed.add();
      reply = &replies.expectation_failed;
      break;
  }
  close_after_ = true;  // where the request ends is unknown or not wanted, so nothing after it may be read as one
  put_out(reply->bytes(/*close=*/true, /*head_only=*/false), /*more_to_come=*/false);
  request_bytes_ = filled_ - start_;
  (void)finish_request();
}

void Session::expire() {
  LoopCounters& counters = loop_.counters();
  switch (state_) {
    case State::closed:
    case State::handling: return;
    case State::idle: counters.idle_timeouts.add(); break;
    case State::reading_head:
    case State::reading_body:
      (state_ == State::reading_head ? counters.header_timeouts : counters.body_timeouts).add();
      if (out_empty()) {
        (void)send_some(loop_.shared().config.replies.request_timeout.bytes(true, false));
      }
      break;
    case State::awaiting:
      counters.reply_timeouts.add();
      close_after_ = true;
      answer(loop_.shared().config.replies.busy);
      (void)finish_request();
      read_on();
      return;
    case State::writing: {
      counters.write_timeouts.add();
      // A client that does not read leaves nothing in the kernel either: reset instead of FIN.
      constexpr linger reset{.l_onoff = 1, .l_linger = 0};
      ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
      break;
    }
    case State::lingering: break;
  }
  close();
}

void Session::close_if_idle() {
  if (state_ != State::idle) {
    return;
  }
  // What the client has sent already is answered (FS-43); then the connection ends by itself, as we are draining.
  char peeked = 0;
  if (::recv(socket_, &peeked, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
    return;
  }
  close();
}

}  // namespace seckill::gateway::http

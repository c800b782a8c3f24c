// One connection: read, parse, hand over, answer, in that order, one request at a time; what a client sends beyond that
// waits in its own TCP window. Used on its loop's thread only.
//
//            bytes                 head whole              body whole           answered, all sent
//   idle ---------> reading_head -----------> reading_body ---------> handling ------------------> idle
//                                                            |  ^ later answer      | not all sent
//                                                            v  |                   v
//                                                          awaiting             writing ---> idle
//   any refusal or last reply: -> writing -> lingering (send side shut, input discarded) -> closed
//
// Every state but handling has a deadline (P9). Sessions are kept and used again, so a late ReplySlot may look at one;
// the serial tells whether its request is still the one being served.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/http/connection_caps.hpp"
#include "gateway/http/mailbox.hpp"
#include "gateway/http/reply.hpp"
#include "gateway/http/request_parser.hpp"
#include "gateway/http/timer_wheel.hpp"

namespace seckill::gateway::http {

class Loop;

class Session final : public WheelEntry {
 public:
  explicit Session(Loop& loop);
  ~Session();

  // Takes over the connected, non-blocking `socket`. Requires: the session is closed. False (and the socket is closed)
  // when the system has no room for it.
  [[nodiscard]] bool open(int socket, const PeerAddress& peer, ConnectionCaps::Key cap_key);

  // From a ReplySlot inside handle().
  [[nodiscard]] bool handling(std::uint64_t serial) const noexcept { return handling_ && serial_ == serial; }
  void answer(const Reply& reply);
  void answer(const PreparedReply& reply);
  void answer(std::shared_ptr<const PreparedReply> reply);
  void dropped() noexcept { dropped_ = true; }

  // From the ready set: what the connection has become ready for. Ignored by a closed session.
  void on_ready(bool readable, bool writable, bool ended);
  // Goes on reading where a long run was cut short to let others in.
  void read_on();

  // From the mailbox.
  void deliver(Delivery& delivery);
  // The deadline has passed.
  void expire();
  // The server drains: closes the connection if nothing is under way on it.
  void close_if_idle();
  // At once, without a word.
  void close();

  [[nodiscard]] bool is_open() const noexcept { return state_ != State::closed; }

 private:
  enum class State : std::uint8_t { closed, idle, reading_head, reading_body, handling, awaiting, writing, lingering };

  // session.cpp: the request
  void process();
  [[nodiscard]] ParseOutcome parse_next();
  [[nodiscard]] ParseOutcome parse_body();
  void dispatch();
  void give_to_handler();
  [[nodiscard]] bool finish_request();
  void refuse(ParseOutcome why);
  void core_answer(const PreparedReply& reply);
  [[nodiscard]] bool must_close() const noexcept;
  [[nodiscard]] std::string_view view(Span span) const noexcept { return {data() + start_ + span.at, span.size}; }
  [[nodiscard]] bool head_only() const noexcept;

  // session_io.cpp: the bytes
  void arm_read();
  void read_some();
  void on_read(std::size_t bytes, bool failed);
  void arm_write();
  void on_writable();
  void put_out(std::string_view bytes, bool more_to_come);
  [[nodiscard]] std::size_t send_some(std::string_view bytes);
  [[nodiscard]] bool flush();
  void shut_down();
  void recycle();
  void make_room();
  void drop_big_buffer() noexcept;
  void enter(State state, std::uint64_t ticks) noexcept;
  [[nodiscard]] std::uint64_t write_ticks(std::size_t bytes) const noexcept;
  [[nodiscard]] char* data() noexcept { return big_ ? big_.get() : inline_.data(); }
  [[nodiscard]] const char* data() const noexcept { return big_ ? big_.get() : inline_.data(); }
  [[nodiscard]] bool out_empty() const noexcept { return out_at_ == out_.size() && held_ == nullptr; }

  static constexpr std::size_t inline_bytes = 2048;  // a purchase with its headers; more costs an allocation

  Loop& loop_;
  int socket_ = -1;
  State state_ = State::closed;
  bool handling_ = false;
  bool dropped_ = false;  // the handler let its slot go unsent
  bool broken_ = false;   // a send failed: nothing more can be said
  bool head_done_ = false;
  bool close_after_ = false;  // the reply being sent is the connection's last
  bool reading_ = false;      // wants bytes; read_on() fetches them as soon as there are any
  bool readable_ = false;     // there may be bytes: an edge was seen and the socket not yet found empty
  bool ended_ = false;        // the peer sends no more: the socket is not empty until a read has said so
  bool write_armed_ = false;  // waits for room to write
  PeerAddress peer_;
  ConnectionCaps::Key cap_key_ = 0;
  std::uint64_t serial_ = 0;  // of the unanswered request; 0: none

  // Bytes [start_, filled_) are received and not yet answered; the request being read begins at start_.
  std::size_t start_ = 0;
  std::size_t filled_ = 0;
  std::size_t capacity_ = inline_bytes;
  std::size_t request_bytes_ = 0;  // of the request being served, with its body as sent
  std::size_t discarded_ = 0;      // while lingering
  std::unique_ptr<char[]> big_;
  std::string chunked_body_;
  RequestParser parser_;

  // Replies not sent yet: out_ from out_at_, then what is left of held_.
  std::string out_;
  std::size_t out_at_ = 0;
  std::shared_ptr<const PreparedReply> held_;
  std::string_view held_left_;

  std::array<char, inline_bytes> inline_;
};

}  // namespace seckill::gateway::http

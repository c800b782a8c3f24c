// The right to answer one request, once. Sent inside handle() it writes to the socket at once, without allocation or
// post; sent later, from any thread, it reaches the session's own thread through that thread's mailbox, and many
// answers given together cost one wake-up. Keeps P9: an answer that nobody gives becomes "busy", never a hanging
// connection.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "gateway/http/reply.hpp"

namespace seckill::gateway::http {

class Mailbox;  // one an io thread; outlives the server while slots are outstanding
class Session;

// Move-only. May be kept, moved and used on any thread, one at a time, also after the server has gone (then sending
// does nothing). Destroyed unsent it answers 503 busy.
class ReplySlot {
 public:
  ReplySlot() noexcept = default;
  ReplySlot(ReplySlot&& other) noexcept
      : mailbox_{std::exchange(other.mailbox_, nullptr)}, session_{other.session_}, serial_{other.serial_} {}
  ReplySlot& operator=(ReplySlot&& other) noexcept;
  ReplySlot(const ReplySlot&) = delete;
  ReplySlot& operator=(const ReplySlot&) = delete;
  ~ReplySlot() {
    if (mailbox_ != nullptr) {
      drop();
    }
  }

  // Each sends the answer and empties the slot; on an empty slot each does nothing. Never blocks. When the connection
  // has died or its wait for a reply has run out, the answer is discarded.
  void send(Reply&& reply);
  // `reply` need live only until the call returns. Copies when called outside handle().
  void send(const PreparedReply& reply);
  // For large replies that many requests share (static files, cached views): never copied.
  void send(std::shared_ptr<const PreparedReply> reply);

  // True while the slot still owes an answer.
  [[nodiscard]] explicit operator bool() const noexcept { return mailbox_ != nullptr; }

 private:
  friend class Session;
  // Takes a reference on `mailbox`.
  ReplySlot(Mailbox& mailbox, Session& session, std::uint64_t serial) noexcept;

  void drop() noexcept;
  // True when the call comes from inside this request's own handle().
  [[nodiscard]] bool inside_handle() const noexcept;
  void release() noexcept;

  Mailbox* mailbox_ = nullptr;
  Session* session_ = nullptr;  // looked at on its own thread only, and only while serial_ is its request
  std::uint64_t serial_ = 0;
};

}  // namespace seckill::gateway::http

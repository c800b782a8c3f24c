#include "gateway/http/reply_slot.hpp"

#include "gateway/http/mailbox.hpp"
#include "gateway/http/session.hpp"

namespace seckill::gateway::http {

ReplySlot::ReplySlot(Mailbox& mailbox, Session& session, std::uint64_t serial) noexcept
    : mailbox_{&mailbox}, session_{&session}, serial_{serial} {
  mailbox.retain();
}

ReplySlot& ReplySlot::operator=(ReplySlot&& other) noexcept {
  if (this != &other) {
    if (mailbox_ != nullptr) {
      drop();
    }
    mailbox_ = std::exchange(other.mailbox_, nullptr);
    session_ = other.session_;
    serial_ = other.serial_;
  }
  return *this;
}

bool ReplySlot::inside_handle() const noexcept {
  return Mailbox::of_this_thread() == mailbox_ && session_->handling(serial_);
}

void ReplySlot::release() noexcept { std::exchange(mailbox_, nullptr)->release(); }

void ReplySlot::send(Reply&& reply) {
  if (mailbox_ == nullptr) {
    return;
  }
  if (inside_handle()) {
    session_->answer(reply);
  } else {
    mailbox_->post({session_, serial_, RenderedReply::of(reply)});
  }
  release();
}

void ReplySlot::send(const PreparedReply& reply) {
  if (mailbox_ == nullptr) {
    return;
  }
  if (inside_handle()) [[likely]] {
    session_->answer(reply);
  } else {
    mailbox_->post({session_, serial_, reply.keep_alive()});
  }
  release();
}

void ReplySlot::send(std::shared_ptr<const PreparedReply> reply) {
  if (mailbox_ == nullptr || reply == nullptr) {
    return;  // a null reply leaves the slot to its destructor: busy
  }
  if (inside_handle()) {
    session_->answer(std::move(reply));
  } else {
    mailbox_->post({session_, serial_, {}, std::move(reply)});
  }
  release();
}

void ReplySlot::drop() noexcept {
  if (inside_handle()) {
    session_->dropped();
  } else {
    mailbox_->post({session_, serial_});
  }
  release();
}

}  // namespace seckill::gateway::http

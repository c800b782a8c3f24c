// A ready link: sending, writing, reading, deadlines. How it becomes ready and recovers is in link_connect.cpp.
#include "drivers/redis/link.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/assert.hpp"

namespace seckill::drivers::redis {
namespace {

constexpr std::size_t kept_output_bytes_max = 1u << 20;
constexpr std::size_t loads_kept_max = 256;

}  // namespace

void Link::push(std::unique_ptr<PendingCall> call) {
  const TimePoint now = Clock::now();
  // A pinned call has no other place to go and nobody to wait for: it is told at once.
  const bool refused = state_ == State::closed || (call->pinned ? is_down() : !breaker_.try_pass(now));
  if (refused) {
    refuse(std::move(call));
    return;
  }
  if (state_ == State::ready && !leaving_) {
    send(std::move(call));
    return;
  }
  earliest_waiting_ = std::min(earliest_waiting_, call->deadline);
  waiting_.push_back(std::move(call));
  if (state_ == State::idle) connect();
}

void Link::refuse(std::unique_ptr<PendingCall> call) {
  shared_.fail(std::move(call), base::Errc::unavailable, trouble_);
}

void Link::send(std::unique_ptr<PendingCall> call) {
  if (call->expected && *call->expected != identity_) {
    owner_.on_foreign(*this);
    shared_.finish(std::move(call), CallAnswer{.end = CallEnd::foreign, .reply = {}, .identity = identity_});
    return;
  }
  if (call->asking) {
    static const std::string asking = format_command(std::array<std::string_view, 1>{"ASKING"});
    append(Part::asking, asking, call->deadline);
  }
  call->sent_as = ++sendings_;
  count(shared_.calls);
  const std::string_view wire = call->wire;  // stands where the call stands
  const TimePoint deadline = call->deadline;
  append(Part::call, wire, deadline, std::move(call));
}

void Link::repeat_with_script(std::unique_ptr<PendingCall> call) {
  SECKILL_ASSERT(call->script != nullptr, "only a script can be missing");
  const RedisScript& script = *call->script;
  const auto known = loads_.find(script.sha1());
  // Calls that went out before the first of them learnt of the loss all come back; one load is behind them all.
  if (is_ready() && (known == loads_.end() || known->second < call->sent_as)) {
    if (loads_.size() >= loads_kept_max) loads_.clear();
    loads_[script.sha1()] = ++sendings_;
    count(shared_.script_loads);
    append(Part::load, format_command(std::array<std::string_view, 3>{"SCRIPT", "LOAD", script.text()}),
           call->deadline);
  }
  push(std::move(call));
}

void Link::append(Part part, std::string_view wire, TimePoint deadline, std::unique_ptr<PendingCall> call) {
  const std::uint64_t begins_at = bytes_appended_;
  out_.append(wire);
  bytes_appended_ += wire.size();
  if (pipeline_.empty()) latest_under_way_ = TimePoint::min();
  earliest_under_way_ = std::min(earliest_under_way_, deadline);
  latest_under_way_ = std::max(latest_under_way_, deadline);
  pipeline_.push_back(Sent{part, begins_at, deadline, std::move(call)});
  flush_soon();
}

// Whatever is appended in one turn of the loop goes out in one write.
void Link::flush_soon() {
  if (flush_posted_ || write_blocked_) return;
  flush_posted_ = true;
  boost::asio::post(io_, [self = shared_from_this()] {
    self->flush_posted_ = false;
    self->flush();
  });
}

void Link::flush() {
  if (state_ != State::ready && state_ != State::greeting) return;
  // Writes here rather than in the background, to know to the byte what the kernel has taken.
  while (out_taken_ < out_.size()) {
    boost::system::error_code error;
    const std::size_t taken =
        socket_.write_some(boost::asio::buffer(out_.data() + out_taken_, out_.size() - out_taken_), error);
    if (error == boost::asio::error::would_block || error == boost::asio::error::try_again) {
      write_blocked_ = true;
      socket_.async_wait(boost::asio::ip::tcp::socket::wait_write, step([this](const auto& failed) {
                           write_blocked_ = false;
                           if (failed) return lost(failed.message());
                           flush();
                         }));
      return;
    }
    if (error) {
      lost(error.message());
      return;
    }
    out_taken_ += taken;
    bytes_taken_ += taken;
    count(shared_.bytes_sent, taken);
  }
  out_taken_ = 0;
  out_.clear();
  if (out_.capacity() > kept_output_bytes_max) out_.shrink_to_fit();
}

void Link::received(std::size_t bytes) {
  count(shared_.bytes_received, bytes);
  const std::uint64_t connection = connection_;
  if (!reader_->feed({input_.data(), bytes})) {
    lost("a reply past every bound");
    return;
  }
  // An answer's receiver may close this link; the connection it came by is then over.
  while (connection == connection_) {
    base::Result<std::optional<RedisReply>> reply = reader_->next();
    if (!reply.has_value()) {
      lost("not the Redis protocol: " + reply.error().cause);
      return;
    }
    if (!reply->has_value()) break;
    if (pipeline_.empty()) {
      lost("a reply that nobody asked for");
      return;
    }
    Sent sent = std::move(pipeline_.front());
    pipeline_.pop_front();
    handle(std::move(sent), **std::move(reply));
  }
  if (connection != connection_) return;
  if (pipeline_.empty()) {
    earliest_under_way_ = TimePoint::max();
    if (leaving_ && state_ == State::ready) {
      lost("the server is a replica");
      return;
    }
  }
  read();
}

void Link::leave_when_empty() {
  const TimePoint now = Clock::now();
  if (state_ != State::ready || leaving_ || now < left_at_ + shared_.config.backoff_max) return;
  left_at_ = now;
  leaving_ = true;
}

void Link::check(TimePoint now) {
  switch (state_) {
    case State::resting:
      if (now >= retry_at_) connect();
      break;
    case State::connecting:
    case State::greeting:
      if (now >= connect_deadline_) {
        lost("no connection in time");
      } else if (now >= earliest_under_way_) {
        expire_under_way(now);
      }
      break;
    case State::ready:
      if (now >= next_probe_) probe();
      if (now >= earliest_under_way_) expire_under_way(now);
      break;
    case State::idle:
    case State::closed: break;
  }
  if (now >= earliest_waiting_) expire_waiting(now);
}

void Link::expire_waiting(TimePoint now) {
  earliest_waiting_ = TimePoint::max();
  std::deque<std::unique_ptr<PendingCall>> late;
  std::deque<std::unique_ptr<PendingCall>> kept;
  for (std::unique_ptr<PendingCall>& call : waiting_) {
    if (now < call->deadline) {
      earliest_waiting_ = std::min(earliest_waiting_, call->deadline);
      kept.push_back(std::move(call));
    } else {
      late.push_back(std::move(call));
    }
  }
  waiting_ = std::move(kept);
  for (std::unique_ptr<PendingCall>& call : late) {
    if (!call->pinned) count_failure(now);
    refuse(std::move(call));
  }
  if (!late.empty() && breaker_.is_open()) refuse_waiting(true);
}

void Link::expire_under_way(TimePoint now) {
  std::size_t late = 0;
  earliest_under_way_ = TimePoint::max();
  for (const Sent& sent : pipeline_) {
    if (now >= sent.deadline) ++late;
    earliest_under_way_ = std::min(earliest_under_way_, sent.deadline);
  }
  if (late == 0) return;
  for (std::size_t i = 0; i < late; ++i) count_failure(now);
  lost("no reply in time");
}

void Link::count_failure(TimePoint now) {
  if (breaker_.failed(now)) count(shared_.breaker_opened);
}

std::deque<std::unique_ptr<PendingCall>> Link::take_waiting() {
  earliest_waiting_ = TimePoint::max();
  return std::exchange(waiting_, {});
}

}  // namespace seckill::drivers::redis

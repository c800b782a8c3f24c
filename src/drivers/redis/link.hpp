// One connection to one Redis server: connects, authenticates, reads the server's identity, then carries calls in a
// pipeline. Owned and used by the driver's thread alone.
//
//   idle ─push─► connecting ─► greeting (AUTH, INFO) ─► ready ──lost, deadline, protocol──► resting ─backoff─►
//   connecting
//                    │              ▲└──may be another──┘ │                                   ▲
//                    └──────────────┴── failed, too long ─┴───────────────────────────────────┘
//
// A call waits while the link is not ready. Once its bytes were taken by the kernel it may have been executed: if the
// link is lost then, it ends with timeout, before that with unavailable.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "drivers/redis/breaker.hpp"
#include "drivers/redis/pending_call.hpp"
#include "drivers/redis/reply_reader.hpp"
#include "drivers/redis/slots.hpp"

namespace seckill::drivers::redis {

class Link;

// The driver, to its links.
class LinkOwner {
 public:
  virtual void on_reply(Link& link, std::unique_ptr<PendingCall> call, RedisReply reply) = 0;
  // The connection was lost or could not be made; the calls under way have ended, the link tries again by itself.
  virtual void on_down(Link& link) = 0;
  // A call meant for another server was not sent, so no reply can say that its slot is elsewhere by now.
  virtual void on_foreign(Link& link) = 0;

 protected:
  ~LinkOwner() = default;
};

class Link : public std::enable_shared_from_this<Link> {
 public:
  // `addresses` are tried in turn; not empty.
  Link(boost::asio::io_context& io, Shared& shared, LinkOwner& owner, std::vector<Endpoint> addresses);

  void push(std::unique_ptr<PendingCall> call);
  // After NOSCRIPT: loads the script, unless that is already on its way, and sends the call again behind it.
  void repeat_with_script(std::unique_ptr<PendingCall> call);
  // Reads the identity again; calls go on meanwhile by the known one.
  void probe();
  // The server may have become another (a replica was promoted): calls wait until its identity was read again.
  void greet_again();
  // The server does not do what it is for: once nothing is under way, connects anew, to the next address.
  void leave_when_empty();
  // Deadlines, probes, reconnects: what time brings.
  void check(TimePoint now);
  // Ends every call and never connects again.
  void close();

  [[nodiscard]] bool is_ready() const noexcept { return state_ == State::ready; }
  [[nodiscard]] bool is_down() const noexcept { return state_ == State::resting; }
  [[nodiscard]] bool is_empty() const noexcept { return pipeline_.empty() && waiting_.empty(); }
  [[nodiscard]] bool is_connecting() const noexcept { return state_ == State::connecting || state_ == State::greeting; }
  [[nodiscard]] const Endpoint& endpoint() const noexcept { return addresses_[address_]; }
  [[nodiscard]] const RedisIdentity& identity() const noexcept { return identity_; }
  // Calls that were not sent yet, for another link.
  [[nodiscard]] std::deque<std::unique_ptr<PendingCall>> take_waiting();

 private:
  enum class State : std::uint8_t { idle, connecting, greeting, ready, resting, closed };
  enum class Part : std::uint8_t { auth, server, replication, load, asking, call };
  struct Sent {
    Part part;
    std::uint64_t begins_at;  // in the bytes of this connection
    TimePoint deadline;
    std::unique_ptr<PendingCall> call;
  };

  void connect();
  void connect_to(const boost::asio::ip::tcp::resolver::results_type& found);
  void connected(const boost::system::error_code& error);
  void set_options();
  void greet();
  void ask_identity();
  void became_ready();

  void send(std::unique_ptr<PendingCall> call);
  void append(Part part, std::string_view wire, TimePoint deadline, std::unique_ptr<PendingCall> call = {});
  void flush_soon();
  void flush();
  void read();
  void received(std::size_t bytes);
  void handle(Sent sent, RedisReply reply);

  // The connection is over, or was never made: ends what was under way and goes to rest.
  void lost(std::string_view why);
  void disconnect();
  void rest();
  void count_failure(TimePoint now);
  void expire_waiting(TimePoint now);
  void refuse_waiting(bool all);
  void expire_under_way(TimePoint now);
  void refuse(std::unique_ptr<PendingCall> call);
  // A handler that does nothing once the connection it was made for is over.
  template <typename Then>
  [[nodiscard]] auto step(Then then) {
    return [self = shared_from_this(), connection = connection_, then = std::move(then)](
               const boost::system::error_code& error, const auto&... values) mutable {
      if (connection == self->connection_) then(error, values...);
    };
  }

  boost::asio::io_context& io_;
  Shared& shared_;
  LinkOwner& owner_;
  const std::vector<Endpoint> addresses_;
  std::size_t address_ = 0;

  State state_ = State::idle;
  std::uint64_t connection_ = 0;  // which of its connections: what an older one still brings is dropped
  boost::asio::ip::tcp::socket socket_;
  boost::asio::ip::tcp::resolver resolver_;
  std::unique_ptr<ReplyReader> reader_;
  std::vector<char> input_;
  std::string out_;
  std::size_t out_taken_ = 0;         // of out_
  std::uint64_t bytes_appended_ = 0;  // of this connection
  std::uint64_t bytes_taken_ = 0;     // … by the kernel
  bool flush_posted_ = false;
  bool write_blocked_ = false;
  bool leaving_ = false;
  std::uint32_t replications_asked_ = 0;  // INFO replication under way

  std::deque<Sent> pipeline_;
  std::deque<std::unique_ptr<PendingCall>> waiting_;
  // No deadline of these is earlier; a lower bound, made exact when it passes.
  TimePoint earliest_under_way_ = TimePoint::max();
  TimePoint earliest_waiting_ = TimePoint::max();
  TimePoint latest_under_way_ = TimePoint::min();
  std::uint64_t sendings_ = 0;
  std::unordered_map<std::string, std::uint64_t> loads_;  // by SHA-1: the sending that loaded it here last

  RedisIdentity identity_;
  Breaker breaker_;
  Backoff backoff_;
  TimePoint connect_deadline_;
  TimePoint retry_at_;
  TimePoint next_probe_;
  TimePoint left_at_ = TimePoint::min();
  std::string trouble_ = "not connected";  // what went wrong last
};

}  // namespace seckill::drivers::redis

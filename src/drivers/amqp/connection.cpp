#include "drivers/amqp/connection.hpp"

#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>

#include "base/assert.hpp"
#include "drivers/amqp/assembly.hpp"
#include "drivers/amqp/write_watch.hpp"

namespace seckill::drivers::amqp {
namespace {

using base::Errc;
using Steady = std::chrono::steady_clock;

constexpr int channels_max = 2'047;
constexpr int frame_bytes_max = 131'072;  // RabbitMQ's own bound

// Borrows the text; the library does not write to it.
amqp_bytes_t bytes_of(std::string_view text) noexcept {
  return {.len = text.size(), .bytes = const_cast<char*>(text.data())};  // NOLINT: a C interface without const
}

timeval timeval_of(std::chrono::milliseconds time) noexcept {
  return {.tv_sec = time.count() / 1000, .tv_usec = time.count() % 1000 * 1000};
}

amqp_table_entry_t flag(const char* name, bool value) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(name);
  entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  entry.value.value.boolean = value ? 1 : 0;
  return entry;
}

amqp_table_entry_t entry_of(const QueueArgument& argument) {
  amqp_table_entry_t entry{};
  entry.key = bytes_of(argument.name);
  if (const auto* number = std::get_if<std::int64_t>(&argument.value)) {
    entry.value.kind = AMQP_FIELD_KIND_I64;
    entry.value.value.i64 = *number;
  } else if (const auto* text = std::get_if<std::string>(&argument.value)) {
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = bytes_of(*text);
  } else {
    entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
    entry.value.value.boolean = std::get<bool>(argument.value) ? 1 : 0;
  }
  return entry;
}

std::string sentence_of(const amqp_rpc_reply_t& reply) {
  if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) return amqp_error_string2(reply.library_error);
  if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION || reply.reply.decoded == nullptr) return "no answer";
  if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
    return text_of(static_cast<const amqp_channel_close_t*>(reply.reply.decoded)->reply_text);
  }
  if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
    return text_of(static_cast<const amqp_connection_close_t*>(reply.reply.decoded)->reply_text);
  }
  return "an answer that was not asked for";
}

}  // namespace

struct Connection::State {
  amqp_connection_state_t connection = amqp_new_connection();
  Assembly assembly;
  std::unique_ptr<WriteWatch> watch;  // from the moment the socket is there
  std::chrono::milliseconds rpc_longest{0};
  std::chrono::milliseconds idle_longest{1'000};
  bool alive = true;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // Only the socket is closed: a farewell would wait for a peer that may not answer.
  ~State() {
    watch.reset();  // before its socket is closed, and the number another's
    if (connection != nullptr) amqp_destroy_connection(connection);
  }

  // One for each call that may write.
  [[nodiscard]] WriteWatch::Writing writing() { return {*watch, std::chrono::milliseconds{0}}; }
  [[nodiscard]] WriteWatch::Writing asking() { return {*watch, rpc_longest}; }

  std::unexpected<base::Error> lost(Errc code, std::string_view doing, std::string cause) {
    alive = false;
    return base::fail(code, std::string{doing}, std::move(cause));
  }
  base::Status sent(int status, std::string_view doing) {
    if (status == AMQP_STATUS_OK) return {};
    return lost(Errc::unavailable, doing, amqp_error_string2(status));
  }
  // After a call that waited for its answer.
  base::Status answered(ChannelNumber channel, std::string_view doing) {
    const amqp_rpc_reply_t reply = amqp_get_rpc_reply(connection);
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return {};
    std::string cause = sentence_of(reply);
    if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION && reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
      if (!accept_close(channel)) return lost(Errc::unavailable, doing, std::move(cause));
      return base::fail(Errc::refused, std::string{doing}, std::move(cause));
    }
    const bool late = reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION && reply.library_error == AMQP_STATUS_TIMEOUT;
    return lost(late ? Errc::timeout : Errc::unavailable, doing, std::move(cause));
  }
  bool accept_close(ChannelNumber channel) {
    assembly.forget(channel);
    amqp_channel_close_ok_t ok{};
    return amqp_send_method(connection, channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok) == AMQP_STATUS_OK;
  }
};

Connection::Connection(std::unique_ptr<State> state) noexcept : state_{std::move(state)} {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

bool Connection::alive() const noexcept { return state_->alive; }

base::Result<Connection> Connection::open(const ConnectionSettings& settings) {
  const std::string doing = fmt::format("connecting to RabbitMQ at {}:{}", settings.host, settings.port);
  auto state = std::make_unique<State>();
  if (state->connection == nullptr) return base::fail(Errc::unavailable, doing, "no memory");
  amqp_socket_t* const socket = amqp_tcp_socket_new(state->connection);
  if (socket == nullptr) return base::fail(Errc::unavailable, doing, "no memory");
  const timeval connect = timeval_of(settings.connect_longest);
  if (const int status = amqp_socket_open_noblock(socket, settings.host.c_str(), settings.port, &connect);
      status != AMQP_STATUS_OK) {
    return base::fail(Errc::unavailable, doing, amqp_error_string2(status));
  }
  const auto write_ms = static_cast<unsigned>(settings.write_longest.count());
  (void)setsockopt(amqp_get_sockfd(state->connection), IPPROTO_TCP, TCP_USER_TIMEOUT, &write_ms, sizeof write_ms);
  state->watch = std::make_unique<WriteWatch>(amqp_get_sockfd(state->connection), settings.write_longest);
  state->rpc_longest = settings.rpc_longest;
  (void)amqp_set_handshake_timeout(state->connection, &connect);
  const timeval rpc = timeval_of(settings.rpc_longest);
  (void)amqp_set_rpc_timeout(state->connection, &rpc);

  std::array can{flag("publisher_confirms", true), flag("basic.nack", true), flag("consumer_cancel_notify", true),
                 flag("connection.blocked", true), flag("authentication_failure_close", true)};
  std::array<amqp_table_entry_t, 2> about{};
  about[0].key = amqp_cstring_bytes("capabilities");
  about[0].value.kind = AMQP_FIELD_KIND_TABLE;
  about[0].value.value.table = {.num_entries = static_cast<int>(can.size()), .entries = can.data()};
  about[1].key = amqp_cstring_bytes("connection_name");
  about[1].value.kind = AMQP_FIELD_KIND_UTF8;
  about[1].value.value.bytes = bytes_of(settings.name);
  const amqp_table_t properties{.num_entries = static_cast<int>(about.size()), .entries = about.data()};
  const auto asking = state->asking();
  const amqp_rpc_reply_t login =
      amqp_login_with_properties(state->connection, settings.virtual_host.c_str(), channels_max, frame_bytes_max,
                                 static_cast<int>(settings.heartbeat.count()), &properties, AMQP_SASL_METHOD_PLAIN,
                                 settings.user.c_str(), settings.password.c_str());
  if (login.reply_type != AMQP_RESPONSE_NORMAL) {
    const bool refused = login.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION;
    return base::fail(refused ? Errc::refused : Errc::unavailable, doing, sentence_of(login));
  }
  if (settings.heartbeat > std::chrono::seconds{0}) {
    state->idle_longest = std::chrono::milliseconds{settings.heartbeat} / 4;
  }
  return Connection{std::move(state)};
}

base::Status Connection::open_channel(ChannelNumber channel) {
  state_->assembly.forget(channel);
  const auto asking = state_->asking();
  (void)amqp_channel_open(state_->connection, channel);
  return state_->answered(channel, "opening a channel");
}

base::Status Connection::close_channel(ChannelNumber channel) {
  const auto asking = state_->asking();
  const amqp_rpc_reply_t reply = amqp_channel_close(state_->connection, channel, AMQP_REPLY_SUCCESS);
  state_->assembly.forget(channel);
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return {};
  return state_->lost(Errc::unavailable, "closing a channel", sentence_of(reply));
}

base::Status Connection::confirm_select(ChannelNumber channel) {
  const auto asking = state_->asking();
  (void)amqp_confirm_select(state_->connection, channel);
  return state_->answered(channel, "asking for confirms");
}

base::Status Connection::prefetch(ChannelNumber channel, std::uint16_t messages) {
  const auto asking = state_->asking();
  (void)amqp_basic_qos(state_->connection, channel, 0, messages, 0);
  return state_->answered(channel, "setting the prefetch");
}

base::Result<QueueState> Connection::declare(ChannelNumber channel, const QueueDeclaration& queue) {
  std::vector<amqp_table_entry_t> entries;
  entries.reserve(queue.arguments.size());
  for (const auto& one : queue.arguments) entries.push_back(entry_of(one));
  const amqp_table_t arguments{.num_entries = static_cast<int>(entries.size()), .entries = entries.data()};
  const auto asking = state_->asking();
  const auto* ok = amqp_queue_declare(state_->connection, channel, bytes_of(queue.name), 0, queue.durable ? 1 : 0,
                                      queue.exclusive ? 1 : 0, queue.auto_delete ? 1 : 0, arguments);
  if (auto status = state_->answered(channel, "declaring queue " + queue.name); !status) {
    return std::unexpected{std::move(status).error()};
  }
  return QueueState{text_of(ok->queue), ok->message_count, ok->consumer_count};
}

base::Result<QueueState> Connection::look_at(ChannelNumber channel, std::string_view queue) {
  const auto asking = state_->asking();
  const auto* ok =
      amqp_queue_declare(state_->connection, channel, bytes_of(queue), 1, 0, 0, 0, amqp_table_t{0, nullptr});
  if (auto status = state_->answered(channel, "looking at queue " + std::string{queue}); !status) {
    return std::unexpected{std::move(status).error()};
  }
  return QueueState{text_of(ok->queue), ok->message_count, ok->consumer_count};
}

base::Status Connection::purge(ChannelNumber channel, std::string_view queue) {
  const auto asking = state_->asking();
  (void)amqp_queue_purge(state_->connection, channel, bytes_of(queue));
  return state_->answered(channel, "purging queue " + std::string{queue});
}

base::Status Connection::remove(ChannelNumber channel, std::string_view queue) {
  const auto asking = state_->asking();
  (void)amqp_queue_delete(state_->connection, channel, bytes_of(queue), 0, 0);
  return state_->answered(channel, "removing queue " + std::string{queue});
}

base::Status Connection::consume(ChannelNumber channel, std::string_view queue, bool no_ack, bool exclusive) {
  const auto asking = state_->asking();
  (void)amqp_basic_consume(state_->connection, channel, bytes_of(queue), amqp_empty_bytes, 0, no_ack ? 1 : 0,
                           exclusive ? 1 : 0, amqp_table_t{0, nullptr});
  return state_->answered(channel, "consuming queue " + std::string{queue});
}

base::Status Connection::publish(ChannelNumber channel, const Publication& message) {
  const Properties& from = message.properties;
  amqp_basic_properties_t properties{};
  const auto add = [&properties](amqp_flags_t flag, amqp_bytes_t& to, const std::string& text) {
    if (text.empty()) return;
    properties._flags |= flag;
    to = bytes_of(text);
  };
  add(AMQP_BASIC_CONTENT_TYPE_FLAG, properties.content_type, from.content_type);
  add(AMQP_BASIC_MESSAGE_ID_FLAG, properties.message_id, from.message_id);
  add(AMQP_BASIC_CORRELATION_ID_FLAG, properties.correlation_id, from.correlation_id);
  add(AMQP_BASIC_REPLY_TO_FLAG, properties.reply_to, from.reply_to);
  add(AMQP_BASIC_TYPE_FLAG, properties.type, from.type);
  properties._flags |= AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.delivery_mode = from.persistent ? AMQP_DELIVERY_PERSISTENT : AMQP_DELIVERY_NONPERSISTENT;
  const auto writing = state_->writing();
  return state_->sent(amqp_basic_publish(state_->connection, channel, amqp_empty_bytes, bytes_of(message.routing_key),
                                         message.mandatory ? 1 : 0, 0, &properties, bytes_of(message.body)),
                      "publishing");
}

base::Status Connection::acknowledge(ChannelNumber channel, std::uint64_t tag) {
  const auto writing = state_->writing();
  return state_->sent(amqp_basic_ack(state_->connection, channel, tag, 0), "acknowledging a message");
}

base::Status Connection::requeue(ChannelNumber channel, std::uint64_t tag) {
  const auto writing = state_->writing();
  return state_->sent(amqp_basic_nack(state_->connection, channel, tag, 0, 1), "giving a message back");
}

base::Result<std::optional<Event>> Connection::next(std::chrono::milliseconds longest, int wake_descriptor) {
  constexpr std::string_view doing = "listening to RabbitMQ";
  if (!state_->alive) return base::fail(Errc::unavailable, std::string{doing}, "the connection is lost");
  const auto until = Steady::now() + longest;
  for (;;) {
    amqp_frame_t frame{};
    const timeval at_once{};
    int status = AMQP_STATUS_OK;
    {
      const auto writing = state_->writing();  // heartbeats
      status = amqp_simple_wait_frame_noblock(state_->connection, &frame, &at_once);
    }
    if (status == AMQP_STATUS_OK) {
      std::optional<Event> event;
      if (frame.frame_type == AMQP_FRAME_METHOD && frame.payload.method.id == AMQP_CHANNEL_CLOSE_METHOD) {
        const auto* close = static_cast<const amqp_channel_close_t*>(frame.payload.method.decoded);
        event = ChannelClosed{.channel = frame.channel, .reason = text_of(close->reply_text)};
        const auto writing = state_->writing();
        if (!state_->accept_close(frame.channel)) return state_->lost(Errc::unavailable, doing, "closed");
      } else if (frame.frame_type == AMQP_FRAME_METHOD && frame.payload.method.id == AMQP_CONNECTION_CLOSE_METHOD) {
        const auto* close = static_cast<const amqp_connection_close_t*>(frame.payload.method.decoded);
        return state_->lost(Errc::unavailable, doing, text_of(close->reply_text));
      } else {
        event = state_->assembly.take(frame);
      }
      amqp_maybe_release_buffers_on_channel(state_->connection, frame.channel);
      if (event) return event;
      continue;
    }
    if (status != AMQP_STATUS_TIMEOUT) return state_->lost(Errc::unavailable, doing, amqp_error_string2(status));
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now());
    if (left <= std::chrono::milliseconds{0}) return std::optional<Event>{};
    std::array<pollfd, 2> ready{pollfd{.fd = amqp_get_sockfd(state_->connection), .events = POLLIN, .revents = 0},
                                pollfd{.fd = wake_descriptor, .events = POLLIN, .revents = 0}};
    (void)poll(ready.data(), ready.size(), static_cast<int>(std::min(left, state_->idle_longest).count()));
    if (ready[1].revents != 0) return std::optional<Event>{};
  }
}

}  // namespace seckill::drivers::amqp

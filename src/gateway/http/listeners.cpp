#include "gateway/http/listeners.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace seckill::gateway::http {
namespace {

using base::Errc;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] sockaddr* raw() noexcept {
    return reinterpret_cast<sockaddr*>(&storage);
  }  // the sockets API's own cast
};

Address socket_address(const PeerAddress& address, bool as_v6, std::uint16_t port) noexcept {
  Address result;
  if (as_v6) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, address.bytes.data(), 16);
    std::memcpy(&result.storage, &v6, sizeof v6);
    result.size = sizeof v6;
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, address.bytes.data() + 12, 4);
    std::memcpy(&result.storage, &v4, sizeof v4);
    result.size = sizeof v4;
  }
  return result;
}

base::Error explain(const ServerConfig& config, int error, std::uint16_t port) {
  std::string doing = fmt::format("listening on {} port {}", config.address, port);
  switch (error) {
    case EADDRINUSE:
      return {Errc::already_exists, std::move(doing),
              fmt::format("port {} is already in use on {}; stop the program that has it, or choose another port", port,
                          config.address)};
    case EACCES:
      return {Errc::invalid, std::move(doing),
              fmt::format("port {} needs privileges this program does not have; choose a port above 1023", port)};
    case EAFNOSUPPORT:
      return {Errc::invalid, std::move(doing), "this machine has no IPv6; use 0.0.0.0 or an IPv4 address"};
    case EADDRNOTAVAIL:
      return {Errc::invalid, std::move(doing),
              fmt::format("{} is not an address of this machine (where IPv6 is switched off, no IPv6 address is); use "
                          "127.0.0.1 or 0.0.0.0",
                          config.address)};
    case EMFILE:
    case ENFILE: return {Errc::unavailable, std::move(doing), "no file descriptors left; raise the limit (ulimit -n)"};
    default: return {Errc::unavailable, std::move(doing), std::strerror(error)};
  }
}

bool switch_on(int socket, int level, int option) noexcept {
  const int on = 1;
  return ::setsockopt(socket, level, option, &on, sizeof on) == 0;
}

// 0, or errno; `port` 0 is replaced by the port the system chose.
// The first socket binds without SO_REUSEPORT, which it gets afterwards: with it from the start, a second process of
// the same user would silently share the port instead of being refused.
int listen_on(int socket, const ServerConfig& config, const PeerAddress& address, bool v6, bool first,
              std::uint16_t& port) noexcept {
  if (!switch_on(socket, SOL_SOCKET, SO_REUSEADDR) || (!first && !switch_on(socket, SOL_SOCKET, SO_REUSEPORT))) {
    return errno;
  }
  // Accepted sockets inherit TCP_NODELAY from the listener on Linux.
  if (!switch_on(socket, IPPROTO_TCP, TCP_NODELAY)) {
    return errno;
  }
  if (v6) {
    const int v6_only = 0;  // "::" serves IPv4 too
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
  }
  Address wanted = socket_address(address, v6, port);
  if (::bind(socket, wanted.raw(), wanted.size) != 0) {
    return errno;
  }
  if (first && config.threads > 1 && !switch_on(socket, SOL_SOCKET, SO_REUSEPORT)) {
    return errno;
  }
  if (::listen(socket, config.backlog) != 0) {
    return errno;
  }
  Address bound;
  bound.size = sizeof bound.storage;
  if (::getsockname(socket, bound.raw(), &bound.size) != 0) {
    return errno;
  }
  sockaddr_in v4_view{};  // the port stands at the same place in both families
  std::memcpy(&v4_view, &bound.storage, sizeof v4_view);
  port = ntohs(v4_view.sin_port);
  return 0;
}

}  // namespace

base::Result<Listeners> open_listeners(const ServerConfig& config) {
  const auto address = PeerAddress::parse(config.address);
  if (!address) {
    return base::fail(Errc::invalid, fmt::format("listening on {}", config.address),
                      "that is no IPv4 or IPv6 address; examples: 127.0.0.1, 0.0.0.0, ::");
  }
  for (const std::string& text : config.uncapped_addresses) {
    if (!PeerAddress::parse(text)) {
      return base::fail(Errc::invalid, fmt::format("reading the addresses without a connection cap: {}", text),
                        "that is no IPv4 or IPv6 address");
    }
  }
  if (config.threads == 0) {
    return base::fail(Errc::invalid, fmt::format("starting the {} listener", config.name),
                      "it needs at least 1 thread");
  }
  const bool v6 = config.address.find(':') != std::string::npos;
  Listeners listeners;
  listeners.port = config.port;
  for (unsigned i = 0; i < config.threads; ++i) {
    const int socket = ::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error = socket < 0 ? errno : 0;
    if (socket >= 0) {
      listeners.sockets.push_back(socket);
      error = listen_on(socket, config, *address, v6, i == 0, listeners.port);
    }
    if (error != 0) {
      for (const int open : listeners.sockets) {
        ::close(open);
      }
      return std::unexpected(explain(config, error, listeners.port));
    }
  }
  return listeners;
}

}  // namespace seckill::gateway::http

// The parts of request.hpp that are code: a method's name, and a client's address in one form whether it came as IPv4,
// IPv6 or IPv4 mapped into IPv6.
#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "gateway/http/request.hpp"

namespace seckill::gateway::http {
namespace {

constexpr std::size_t mapped_prefix_bytes = 12;

bool is_mapped(const std::array<std::uint8_t, 16>& bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t b) { return b == 0; }) && bytes[10] == 0xff &&
         bytes[11] == 0xff;
}

}  // namespace

std::string_view name(Method method) noexcept {
  switch (method) {
    case Method::get: return "GET";
    case Method::post: return "POST";
    case Method::put: return "PUT";
    case Method::patch: return "PATCH";
    case Method::delete_: return "DELETE";
    case Method::head: return "HEAD";
    case Method::options: return "OPTIONS";
    case Method::other: return "OTHER";
  }
  return "OTHER";
}

std::string PeerAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  if (is_v4) {
    inet_ntop(AF_INET, bytes.data() + mapped_prefix_bytes, buffer.data(), buffer.size());
  } else {
    inet_ntop(AF_INET6, bytes.data(), buffer.data(), buffer.size());
  }
  return buffer.data();
}

std::optional<PeerAddress> PeerAddress::parse(std::string_view text) noexcept {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size() || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  std::memcpy(terminated.data(), text.data(), text.size());
  PeerAddress address;
  if (inet_pton(AF_INET, terminated.data(), address.bytes.data() + mapped_prefix_bytes) == 1) {
    address.bytes[10] = address.bytes[11] = 0xff;
    address.is_v4 = true;
    return address;
  }
  address.bytes = {};
  if (inet_pton(AF_INET6, terminated.data(), address.bytes.data()) != 1) {
    return std::nullopt;
  }
  address.is_v4 = is_mapped(address.bytes);
  return address;
}

}  // namespace seckill::gateway::http

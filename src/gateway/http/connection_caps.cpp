#include "gateway/http/connection_caps.hpp"

#include <algorithm>
#include <cstring>

namespace seckill::gateway::http {
namespace {

// IPv4: the address with a mark in the upper half that no global unicast /64 prefix carries; IPv6: the /64 prefix.
ConnectionCaps::Key key_of(const PeerAddress& peer) noexcept {
  if (peer.is_v4) {
    std::uint32_t address = 0;
    std::memcpy(&address, peer.bytes.data() + 12, 4);
    return 0xffff'ffff'0000'0000U | address;
  }
  std::uint64_t prefix = 0;
  std::memcpy(&prefix, peer.bytes.data(), 8);
  return prefix == 0 ? 1 : prefix;  // ::1 has an empty prefix, and 0 means not counted
}

}  // namespace

ConnectionCaps::ConnectionCaps(std::size_t cap, const std::vector<std::string>& uncapped) : cap_{cap} {
  for (const std::string& text : uncapped) {
    if (const auto address = PeerAddress::parse(text)) {
      uncapped_.push_back(*address);
    }
  }
}

bool ConnectionCaps::try_take(const PeerAddress& peer, Key& key) {
  key = 0;
  if (cap_ == 0 || std::ranges::find(uncapped_, peer) != uncapped_.end()) {
    return true;
  }
  const std::scoped_lock lock{mutex_};
  std::size_t& open = open_[key_of(peer)];  // an entry of 0 can only be a new one, which cap_ >= 1 lets in
  if (open >= cap_) {
    return false;
  }
  ++open;
  key = key_of(peer);
  return true;
}

void ConnectionCaps::release(Key key) noexcept {
  if (key == 0) {
    return;
  }
  const std::scoped_lock lock{mutex_};
  const auto found = open_.find(key);
  if (found != open_.end() && --found->second == 0) {
    open_.erase(found);
  }
}

}  // namespace seckill::gateway::http

// Where each call goes, and what replies that say "not executed" lead to.
#include <algorithm>
#include <chrono>
#include <utility>

#include "drivers/redis/driver.hpp"

namespace seckill::drivers::redis {
namespace {

constexpr std::chrono::milliseconds postponed_least{10};
constexpr std::chrono::milliseconds postponed_most{200};
constexpr std::uint32_t redirects_at_once = 2;
static_assert(redirects_at_once < redirects_max, "waiting must come before giving up");

bool says(std::string_view error, std::string_view word) {
  return error.starts_with(word) && (error.size() == word.size() || error[word.size()] == ' ');
}

}  // namespace

void Driver::route(std::unique_ptr<PendingCall> call) {
  if (standalone_ != nullptr) {
    standalone_->push(std::move(call));
    return;
  }
  if (Link* const owner = owner_link(call->slot)) {
    owner->push(std::move(call));
    return;
  }
  cluster_->want();
  unrouted_.push_back(std::move(call));
}

Link* Driver::owner_link(std::uint16_t slot) {
  const SlotMap& map = cluster_->map();
  const std::uint16_t place = map.owner_of_slot[slot];
  if (place == SlotMap::nobody) return nullptr;
  if (owner_links_.size() < map.masters.size()) owner_links_.resize(map.masters.size());
  if (owner_links_[place] == nullptr) owner_links_[place] = link_to(map.masters[place]).get();
  return owner_links_[place];
}

std::shared_ptr<Link> Driver::link_to(const Endpoint& node) {
  std::shared_ptr<Link>& link = links_[node.text()];
  if (link == nullptr) link = std::make_shared<Link>(io_, shared_, *this, std::vector{node});
  return link;
}

void Driver::route_wait(ReplicaWait wait) {
  std::vector<Endpoint> addresses = servers_;
  if (cluster_) {
    const Endpoint* const owner = cluster_->map().owner(wait.slot);
    if (owner == nullptr) {
      cluster_->want();
      unrouted_waits_.push_back(std::move(wait));
      return;
    }
    addresses = {*owner};
  }
  std::unique_ptr<ReplicaWaits>& waits = waits_[cluster_ ? addresses.front().text() : std::string()];
  if (waits == nullptr) {
    waits = std::make_unique<ReplicaWaits>(
        shared_, std::make_shared<Link>(io_, shared_, *this, addresses),
        [this](ReplicaWait moved, std::string_view to) {
          const std::optional<Redirect> redirect = cluster_ ? parse_redirect(to, servers_.front()) : std::nullopt;
          if (!redirect || ++moved.redirects > redirects_max) {
            finish(shared_, moved, base::fail(base::Errc::unavailable, "waiting for replicas", std::string(to)));
            return;
          }
          cluster_->assign(redirect->slot, redirect->to);
          cluster_->want();
          now_master(redirect->to);
          route_wait(std::move(moved));
        });
  }
  waits->add(std::move(wait));
}

void Driver::on_reply(Link& link, std::unique_ptr<PendingCall> call, RedisReply reply) {
  if (reply.is_error() && !call->pinned && follow(link, call, reply.text())) return;
  shared_.finish(std::move(call),
                 CallAnswer{.end = CallEnd::replied, .reply = std::move(reply), .identity = link.identity()});
}

bool Driver::follow(Link& link, std::unique_ptr<PendingCall>& call, std::string_view error) {
  if (says(error, "NOSCRIPT")) {
    if (call->script == nullptr || call->script_repeats >= script_repeats_max) return false;
    ++call->script_repeats;
    link.repeat_with_script(std::move(call));
    return true;
  }
  if (cluster_ && (says(error, "MOVED") || says(error, "ASK"))) {
    redirect(link, std::move(call), error);
    return true;
  }
  if (says(error, "TRYAGAIN") || says(error, "LOADING")) {
    if (cluster_) cluster_->want();
    postpone(std::move(call));
    return true;
  }
  // These are answers: whether to call again is the caller's to say. The way there is looked at anew.
  if (says(error, "READONLY") || says(error, "CLUSTERDOWN") || says(error, "MASTERDOWN")) {
    link.probe();
    if (cluster_) {
      cluster_->want();
    } else {
      link.leave_when_empty();
    }
  }
  return false;
}

void Driver::redirect(Link& link, std::unique_ptr<PendingCall> call, std::string_view error) {
  const std::optional<Redirect> redirect = parse_redirect(error, link.endpoint());
  if (!redirect || ++call->redirects > redirects_max) {
    shared_.fail(std::move(call), base::Errc::unavailable, error);
    return;
  }
  count(shared_.redirects);
  call->asking = says(error, "ASK");
  if (!call->asking) {
    cluster_->assign(redirect->slot, redirect->to);
    cluster_->want();
    link.probe();
    now_master(redirect->to);
    // Two nodes that each name the other are given time to agree.
    if (call->redirects > redirects_at_once) {
      postpone(std::move(call));
      return;
    }
  }
  link_to(redirect->to)->push(std::move(call));
}

void Driver::postpone(std::unique_ptr<PendingCall> call) {
  call->asking = false;  // from the start, by the map
  if (++call->postponements > postponements_max) {
    shared_.fail(std::move(call), base::Errc::unavailable, "the server was not ready for it again and again");
    return;
  }
  const auto pause = std::min(postponed_least * call->postponements, postponed_most);
  postponed_.push_back(Postponed{Clock::now() + pause, std::move(call)});
}

void Driver::on_down(Link& /*link*/) {
  if (cluster_) cluster_->want();
}

// A failover whose MOVED nobody met: without a new map every call would go to the demoted server for ever.
void Driver::on_foreign(Link& /*link*/) {
  if (cluster_) cluster_->want();
}

void Driver::now_master(const Endpoint& node) {
  const std::string name = node.text();
  if (!masters_.insert(name).second) return;
  link_to(node)->greet_again();
  if (const auto waits = waits_.find(name); waits != waits_.end()) waits->second->link().greet_again();
}

void Driver::map_arrived() {
  owner_links_.clear();
  std::unordered_set<std::string> masters;
  for (const Endpoint& master : cluster_->map().masters) {
    now_master(master);
    masters.insert(master.text());
  }
  masters_ = std::move(masters);
  // What waits for a server that is away may now belong to another; what nobody served may have found somebody.
  std::vector<std::unique_ptr<PendingCall>> again = std::exchange(unrouted_, {});
  for (const auto& [name, link] : std::unordered_map(links_)) {
    if (link->is_ready()) continue;
    for (std::unique_ptr<PendingCall>& call : link->take_waiting()) {
      if (call->pinned || call->asking) {
        link->push(std::move(call));
      } else {
        again.push_back(std::move(call));
      }
    }
  }
  for (std::unique_ptr<PendingCall>& call : again) route(std::move(call));
  for (ReplicaWait& wait : std::exchange(unrouted_waits_, {})) route_wait(std::move(wait));
  for (const std::shared_ptr<Asking>& asking : std::exchange(askings_, {})) ask(asking);
  drop_strangers();
}

// Links to servers that left the cluster, once nothing is under way there.
void Driver::drop_strangers() {
  std::unordered_set<std::string> known;
  const SlotMap& map = cluster_->map();
  for (const std::vector<Endpoint>* some : {&map.masters, &map.others, &servers_}) {
    for (const Endpoint& node : *some) known.insert(node.text());
  }
  std::erase_if(links_, [&](const auto& entry) {
    if (known.contains(entry.first) || !entry.second->is_empty()) return false;
    entry.second->close();
    return true;
  });
  std::erase_if(waits_, [&](const auto& entry) {
    if (known.contains(entry.first) || !entry.second->is_empty()) return false;
    entry.second->close();
    return true;
  });
}

}  // namespace seckill::drivers::redis

// The driver's edges: start, the way in, asking every master, stop. Where calls go is in driver_routing.cpp.
#include "drivers/redis/driver.hpp"

#include <boost/asio/post.hpp>
#include <future>
#include <utility>

#include "base/assert.hpp"

namespace seckill::drivers::redis {
namespace {

constexpr std::size_t servers_max = 64;
constexpr std::string_view doing = "calling Redis";

}  // namespace

base::Result<std::unique_ptr<Redis>> Redis::start(RedisConfig config) {
  constexpr std::string_view starting = "starting the Redis driver";
  if (config.servers.empty() || config.servers.size() > servers_max) {
    return base::fail(base::Errc::invalid, std::string(starting), "1 to 64 servers are needed");
  }
  std::vector<Endpoint> servers;
  for (const std::string& server : config.servers) {
    const std::optional<Endpoint> endpoint = parse_endpoint(server);
    if (!endpoint) {
      return base::fail(base::Errc::invalid, std::string(starting), "\"" + server + "\" is not host:port");
    }
    servers.push_back(*endpoint);
  }
  return std::make_unique<Driver>(std::move(config), std::move(servers));
}

Driver::Driver(RedisConfig config, std::vector<Endpoint> servers)
    : shared_(std::move(config)), servers_(std::move(servers)), work_(io_.get_executor()), tick_(io_) {
  if (shared_.config.cluster) {
    cluster_.emplace(
        shared_, servers_, [this](const Endpoint& node) { return link_to(node); }, [this] { map_arrived(); });
  } else {
    standalone_ = std::make_shared<Link>(io_, shared_, *this, servers_);
  }
  thread_ = base::system_threads().start("redis", [this] {
    thread_id_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    arm_tick();
    io_.run();
  });
}

Driver::~Driver() { stop(); }

TimePoint Driver::deadline_after(std::chrono::milliseconds longest) const noexcept {
  return Clock::now() + std::clamp(longest, std::chrono::milliseconds{0}, longest_max);
}

// One wake-up for all that come before the loop turns. False: stopped, and the item is still the caller's.
template <typename Item>
bool Driver::hand_over(std::vector<Item>& inbox, Item& item) {
  bool post = false;
  {
    const std::lock_guard lock(inbox_mutex_);
    if (stopped_) return false;
    inbox.push_back(std::move(item));
    post = !std::exchange(drain_posted_, true);
  }
  if (post) boost::asio::post(io_, [this] { drain(); });
  return true;
}

void Driver::call(RedisCall call, CallDone done) {
  auto pending = std::make_unique<PendingCall>();
  pending->wire = format_call(call);
  if (shared_.config.cluster) pending->slot = slot_of(call.routing_key);
  pending->script = call.script;
  pending->expected = std::move(call.expected);
  pending->deadline = deadline_after(call.longest);
  pending->done = std::move(done);
  if (pending->wire.size() > call_bytes_max || !shared_.open(pending->wire.size())) {
    pending->done(base::fail(base::Errc::limit, std::string(doing), "too much is under way"));
    return;
  }
  if (!hand_over(calls_in_, pending)) shared_.fail(std::move(pending), base::Errc::unavailable, "stopped");
}

void Driver::wait_replicas(std::string routing_key, std::optional<RedisIdentity> expected, std::uint32_t replicas,
                           std::chrono::milliseconds longest, WaitDone done) {
  ReplicaWait wait;
  wait.slot = shared_.config.cluster ? slot_of(routing_key) : std::uint16_t{0};
  wait.routing_key = std::move(routing_key);
  wait.expected = std::move(expected);
  wait.replicas = replicas;
  wait.deadline = deadline_after(longest);
  wait.done = std::move(done);
  if (!shared_.open(wait.routing_key.size())) {
    wait.done(base::fail(base::Errc::limit, "waiting for replicas", "too much is under way"));
    return;
  }
  if (!hand_over(waits_in_, wait)) {
    finish(shared_, wait, base::fail(base::Errc::unavailable, "waiting for replicas", "stopped"));
  }
}

void Driver::drain() {
  std::vector<std::unique_ptr<PendingCall>> calls;
  std::vector<ReplicaWait> waits;
  {
    const std::lock_guard lock(inbox_mutex_);
    drain_posted_ = false;
    calls.swap(calls_in_);
    waits.swap(waits_in_);
  }
  for (std::unique_ptr<PendingCall>& call : calls) route(std::move(call));
  for (ReplicaWait& wait : waits) route_wait(std::move(wait));
  quicken_tick();
}

// One command to every master, gathered on the driver's thread.
struct Driver::Asking {
  std::string wire;
  TimePoint deadline;
  std::size_t missing = 0;
  std::vector<FromServer> answers;
  std::optional<base::Error> error;
  std::promise<base::Result<std::vector<FromServer>>> promise;

  void end(base::Result<std::vector<FromServer>> result) { promise.set_value(std::move(result)); }
};

base::Result<std::vector<Redis::FromServer>> Driver::ask_masters(std::vector<std::string> command,
                                                                 std::chrono::milliseconds longest) {
  SECKILL_ASSERT(std::this_thread::get_id() != thread_id_.load(std::memory_order_relaxed),
                 "the driver's thread may not wait for itself");
  auto asking = std::make_shared<Asking>();
  asking->wire = format_command(std::vector<std::string_view>(command.begin(), command.end()));
  asking->deadline = deadline_after(longest);
  auto answer = asking->promise.get_future();
  {
    // Under the lock, so that what is posted is posted before stop() posts the end.
    const std::lock_guard lock(inbox_mutex_);
    if (stopped_) return base::fail(base::Errc::unavailable, std::string(doing), "stopped");
    boost::asio::post(io_, [this, asking] { ask(asking); });
  }
  return answer.get();  // every call has a deadline, so this ends
}

void Driver::ask(std::shared_ptr<Asking> asking) {
  if (standalone_ != nullptr) {
    ask_all(asking, {standalone_->endpoint()});
  } else if (cluster_->is_known()) {
    ask_all(asking, cluster_->map().masters);
  } else {
    askings_.push_back(std::move(asking));
  }
  quicken_tick();
}

void Driver::ask_all(const std::shared_ptr<Asking>& asking, const std::vector<Endpoint>& servers) {
  asking->missing = servers.size();
  for (const Endpoint& server : servers) {
    auto call = std::make_unique<PendingCall>();
    call->wire = asking->wire;
    call->pinned = true;
    call->deadline = asking->deadline;
    call->done = [asking, name = server.text()](base::Result<CallAnswer> answer) {
      if (answer.has_value()) {
        asking->answers.push_back(FromServer{name, std::move(answer->reply)});
      } else {
        asking->error = std::move(answer.error());
      }
      if (--asking->missing > 0) return;
      if (asking->error) return asking->end(std::unexpected(*std::move(asking->error)));
      asking->end(std::move(asking->answers));
    };
    shared_.open_own(call->wire.size());
    (standalone_ != nullptr ? standalone_ : link_to(server))->push(std::move(call));
  }
}

void Driver::stop() {
  std::call_once(stop_once_, [this] {
    SECKILL_ASSERT(std::this_thread::get_id() != thread_id_.load(std::memory_order_relaxed),
                   "the driver's thread may not wait for its own end");
    {
      const std::lock_guard lock(inbox_mutex_);
      stopped_ = true;
    }
    boost::asio::post(io_, [this] { shut_down(); });
    thread_->join();
  });
}

void Driver::shut_down() {
  drain();
  if (cluster_) cluster_->close();
  if (standalone_ != nullptr) standalone_->close();
  for (const auto& [name, link] : links_) link->close();
  for (const auto& [name, waits] : waits_) waits->close();
  for (std::unique_ptr<PendingCall>& call : std::exchange(unrouted_, {})) {
    shared_.fail(std::move(call), base::Errc::unavailable, "stopped");
  }
  for (ReplicaWait& wait : std::exchange(unrouted_waits_, {})) {
    finish(shared_, wait, base::fail(base::Errc::unavailable, "waiting for replicas", "stopped"));
  }
  for (Postponed& postponed : std::exchange(postponed_, {})) {
    shared_.fail(std::move(postponed.call), base::Errc::unavailable, "stopped");
  }
  for (const std::shared_ptr<Asking>& asking : std::exchange(askings_, {})) {
    asking->end(base::fail(base::Errc::unavailable, std::string(doing), "stopped"));
  }
  tick_.cancel();
  work_.reset();
  io_.stop();
}

RedisCounters Driver::counters() const noexcept {
  const auto read = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  return RedisCounters{.calls = read(shared_.calls),
                       .bytes_sent = read(shared_.bytes_sent),
                       .bytes_received = read(shared_.bytes_received),
                       .redirects = read(shared_.redirects),
                       .script_loads = read(shared_.script_loads),
                       .connects = read(shared_.connects),
                       .timeouts = read(shared_.timeouts),
                       .breaker_opened = read(shared_.breaker_opened),
                       .foreign = read(shared_.foreign)};
}

// Only for what is under way: arming anew for calls that ended at once would put the tick off for as long as they come.
void Driver::quicken_tick() {
  if (tick_is_slow_ && shared_.calls_open.load(std::memory_order_relaxed) > 0) arm_tick();
}

void Driver::arm_tick() {
  constexpr std::chrono::milliseconds fast{10};   // how late a deadline may be noticed
  constexpr std::chrono::milliseconds slow{100};  // nothing is under way
  tick_is_slow_ = shared_.calls_open.load(std::memory_order_relaxed) == 0;
  tick_.expires_after(tick_is_slow_ ? slow : fast);
  tick_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;  // armed anew
    tick();
    arm_tick();
  });
}

void Driver::tick() {
  const TimePoint now = Clock::now();
  if (standalone_ != nullptr) standalone_->check(now);
  for (const auto& [name, link] : std::unordered_map(links_)) link->check(now);
  for (const auto& [name, waits] : waits_) {
    waits->check(now);
    waits->link().check(now);
  }
  if (cluster_) {
    for (const Endpoint& master : cluster_->map().masters) {
      if (link_to(master)->is_down()) cluster_->want();
    }
    if (!unrouted_.empty() || !unrouted_waits_.empty()) cluster_->want();
    cluster_->check(now);
  }
  expire_unrouted(now);
  for (Postponed& postponed : std::exchange(postponed_, {})) {
    if (now >= postponed.call->deadline) {
      shared_.fail(std::move(postponed.call), base::Errc::unavailable, "the server was not ready for it in time");
    } else if (now >= postponed.again_at) {
      route(std::move(postponed.call));
    } else {
      postponed_.push_back(std::move(postponed));
    }
  }
  for (const std::shared_ptr<Asking>& asking : std::exchange(askings_, {})) {
    if (now < asking->deadline) {
      askings_.push_back(asking);
    } else {
      asking->end(base::fail(base::Errc::unavailable, std::string(doing), "no server of the cluster answers"));
    }
  }
}

void Driver::expire_unrouted(TimePoint now) {
  for (std::unique_ptr<PendingCall>& call : std::exchange(unrouted_, {})) {
    if (now < call->deadline) {
      unrouted_.push_back(std::move(call));
    } else {
      shared_.fail(std::move(call), base::Errc::unavailable, "no server is known for its slot");
    }
  }
  for (ReplicaWait& wait : std::exchange(unrouted_waits_, {})) {
    if (now < wait.deadline) {
      unrouted_waits_.push_back(std::move(wait));
    } else {
      finish(shared_, wait, base::fail(base::Errc::unavailable, "waiting for replicas", "no server is known"));
    }
  }
}

}  // namespace seckill::drivers::redis

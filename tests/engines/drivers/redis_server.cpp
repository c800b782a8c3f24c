#include "drivers/redis_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace seckill::drivers::redis {
namespace {

bool is_free(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int reuse = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  const bool free = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(socket);
  return free;
}

// Below the kernel's own range, so that no outgoing connection takes it while its server is away; and so that the
// cluster bus, 10,000 above, has a port too.
std::uint16_t free_port() {
  static std::uint16_t next = static_cast<std::uint16_t>(11'000 + (::getpid() * 37) % 9'000);
  for (int tries = 0; tries < 5'000; ++tries) {
    const std::uint16_t port = next;
    next = next >= 20'000 ? std::uint16_t{11'000} : static_cast<std::uint16_t>(next + 1);
    if (is_free(port) && is_free(static_cast<std::uint16_t>(port + 10'000))) return port;
  }
  throw std::runtime_error("no free port");
}

}  // namespace

bool redis_server_found() {
  return std::system("command -v redis-server >/dev/null 2>&1 && command -v redis-cli >/dev/null 2>&1") == 0;
}

RedisServer::RedisServer(std::vector<std::string> options) : options_(std::move(options)), port_(free_port()) {
  std::string pattern = (std::filesystem::temp_directory_path() / "seckill-redis-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for redis-server");
  folder_ = pattern;
  start();
}

RedisServer::~RedisServer() {
  kill();
  std::error_code ignored;
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, ignored);
  std::filesystem::remove_all(folder_, ignored);
}

void RedisServer::start() {
  start_without_waiting();
  if (!wait_until([this] { return cli("ping") == "PONG"; })) throw std::runtime_error("redis-server does not answer");
}

void RedisServer::start_without_waiting() {
  std::vector<std::string> words{
      "redis-server", "--port", std::to_string(port_), "--bind", "127.0.0.1", "--dir",    folder_, "--daemonize", "no",
      "--save",       "",       "--appendonly",        "no",     "--logfile", "redis.log"};
  words.insert(words.end(), options_.begin(), options_.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  child_ = ::fork();
  if (child_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that dies leaves nothing behind
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, 1);
  ::dup2(nothing, 2);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

void RedisServer::kill() {
  if (child_ <= 0) return;
  ::kill(child_, SIGKILL);
  reap();
}

void RedisServer::add_options(const std::vector<std::string>& options) {
  options_.insert(options_.end(), options.begin(), options.end());
}

void RedisServer::reap() {
  ::waitpid(child_, nullptr, 0);
  child_ = -1;
}

void RedisServer::pause() {
  ::kill(child_, SIGSTOP);
  ::waitpid(child_, nullptr, WUNTRACED);
}

void RedisServer::resume() { ::kill(child_, SIGCONT); }

std::string RedisServer::cli(const std::string& words) const {
  return shell("timeout 10 redis-cli -h 127.0.0.1 -p " + std::to_string(port_) + " " + words + " 2>&1");
}

std::string shell(const std::string& command) {
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string out;
  std::array<char, 4096> chunk{};
  for (std::size_t read = 0; (read = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
    out.append(chunk.data(), read);
  ::pclose(pipe);
  while (out.ends_with('\n') || out.ends_with('\r')) out.pop_back();
  return out;
}

bool wait_until(const std::function<bool()>& holds, std::chrono::milliseconds longest) {
  const auto until = std::chrono::steady_clock::now() + longest;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  return true;
}

std::unique_ptr<Redis> start_driver(RedisConfig config) { return Redis::start(std::move(config)).value(); }

base::Result<CallAnswer> ask(Redis& redis, RedisCall call) {
  std::promise<base::Result<CallAnswer>> promise;
  auto answer = promise.get_future();
  redis.call(std::move(call), [&promise](base::Result<CallAnswer> came) { promise.set_value(std::move(came)); });
  return answer.get();
}

RedisCall command(const std::string& words, std::chrono::milliseconds longest) {
  RedisCall call;
  std::istringstream in(words);
  for (std::string word; in >> word;) call.args.push_back(word);
  if (call.args.size() > 1) call.routing_key = call.args[1];
  call.longest = longest;
  return call;
}

RedisCall script_call(const RedisScript& script, std::vector<std::string> keys, std::vector<std::string> args,
                      std::chrono::milliseconds longest) {
  RedisCall call;
  call.routing_key = keys.empty() ? std::string() : keys.front();
  call.script = &script;
  call.keys = std::move(keys);
  call.args = std::move(args);
  call.longest = longest;
  return call;
}

base::Result<std::optional<std::uint32_t>> wait_for_replicas(Redis& redis, const std::string& key,
                                                             std::uint32_t replicas, std::chrono::milliseconds longest,
                                                             std::optional<RedisIdentity> expected) {
  std::promise<base::Result<std::optional<std::uint32_t>>> promise;
  auto answer = promise.get_future();
  redis.wait_replicas(
      key, std::move(expected), replicas, longest,
      [&promise](base::Result<std::optional<std::uint32_t>> came) { promise.set_value(std::move(came)); });
  return answer.get();
}

CallDone Answers::take(std::size_t place) {
  return [kept = kept_, place](base::Result<CallAnswer> answer) {
    const std::lock_guard lock(kept->mutex);
    kept->answers.emplace_back(place, std::move(answer));
    kept->came.notify_all();
  };
}

void Answers::wait_for(std::size_t number) {
  std::unique_lock lock(kept_->mutex);
  const bool came =
      kept_->came.wait_for(lock, std::chrono::seconds{60}, [&] { return kept_->answers.size() >= number; });
  if (!came) throw std::runtime_error("answers are missing");
}

std::size_t Answers::number() const {
  const std::lock_guard lock(kept_->mutex);
  return kept_->answers.size();
}

std::vector<Answers::Placed> Answers::all() const {
  const std::lock_guard lock(kept_->mutex);
  return kept_->answers;
}

}  // namespace seckill::drivers::redis

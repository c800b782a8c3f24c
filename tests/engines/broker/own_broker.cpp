#include "engines/broker/own_broker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "engines/broker/broker_fixture.hpp"

namespace seckill::queue::rabbit {
namespace {

namespace fs = std::filesystem;

const std::string programs = "/usr/lib/rabbitmq/bin/";

std::uint16_t free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);  // NOLINT: the sockets' own way
  (void)bind(fd, any, length);
  (void)getsockname(fd, any, &length);
  (void)close(fd);
  return ntohs(address.sin_port);
}

// In a process group of its own, so that all it starts can be ended with it.
pid_t run(const std::vector<std::string>& words, const std::vector<std::string>& environment, const fs::path& log) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execve's signature
  arguments.push_back(nullptr);
  std::vector<char*> variables;
  for (const auto& one : environment) variables.push_back(const_cast<char*>(one.c_str()));  // NOLINT
  variables.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  (void)setpgid(0, 0);
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  (void)dup2(open("/dev/null", O_RDONLY), 0);
  (void)dup2(output, 1);
  (void)dup2(output, 2);
  (void)execve(arguments[0], arguments.data(), variables.data());
  _exit(127);
}

void end(pid_t& pid) {
  if (pid <= 0) return;
  (void)::kill(-pid, SIGKILL);
  (void)::kill(pid, SIGKILL);
  (void)waitpid(pid, nullptr, 0);
  pid = -1;
}

void write_file(const fs::path& path, const std::string& text) { std::ofstream{path} << text; }

}  // namespace

std::unique_ptr<OwnBroker> OwnBroker::start() {
  if (!fs::exists(programs + "rabbitmq-server")) return nullptr;
  std::string name = (fs::temp_directory_path() / "seckill-rabbit-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return nullptr;
  std::unique_ptr<OwnBroker> broker{new OwnBroker};
  broker->folder_ = name;
  broker->port_ = free_port();
  broker->distribution_port_ = free_port();
  broker->epmd_port_ = free_port();
  write_file(broker->folder_ / ".erlang.cookie", fmt::format("SECKILLTEST{}", getpid()));
  fs::permissions(broker->folder_ / ".erlang.cookie", fs::perms::owner_read);
  write_file(broker->folder_ / "enabled_plugins", "[].\n");
  write_file(broker->folder_ / "rabbitmq.conf",
             fmt::format("listeners.tcp.1 = 127.0.0.1:{}\ndisk_free_limit.absolute = 50MB\n", broker->port_));
  broker->epmd_ = run({"/usr/bin/epmd", "-address", "127.0.0.1", "-port", std::to_string(broker->epmd_port_)},
                      broker->environment(), broker->folder_ / "epmd.log");
  if (!broker->start_again()) return nullptr;
  return broker;
}

OwnBroker::~OwnBroker() {
  end(server_);
  end(epmd_);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::vector<std::string> OwnBroker::environment() const {
  const std::string folder = folder_.string();
  return {"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
          "LC_ALL=C.UTF-8",
          "HOME=" + folder,
          "ERL_EPMD_ADDRESS=127.0.0.1",
          fmt::format("ERL_EPMD_PORT={}", epmd_port_),
          fmt::format("RABBITMQ_NODENAME=own{}@localhost", port_),
          fmt::format("RABBITMQ_DIST_PORT={}", distribution_port_),
          "RABBITMQ_CONFIG_FILE=" + folder + "/rabbitmq.conf",
          "RABBITMQ_ENABLED_PLUGINS_FILE=" + folder + "/enabled_plugins",
          "RABBITMQ_MNESIA_BASE=" + folder + "/data",
          "RABBITMQ_LOG_BASE=" + folder + "/log",
          "RABBITMQ_LOGS=-",
          "RABBITMQ_CONF_ENV_FILE=" + folder + "/none",
          "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +S 2:2",
          "RABBITMQ_CTL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}"};
}

RabbitConfig OwnBroker::config() const {
  RabbitConfig config;
  config.servers = {fmt::format("127.0.0.1:{}", port_)};
  config.user = "guest";
  config.password = "guest";
  return config;
}

void OwnBroker::kill() { end(server_); }

bool OwnBroker::start_again() {
  server_ = run({programs + "rabbitmq-server"}, environment(), folder_ / "server.log");
  return wait_until_up();
}

bool OwnBroker::wait_until_up() {
  Operator probe{config()};
  return eventually([&] { return probe.connect(); }, 120s);
}

void OwnBroker::lose_data() { fs::remove_all(folder_ / "data"); }

bool OwnBroker::control(const std::vector<std::string>& words) {
  std::vector<std::string> all{programs + "rabbitmqctl"};
  all.insert(all.end(), words.begin(), words.end());
  const pid_t pid = run(all, environment(), folder_ / "control.log");
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace seckill::queue::rabbit

#include "contender.hpp"

#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace seckill::bench {
namespace {

cpu_set_t allowed() {
  static const cpu_set_t at_start = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  return at_start;
}

}  // namespace

std::vector<int> threads_of(pid_t process) {
  std::vector<int> ids;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
    ids.push_back(std::stoi(entry.path().filename().string()));
  }
  return ids;
}

std::chrono::nanoseconds cpu_time(const std::vector<int>& threads) {
  std::int64_t sum = 0;
  for (const int id : threads) {
    std::ifstream file{"/proc/" + std::to_string(id) + "/schedstat"};
    std::int64_t on_cpu_ns = 0;
    if (file >> on_cpu_ns) {
      sum += on_cpu_ns;
    }
  }
  return std::chrono::nanoseconds{sum};
}

unsigned cores() {
  const cpu_set_t set = allowed();
  return static_cast<unsigned>(CPU_COUNT(&set));
}

bool pin(int thread, unsigned core) {
  const cpu_set_t set = allowed();
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) {
      continue;
    }
    if (core == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      return sched_setaffinity(thread, sizeof one, &one) == 0;
    }
    --core;
  }
  return false;
}

}  // namespace seckill::bench

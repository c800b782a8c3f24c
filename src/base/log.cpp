#include "base/log.hpp"

#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/text.hpp"

namespace seckill::base::log {
namespace {

constexpr std::size_t message_bytes_max = 4'096;
constexpr std::size_t waiting_max = 8'192;  // lines; at 4 KiB each this bounds the memory at 32 MiB

// Set by start() and stop() only, while nobody else logs; read by everyone.
struct Writer {
  std::shared_ptr<spdlog::async_logger> logger;
  // Ends before the logger it writes through, so that whoever frees that one has joined the thread that used it.
  std::shared_ptr<spdlog::details::thread_pool> thread;
};
std::unique_ptr<Writer>& writer() {
  static std::unique_ptr<Writer> instance;
  return instance;
}
Listener& listening() {
  static Listener instance;
  return instance;
}
std::atomic<Level> level_kept{Level::warn};
std::atomic<Format> format_used{Format::text};

spdlog::level::level_enum spdlog_level(Level level) noexcept {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warn: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

// One line without raw control bytes; for JSON a quoted string.
std::string one_line(std::string_view message) {
  if (format_used.load(std::memory_order_relaxed) == Format::text) return printable(message, message_bytes_max);
  std::string quoted;
  const bool cut = message.size() > message_bytes_max;
  append_json_string(quoted, message.substr(0, message_bytes_max));
  if (cut) quoted.insert(quoted.size() - 1, "...");
  return quoted;
}

}  // namespace

void start(const Settings& settings) {
  stop();
  level_kept = settings.level;
  format_used = settings.format;
  auto made = std::make_unique<Writer>();
  made->thread = std::make_shared<spdlog::details::thread_pool>(waiting_max, 1);
  made->logger = std::make_shared<spdlog::async_logger>("seckill", std::make_shared<spdlog::sinks::stderr_sink_mt>(),
                                                        made->thread, spdlog::async_overflow_policy::overrun_oldest);
  const char* pattern = settings.format == Format::text ? "%Y-%m-%dT%H:%M:%S.%eZ %l %v"
                                                        : R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","msg":%v})";
  made->logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
  made->logger->set_level(spdlog::level::trace);
  writer() = std::move(made);
}

void stop() noexcept {
  writer().reset();  // the pool's destructor writes what waits, then joins
  level_kept = Level::warn;
  format_used = Format::text;
}

void listen(Listener listener) { listening() = std::move(listener); }

bool enabled(Level level) noexcept { return level >= level_kept.load(std::memory_order_relaxed); }

void write(Level level, std::string_view message) noexcept {
  try {
    if (const Listener& listener = listening()) return listener(level, message);
    const std::string line = one_line(message);
    if (const auto& active = writer()) {
      active->logger->log(spdlog_level(level), spdlog::string_view_t{line.data(), line.size()});
    } else {
      std::fprintf(stderr, "%s\n", line.c_str());
    }
  } catch (...) {
    std::fputs("a log line was lost: out of memory\n", stderr);
  }
}

}  // namespace seckill::base::log

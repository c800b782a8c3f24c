// The log: one line an event, as text or as one JSON object, written by a thread of its own so that no caller waits for
// a disk or a terminal. When the writer cannot keep up the oldest lines are dropped, never the caller delayed (P9).
//
// Whatever came from outside can be logged: control bytes and invalid UTF-8 are replaced or escaped here, so a line is
// one line. Secrets, ticket keys and tokens are never passed to it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace seckill::base::log {

enum class Level : std::uint8_t { debug, info, warn, error };
enum class Format : std::uint8_t { text, json };

struct Settings {
  Level level = Level::info;
  Format format = Format::text;
};

// Begins asynchronous writing to standard error. Before it, and after stop(), lines from `warn` up are written at once.
// Not while other threads log.
void start(const Settings& settings);
// Writes what waits and ends the thread. Idempotent.
void stop() noexcept;

// From now on kept lines go to `listener`, at once and by whoever logs, instead of to standard error; an empty function
// ends it. For runs that judge what is logged. Not while other threads log.
using Listener = std::function<void(Level, std::string_view)>;
void listen(Listener listener);

// True when lines of this level are kept: lets callers skip work. Any thread.
[[nodiscard]] bool enabled(Level level) noexcept;

// Hands over one line of at most 4 KiB; longer ones are cut. Never throws, never blocks on output. Any thread.
void write(Level level, std::string_view message) noexcept;

template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::debug)) write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::info)) write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::warn)) write(Level::warn, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::error)) write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace seckill::base::log

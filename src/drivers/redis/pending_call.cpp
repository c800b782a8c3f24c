#include "drivers/redis/pending_call.hpp"

#include <hiredis/hiredis.h>

#include <utility>
#include <vector>

#include "base/assert.hpp"

namespace seckill::drivers::redis {

bool Shared::open(std::size_t bytes) noexcept {
  if (calls_open.fetch_add(1, std::memory_order_relaxed) >= config.calls_max) {
    calls_open.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  if (bytes_open.fetch_add(bytes, std::memory_order_relaxed) + bytes > waiting_bytes_max) {
    bytes_open.fetch_sub(bytes, std::memory_order_relaxed);
    calls_open.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  return true;
}

void Shared::open_own(std::size_t bytes) noexcept {
  calls_open.fetch_add(1, std::memory_order_relaxed);
  bytes_open.fetch_add(bytes, std::memory_order_relaxed);
}

void Shared::close_own(std::size_t bytes) noexcept {
  bytes_open.fetch_sub(bytes, std::memory_order_relaxed);
  calls_open.fetch_sub(1, std::memory_order_relaxed);
}

void Shared::finish(std::unique_ptr<PendingCall> call, base::Result<CallAnswer> answer) {
  close_own(call->wire.size());
  if (answer.has_value() && answer->end == CallEnd::foreign) count(foreign);
  if (!answer.has_value() && answer.error().code == base::Errc::timeout) count(timeouts);
  call->done(std::move(answer));
}

void Shared::fail(std::unique_ptr<PendingCall> call, base::Errc code, std::string_view cause) {
  finish(std::move(call), base::fail(code, "calling Redis", std::string(cause)));
}

std::string format_command(std::span<const std::string_view> words) {
  // Both keep their room from call to call.
  thread_local std::vector<const char*> texts;
  thread_local std::vector<std::size_t> lengths;
  texts.clear();
  lengths.clear();
  for (const std::string_view word : words) {
    texts.push_back(word.data() == nullptr ? "" : word.data());
    lengths.push_back(word.size());
  }
  char* made = nullptr;
  const int length = redisFormatCommandArgv(&made, static_cast<int>(texts.size()), texts.data(), lengths.data());
  SECKILL_ASSERT(length > 0, "memory for a Redis command");
  std::string wire(made, static_cast<std::size_t>(length));
  redisFreeCommand(made);
  return wire;
}

std::string format_call(const RedisCall& call) {
  thread_local std::vector<std::string_view> words;
  words.clear();
  std::string key_count;
  if (call.script != nullptr) {
    key_count = std::to_string(call.keys.size());
    words.emplace_back("EVALSHA");
    words.emplace_back(call.script->sha1());
    words.emplace_back(key_count);
    for (const std::string& key : call.keys) words.emplace_back(key);
  }
  for (const std::string& arg : call.args) words.emplace_back(arg);
  SECKILL_ASSERT(!words.empty(), "a Redis call names a command");
  std::string wire = format_command(words);
  words.clear();
  return wire;
}

}  // namespace seckill::drivers::redis

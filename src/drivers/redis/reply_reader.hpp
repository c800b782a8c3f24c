// Bytes of one connection into replies. hiredis' reader does the parsing; ours are the objects it fills and the bounds,
// so that no peer can make this process take memory without end. Used by one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "drivers/redis/redis.hpp"

namespace seckill::drivers::redis {

inline constexpr std::size_t reply_bytes_max = 64u << 20;  // of one reply that has not come whole yet
inline constexpr std::size_t reply_items_max = 1u << 20;   // of one array

class ReplyReader {
 public:
  ReplyReader();
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Takes a copy of what came. False: more than a reply may have; the connection is of no use any more.
  [[nodiscard]] bool feed(std::string_view bytes);
  // The next whole reply; nullopt: not there yet. Errors: corrupt (not the protocol, or past a bound), for ever after.
  [[nodiscard]] base::Result<std::optional<RedisReply>> next();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace seckill::drivers::redis

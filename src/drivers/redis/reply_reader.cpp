#include "drivers/redis/reply_reader.hpp"

#include <hiredis/read.h>

#include <utility>

#include "base/assert.hpp"

namespace seckill::drivers::redis {

// What hiredis calls for each part of a reply. A part of an array is built in its place: hiredis goes depth first, so
// the vector that holds a place does not grow while something is put into that place.
class ReplyBuilder {
 public:
  static redisReplyObjectFunctions functions() {
    redisReplyObjectFunctions functions{};
    functions.createString = [](const redisReadTask* task, char* text, std::size_t length) -> void* {
      RedisReply* reply = place(*task);
      reply->kind_ = task->type == REDIS_REPLY_ERROR ? RedisReply::Kind::error : RedisReply::Kind::text;
      reply->text_.assign(text, length);
      return reply;
    };
    // `elements` is an int or a size_t, by hiredis' version.
    functions.createArray = [](const redisReadTask* task, auto elements) -> void* {
      if (std::cmp_greater(elements, reply_items_max)) return nullptr;
      RedisReply* reply = place(*task);
      reply->kind_ = RedisReply::Kind::array;
      // The peer only claims this many: what it sends makes the vector grow.
      reply->items_.reserve(std::cmp_less(elements, 64) ? static_cast<std::size_t>(elements) : 64);
      return reply;
    };
    functions.createInteger = [](const redisReadTask* task, long long value) -> void* {
      RedisReply* reply = place(*task);
      reply->kind_ = RedisReply::Kind::integer;
      reply->integer_ = value;
      return reply;
    };
    functions.createNil = [](const redisReadTask* task) -> void* { return place(*task); };
    functions.freeObject = [](void* reply) { delete static_cast<RedisReply*>(reply); };
    return functions;
  }

 private:
  static RedisReply* place(const redisReadTask& task) {
    if (task.parent == nullptr) return new RedisReply;
    auto& parent = *static_cast<RedisReply*>(task.parent->obj);
    return &parent.items_.emplace_back();
  }
};

struct ReplyReader::Parser {
  redisReplyObjectFunctions functions = ReplyBuilder::functions();
  redisReader* reader = nullptr;
};

ReplyReader::ReplyReader() : parser_(std::make_unique<Parser>()) {
  parser_->reader = redisReaderCreateWithFunctions(&parser_->functions);
  SECKILL_ASSERT(parser_->reader != nullptr, "memory for a reply reader");
}

ReplyReader::~ReplyReader() { redisReaderFree(parser_->reader); }

bool ReplyReader::feed(std::string_view bytes) {
  redisReader* reader = parser_->reader;
  if (reader->len - reader->pos + bytes.size() > reply_bytes_max) return false;
  return redisReaderFeed(reader, bytes.data(), bytes.size()) == 0;
}

base::Result<std::optional<RedisReply>> ReplyReader::next() {
  void* root = nullptr;
  if (redisReaderGetReply(parser_->reader, &root) != 0) {
    return base::fail(base::Errc::corrupt, "reading a Redis reply", parser_->reader->errstr);
  }
  if (root == nullptr) return std::optional<RedisReply>{};
  const std::unique_ptr<RedisReply> owned(static_cast<RedisReply*>(root));
  return std::optional<RedisReply>(std::move(*owned));
}

}  // namespace seckill::drivers::redis

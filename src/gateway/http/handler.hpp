// The port between the HTTP core and what answers requests (the router; a benchmark's constant reply).
#pragma once

#include "gateway/http/reply_slot.hpp"
#include "gateway/http/request.hpp"

namespace seckill::gateway::http {

class RequestHandler {
 public:
  virtual ~RequestHandler() = default;

  // Called on the connection's io thread, by all io threads at the same time; must not block. Answers now or keeps
  // the slot and answers later. An exception that escapes is answered 500 and closes the connection.
  virtual void handle(const Request& request, ReplySlot reply) = 0;
};

}  // namespace seckill::gateway::http

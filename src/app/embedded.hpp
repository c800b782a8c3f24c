// The embedded product in one process: memory lanes, direct queue, SQLite, both HTTP ports. The only place that knows
// all the parts; `seckill serve` and `seckill demo` use it alike.
//
//   start: store (lock, check, migrate) → admin port → lanes from the store's rows → threads → buyer port → ready
//   stop:  not ready → drain delay → buyer port drains → admin port drains → deadlines → queue lands what it accepted
//          → ticket ends → readers → store
//
// Keeps P5 and P6 across a stop: what was accepted is landed before the store closes (FS-43).
#pragma once

#include <cstdint>
#include <memory>

#include "app/config.hpp"
#include "base/result.hpp"

namespace seckill::app {

// start() and stop() are for one thread.
class EmbeddedServer {
 public:
  explicit EmbeddedServer(Config config);
  ~EmbeddedServer();  // stops without drain delay
  EmbeddedServer(const EmbeddedServer&) = delete;
  EmbeddedServer& operator=(const EmbeddedServer&) = delete;

  // Serving and ready when it returns. On an error everything begun is undone and the sentence says what to do: a taken
  // port, an address this machine does not have, a data folder that is in use, unreadable, full, damaged or too new.
  // Once. Blocks.
  [[nodiscard]] base::Status start();

  // The ports really bound (0 in the configuration: the system chose). Any thread, after start().
  [[nodiscard]] std::uint16_t buyer_port() const noexcept;
  [[nodiscard]] std::uint16_t admin_port() const noexcept;

  // As at the head of this file. True when everything in flight was finished within the configured drain_limit; what
  // was cut off was promised to nobody. Idempotent. Blocks.
  bool stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Raises the soft limit of open files to the hard one; the limit that holds now. For start-up.
std::uint64_t raise_descriptor_limit() noexcept;

// The program's version, "0.1.0".
[[nodiscard]] const char* version() noexcept;

}  // namespace seckill::app

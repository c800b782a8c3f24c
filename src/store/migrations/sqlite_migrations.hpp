// The SQLite schema as a list of steps, each applied once and in order; schema_version says how far a file has come.
// A step that was released never changes: a new one is appended.
#pragma once

#include <cstdint>
#include <span>

namespace seckill::store::migrations {

struct Migration {
  std::int64_t version;
  const char* name;
  const char* script;  // statements of one transaction, without BEGIN and COMMIT
};

// Versions 1, 2, 3, … without a gap.
[[nodiscard]] std::span<const Migration> sqlite_migrations() noexcept;

// "SECK": marks a database file as ours (PRAGMA application_id).
inline constexpr std::int64_t sqlite_application_id = 0x5345434B;

}  // namespace seckill::store::migrations

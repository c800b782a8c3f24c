// The MySQL/MariaDB schema as a list of steps, each applied once and in order; the table schema_version says how far a
// database has come. A step that was released never changes: a new one is appended.
//
// Which programs may use which schema. A program knows the steps 1 … N of its list; a database has the steps 1 … M.
//   N > M  the program asks for `migrate` and refuses.
//   N = M  it runs.
//   N < M  it runs if every step that it does not know says `oldest_program` <= N, and refuses otherwise.
// So two versions run side by side while a step is additive: new tables, new columns with a default, new indexes; its
// oldest_program is that of the step before it. A step after which an older program would read or write wrongly has
// oldest_program = its own version. A change that renames or narrows takes two releases: the first adds and writes
// both, the second, once no program of before runs any more, takes away.
#pragma once

#include <cstdint>
#include <span>

namespace seckill::store::migrations {

// One statement of a step. MySQL cannot roll back a change of the schema, so a step that was cut off is begun again,
// and each statement must bear that: it says IF NOT EXISTS itself, or `done_when` is a query that has a row once the
// statement has been done.
struct MysqlStatement {
  const char* sql;
  const char* done_when = nullptr;
};

struct MysqlMigration {
  std::int64_t version;
  const char* name;
  std::int64_t oldest_program;
  std::span<const MysqlStatement> statements;
};

// Versions 1, 2, 3, … without a gap.
[[nodiscard]] std::span<const MysqlMigration> mysql_migrations() noexcept;

// The table that `migrate` makes before any step.
inline constexpr const char* mysql_schema_version = R"sql(
CREATE TABLE IF NOT EXISTS schema_version (
  version        BIGINT NOT NULL PRIMARY KEY,
  name           VARBINARY(64) NOT NULL,
  oldest_program BIGINT NOT NULL,
  applied_at     BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)sql";

}  // namespace seckill::store::migrations

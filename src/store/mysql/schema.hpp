// How far a database's schema has come, and bringing it further. Which programs may use which schema is told in
// store/migrations/mysql_migrations.hpp.
#pragma once

#include <span>

#include "drivers/mariadb/mariadb.hpp"
#include "store/migrations/mysql_migrations.hpp"

namespace seckill::store::mysql {

// May a program that knows `steps` use this database? Errc::refused with a sentence for the operator: the schema is
// newer than this program and not additive to it, or steps are missing.
[[nodiscard]] base::Status check_schema(drivers::mariadb::Connection& connection,
                                        std::span<const migrations::MysqlMigration> steps);

// Does the steps that are missing; the answer is their number. One process at a time, by a lock that the server frees
// when this connection ends; a step that was cut off is begun again. Errc::refused: as check_schema; unavailable: also
// when somebody else is at it for longer than a minute.
[[nodiscard]] base::Result<int> migrate_schema(drivers::mariadb::Connection& connection,
                                               std::span<const migrations::MysqlMigration> steps);

}  // namespace seckill::store::mysql

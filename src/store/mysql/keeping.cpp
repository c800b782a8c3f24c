// Keeping the database: audit entries, and the question whether its disk takes writes again. Copies of it are its
// operator's.
#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {

base::Status MysqlStoreImpl::append_audit(const AuditEntry& audit) {
  return operating_.transaction("writing the audit log", [&](Work& work) { return write_audit(work, audit); });
}

base::Status MysqlStoreImpl::backup(const std::string& path) {
  return base::fail(base::Errc::refused, "backing up to " + path,
                    "the orders are in a database server, which has its own backup: use mariadb-backup or mysqldump "
                    "--single-transaction there, or a replica");
}

base::Status MysqlStoreImpl::probe() {
  constexpr std::int64_t probe_bytes = 1LL << 20;  // about what a full landing batch writes
  // Two transactions: the first must reach the disk, not only the log's memory.
  const auto written = operating_.transaction("probing the disk", [&](Work& work) -> base::Status {
    const auto made = work.run("INSERT INTO probe (room) VALUES (REPEAT('x', ?))", probe_bytes);
    if (!made) return std::unexpected(made.error());
    return {};
  });
  if (!written) return written;
  return operating_.transaction("probing the disk", [&](Work& work) -> base::Status {
    const auto removed = work.run("DELETE FROM probe");
    if (!removed) return std::unexpected(removed.error());
    return {};
  });
}

}  // namespace seckill::store::mysql

// Keeping the file: audit entries, backup while the store goes on, and the question whether the disk takes writes
// again.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "store/sqlite/store_impl.hpp"

namespace seckill::store::sqlite {
namespace {

using base::Errc;

constexpr std::int64_t probe_bytes = 1LL << 20;  // about what a full landing batch writes

std::string reason(int error) { return std::generic_category().message(error); }

Errc errc_of_errno(int error) noexcept {
  if (error == EEXIST) return Errc::already_exists;
  return error == ENOSPC || error == EDQUOT || error == EIO ? Errc::disk_full : Errc::unavailable;
}

// Copies all pages in one step: a read transaction is one snapshot, and the writer goes on in the WAL meanwhile. In
// several steps every commit between two of them would start the copy again, so it might never end.
base::Status copy_database(Connection& from, Connection& to, std::string_view doing) {
  sqlite3_backup* copy = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (copy == nullptr) return base::fail(Errc::unavailable, std::string{doing}, sqlite3_errmsg(to.handle()));
  const int stepped = sqlite3_backup_step(copy, -1);
  const int finished = sqlite3_backup_finish(copy);
  if (stepped == SQLITE_DONE && finished == SQLITE_OK) return {};
  const int code = stepped == SQLITE_DONE ? finished : stepped;
  return base::fail(drivers::sqlite::errc_of(code), std::string{doing}, sqlite3_errstr(code));
}

// Gives the finished copy its name unless something has that name by now.
base::Status publish(const std::string& partial, const std::string& path, std::string_view doing) {
  int renamed = ::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
  // Some filesystems do not know the flag; the name was free when the backup began.
  if (renamed != 0 && errno == EINVAL) renamed = ::rename(partial.c_str(), path.c_str());
  if (renamed != 0) return base::fail(errc_of_errno(errno), std::string{doing}, reason(errno));
  return sync_file_and_folder(path, doing);
}

base::Status write_copy(Connection& from, const std::string& partial, std::string_view doing) {
  auto to = Connection::open(partial, Connection::Mode::write, std::chrono::milliseconds{0});
  if (!to) return std::unexpected(to.error());
  // The copy is synced once, whole, before it gets its name.
  if (auto set = to->execute(doing, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF"); !set) return set;
  return copy_database(from, *to, doing);
}

}  // namespace

base::Status SqliteStore::append_audit(const AuditEntry& audit) {
  auto work = begin_write("writing the audit log");
  if (!work) return std::unexpected(work.error());
  if (auto written = write_audit(*work, audit); !written) return written;
  return work->commit();
}

base::Status SqliteStore::backup(const std::string& path) {
  const std::string doing = "backing up to " + path;
  struct stat about{};
  if (::lstat(path.c_str(), &about) == 0) return base::fail(Errc::already_exists, doing, "a file of this name exists");
  const std::string partial = path + ".partial";
  // Made here for its mode; what a broken-off backup left behind may be overwritten.
  const int file = ::open(partial.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return base::fail(errc_of_errno(errno), doing, partial + ": " + reason(errno));
  ::fchmod(file, 0600);
  ::close(file);
  // A connection of its own: readers stay free for buyers while the copy runs.
  auto from = Connection::open(folder_.database(), Connection::Mode::read, std::chrono::milliseconds{5'000});
  base::Status done = from ? write_copy(*from, partial, doing) : base::Status{std::unexpected(from.error())};
  if (done) done = sync_file_and_folder(partial, doing);
  if (done) done = publish(partial, path, doing);
  if (!done) ::unlink(partial.c_str());
  return done;
}

base::Status SqliteStore::probe() {
  constexpr std::string_view doing = "probing the disk";
  {
    auto work = begin_write(doing);
    if (!work) return std::unexpected(work.error());
    const auto written =
        work->run("INSERT OR REPLACE INTO probe (probe_id, room) VALUES (1, zeroblob(?))", probe_bytes);
    if (!written) return std::unexpected(written.error());
    if (auto committed = work->commit(); !committed) return committed;
  }
  auto work = begin_write(doing);
  if (!work) return std::unexpected(work.error());
  const auto removed = work->run("DELETE FROM probe");
  if (!removed) return std::unexpected(removed.error());
  return work->commit();
}

}  // namespace seckill::store::sqlite

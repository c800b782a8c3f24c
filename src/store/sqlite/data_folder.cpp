#include "store/sqlite/data_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include "store/sqlite/sqlite_store.hpp"

namespace seckill::store::sqlite {
namespace {

constexpr std::string_view clean_mark = "clean";
constexpr std::string_view database_magic{"SQLite format 3\0", 16};

std::string reason(int error) { return std::generic_category().message(error); }

base::Errc errc_of_errno(int error) noexcept {
  return error == ENOSPC || error == EDQUOT || error == EIO ? base::Errc::disk_full : base::Errc::unavailable;
}

// The lock file's one line: the process that holds it, or clean_mark. Always the same size, so that rewriting it needs
// no space on a full disk.
using LockLine = std::array<char, 32>;

std::string read_line(int file) {
  LockLine line{};
  const ssize_t got = ::pread(file, line.data(), line.size(), 0);
  const std::string_view text{line.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  return std::string{text.substr(0, text.find_first_of(" \n"))};
}

// Only a hint is lost when this fails: the name of the holder, or the leave to skip a check.
void write_line(int file, std::string_view text) noexcept {
  LockLine line{};
  line.fill(' ');
  line.back() = '\n';
  std::memcpy(line.data(), text.data(), std::min(text.size(), line.size() - 1));
  (void)!::pwrite(file, line.data(), line.size(), 0);
}

}  // namespace

base::Result<DataFolder> DataFolder::own(const std::string& path, bool create) {
  const std::string doing = "opening data folder " + path;
  if (create && ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::fail(errc_of_errno(errno), doing, "it cannot be made: " + reason(errno));
  }
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) {
    const base::Errc code = errno == ENOENT ? base::Errc::not_found : base::Errc::unavailable;
    return base::fail(code, doing, reason(errno));
  }
  if (!S_ISDIR(about.st_mode)) return base::fail(base::Errc::unavailable, doing, "it is not a folder");
  const std::string lock_path = path + "/seckill.lock";
  // Without CREAT when nothing may be made: looking must not leave a file behind.
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), 0600);
  if (lock < 0) {
    if (errno == ENOENT) return base::fail(base::Errc::not_found, doing, "there is no seckill database in it");
    return base::fail(errc_of_errno(errno), doing, "its lock file cannot be opened: " + reason(errno));
  }
  DataFolder folder{path, lock};
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      return base::fail(base::Errc::unavailable, doing, "it cannot be locked: " + reason(errno));
    const std::string holder = read_line(lock);
    // The holder's text belongs to it; this object must not write its own end into it.
    ::close(std::exchange(folder.lock_, -1));
    return base::fail(base::Errc::refused, doing,
                      fmt::format("data folder {} is in use by process {}; stop it or choose another folder", path,
                                  holder.empty() ? "unknown" : holder));
  }
  folder.was_clean_ = read_line(lock) == clean_mark;
  write_line(lock, std::to_string(::getpid()));
  return folder;
}

DataFolder::~DataFolder() {
  if (lock_ >= 0) ::close(lock_);
}

std::string DataFolder::database() const { return path_ + "/" + database_file; }

base::Status DataFolder::prepare_database(bool create) const {
  const std::string file_path = database();
  const std::string doing = "opening database " + file_path;
  // Made here and not by SQLite, which would leave it readable to others; -wal and -shm inherit the mode.
  const int file = ::open(file_path.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600);
  if (file < 0) {
    if (errno == ENOENT) return base::fail(base::Errc::not_found, doing, "there is no seckill database in this folder");
    return base::fail(errc_of_errno(errno), doing, reason(errno));
  }
  std::array<char, 16> head{};
  const ssize_t got = ::pread(file, head.data(), head.size(), 0);
  const int error = errno;
  ::close(file);
  if (got < 0) return base::fail(base::Errc::unavailable, doing, reason(error));
  if (got == 0) return {};  // new, or made by a run that ended before its first transaction
  if (std::string_view{head.data(), static_cast<std::size_t>(got)} != database_magic) {
    return base::fail(
        base::Errc::corrupt, doing,
        fmt::format("{} is not a database: it is damaged or another program's file. Move it away together "
                    "with its -wal and -shm files and restore a backup",
                    file_path));
  }
  return {};
}

std::int64_t DataFolder::database_bytes() const noexcept {
  struct stat about{};
  return ::stat((path_ + "/" + database_file).c_str(), &about) == 0 ? about.st_size : 0;
}

void DataFolder::note_clean_close() noexcept {
  if (lock_ >= 0) write_line(lock_, clean_mark);
}

base::Status sync_file_and_folder(const std::string& path, std::string_view doing) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  for (const std::string& name : {path, folder}) {
    const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return base::fail(errc_of_errno(errno), std::string{doing}, name + ": " + reason(errno));
    const int synced = ::fsync(file);
    const int error = errno;
    ::close(file);
    // Some filesystems refuse to sync a folder; the file itself must always be synced.
    if (synced != 0 && !(name == folder && error == EINVAL)) {
      return base::fail(base::Errc::disk_full, std::string{doing}, name + ": " + reason(error));
    }
  }
  return {};
}

}  // namespace seckill::store::sqlite

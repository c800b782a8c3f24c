// The folder a store lives in: made with mode 0700, owned by one process at a time through a lock file held for the
// process's life, its database file made with mode 0600. Keeps P1 and P5: two writers that do not know of each other
// cannot exist.
#pragma once

#include <string>
#include <utility>

#include "base/result.hpp"

namespace seckill::store::sqlite {

class DataFolder {
 public:
  // Errc::refused: in use by another process (or by this one). not_found: missing and not `create`. unavailable: not
  // a folder, or no permission. disk_full.
  [[nodiscard]] static base::Result<DataFolder> own(const std::string& path, bool create);
  DataFolder(DataFolder&& other) noexcept
      : path_{std::move(other.path_)}, lock_{std::exchange(other.lock_, -1)}, was_clean_{other.was_clean_} {}
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;
  DataFolder& operator=(DataFolder&&) = delete;
  ~DataFolder();  // gives the folder up

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string database() const;
  // False when the run before ended without a clean close (or the file was never written by us).
  [[nodiscard]] bool was_clean() const noexcept { return was_clean_; }

  // Makes the database file (0600) when missing. not_found when missing and not `create`; corrupt when its first bytes
  // are not a database's.
  [[nodiscard]] base::Status prepare_database(bool create) const;
  // Size of the database file in bytes; 0 when it cannot be read.
  [[nodiscard]] std::int64_t database_bytes() const noexcept;
  // Remembers that everything was closed in order.
  void note_clean_close() noexcept;

 private:
  DataFolder(std::string path, int lock) : path_{std::move(path)}, lock_{lock} {}
  std::string path_;
  int lock_;
  bool was_clean_ = false;
};

// Makes a file's content and its name in its folder durable.
[[nodiscard]] base::Status sync_file_and_folder(const std::string& path, std::string_view doing);

}  // namespace seckill::store::sqlite

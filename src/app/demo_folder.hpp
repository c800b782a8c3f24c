// Where a demo keeps its data: a folder of its own under the system's temporary folder, gone when the demo ends, or one
// the user named, which stays.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace seckill::app {

// Movable by pointer only; one thread.
class DemoFolder {
 public:
  // `named` empty: a new temporary folder. Errc::unavailable or disk_full, with a sentence that says what to do.
  [[nodiscard]] static base::Result<DemoFolder> make(const std::string& named);
  ~DemoFolder();  // removes a temporary folder with all that is in it
  DemoFolder(DemoFolder&& other) noexcept;
  DemoFolder& operator=(DemoFolder&&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool temporary() const noexcept { return temporary_; }
  // What a failure has to do with a disk without space; empty when there is enough.
  [[nodiscard]] std::string space_complaint() const;

 private:
  DemoFolder(std::string path, bool temporary) : path_{std::move(path)}, temporary_{temporary} {}

  std::string path_;
  bool temporary_ = false;
};

}  // namespace seckill::app

#include "app/demo_folder.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace seckill::app {
namespace {

namespace fs = std::filesystem;

// A demo writes a few megabytes; with less than this something would fail half-way.
constexpr std::uintmax_t space_bytes_min = 16u << 20;

}  // namespace

base::Result<DemoFolder> DemoFolder::make(const std::string& named) {
  std::error_code error;
  std::string path = named;
  if (named.empty()) {
    path = (fs::temp_directory_path(error) / "seckill-demo-XXXXXX").string();
    if (error) {
      return base::fail(
          base::Errc::unavailable, "making a temporary folder",
          fmt::format("{}; set TMPDIR to a folder you may write, or give one with --data", error.message()));
    }
    if (::mkdtemp(path.data()) == nullptr) {
      return base::fail(
          base::Errc::unavailable, "making a temporary folder " + path,
          fmt::format("{}; set TMPDIR to a folder you may write, or give one with --data", std::strerror(errno)));
    }
  } else if (fs::create_directories(path, error); error) {
    return base::fail(base::Errc::unavailable, "making the data folder " + path,
                      error.message() + "; give one you may write with --data");
  }
  DemoFolder folder{std::move(path), named.empty()};
  const std::string complaint = folder.space_complaint();
  if (!complaint.empty()) return base::fail(base::Errc::disk_full, "looking for space", complaint);
  return folder;
}

DemoFolder::DemoFolder(DemoFolder&& other) noexcept
    : path_{std::exchange(other.path_, {})}, temporary_{std::exchange(other.temporary_, false)} {}

DemoFolder::~DemoFolder() {
  std::error_code ignored;  // nothing can be done about it, and the system clears its temporary folder
  if (temporary_) fs::remove_all(path_, ignored);
}

std::string DemoFolder::space_complaint() const {
  std::error_code error;
  const fs::space_info space = fs::space(path_, error);
  if (error || space.available >= space_bytes_min) return {};
  return fmt::format(
      "the disk of {} is full: {} KB are free and a demo needs {} MB of space; free some, or choose "
      "another folder with --data or TMPDIR",
      path_, space.available / 1'024, space_bytes_min >> 20);
}

}  // namespace seckill::app

// The corpora as fast tests: every harness over every file of corpus/<harness>/, without libFuzzer. What fuzzing once
// found stays found. A file that breaks a property or trips a sanitizer ends the process; its name is the last one
// printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" {
#define HARNESS(name) int fuzz_##name(const std::uint8_t* data, std::size_t size);
#include "fuzz_harnesses.inc"
#undef HARNESS
}

namespace seckill::fuzz {
namespace {

// A corpus is a selection, so that `make test` stays fast; what a long run gathers is minimized before it is kept.
constexpr std::size_t files_max = 60;
constexpr std::size_t corpora_bytes_max = std::size_t{1} << 20;

using Harness = int (*)(const std::uint8_t*, std::size_t);

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

class Replay : public testing::Test {
 public:
  Replay(std::string name, Harness harness) : name_{std::move(name)}, harness_{harness} {}
  void TestBody() override {
    const std::vector<std::filesystem::path> files = files_of(std::filesystem::path{SECKILL_FUZZ_CORPUS} / name_);
    EXPECT_FALSE(files.empty()) << "tests/fuzz/corpus/" << name_ << " has no file: a harness comes with seeds";
    EXPECT_LE(files.size(), files_max) << "minimize it: tools/fuzz.py --merge --only " << name_;
    harness_(nullptr, 0);
    for (const std::filesystem::path& path : files) {
      std::ifstream file{path, std::ios::binary};
      // An exact copy on the heap, so that reading past its end is seen.
      const std::vector<char> bytes{std::istreambuf_iterator<char>{file}, {}};
      std::fprintf(stderr, "replaying %s/%s\n", name_.c_str(), path.filename().c_str());
      harness_(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
  }

 private:
  std::string name_;
  Harness harness_;
};

TEST(FuzzCorpora, AreSmallTogether) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{SECKILL_FUZZ_CORPUS}) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  EXPECT_LE(bytes, corpora_bytes_max);
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const char* name, Harness harness) {
    testing::RegisterTest("FuzzReplay", name, nullptr, nullptr, __FILE__, __LINE__,
                          [=]() -> testing::Test* { return new Replay{name, harness}; });
  };
#define HARNESS(name) add(#name, fuzz_##name);
#include "fuzz_harnesses.inc"
#undef HARNESS
  return true;
}();

}  // namespace
}  // namespace seckill::fuzz

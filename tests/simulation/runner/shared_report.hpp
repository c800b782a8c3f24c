// What a child process tells its parent: memory that both see, so that it is there however the child ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/runner/world.hpp"

namespace seckill::sim {

class SharedReport {
 public:
  struct Point {
    char name[40] = {};
    std::uint64_t passed = 0;
    std::uint64_t crashed = 0;
  };
  // Plain memory, filled by the child. The parent reads counts while it runs, texts when it has ended.
  struct Page {
    std::atomic<std::uint64_t> seed{0};   // being played
    std::atomic<std::uint64_t> seeds{0};  // played
    std::atomic<std::uint64_t> purchases{0};
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> events{0};
    std::atomic<std::uint64_t> virtual_ns{0};
    std::atomic<bool> failed{false};
    std::atomic<std::uint64_t> fingerprint{0};
    Point points[128] = {};
    std::size_t text_bytes = 0;
    char text[std::size_t{1} << 20] = {};  // promise, what and story, each ended by '\0'
  };

  SharedReport();
  ~SharedReport();
  SharedReport(const SharedReport&) = delete;
  SharedReport& operator=(const SharedReport&) = delete;

  // The child's: counts of a run, and the first failure's texts.
  void add(const RunResult& result);
  void keep_texts(const RunResult& result);

  [[nodiscard]] Page& page() noexcept { return *page_; }
  // The texts, as the child left them.
  [[nodiscard]] std::pair<Violation, std::vector<std::string>> texts() const;

 private:
  Point* point(std::string_view name);
  void put(std::string_view text);

  Page* page_;
};

}  // namespace seckill::sim

#include "simulation/runner/shared_report.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/assert.hpp"

namespace seckill::sim {

SharedReport::SharedReport() {
  void* memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  SECKILL_ASSERT(memory != MAP_FAILED, "there is memory for a child's report");
  page_ = new (memory) Page;
}

SharedReport::~SharedReport() { ::munmap(page_, sizeof(Page)); }

SharedReport::Point* SharedReport::point(std::string_view name) {
  name = name.substr(0, sizeof(Point::name) - 1);
  for (Point& point : page_->points) {
    if (name == point.name) return &point;
    if (point.name[0] != '\0') continue;
    std::memcpy(point.name, name.data(), name.size());
    return &point;
  }
  return nullptr;  // more points than there is room for: not counted
}

void SharedReport::add(const RunResult& result) {
  page_->purchases += result.purchases;
  page_->requests += result.requests;
  page_->events += result.events;
  page_->virtual_ns += static_cast<std::uint64_t>(result.virtual_time.count());
  page_->fingerprint = result.fingerprint;
  for (const auto& [name, times] : result.passages) {
    if (Point* known = point(name)) known->passed += times;
  }
  for (const auto& [name, times] : result.crashed_at) {
    if (Point* known = point(name)) known->crashed += times;
  }
  ++page_->seeds;
}

void SharedReport::put(std::string_view text) {
  const std::size_t room = sizeof(Page::text) - page_->text_bytes;
  if (room <= text.size()) return;
  std::memcpy(page_->text + page_->text_bytes, text.data(), text.size());
  page_->text_bytes += text.size() + 1;
}

void SharedReport::keep_texts(const RunResult& result) {
  page_->failed = result.violation.has_value();
  page_->text_bytes = 0;
  put(result.violation ? result.violation->promise : "");
  put(result.violation ? result.violation->what : "");
  for (const std::string& line : result.story) put(line);
}

std::pair<Violation, std::vector<std::string>> SharedReport::texts() const {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < page_->text_bytes; at += all.back().size() + 1) all.emplace_back(page_->text + at);
  Violation violation;
  if (all.size() >= 2) violation = {.promise = all[0], .what = all[1]};
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, all.size())));
  return {violation, all};
}

}  // namespace seckill::sim

#include "fuzz/property.hpp"

#include <cstdio>
#include <cstdlib>

namespace seckill::fuzz {

void require(bool holds, std::string_view property, std::string_view about, const std::source_location& where) {
  if (holds) return;
  const std::string_view shown = about.substr(0, 400);
  std::fprintf(stderr, "broken property: %.*s\n  at %s:%u\n", static_cast<int>(property.size()), property.data(),
               where.file_name(), where.line());
  if (!shown.empty()) std::fprintf(stderr, "  about: %.*s\n", static_cast<int>(shown.size()), shown.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace seckill::fuzz

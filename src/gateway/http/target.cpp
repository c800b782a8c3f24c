#include "gateway/http/target.hpp"

#include <array>
#include <cstddef>

namespace seckill::gateway::http {
namespace {

enum class Kind : std::uint8_t { illegal, plain, slash, dot, question, other_spelling, query_only };

consteval std::array<Kind, 256> kinds() {
  std::array<Kind, 256> table{};
  for (unsigned c = 0x21; c <= 0x7e; ++c) {
    table[c] = Kind::query_only;  // browsers send some of these raw in a query
  }
  for (const char c :
       std::string_view{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_~!$&'()*+,=:@"}) {
    table[static_cast<unsigned char>(c)] = Kind::plain;
  }
  table['/'] = Kind::slash;
  table['.'] = Kind::dot;
  table['?'] = Kind::question;
  table['%'] = table[';'] = Kind::other_spelling;
  table['#'] = Kind::illegal;
  return table;
}

constexpr std::array<Kind, 256> table = kinds();

Kind kind(char c) noexcept { return table[static_cast<unsigned char>(c)]; }

// Whether a path segment that begins at `at` with a dot is "." or "..".
bool dot_segment(std::string_view target, std::size_t at) noexcept {
  std::size_t end = at + 1;
  if (end < target.size() && target[end] == '.') {
    ++end;
  }
  return end == target.size() || target[end] == '/' || target[end] == '?';
}

}  // namespace

TargetReading read_target(std::string_view target) noexcept {
  TargetReading reading;
  if (target.empty() || target[0] != '/') {
    return reading;
  }
  std::size_t at = 1;
  for (;; ++at) {
    while (at < target.size() && kind(target[at]) == Kind::plain) {
      ++at;
    }
    if (at == target.size()) {
      break;
    }
    const Kind k = kind(target[at]);
    const bool segment_begins = target[at - 1] == '/';
    if (k == Kind::question) {
      break;
    }
    if (k == Kind::illegal || k == Kind::query_only) {
      return reading;
    }
    if (k == Kind::other_spelling || (k == Kind::slash && segment_begins) ||
        (k == Kind::dot && segment_begins && dot_segment(target, at))) {
      reading.canonical = false;
    }
  }
  reading.path_bytes = static_cast<std::uint32_t>(at);
  for (++at; at < target.size(); ++at) {
    if (kind(target[at]) == Kind::illegal) {
      return reading;
    }
  }
  reading.legal = true;
  return reading;
}

}  // namespace seckill::gateway::http

#include "gateway/login/subject_peek.hpp"

#include "gateway/login/base64url.hpp"

namespace seckill::gateway {
namespace {

// A reader that only moves forward; every step says whether it could.
class FlatReader {
 public:
  explicit FlatReader(std::string_view text) noexcept : text_{text} {}

  void skip_space() noexcept {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  [[nodiscard]] bool take(char expected) noexcept {
    skip_space();
    if (at_ == text_.size() || text_[at_] != expected) return false;
    ++at_;
    return true;
  }
  // A string without backslash or control bytes.
  [[nodiscard]] bool take_string(std::string_view& into) noexcept {
    if (!take('"')) return false;
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        into = text_.substr(begin, at_ - begin);
        ++at_;
        return true;
      }
      if (c == '\\' || static_cast<unsigned char>(c) < 0x20) return false;
      ++at_;
    }
    return false;
  }
  // A number or literal; which one does not matter here, only where it ends.
  [[nodiscard]] bool take_word() noexcept {
    skip_space();
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool of_word =
          (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E' || c == '+' || c == '-' || c == '.';
      if (!of_word) break;
      ++at_;
    }
    return at_ > begin;
  }
  [[nodiscard]] bool next_is(char expected) noexcept {
    skip_space();
    return at_ < text_.size() && text_[at_] == expected;
  }
  [[nodiscard]] bool at_end() noexcept {
    skip_space();
    return at_ == text_.size();
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::string_view> flat_subject(std::string_view payload) noexcept {
  FlatReader reader{payload};
  std::optional<std::string_view> subject;
  if (!reader.take('{')) return std::nullopt;
  do {
    std::string_view key;
    if (!reader.take_string(key) || !reader.take(':')) return std::nullopt;
    if (key == "sub") {
      std::string_view value;
      if (subject || !reader.take_string(value)) return std::nullopt;
      subject = value;
    } else if (reader.next_is('"')) {
      std::string_view ignored;
      if (!reader.take_string(ignored)) return std::nullopt;
    } else if (!reader.take_word()) {
      return std::nullopt;
    }
  } while (reader.take(','));
  if (!reader.take('}') || !reader.at_end()) return std::nullopt;
  return subject;
}

std::optional<std::string_view> peek_subject(std::string_view token, PeekBuffer& buffer) noexcept {
  const std::size_t first = token.find('.');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) return std::nullopt;
  const auto size = decode_base64url(token.substr(first + 1, second - first - 1), buffer);
  if (!size) return std::nullopt;
  return flat_subject({buffer.data(), *size});
}

}  // namespace seckill::gateway

#include "admission/memory/packed_request_id.hpp"

namespace seckill::admission::memory {
namespace {

constexpr std::size_t uuid_text_size = 36;

constexpr bool is_hyphen_place(std::size_t i) noexcept { return i == 8 || i == 13 || i == 18 || i == 23; }

constexpr std::array<std::int8_t, 256> make_nibbles() noexcept {
  std::array<std::int8_t, 256> nibbles{};
  nibbles.fill(-1);
  for (int i = 0; i < 10; ++i) nibbles[static_cast<std::size_t>('0' + i)] = static_cast<std::int8_t>(i);
  for (int i = 0; i < 6; ++i) nibbles[static_cast<std::size_t>('a' + i)] = static_cast<std::int8_t>(10 + i);
  return nibbles;
}
constexpr std::array<std::int8_t, 256> nibbles = make_nibbles();

bool pack_uuid(std::string_view text, char* out) noexcept {
  if (text.size() != uuid_text_size) return false;
  std::size_t written = 0;
  for (std::size_t i = 0; i < uuid_text_size;) {
    if (is_hyphen_place(i)) {
      if (text[i] != '-') return false;
      ++i;
      continue;
    }
    const int high = nibbles[static_cast<unsigned char>(text[i])];
    const int low = nibbles[static_cast<unsigned char>(text[i + 1])];
    if (high < 0 || low < 0) return false;
    out[written++] = static_cast<char>(high << 4 | low);
    i += 2;
  }
  return true;
}

}  // namespace

PackedRequestId::PackedRequestId(const model::RequestId& id) noexcept {
  const std::string_view text = id.view();
  if (pack_uuid(text, bytes_.data())) {
    tag_ = uuid_tag;
    return;
  }
  tag_ = static_cast<std::uint8_t>(text.size());
  std::memcpy(bytes_.data(), text.data(), text.size());
}

model::RequestId PackedRequestId::unpack(std::uint8_t tag, std::string_view bytes) noexcept {
  if (tag != uuid_tag) return model::RequestId::trusted(bytes);
  std::array<char, uuid_text_size> text{};
  std::size_t read = 0;
  for (std::size_t i = 0; i < uuid_text_size;) {
    if (is_hyphen_place(i)) {
      text[i++] = '-';
      continue;
    }
    const auto byte = static_cast<unsigned char>(bytes[read++]);
    text[i++] = "0123456789abcdef"[byte >> 4];
    text[i++] = "0123456789abcdef"[byte & 15];
  }
  return model::RequestId::trusted({text.data(), text.size()});
}

}  // namespace seckill::admission::memory

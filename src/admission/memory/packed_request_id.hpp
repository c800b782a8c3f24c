// A request id as a mark keeps it: a UUID in its usual spelling (36 characters, lower case) takes 16 bytes, any other
// id its own bytes. Packing loses nothing: two ids pack alike only when they are equal.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/limits.hpp"
#include "model/ids.hpp"

namespace seckill::admission::memory {

class PackedRequestId {
 public:
  // Says "16 packed bytes" where a size is kept; no id is that long.
  static constexpr std::uint8_t uuid_tag = 0xFF;
  static_assert(base::limits::request_id_bytes_max < uuid_tag);

  explicit PackedRequestId(const model::RequestId& id) noexcept;

  [[nodiscard]] std::uint8_t tag() const noexcept { return tag_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return {bytes_.data(), size_of(tag_)}; }

  // How many bytes follow a tag.
  [[nodiscard]] static std::size_t size_of(std::uint8_t tag) noexcept { return tag == uuid_tag ? 16 : tag; }
  // The id again, from what tag() and bytes() gave.
  [[nodiscard]] static model::RequestId unpack(std::uint8_t tag, std::string_view bytes) noexcept;

 private:
  std::array<char, base::limits::request_id_bytes_max> bytes_;  // the first size_of(tag_) are set
  std::uint8_t tag_ = 0;
};

}  // namespace seckill::admission::memory

// A key or shared secret in memory. It has no way into a log or an error's text: nothing formats or prints one, and its
// bytes are overwritten before their memory is given back.
#pragma once

#include <openssl/crypto.h>

#include <string>
#include <string_view>
#include <utility>

namespace seckill::payments {

class Secret {
 public:
  Secret() noexcept = default;
  explicit Secret(std::string bytes) noexcept : bytes_{std::move(bytes)} {}
  ~Secret() { wipe(); }
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept : bytes_{std::move(other.bytes_)} { other.wipe(); }
  Secret& operator=(const Secret& other) {
    if (this != &other) {
      wipe();
      bytes_ = other.bytes_;
    }
    return *this;
  }
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      wipe();
      bytes_ = std::move(other.bytes_);
      other.wipe();
    }
    return *this;
  }

  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }

 private:
  void wipe() noexcept {
    // A short string lives inside the object and stays there after a move, so the whole capacity is overwritten.
    bytes_.resize(bytes_.capacity());
    OPENSSL_cleanse(bytes_.data(), bytes_.size());
    bytes_.clear();
  }
  std::string bytes_;
};

}  // namespace seckill::payments

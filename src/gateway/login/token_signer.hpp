// Makes login tokens (HS256) for the demo's pretend logins and for tests by command line. A real shop's own login
// issues them; the server then holds no signing key.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "model/ids.hpp"

namespace seckill::gateway {

// Constant after construction; any thread.
class TokenSigner {
 public:
  // Errc::invalid: the secret is shorter than 32 bytes. `issuer` and `audience` are left out when empty.
  [[nodiscard]] static base::Result<std::unique_ptr<TokenSigner>> make(std::string_view hs256_secret,
                                                                       std::string issuer = {},
                                                                       std::string audience = {});
  ~TokenSigner();

  // A token for the buyer from `now` (whole seconds) for `lifetime`. Errc::unavailable: the library could not sign.
  [[nodiscard]] base::Result<std::string> sign(const model::BuyerId& buyer, base::UtcMs now,
                                               std::chrono::seconds lifetime) const;

 private:
  struct Impl;
  explicit TokenSigner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace seckill::gateway

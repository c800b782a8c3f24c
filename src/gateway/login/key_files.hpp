// Reading public keys from PEM and JWKS files; private to gateway/login.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "gateway/login/jose.hpp"
#include "gateway/login/token_verifier.hpp"

namespace seckill::gateway {

struct NamedKey {
  std::string kid;  // empty: the key has no name
  jose::Key key;
};

inline constexpr std::size_t key_file_bytes_max = 65'536;
inline constexpr std::size_t keys_max = 32;
inline constexpr std::size_t rsa_bits_min = 2'048;

// Errc::invalid names the file and what is wrong. Keys of a set that are for other uses or algorithms are passed over;
// at least one must remain. Blocking (reads a file).
[[nodiscard]] base::Result<std::vector<NamedKey>> keys_from_pem_file(const std::string& path, JwtAlgorithm algorithm);
[[nodiscard]] base::Result<std::vector<NamedKey>> keys_from_jwks_file(const std::string& path, JwtAlgorithm algorithm);

}  // namespace seckill::gateway

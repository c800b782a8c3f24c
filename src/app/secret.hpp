// Secrets of the configuration: where they come from, what is too weak to be one, and a type that no log can print.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seckill::app {

class YamlSection;

// A text that must not reach a log: it has no formatter, and reading it takes a call that can be searched for.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_{std::move(value)} {}
  [[nodiscard]] const std::string& reveal() const noexcept { return value_; }
  [[nodiscard]] bool empty() const noexcept { return value_.empty(); }

 private:
  std::string value_;
};

inline constexpr std::size_t secret_bytes_max = 4'096;

// Why a secret that we sign or authenticate with cannot protect anything; nullopt when it can. Published: a value that
// our documents or samples show.
[[nodiscard]] std::optional<std::string> secret_weakness(std::string_view secret);
// Why a password of another server must not be used; nullopt otherwise. Its length is its server's to judge: refused
// is what anybody can read in a manual.
[[nodiscard]] std::optional<std::string> password_weakness(std::string_view password);

// How a secret is read: by which rule it is judged, and what the environment says over the file.
struct SecretSource {
  std::string_view key;       // "operator_token"; beside it `key`_file
  std::string_view variable;  // "SECKILL_OPERATOR_TOKEN"
  std::optional<std::string> environment;
  std::optional<std::string> (*weakness)(std::string_view) = secret_weakness;
  bool demo = false;  // weak ones pass with a warning
};

// One secret, from the key, a file or the environment; the environment wins, key and file together are a problem.
// Problems go to `section`, sentences about what demo mode let pass to `warnings`. Reads the file. An empty Secret:
// none was given.
[[nodiscard]] Secret read_secret(YamlSection& section, const SecretSource& source, std::vector<std::string>& warnings);

}  // namespace seckill::app

#include "app/secret.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "app/yaml_reader.hpp"

namespace seckill::app {
namespace {

constexpr std::size_t secret_bytes_min = 32;

// Values that stand in our samples and documents: anybody can read them.
constexpr std::array<std::string_view, 4> published_secrets{
    "replace-this-operator-token-with-your-own", "replace-this-login-secret-with-your-own-one",
    "change-me-change-me-change-me-change-me", "0123456789abcdef0123456789abcdef"};
// … and what the servers' own manuals show.
constexpr std::array<std::string_view, 12> published_passwords{"guest",  "root",     "password", "admin",
                                                               "123456", "changeme", "seckill",  "foobared",
                                                               "mysql",  "mariadb",  "rabbitmq", "redis"};

std::expected<std::string, std::string> read_small_file(const std::string& path, std::size_t bytes_max) {
  std::ifstream file{path, std::ios::binary};
  if (!file) return std::unexpected(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
  std::string content(bytes_max + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (file.bad()) return std::unexpected(path + " cannot be read; is it a folder?");
  content.resize(static_cast<std::size_t>(file.gcount()));
  if (content.size() > bytes_max) return std::unexpected(fmt::format("{} is larger than {} bytes", path, bytes_max));
  return content;
}

// Editors end files with a line end that is no part of the secret.
std::string without_line_end(std::string content) {
  while (!content.empty() && (content.back() == '\n' || content.back() == '\r')) content.pop_back();
  return content;
}

}  // namespace

std::optional<std::string> secret_weakness(std::string_view secret) {
  if (std::ranges::find(published_secrets, secret) != published_secrets.end()) {
    return "is a published sample value that anybody can read";
  }
  if (secret.size() < secret_bytes_min) {
    return fmt::format("is {} bytes long and can be guessed; at least {} are needed", secret.size(), secret_bytes_min);
  }
  if (std::set<char>(secret.begin(), secret.end()).size() < 8) return "repeats a few characters and can be guessed";
  if (std::ranges::any_of(secret, [](char c) { return static_cast<unsigned char>(c) < 0x21 || c == 0x7F; })) {
    return "holds a space or control character";
  }
  return std::nullopt;
}

std::optional<std::string> password_weakness(std::string_view password) {
  const bool published = std::ranges::find(published_passwords, password) != published_passwords.end() ||
                         std::ranges::find(published_secrets, password) != published_secrets.end();
  if (published) return "is a published value that anybody can read";
  return std::nullopt;
}

Secret read_secret(YamlSection& section, const SecretSource& source, std::vector<std::string>& warnings) {
  const std::string file_key = std::string{source.key} + "_file";
  std::string value;
  std::string path;
  section.text(source.key, value, secret_bytes_max);
  section.text(file_key, path);
  if (!value.empty() && !path.empty())
    section.problem(file_key, fmt::format("give {} or {}, not both", source.key, file_key));
  if (!path.empty()) {
    auto content = read_small_file(path, secret_bytes_max);
    if (content) {
      value = without_line_end(*std::move(content));
      if (value.empty()) section.problem(file_key, path + " is empty");
    } else {
      section.problem(file_key, content.error());
    }
  }
  if (source.environment) value = *source.environment;
  if (!value.empty()) {
    const auto weakness = source.weakness(value);
    if (weakness && source.demo) {
      warnings.push_back(fmt::format("{} {}; accepted in demo mode only",
                                     source.environment ? source.variable : source.key, *weakness));
    } else if (weakness) {
      section.problem(path.empty() ? std::string{source.key} : file_key,
                      *weakness + "; make one with: openssl rand -hex 32");
    }
  }
  return Secret{std::move(value)};
}

}  // namespace seckill::app

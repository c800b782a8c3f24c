// Buyers of cluster benchmarks, each with a login, and what they ask.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/login/token_signer.hpp"

namespace seckill::bench {

class Buyers {
 public:
  // Throws std::runtime_error: the secret is not one. `sku` of all purchases is "item".
  Buyers(std::string_view login_secret, std::string sale);

  [[nodiscard]] static std::string id(std::size_t number);
  // The page's question before the start, which leaves the login in the server's cache.
  [[nodiscard]] std::vector<std::string> looks(std::size_t first, std::size_t count) const;
  [[nodiscard]] std::vector<std::string> purchases(std::size_t first, std::size_t count) const;

 private:
  [[nodiscard]] std::string token(std::size_t number) const;

  std::unique_ptr<gateway::TokenSigner> signer_;
  std::string sale_;
  std::int64_t now_;
};

// Words of the command line: --name value.
class Words {
 public:
  Words(int argc, char** argv);
  [[nodiscard]] std::string text(std::string_view name) const;  // throws when it is missing
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name, double otherwise) const;
  [[nodiscard]] std::vector<std::uint16_t> ports(std::string_view name) const;
  [[nodiscard]] std::string file(std::string_view name) const;  // its first line

 private:
  [[nodiscard]] const std::string* find(std::string_view name) const;
  std::vector<std::pair<std::string, std::string>> pairs_;
};

// Figures and facts as one line of "name value unit" each.
void run_crowd(const Words& words);
void run_gaps(const Words& words);
void compare_with_peer(const Words& words);
void measure_rebuild(const Words& words);

}  // namespace seckill::bench

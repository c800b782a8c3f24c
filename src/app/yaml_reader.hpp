// Strict reading of YAML maps: every key is asked for by name, and what was not asked for is a problem. Nothing here
// throws; each finding goes to the list of problems with file, line, key and what would be valid. A key that has a
// problem leaves its target unchanged.
#pragma once

#include <yaml-cpp/yaml.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/problems.hpp"

namespace seckill::app {

inline constexpr std::size_t yaml_bytes_max = 1u << 20;
inline constexpr int yaml_depth_max = 8;

// The file's one document. Problems: unreadable, larger than the bound, not YAML (with the line), nested too deeply.
[[nodiscard]] std::expected<YAML::Node, Problem> load_yaml(const std::string& path);
[[nodiscard]] std::expected<YAML::Node, Problem> parse_yaml(const std::string& text, const std::string& name);

// One map of the document. Ask for each known key once, then call finish(). One thread.
class YamlSection {
 public:
  // An undefined or null `node` is an empty map; a node that is no map is a problem.
  YamlSection(const YAML::Node& node, std::string file, std::string path, Problems& problems);

  [[nodiscard]] YamlSection section(std::string_view key);
  void text(std::string_view key, std::string& into, std::size_t bytes_max = 4'096);
  void boolean(std::string_view key, bool& into);
  // Decimal digits only; no sign, prefix, exponent or underscore.
  void integer(std::string_view key, std::int64_t& into, std::int64_t low, std::int64_t high);
  // A decimal fraction with at most three places ("0.5").
  void decimal(std::string_view key, double& into, double low, double high);
  void duration(std::string_view key, std::chrono::milliseconds& into, std::chrono::milliseconds low,
                std::chrono::milliseconds high);
  // The index of one of `names`.
  void choice(std::string_view key, std::size_t& into, std::span<const std::string_view> names);
  void text_list(std::string_view key, std::vector<std::string>& into, std::size_t count_max);

  // A rule that several keys break together, reported at `key`'s line, or at the section's when it is absent.
  void problem(std::string_view key, std::string what);
  [[nodiscard]] bool has(std::string_view key) const;
  // Reports every key that nobody asked for, and every key written twice.
  void finish();

 private:
  // The scalar's text; nullopt when absent, or when it is no scalar (a problem).
  [[nodiscard]] const std::string* scalar(std::string_view key, std::string_view wanted);
  [[nodiscard]] const YAML::Node* find(std::string_view key) const;
  void add(std::string_view key, int line, std::string what);
  [[nodiscard]] std::string full(std::string_view key) const;

  std::vector<std::pair<std::string, YAML::Node>> entries_;  // in the order written
  std::string file_;
  std::string path_;
  int line_ = 0;
  Problems* problems_;
  std::vector<std::string> asked_;
};

}  // namespace seckill::app

#include "app/yaml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "base/duration.hpp"
#include "base/text.hpp"

namespace seckill::app {
namespace {

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

// Aliases can repeat a node without end; the walk is bounded by what it visits.
bool too_deep(const YAML::Node& node, int depth, std::size_t& visited) {
  if (depth > yaml_depth_max || ++visited > 100'000) return true;
  if (!node.IsMap() && !node.IsSequence()) return false;
  for (const auto& entry : node) {
    if (node.IsMap() ? too_deep(entry.second, depth + 1, visited) : too_deep(entry, depth + 1, visited)) return true;
  }
  return false;
}

}  // namespace

std::string Problem::text() const {
  std::string out = file;
  if (line > 0) out += fmt::format("{}{}", out.empty() ? "line " : ":", line);
  if (!out.empty()) out += ": ";
  if (!key.empty()) out += key + ": ";
  return out + what;
}

std::expected<YAML::Node, Problem> parse_yaml(const std::string& text, const std::string& name) {
  if (text.size() > yaml_bytes_max) return std::unexpected(Problem{name, 0, "", "is larger than 1 MiB"});
  if (!base::utf8_length(text)) return std::unexpected(Problem{name, 0, "", "is not valid UTF-8"});
  try {
    YAML::Node node = YAML::Load(text);
    std::size_t visited = 0;
    if (too_deep(node, 0, visited)) return std::unexpected(Problem{name, 0, "", "is nested too deeply"});
    return node;
  } catch (const YAML::Exception& thrown) {
    return std::unexpected(Problem{name, thrown.mark.line + 1, "", "is not valid YAML: " + thrown.msg});
  }
}

std::expected<YAML::Node, Problem> load_yaml(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) {
    return std::unexpected(Problem{path, 0, "", fmt::format("cannot be read: {}", std::strerror(errno))});
  }
  std::string text(yaml_bytes_max + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return std::unexpected(Problem{path, 0, "", "cannot be read; is it a folder?"});
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_yaml(text, path);
}

YamlSection::YamlSection(const YAML::Node& node, std::string file, std::string path, Problems& problems)
    : file_{std::move(file)}, path_{std::move(path)}, problems_{&problems} {
  if (!node.IsDefined() || node.IsNull()) return;
  line_ = line_of(node);
  if (!node.IsMap()) {
    add("", line_, "must be a map of keys and values");
    return;
  }
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) {
      add("", line_of(entry.first), "a key must be a plain word");
      continue;
    }
    const std::string& key = entry.first.Scalar();
    if (find(key) != nullptr) {
      add(key, line_of(entry.first), "is written twice; keep one");
      continue;
    }
    entries_.emplace_back(key, entry.second);
  }
}

YamlSection YamlSection::section(std::string_view key) {
  asked_.emplace_back(key);
  const YAML::Node* node = find(key);
  return {node != nullptr ? *node : YAML::Node{}, file_, full(key), *problems_};
}

void YamlSection::text(std::string_view key, std::string& into, std::size_t bytes_max) {
  const std::string* found = scalar(key, "a text");
  if (found == nullptr) return;
  if (found->empty() || found->size() > bytes_max) {
    problem(key, fmt::format("must be 1 to {} bytes long", bytes_max));
    return;
  }
  into = *found;
}

void YamlSection::boolean(std::string_view key, bool& into) {
  const std::string* found = scalar(key, "true or false");
  if (found == nullptr) return;
  if (*found != "true" && *found != "false") {
    problem(key, fmt::format("{} is neither true nor false", base::printable(*found, 60)));
    return;
  }
  into = *found == "true";
}

void YamlSection::integer(std::string_view key, std::int64_t& into, std::int64_t low, std::int64_t high) {
  const std::string* found = scalar(key, "a whole number");
  if (found == nullptr) return;
  const auto value = base::parse_decimal(*found);
  if (!value || *value < low || *value > high) {
    problem(key, fmt::format("{} is not a whole number from {} to {}", base::printable(*found, 60), low, high));
    return;
  }
  into = *value;
}

void YamlSection::decimal(std::string_view key, double& into, double low, double high) {
  const std::string* found = scalar(key, "a number");
  if (found == nullptr) return;
  const std::size_t point = std::min(found->find('.'), found->size());
  const auto whole = base::parse_decimal(found->substr(0, point));
  double value = whole ? static_cast<double>(*whole) : -1;
  if (value >= 0 && point < found->size()) {
    const std::string places = found->substr(point + 1);
    const bool digits =
        !places.empty() && places.size() <= 3 && places.find_first_not_of("0123456789") == std::string::npos;
    const auto thousandths =
        base::parse_decimal("1" + places + std::string(3 - std::min<std::size_t>(places.size(), 3), '0'));
    value = digits && thousandths ? value + static_cast<double>(*thousandths - 1'000) / 1'000 : -1;
  }
  if (value < low || value > high) {
    problem(key, fmt::format("{} is not a number from {} to {} with at most three decimal places",
                             base::printable(*found, 60), low, high));
    return;
  }
  into = value;
}

void YamlSection::duration(std::string_view key, std::chrono::milliseconds& into, std::chrono::milliseconds low,
                           std::chrono::milliseconds high) {
  const std::string* found = scalar(key, "a length of time");
  if (found == nullptr) return;
  const auto ms = base::parse_duration_ms(*found);
  if (!ms || *ms < low.count() || *ms > high.count()) {
    problem(key, fmt::format("{} is not a length of time from {} to {}, written like 500ms, 5s or 15m",
                             base::printable(*found, 60), base::format_duration(low.count()),
                             base::format_duration(high.count())));
    return;
  }
  into = std::chrono::milliseconds{*ms};
}

void YamlSection::choice(std::string_view key, std::size_t& into, std::span<const std::string_view> names) {
  const std::string* found = scalar(key, "one word");
  if (found == nullptr) return;
  const auto at = std::ranges::find(names, std::string_view{*found});
  if (at == names.end()) {
    problem(key, fmt::format("{} is none of: {}", base::printable(*found, 60), fmt::join(names, ", ")));
    return;
  }
  into = static_cast<std::size_t>(at - names.begin());
}

void YamlSection::text_list(std::string_view key, std::vector<std::string>& into, std::size_t count_max) {
  asked_.emplace_back(key);
  const YAML::Node* node = find(key);
  if (node == nullptr || node->IsNull()) return;
  if (!node->IsSequence() || node->size() > count_max) {
    problem(key, fmt::format("must be a list of at most {} texts", count_max));
    return;
  }
  std::vector<std::string> read;
  for (const auto& entry : *node) {
    if (!entry.IsScalar() || entry.Scalar().empty()) {
      problem(key, "must be a list of texts; one entry is not");
      return;
    }
    read.push_back(entry.Scalar());
  }
  into = std::move(read);
}

void YamlSection::problem(std::string_view key, std::string what) {
  const YAML::Node* node = find(key);
  add(key, node != nullptr ? line_of(*node) : line_, std::move(what));
}

bool YamlSection::has(std::string_view key) const {
  const YAML::Node* node = find(key);
  return node != nullptr && !node->IsNull();
}

void YamlSection::finish() {
  for (const auto& [key, node] : entries_) {
    if (std::ranges::find(asked_, key) != asked_.end()) continue;
    add(key, line_of(node), fmt::format("is not a known key; known here: {}", fmt::join(asked_, ", ")));
  }
}

const std::string* YamlSection::scalar(std::string_view key, std::string_view wanted) {
  asked_.emplace_back(key);
  const YAML::Node* node = find(key);
  if (node == nullptr || node->IsNull()) return nullptr;
  if (!node->IsScalar()) {
    problem(key, fmt::format("must be {}", wanted));
    return nullptr;
  }
  return &node->Scalar();
}

const YAML::Node* YamlSection::find(std::string_view key) const {
  const auto at = std::ranges::find_if(entries_, [&](const auto& entry) { return entry.first == key; });
  return at == entries_.end() ? nullptr : &at->second;
}

void YamlSection::add(std::string_view key, int line, std::string what) {
  problems_->push_back({file_, line, full(key), std::move(what)});
}

std::string YamlSection::full(std::string_view key) const {
  std::string shown = base::printable(key, 60);
  if (path_.empty()) return shown;
  return key.empty() ? path_ : path_ + "." + shown;
}

}  // namespace seckill::app

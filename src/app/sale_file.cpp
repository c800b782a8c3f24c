#include "app/sale_file.hpp"

#include <fmt/format.h>

#include "app/yaml_reader.hpp"
#include "base/duration.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace seckill::app {
namespace {

// A plain scalar that JSON would read as a number, true, false or null is one; everything else is a text. Quoted is
// text.
boost::json::value value_of(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return boost::json::value(text);
  if (text == "~") return nullptr;
  auto read = base::parse_json(text);
  if (read && (read->is_number() || read->is_bool() || read->is_null())) return *std::move(read);
  return boost::json::value(text);
}

class Converter {
 public:
  Converter(std::string file, Problems& problems) : file_{std::move(file)}, problems_{&problems} {}

  boost::json::value convert(const YAML::Node& node, const std::string& path) {
    if (node.IsScalar()) return value_of(node);
    if (node.IsSequence()) {
      boost::json::array list;
      for (const auto& entry : node) list.push_back(convert(entry, fmt::format("{}[{}]", path, list.size())));
      return list;
    }
    if (node.IsMap()) return object(node, path);
    return nullptr;
  }

  boost::json::object object(const YAML::Node& node, const std::string& path) {
    boost::json::object made;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : std::string{};
      const std::string full = path.empty() ? key : fmt::format("{}.{}", path, key);
      if (key.empty()) {
        problems_->push_back({file_, entry.first.Mark().line + 1, path, "a key must be a plain word"});
      } else if (made.contains(key)) {
        problems_->push_back({file_, entry.first.Mark().line + 1, full, "is written twice; keep one"});
      } else {
        made[key] = convert(entry.second, full);
      }
    }
    return made;
  }

 private:
  std::string file_;
  Problems* problems_;
};

// The length of time under `key`, taken out of the sale; nullopt when absent or, with a problem, when it is none.
std::optional<std::int64_t> take_duration(boost::json::object& sale, std::string_view key, const std::string& file,
                                          Problems& problems) {
  const auto* value = sale.if_contains(boost::json::string_view{key.data(), key.size()});
  if (value == nullptr) return std::nullopt;
  const auto ms = value->is_string() ? base::parse_duration_ms(std::string{value->get_string()}) : std::nullopt;
  if (!ms) problems.push_back({file, 0, std::string{key}, "must be a length of time like 5s or 2m"});
  sale.erase(boost::json::string_view{key.data(), key.size()});
  return ms;
}

void resolve_times(boost::json::object& sale, const std::string& file, base::UtcMs now, Problems& problems) {
  const auto starts_in = take_duration(sale, "starts_in", file, problems);
  const auto duration = take_duration(sale, "duration", file, problems);
  if (starts_in) {
    if (sale.contains("starts_at")) problems.push_back({file, 0, "starts_in", "stands beside starts_at; keep one"});
    sale["starts_at"] = now + *starts_in;
  }
  if (!duration) return;
  if (sale.contains("ends_at")) problems.push_back({file, 0, "duration", "stands beside ends_at; keep one"});
  const auto* starts_at = sale.if_contains("starts_at");
  std::optional<std::int64_t> start;
  if (starts_at != nullptr && starts_at->is_int64()) start = starts_at->get_int64();
  if (starts_at != nullptr && starts_at->is_string()) start = base::parse_instant(std::string{starts_at->get_string()});
  if (!start) {
    problems.push_back({file, 0, "duration", "needs starts_in, or starts_at with an offset, to count from"});
    return;
  }
  std::int64_t end = 0;
  if (__builtin_add_overflow(*start, *duration, &end)) {
    problems.push_back({file, 0, "starts_at", "is later than any date"});
    return;
  }
  sale["ends_at"] = end;
}

std::expected<boost::json::object, Problems> read(const std::expected<YAML::Node, Problem>& document,
                                                  const std::string& name, base::UtcMs now) {
  if (!document) return std::unexpected(Problems{document.error()});
  if (!document->IsMap()) return std::unexpected(Problems{{name, 1, "", "must be a map of keys and values"}});
  Problems problems;
  boost::json::object sale = Converter{name, problems}.object(*document, "");
  resolve_times(sale, name, now, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return sale;
}

}  // namespace

std::expected<boost::json::object, Problems> load_sale_file(const std::string& path, base::UtcMs now) {
  return read(load_yaml(path), path, now);
}

std::expected<boost::json::object, Problems> parse_sale_text(const std::string& text, const std::string& name,
                                                             base::UtcMs now) {
  return read(parse_yaml(text, name), name, now);
}

}  // namespace seckill::app

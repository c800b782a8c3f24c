#include "base/json.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <exception>
#include <unordered_set>
#include <vector>

namespace seckill::base {
namespace {

// Walks the text once before the value is built; its only judgement is "this key was already there".
class DuplicateKeyCheck {
 public:
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  using error_code = boost::json::error_code;
  using string_view = boost::json::string_view;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    keys_.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    keys_.pop_back();
    return true;
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(string_view part, std::size_t, error_code&) {
    key_.append(part.data(), part.size());
    return true;
  }
  bool on_key(string_view part, std::size_t, error_code& error) {
    key_.append(part.data(), part.size());
    const bool fresh = keys_.back().insert(key_).second;
    key_.clear();
    if (!fresh) error = boost::json::error::extra_data;
    return fresh;
  }
  bool on_string_part(string_view, std::size_t, error_code&) { return true; }
  bool on_string(string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, string_view, error_code&) { return true; }
  bool on_double(double, string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

 private:
  std::vector<std::unordered_set<std::string>> keys_;
  std::string key_;
};

}  // namespace

Result<boost::json::value> parse_json(std::string_view text) {
  constexpr const char* doing = "reading JSON";
  try {
    boost::json::parse_options options;
    options.max_depth = json_depth_max;
    boost::json::error_code error;
    boost::json::value value =
        boost::json::parse(boost::json::string_view{text.data(), text.size()}, error, {}, options);
    if (error) return fail(Errc::invalid, doing, error.message());
    boost::json::basic_parser<DuplicateKeyCheck> check{options};
    const std::size_t used = check.write_some(false, text.data(), text.size(), error);
    if (error || used > text.size()) return fail(Errc::invalid, doing, "a key appears twice");
    return value;
  } catch (const std::exception& thrown) {  // out of memory inside the library; the text is bounded by our callers
    return fail(Errc::invalid, doing, thrown.what());
  }
}

std::string text_of(const boost::json::object& from, std::string_view key) {
  const auto* value = from.if_contains({key.data(), key.size()});
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

std::int64_t number_of(const boost::json::object& from, std::string_view key) noexcept {
  const auto* value = from.if_contains({key.data(), key.size()});
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

}  // namespace seckill::base

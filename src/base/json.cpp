#include "base/json.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <cmath>
#include <exception>
#include <unordered_set>
#include <vector>

namespace seckill::base {
namespace {

// Walks the text once more for what the library lets pass: a key that was already there, and a number so large that it
// is read as infinite, which JSON cannot say again.
class StrictnessCheck {
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
    return fresh || refuse("a key appears twice", error);
  }
  bool on_string_part(string_view, std::size_t, error_code&) { return true; }
  bool on_string(string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, string_view, error_code&) { return true; }
  bool on_double(double value, string_view, error_code& error) {
    return std::isfinite(value) || refuse("a number is larger than any that can be kept", error);
  }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

  [[nodiscard]] const char* complaint() const noexcept { return complaint_; }

 private:
  bool refuse(const char* why, error_code& error) noexcept {
    complaint_ = why;
    error = boost::json::error::extra_data;
    return false;
  }

  const char* complaint_ = "it is read in two ways";
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
    boost::json::basic_parser<StrictnessCheck> check{options};
    const std::size_t used = check.write_some(false, text.data(), text.size(), error);
    if (error || used > text.size()) return fail(Errc::invalid, doing, check.handler().complaint());
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

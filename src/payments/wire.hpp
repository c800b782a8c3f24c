// What every adapter reads and writes alike: headers, bounded ids, JSON members, the bounds of a notice. Strict: what
// is missing, twice, of another kind or longer than its bound is not there. Pure, any thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "payments/provider.hpp"

namespace seckill::payments {

// The value of the one header of that name; nullopt when there is none, more than one, or it is longer than its bound.
[[nodiscard]] std::optional<std::string_view> header_of(std::span<const Header> headers,
                                                        std::string_view name) noexcept;

// Nothing when the request is within the bounds of provider.hpp.
[[nodiscard]] std::optional<NoticeFault> beyond_bounds(const NoticeRequest& request) noexcept;
[[nodiscard]] bool within_bounds(const CallAnswer& answer) noexcept;

// 1 to `bytes_max` visible ASCII characters: what every number of a provider is made of, and safe in a log.
[[nodiscard]] bool is_id(std::string_view text, std::size_t bytes_max = provider_id_bytes_max) noexcept;

// A provider's word for what went wrong, for people and a column of code_bytes_max: what is longer is cut.
[[nodiscard]] std::string short_code(std::string_view text);

// Seconds since 1970 as decimal digits, as milliseconds; nullopt for anything else or more than year 9999.
[[nodiscard]] std::optional<base::UtcMs> parse_seconds(std::string_view text) noexcept;

// Whether a signature made at `signed_at` is too old, or too far in the future, to be judged at `now`.
[[nodiscard]] bool is_stale(base::UtcMs signed_at, base::UtcMs now) noexcept;

// A JSON object from outside, read once.
class Fields {
 public:
  // nullopt when `text` is no JSON object (base/json.hpp), or not within its bounds.
  [[nodiscard]] static std::optional<Fields> parse(std::string_view text);

  [[nodiscard]] std::optional<std::string> id(std::string_view key,
                                              std::size_t bytes_max = provider_id_bytes_max) const;
  [[nodiscard]] std::string_view text(std::string_view key) const noexcept;  // empty when it is no string
  // A whole number of minor units, 0 or more, written as an integer: 100, never 1e2, 100.0 or "100".
  [[nodiscard]] std::optional<std::int64_t> amount(std::string_view key) const noexcept;
  // RFC 3339 with an offset.
  [[nodiscard]] std::optional<base::UtcMs> instant(std::string_view key) const;
  [[nodiscard]] std::optional<model::Currency> currency(std::string_view key) const noexcept;
  [[nodiscard]] std::optional<Fields> object(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const noexcept;

 private:
  explicit Fields(boost::json::object object) : object_{std::move(object)} {}
  [[nodiscard]] const boost::json::value* find(std::string_view key) const noexcept;
  boost::json::object object_;
};

// Builds one flat JSON object; keys are ours and need no escape.
class JsonText {
 public:
  JsonText& text(std::string_view key, std::string_view value);
  JsonText& number(std::string_view key, std::int64_t value);
  // `json` is a whole JSON value.
  JsonText& raw(std::string_view key, std::string_view json);
  [[nodiscard]] std::string str() const { return text_ + "}"; }

 private:
  void begin(std::string_view key);
  std::string text_{"{"};
};

}  // namespace seckill::payments

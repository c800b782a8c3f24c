// Errors of the environment (disk, database, network, configuration), as values. Expected answers are closed enums of
// their own and never travel as an Error; broken promises abort (assert.hpp).
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace seckill::base {

enum class Errc {
  unavailable,     // cannot be reached now; trying again may help
  timeout,         // unknown whether it happened
  disk_full,       // the store refused a write for want of space or by an I/O error; nothing changed
  constraint,      // a key or CHECK refused the statement; the whole transaction was rolled back
  stale,           // the caller's version or generation is not the current one
  not_found,       // the named thing does not exist
  already_exists,  // the named thing exists with other content
  invalid,         // input that breaks a stated rule; `what` says which, in words for the person who sent it
  refused,         // the present state does not allow it; `what` says why
  corrupt,         // stored data cannot be what we wrote
  oversell_guard,  // a stock row was short for an admitted hold: must never happen (P1)
  limit,           // a bound was reached; trying later may help
};

[[nodiscard]] std::string_view name(Errc code) noexcept;

// Constant after construction. `doing` is what was attempted, `cause` what the library or rule said.
struct Error {
  Errc code;
  std::string doing;
  std::string cause;

  // "creating sale s1: starts_at must be before ends_at"
  [[nodiscard]] std::string text() const;
};

template <typename T>
using Result = std::expected<T, Error>;

using Status = std::expected<void, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(Errc code, std::string doing, std::string cause = {}) {
  return std::unexpected<Error>(Error{code, std::move(doing), std::move(cause)});
}

}  // namespace seckill::base

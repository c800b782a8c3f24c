// One INSERT for several rows, where the server has no bulk protocol. Pure; private to this folder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace seckill::drivers::mariadb {

// How many of `left` rows one statement takes: the largest power of two that fits, so that few texts are prepared; 1
// for a statement without a "VALUES (?, …)" group.
[[nodiscard]] std::size_t rows_at_once(std::string_view sql, std::size_t width, std::size_t left) noexcept;

// `sql` with its group repeated `rows` times. Requires: it has one.
[[nodiscard]] std::string with_rows(std::string_view sql, std::size_t rows);

}  // namespace seckill::drivers::mariadb

// One prepared statement of one connection: values bound in binary, rows read as they arrive. Private to this folder.
#pragma once

#include <mariadb/mysql.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "drivers/mariadb/mariadb.hpp"

namespace seckill::drivers::mariadb {

// Owned by its Connection; one thread. After any call that returned false, number() and message() tell why.
class Statement {
 public:
  explicit Statement(MYSQL* connection) noexcept : handle_{mysql_stmt_init(connection)} {}
  ~Statement() {
    if (handle_ != nullptr) mysql_stmt_close(handle_);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  [[nodiscard]] bool prepare(std::string_view sql);
  [[nodiscard]] std::size_t width() const noexcept { return mysql_stmt_param_count(handle_); }
  // Requires: values.size() == width().
  [[nodiscard]] bool execute(std::span<const Value> values);
  // All rows in one message by MariaDB's bulk protocol. Requires: values.size() is a multiple of width(), not zero.
  [[nodiscard]] bool execute_bulk(std::span<const Value> values);
  // The rows of the last execution, each handed to the visitor.
  [[nodiscard]] bool visit(const Visitor& visitor);
  [[nodiscard]] std::int64_t changed() const noexcept {
    return static_cast<std::int64_t>(mysql_stmt_affected_rows(handle_));
  }
  [[nodiscard]] unsigned number() const noexcept;
  [[nodiscard]] const char* message() const noexcept;

 private:
  class Result;
  [[nodiscard]] bool set_array_size(unsigned rows);

  MYSQL_STMT* handle_;
  unsigned array_size_ = 0;
};

}  // namespace seckill::drivers::mariadb

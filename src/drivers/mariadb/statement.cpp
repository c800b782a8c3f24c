#include "drivers/mariadb/statement.hpp"

#include <mariadb/errmsg.h>

#include <algorithm>
#include <string>

#include "base/assert.hpp"

namespace seckill::drivers::mariadb {
namespace {

// Binds borrow from the values; nothing is written through these pointers.
void bind_value(MYSQL_BIND& bind, const Value& value) noexcept {
  bind = {};
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    bind.buffer_type = MYSQL_TYPE_LONGLONG;
    bind.buffer = const_cast<std::int64_t*>(number);
  } else if (const auto* text = std::get_if<std::string_view>(&value)) {
    bind.buffer_type = MYSQL_TYPE_STRING;
    bind.buffer = const_cast<char*>(text->data() != nullptr ? text->data() : "");
    bind.buffer_length = text->size();
    bind.length_value = text->size();
    bind.length = &bind.length_value;
  } else {
    bind.buffer_type = MYSQL_TYPE_NULL;
  }
}

bool is_number(const MYSQL_FIELD& field) noexcept {
  switch (field.type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_DECIMAL:
    case MYSQL_TYPE_NEWDECIMAL: return true;  // sums of whole numbers are decimals
    default: return false;
  }
}

// One parameter of all rows of a bulk, as the protocol wants it: a column.
struct Column {
  std::vector<std::int64_t> numbers;
  std::vector<const char*> texts;
  std::vector<unsigned long> lengths;
  std::vector<char> indicators;
};

// Requires: a column's values are of one kind, apart from NULLs.
void bind_column(MYSQL_BIND& bind, Column& column, std::span<const Value> values, std::size_t index,
                 std::size_t width) {
  const std::size_t rows = values.size() / width;
  column.indicators.assign(rows, STMT_INDICATOR_NONE);
  column.numbers.assign(rows, 0);
  column.texts.assign(rows, "");
  column.lengths.assign(rows, 0);
  bool has_text = false;
  bool has_number = false;
  for (std::size_t row = 0; row < rows; ++row) {
    const Value& value = values[row * width + index];
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      column.numbers[row] = *number;
      has_number = true;
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      if (text->data() != nullptr) column.texts[row] = text->data();
      column.lengths[row] = text->size();
      has_text = true;
    } else {
      column.indicators[row] = STMT_INDICATOR_NULL;
    }
  }
  SECKILL_ASSERT(!(has_text && has_number), "a column of a bulk statement has one type");
  bind = {};
  bind.u.indicator = column.indicators.data();
  if (has_text) {
    bind.buffer_type = MYSQL_TYPE_STRING;
    bind.buffer = static_cast<void*>(column.texts.data());
    bind.length = column.lengths.data();
  } else {
    bind.buffer_type = MYSQL_TYPE_LONGLONG;
    bind.buffer = column.numbers.data();
  }
}

constexpr std::size_t text_room = 256;  // what fits needs no second look at its column

}  // namespace

bool Statement::prepare(std::string_view sql) {
  return handle_ != nullptr && mysql_stmt_prepare(handle_, sql.data(), sql.size()) == 0;
}

bool Statement::set_array_size(unsigned rows) {
  if (rows == array_size_) return true;
  if (mysql_stmt_attr_set(handle_, STMT_ATTR_ARRAY_SIZE, &rows) != 0) return false;
  array_size_ = rows;
  return true;
}

bool Statement::execute(std::span<const Value> values) {
  SECKILL_ASSERT(values.size() == width(), "one value for each parameter");
  if (!set_array_size(0)) return false;
  std::vector<MYSQL_BIND> binds(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) bind_value(binds[i], values[i]);
  if (!binds.empty() && mysql_stmt_bind_param(handle_, binds.data()) != 0) return false;
  return mysql_stmt_execute(handle_) == 0;
}

bool Statement::execute_bulk(std::span<const Value> values) {
  const std::size_t columns = width();
  SECKILL_ASSERT(columns > 0 && !values.empty() && values.size() % columns == 0, "whole rows");
  if (!set_array_size(static_cast<unsigned>(values.size() / columns))) return false;
  std::vector<Column> data(columns);
  std::vector<MYSQL_BIND> binds(columns);
  for (std::size_t i = 0; i < columns; ++i) bind_column(binds[i], data[i], values, i, columns);
  if (mysql_stmt_bind_param(handle_, binds.data()) != 0) return false;
  return mysql_stmt_execute(handle_) == 0;
}

// The row that the visitor sees: buffers that the library fills.
class Statement::Result final : public Row {
 public:
  Result(MYSQL_STMT* statement, MYSQL_RES* about) : statement_{statement}, columns_(mysql_num_fields(about)) {
    binds_.resize(columns_.size());
    const MYSQL_FIELD* fields = mysql_fetch_fields(about);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Cell& cell = columns_[i];
      MYSQL_BIND& bind = binds_[i];
      cell.is_number = is_number(fields[i]);
      bind.is_null = &cell.is_null;
      bind.length = &cell.length;
      bind.error = &cell.cut;
      if (cell.is_number) {
        bind.buffer_type = MYSQL_TYPE_LONGLONG;
        bind.buffer = &cell.number;
        bind.is_unsigned = (fields[i].flags & UNSIGNED_FLAG) != 0;
      } else {
        cell.text.resize(text_room);
        bind.buffer_type = MYSQL_TYPE_STRING;
        bind.buffer = cell.text.data();
        bind.buffer_length = text_room;
      }
    }
  }
  [[nodiscard]] bool bind() { return mysql_stmt_bind_result(statement_, binds_.data()) == 0; }
  // Fetches again, whole, what did not fit.
  [[nodiscard]] bool complete() {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Cell& cell = columns_[i];
      cell.shown = cell.text.data();
      if (cell.is_number || cell.is_null != 0 || cell.length <= text_room) continue;
      cell.large.resize(cell.length);
      MYSQL_BIND whole{};
      whole.buffer_type = MYSQL_TYPE_STRING;
      whole.buffer = cell.large.data();
      whole.buffer_length = cell.length;
      whole.length = &cell.length;
      whole.is_null = &cell.is_null;
      if (mysql_stmt_fetch_column(statement_, &whole, static_cast<unsigned>(i), 0) != 0) return false;
      cell.shown = cell.large.data();
    }
    return true;
  }

  [[nodiscard]] bool is_null(std::size_t column) const noexcept override { return columns_[column].is_null != 0; }
  [[nodiscard]] std::int64_t integer(std::size_t column) const noexcept override {
    const Cell& cell = columns_[column];
    return cell.is_null != 0 || !cell.is_number ? 0 : cell.number;
  }
  [[nodiscard]] std::string_view text(std::size_t column) const noexcept override {
    const Cell& cell = columns_[column];
    if (cell.is_null != 0 || cell.is_number) return {};
    return {cell.shown, cell.length};
  }

 private:
  struct Cell {
    bool is_number = false;
    std::int64_t number = 0;
    std::string text;   // text_room bytes that the library writes to
    std::string large;  // for what is longer
    const char* shown = "";
    unsigned long length = 0;
    my_bool is_null = 0;
    my_bool cut = 0;
  };
  MYSQL_STMT* statement_;
  std::vector<Cell> columns_;
  std::vector<MYSQL_BIND> binds_;
};

bool Statement::visit(const Visitor& visitor) {
  MYSQL_RES* about = mysql_stmt_result_metadata(handle_);
  if (about == nullptr) return mysql_stmt_errno(handle_) == 0;  // a statement without rows
  Result row{handle_, about};
  mysql_free_result(about);
  bool good = row.bind();
  while (good) {
    const int fetched = mysql_stmt_fetch(handle_);
    if (fetched == MYSQL_NO_DATA) break;
    good = (fetched == 0 || fetched == MYSQL_DATA_TRUNCATED) && row.complete();
    if (good) visitor(row);
  }
  // Also reads away what is left after an error, so that the connection can go on. The error stays.
  if (good) mysql_stmt_free_result(handle_);
  return good;
}

unsigned Statement::number() const noexcept {
  return handle_ == nullptr ? CR_OUT_OF_MEMORY : mysql_stmt_errno(handle_);
}

const char* Statement::message() const noexcept {
  return handle_ == nullptr ? "out of memory" : mysql_stmt_error(handle_);
}

}  // namespace seckill::drivers::mariadb

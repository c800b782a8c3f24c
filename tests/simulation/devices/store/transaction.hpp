// One transaction on the simulated tables: every write notes how to take it back, so a transaction that is not
// committed has changed nothing. Committing first checks P1 and P2 of every item it touched and aborts when one is
// broken: no state that breaks a promise is ever visible.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "simulation/devices/store/tables.hpp"

namespace seckill::sim {

// Owned by one method of SimDatabase, under its lock. References to rows stay good while it lives.
class Transaction {
 public:
  // `doing` outlives the transaction; it is what a broken promise is reported with.
  Transaction(Tables& tables, std::string_view doing) : tables_{tables}, doing_{doing} {}
  ~Transaction() {
    if (!committed_) roll_back();
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  [[nodiscard]] Tables& tables() noexcept { return tables_; }
  [[nodiscard]] std::string_view doing() const noexcept { return doing_; }
  [[nodiscard]] std::unexpected<base::Error> fail(base::Errc code, std::string cause) const {
    return base::fail(code, std::string{doing_}, std::move(cause));
  }

  template <typename T>
  void set(T& field, std::type_identity_t<T> value) {
    undo_.emplace_back([&field, old = std::move(field)]() mutable { field = std::move(old); });
    field = std::move(value);
  }
  // Requires: the key is absent.
  template <typename Map>
  typename Map::mapped_type& insert(Map& map, typename Map::key_type key, typename Map::mapped_type value) {
    const auto placed = map.emplace(key, std::move(value));
    SECKILL_ASSERT(placed.second, "a unique key is checked before its row is inserted");
    undo_.emplace_back([&map, key = std::move(key)] { map.erase(key); });
    return placed.first->second;
  }
  template <typename Map>
  void erase(Map& map, typename Map::iterator row) {
    undo_.emplace_back(
        [&map, key = row->first, value = row->second]() mutable { map.emplace(std::move(key), std::move(value)); });
    map.erase(row);
  }
  template <typename Rows>
  typename Rows::value_type& append(Rows& rows, typename Rows::value_type row) {
    rows.push_back(std::move(row));
    undo_.emplace_back([&rows] { rows.pop_back(); });
    return rows.back();
  }
  template <typename Set>
  void add(Set& set, typename Set::value_type value) {
    if (set.insert(value).second) undo_.emplace_back([&set, value] { set.erase(value); });
  }
  template <typename Set>
  void remove(Set& set, typename Set::value_type value) {
    if (set.erase(value) > 0) undo_.emplace_back([&set, value] { set.insert(value); });
  }

  // A stock row's units; the item is checked at the commit.
  void move(ItemRow& item, std::int64_t& column, std::int64_t units) {
    if (touched_.empty() || touched_.back() != &item) touched_.push_back(&item);
    set(column, column + units);
  }

  void commit();

 private:
  void roll_back() noexcept {
    for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) (*undo)();
  }

  Tables& tables_;
  std::string_view doing_;
  std::vector<std::move_only_function<void()>> undo_;
  std::vector<const ItemRow*> touched_;
  bool committed_ = false;
};

}  // namespace seckill::sim

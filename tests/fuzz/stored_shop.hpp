// A small database with everything a sale leaves behind, and a hand that spoils it: rows and values are overwritten
// past all CHECKs, as a disk, a bug or an operator with sqlite3 could, and put right again afterwards. For
// harness/stored.cpp.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/property.hpp"
#include "store/store.hpp"

namespace seckill::fuzz {

class StoredShop {
 public:
  static constexpr base::UtcMs starts_at = 1'700'000'000'000;
  static constexpr base::UtcMs now = starts_at + 60'000;

  StoredShop();
  ~StoredShop();
  StoredShop(const StoredShop&) = delete;
  StoredShop& operator=(const StoredShop&) = delete;

  [[nodiscard]] store::Store& store() noexcept { return *store_; }
  [[nodiscard]] const model::Sale& sale() const noexcept { return sale_; }
  [[nodiscard]] model::ItemKey item(std::size_t index) const noexcept { return {sale_.id, sale_.items[index].sku}; }
  [[nodiscard]] const std::vector<model::Ticket>& tickets() const noexcept { return tickets_; }

  // Overwrites, copies or deletes what the next bytes of `taker` say. What a unique key refuses is left alone.
  void spoil(Taker& taker);
  // Everything is as it was made.
  void restore();

  // The one integer that `sql` (with the ticket as its argument, if it takes one) answers; absent rows and values of
  // other types give `otherwise`.
  [[nodiscard]] std::int64_t stored(const char* sql, const model::Ticket* ticket, std::int64_t otherwise) const;
  // The same for a text.
  [[nodiscard]] std::string stored_text(const char* sql, const model::Ticket& ticket) const;

 private:
  struct Table {
    std::string name;
    std::vector<std::string> columns;
    std::string key;  // the columns that find a row
    bool touched = false;
  };

  void fill();
  void land_orders();
  void open_hand();
  void run(const std::string& sql) const;

  std::string folder_;
  std::unique_ptr<store::Store> store_;
  model::Sale sale_;
  std::vector<model::Ticket> tickets_;
  sqlite3* hand_ = nullptr;
  std::vector<Table> tables_;
};

}  // namespace seckill::fuzz

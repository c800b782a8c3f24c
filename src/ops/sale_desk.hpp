// What an operator can do to sales and their stock: each change goes to the store first, with its audit row in the same
// transaction, then to the lanes, then to whoever keeps copies. Repeating a change is harmless, so one that stopped
// half-way is finished by asking again. Keeps P1 and P2: units move by transfers only; FS-03: preload never overwrites.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "admission/admission.hpp"
#include "base/clock.hpp"
#include "ops/sale_json.hpp"
#include "store/store.hpp"

namespace seckill::ops {

// A stock change's outcome. `repeated`: this id was done before and nothing moved now.
struct Moved {
  std::int64_t units = 0;
  bool repeated = false;
};

// A sale's lanes are given back, and get none at start, when it has been over for longer than the longest of its
// payment windows and this: time for the last ends, and for clocks that disagree. From then on the store answers for
// it.
inline constexpr std::int64_t lanes_kept_after_end_ms = 60'000;
// Whether that is so for a sale that is over since `since`. Pure.
[[nodiscard]] bool long_over(const model::Sale& sale, base::UtcMs since, std::int64_t lanes_kept_ms,
                             base::UtcMs now) noexcept;

// Blocking; the changes are for one thread (the admin API's change worker), what is const for any.
class SaleDesk {
 public:
  // Told after a sale changed or got lanes: drop what you keep of it. Must be quick and must not block.
  using SaleChanged = std::function<void(const model::SaleId&)>;

  // Borrows store, admission and clock for its whole life. `lanes_kept_ms`: see lanes_kept_after_end_ms.
  SaleDesk(store::Store& store, admission::Admission& admission, const base::Clock& clock, SaleChanged changed,
           std::int64_t lanes_kept_ms = lanes_kept_after_end_ms);

  // Each change returns the sale as it is now. `actor` is who asked, for the audit row.
  // Adds ticket key and creation time. already_exists.
  base::Result<model::Sale> create(model::Sale sale, const std::string& actor);
  // stale, refused, invalid, not_found.
  base::Result<model::Sale> edit(const model::SaleId& id, const model::SaleEdit& edit, const std::string& actor);
  // refused by the sale's state or because it has ended, not_found; limit when too many sales are open.
  base::Result<model::Sale> command(const model::SaleId& id, model::SaleCommand command, const std::string& actor);

  // New units, or units of the reserve, spread evenly over the lanes; before preload they stay in the pool.
  // refused when the reserve has fewer; already_exists when the id was used for another change.
  base::Result<Moved> top_up(const model::ItemKey& item, const StockChange& change, const std::string& actor);
  // Takes free units out of the lanes and out of the sale; how many could be taken may be fewer than asked for.
  base::Result<Moved> reduce(const model::ItemKey& item, const StockChange& change, const std::string& actor);

  // Opens the lanes of every sale that is preloaded or paused and did not end long ago; what start-up does.
  // Requires: no change is under way.
  base::Status install_all();
  // Cluster mode: makes known here what other nodes put on sale. Every sale that has lanes and is not long over, closed
  // ones too, and whatever the store still owes an end; what this desk gave back stays so. Goes on past a sale that
  // cannot be made known, whose Error it returns. Of the newest two thousand; know_newest() of a few dozen.
  base::Status know_all();
  base::Status know_newest();
  // Gives back the lanes of sales that have been over for long enough, where the store holds nothing and owes no lane
  // an end; how many items. What is not ready yet is so in a later round. The store's errors.
  base::Result<std::size_t> retire_over();

  // Items whose lanes are here, in the order installed. Any thread, does not block.
  [[nodiscard]] std::vector<model::ItemKey> installed() const;
  // Stored and live units of each of the sale's items. Any thread.
  base::Result<std::vector<ItemUnits>> units_of(const model::Sale& sale) const;
  base::Result<ItemUnits> units_of(const model::ItemKey& item) const;

 private:
  base::Status install(const model::Sale& sale);
  base::Status know(std::int64_t sales_max);
  base::Status know_owed();
  [[nodiscard]] bool knows(const model::ItemKey& item) const;
  base::Status configure(const model::Sale& sale);
  [[nodiscard]] bool over_long_enough(const model::Sale& sale, base::UtcMs now);
  base::Result<bool> at_rest(const model::ItemKey& item, std::span<const store::PendingRelease> owed);
  void forget(const model::ItemKey& item);
  base::Result<model::Sale> changed(const model::SaleId& id);
  [[nodiscard]] store::AuditEntry audit(std::string action, std::string detail, const std::string& actor) const;
  base::Result<std::int64_t> pool_to_lanes(const model::ItemKey& item, const StockChange& change,
                                           const store::AuditEntry& audit);
  base::Result<std::int64_t> take_from_lanes(const model::Sale& sale, const model::ItemKey& item,
                                             const StockChange& change);
  base::Result<std::int64_t> taken_in_earlier_life(const model::ItemKey& item, const StockChange& change,
                                                   std::size_t lanes);

  store::Store& store_;
  admission::Admission& admission_;
  const base::Clock& clock_;
  SaleChanged changed_;
  const std::int64_t lanes_kept_ms_;
  mutable std::mutex mutex_;                                      // guards installed_ and known_
  std::vector<model::ItemKey> installed_;                         // at most as many as admission takes
  std::unordered_set<model::ItemKey, model::ItemKeyHash> known_;  // the same, to look up
  // Transfers that the store has, or may have, committed and whose credit a lane has not taken yet; asking again
  // finishes them.
  std::vector<model::StockTransfer> uncredited_;
  // Reductions whose units have left the lanes but not yet the pool.
  struct InPool {
    model::ItemKey item;
    std::string id;
    std::int64_t units = 0;
  };
  std::vector<InPool> in_pool_;
  // Reductions this process has asked the lanes for: the lanes remember what they gave. Any other that the store knows
  // transfers of belongs to an earlier life.
  std::unordered_set<std::string> asked_of_lanes_;
  // Sales with lanes here that were closed before their end, and when a round first saw it.
  std::map<model::SaleId, base::UtcMs> closed_since_;
  std::unordered_set<model::ItemKey, model::ItemKeyHash> given_back_;  // by know_…, not to be made known again
};

}  // namespace seckill::ops

// Sale views kept in this process for a second, so that the start of a sale asks the store a handful of questions and
// not one a visitor (FS-44). Keeps P9:
//   - one read of the store a key at a time, however many ask; they wait, a bounded number of them;
//   - a view that grew too old is still served for one more second while it is read again, so expiry stalls nobody;
//     for stale_max when the store cannot be asked;
//   - "no such sale" is remembered too, in a table of its own that ids made up by strangers cannot grow.
// So an edit is seen within age_max + grace, and at once when forget() is told of it. Views inform and check the form
// of a purchase; they never decide one.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "gateway/counters.hpp"
#include "gateway/views/sale_view.hpp"
#include "model/ids.hpp"
#include "orders/order_reads.hpp"

namespace seckill::gateway {

enum class ViewStatus : std::uint8_t {
  found,
  not_found,    // no such sale, or it is a draft
  unavailable,  // the store could not be asked, or too many wait for it: 503, never "no such sale"
};

using SaleViewPtr = std::shared_ptr<const SaleView>;
using SaleList = std::vector<SaleViewPtr>;  // newest first

struct ViewAnswer {
  ViewStatus status = ViewStatus::unavailable;
  SaleViewPtr view;  // set when found
};
struct ListAnswer {
  ViewStatus status = ViewStatus::unavailable;  // never not_found
  std::shared_ptr<const SaleList> list;
};

class ViewCache {
 public:
  struct Config {
    std::chrono::milliseconds age_max{1'000};
    std::chrono::milliseconds grace{1'000};       // served too old while a fresh one is on its way
    std::chrono::milliseconds stale_max{10'000};  // served when the store cannot be asked
    std::size_t views_max = 1'024;
    std::size_t negatives_max = 4'096;
    std::size_t waiting_max = 8'192;  // callers waiting for the store, over all keys
    std::size_t loads_max = 64;       // reads under way at one time
    std::int64_t list_max = 50;
  };

  // Borrows all three; they outlive it, and `reads` has stopped before it goes.
  ViewCache(orders::OrderReads& reads, const base::Clock& clock, GatewayCounters& counters, Config config);
  ViewCache(orders::OrderReads& reads, const base::Clock& clock, GatewayCounters& counters)
      : ViewCache{reads, clock, counters, Config{}} {}

  // The answer if it is here; nullopt: call get(). Any thread, does not block.
  [[nodiscard]] std::optional<ViewAnswer> try_get(const model::SaleId& sale);
  // The answer, at once or from a reader thread. `done` is called exactly once. Any thread, does not block.
  void get(const model::SaleId& sale, std::move_only_function<void(ViewAnswer)> done);
  // The sale was changed in this process: whoever asks from now on waits for a fresh read, also when one is under way.
  // What is known stays only for when the store cannot be asked. Any thread, does not block.
  void forget(const model::SaleId& sale);
  // The visible sales.
  void list(std::move_only_function<void(ListAnswer)> done);

 private:
  template <typename Answer>
  struct Slot {
    Answer answer;                // of the last read that worked
    std::int64_t read_at_ns = 0;  // when; meaningless while `answer` is unavailable
    bool loading = false;
    bool outdated = false;  // forgotten while loading: what comes may be older than the change
    std::vector<std::move_only_function<void(Answer)>> waiting;
  };
  enum class Freshness : std::uint8_t { none, fresh, aging };

  template <typename Answer>
  [[nodiscard]] Freshness freshness(const Slot<Answer>& slot, std::int64_t now) const noexcept;
  [[nodiscard]] std::optional<ViewAnswer> known(const model::SaleId& sale, std::int64_t now, bool& refresh);
  // A time of reading that makes a view too old to serve while the store answers.
  [[nodiscard]] std::int64_t long_before(std::int64_t now) const noexcept;
  [[nodiscard]] bool enlist(const model::SaleId& sale, std::move_only_function<void(ViewAnswer)>& done, bool& refresh);
  [[nodiscard]] std::optional<ListAnswer> known_list(std::move_only_function<void(ListAnswer)>& done);
  template <typename Answer>
  [[nodiscard]] static bool must_read_again(Slot<Answer>& slot) noexcept;
  void load(const model::SaleId& sale);
  void loaded(const model::SaleId& sale, const base::Result<model::Sale>& read);
  void load_list();
  void list_loaded(const base::Result<std::vector<model::Sale>>& read);
  void make_room();
  void remember_absent(const model::SaleId& sale, std::int64_t now);

  orders::OrderReads& reads_;
  const base::Clock& clock_;
  GatewayCounters& counters_;
  const Config config_;

  struct IdHash {
    std::size_t operator()(const model::SaleId& id) const noexcept { return base::xxh3_64(id.view()); }
  };
  std::mutex mutex_;                                                   // guards all below
  std::unordered_map<model::SaleId, Slot<ViewAnswer>, IdHash> slots_;  // found, or being asked for
  std::unordered_map<model::SaleId, std::int64_t, IdHash> absent_;     // since when
  Slot<ListAnswer> list_;
  std::size_t waiting_ = 0;
  std::size_t loads_ = 0;
};

}  // namespace seckill::gateway

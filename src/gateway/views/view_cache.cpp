#include "gateway/views/view_cache.hpp"

#include <utility>

namespace seckill::gateway {
namespace {

constexpr std::int64_t ns(std::chrono::milliseconds time) noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

ViewCache::ViewCache(orders::OrderReads& reads, const base::Clock& clock, GatewayCounters& counters, Config config)
    : reads_{reads}, clock_{clock}, counters_{counters}, config_{config} {}

template <typename Answer>
ViewCache::Freshness ViewCache::freshness(const Slot<Answer>& slot, std::int64_t now) const noexcept {
  if (slot.answer.status != ViewStatus::found) return Freshness::none;
  const std::int64_t age = now - slot.read_at_ns;
  if (age <= ns(config_.age_max)) return Freshness::fresh;
  return age <= ns(config_.age_max + config_.grace) ? Freshness::aging : Freshness::none;
}

// With the mutex held. Sets `refresh` when the caller must call load() after unlocking.
std::optional<ViewAnswer> ViewCache::known(const model::SaleId& sale, std::int64_t now, bool& refresh) {
  if (const auto found = slots_.find(sale); found != slots_.end()) {
    Slot<ViewAnswer>& slot = found->second;
    const Freshness fresh = freshness(slot, now);
    if (fresh == Freshness::aging && !slot.loading && loads_ < config_.loads_max) {
      slot.loading = refresh = true;
      ++loads_;
    }
    if (fresh == Freshness::none) return std::nullopt;
    counters_.count(GatewayEvent::view_hit);
    return slot.answer;
  }
  if (const auto found = absent_.find(sale); found != absent_.end()) {
    if (now - found->second <= ns(config_.age_max)) {
      counters_.count(GatewayEvent::view_negative_hit);
      return ViewAnswer{ViewStatus::not_found, nullptr};
    }
    absent_.erase(found);
  }
  return std::nullopt;
}

std::optional<ViewAnswer> ViewCache::try_get(const model::SaleId& sale) {
  bool refresh = false;
  std::optional<ViewAnswer> answer;
  {
    const std::lock_guard lock{mutex_};
    answer = known(sale, clock_.steady_now().count(), refresh);
  }
  if (refresh) load(sale);
  return answer;
}

void ViewCache::get(const model::SaleId& sale, std::move_only_function<void(ViewAnswer)> done) {
  bool refresh = false;
  std::optional<ViewAnswer> answer;
  {
    const std::lock_guard lock{mutex_};
    answer = known(sale, clock_.steady_now().count(), refresh);
    if (!answer && !enlist(sale, done, refresh)) answer = ViewAnswer{};
  }
  if (refresh) load(sale);
  if (!answer) return;
  if (answer->status == ViewStatus::unavailable) counters_.count(GatewayEvent::view_unavailable);
  done(std::move(*answer));
}

// With the mutex held. Takes `done` among those who wait for the store, or leaves it: too many do.
bool ViewCache::enlist(const model::SaleId& sale, std::move_only_function<void(ViewAnswer)>& done, bool& refresh) {
  counters_.count(GatewayEvent::view_miss);
  const auto found = slots_.find(sale);
  const bool loading = found != slots_.end() && found->second.loading;
  if (waiting_ >= config_.waiting_max || (!loading && loads_ >= config_.loads_max)) return false;
  if (found == slots_.end()) make_room();
  Slot<ViewAnswer>& slot = slots_[sale];
  slot.waiting.push_back(std::move(done));
  ++waiting_;
  if (!slot.loading) {
    slot.loading = refresh = true;
    ++loads_;
  }
  return true;
}

std::int64_t ViewCache::long_before(std::int64_t now) const noexcept {
  return now - ns(config_.age_max + config_.grace) - 1;
}

void ViewCache::forget(const model::SaleId& sale) {
  const std::lock_guard lock{mutex_};
  const std::int64_t old = long_before(clock_.steady_now().count());
  const auto outdate = [old](auto& slot) {
    slot.read_at_ns = old;
    slot.outdated = slot.loading;
  };
  absent_.erase(sale);
  if (const auto found = slots_.find(sale); found != slots_.end()) outdate(found->second);
  outdate(list_);
}

// With the mutex held: a new sale pushes out one that nobody waits for.
void ViewCache::make_room() {
  if (slots_.size() < config_.views_max) return;
  auto oldest = slots_.end();
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    if (slot->second.loading) continue;
    if (oldest == slots_.end() || slot->second.read_at_ns < oldest->second.read_at_ns) oldest = slot;
  }
  if (oldest != slots_.end()) slots_.erase(oldest);
}

// With the mutex held. A full table is emptied: forgetting costs one more question a name, growing would cost memory.
void ViewCache::remember_absent(const model::SaleId& sale, std::int64_t now) {
  if (absent_.size() >= config_.negatives_max) absent_.clear();
  absent_[sale] = now;
}

void ViewCache::load(const model::SaleId& sale) {
  counters_.count(GatewayEvent::view_refresh);
  const bool accepted = reads_.run(
      [this, sale](store::Store& store) { loaded(sale, store.find_sale(sale)); },
      [this, sale] { loaded(sale, base::fail(base::Errc::unavailable, "reading a sale", "the store is slow")); });
  if (!accepted) loaded(sale, base::fail(base::Errc::limit, "reading a sale", "too many reads are waiting"));
}

// With the mutex held. True when the sale was changed while it was being read and somebody waits: whoever asked after
// the change must not get what was before it, so the slot stays loading and the caller reads again.
template <typename Answer>
bool ViewCache::must_read_again(Slot<Answer>& slot) noexcept {
  if (!slot.outdated || slot.waiting.empty()) return false;
  slot.outdated = false;
  return true;
}

void ViewCache::loaded(const model::SaleId& sale, const base::Result<model::Sale>& read) {
  const bool visible = read && read->state != model::SaleState::draft;
  const bool absent = visible ? false : read || read.error().code == base::Errc::not_found;
  SaleViewPtr view = visible ? std::make_shared<const SaleView>(*read) : nullptr;
  if (visible) counters_.register_sale(sale);
  std::vector<std::move_only_function<void(ViewAnswer)>> waiting;
  ViewAnswer answer;
  bool again = false;
  {
    const std::lock_guard lock{mutex_};
    const std::int64_t now = clock_.steady_now().count();
    Slot<ViewAnswer>& slot = slots_[sale];
    again = must_read_again(slot);
    if (!again) {
      const bool outdated = std::exchange(slot.outdated, false);
      slot.loading = false;
      --loads_;
      waiting.swap(slot.waiting);
      waiting_ -= waiting.size();
      if (visible) {
        slot.answer = {ViewStatus::found, std::move(view)};
        slot.read_at_ns = outdated ? long_before(now) : now;
        answer = slot.answer;
      } else if (absent) {
        answer = {ViewStatus::not_found, nullptr};
        slots_.erase(sale);
        if (!outdated) remember_absent(sale, now);
      } else if (slot.answer.status == ViewStatus::found && now - slot.read_at_ns <= ns(config_.stale_max)) {
        answer = slot.answer;  // better than nothing while the store is away
      } else {
        slots_.erase(sale);
      }
    }
  }
  if (again) return load(sale);
  for (auto& done : waiting) {
    if (answer.status == ViewStatus::unavailable) counters_.count(GatewayEvent::view_unavailable);
    done(answer);
  }
}

void ViewCache::list(std::move_only_function<void(ListAnswer)> done) {
  bool refresh = false;
  std::optional<ListAnswer> answer;
  {
    const std::lock_guard lock{mutex_};
    answer = known_list(done);
    const Freshness fresh = freshness(list_, clock_.steady_now().count());
    refresh = fresh != Freshness::fresh && !list_.loading && (fresh == Freshness::aging || !answer);
    if (refresh) list_.loading = true;
  }
  if (refresh) load_list();
  if (answer) done(std::move(*answer));
}

// With the mutex held. The list, or nullopt: `done` was taken among those who wait. Unavailable when too many do.
std::optional<ListAnswer> ViewCache::known_list(std::move_only_function<void(ListAnswer)>& done) {
  if (freshness(list_, clock_.steady_now().count()) != Freshness::none) {
    counters_.count(GatewayEvent::view_hit);
    return list_.answer;
  }
  if (waiting_ >= config_.waiting_max) return ListAnswer{};
  counters_.count(GatewayEvent::view_miss);
  list_.waiting.push_back(std::move(done));
  ++waiting_;
  return std::nullopt;
}

void ViewCache::load_list() {
  counters_.count(GatewayEvent::view_refresh);
  // Drafts are left out afterwards, so a few more are read than shown.
  const std::int64_t limit = config_.list_max * 4;
  const bool accepted =
      reads_.run([this, limit](store::Store& store) { list_loaded(store.list_sales(limit)); },
                 [this] { list_loaded(base::fail(base::Errc::unavailable, "listing sales", "the store is slow")); });
  if (!accepted) list_loaded(base::fail(base::Errc::limit, "listing sales", "too many reads are waiting"));
}

void ViewCache::list_loaded(const base::Result<std::vector<model::Sale>>& read) {
  auto visible = std::make_shared<SaleList>();
  if (read) {
    for (const model::Sale& sale : *read) {
      if (sale.state == model::SaleState::draft) continue;
      if (visible->size() == static_cast<std::size_t>(config_.list_max)) break;
      visible->push_back(std::make_shared<const SaleView>(sale));
    }
  }
  std::vector<std::move_only_function<void(ListAnswer)>> waiting;
  ListAnswer answer;
  bool again = false;
  {
    const std::lock_guard lock{mutex_};
    const std::int64_t now = clock_.steady_now().count();
    again = must_read_again(list_);
    if (!again) {
      const bool outdated = std::exchange(list_.outdated, false);
      list_.loading = false;
      waiting.swap(list_.waiting);
      waiting_ -= waiting.size();
      if (read) {
        list_.answer = {ViewStatus::found, std::move(visible)};
        list_.read_at_ns = outdated ? long_before(now) : now;
        answer = list_.answer;
      } else if (list_.answer.status == ViewStatus::found && now - list_.read_at_ns <= ns(config_.stale_max)) {
        answer = list_.answer;
      }
    }
  }
  if (again) return load_list();
  for (auto& done : waiting) done(answer);
}

}  // namespace seckill::gateway

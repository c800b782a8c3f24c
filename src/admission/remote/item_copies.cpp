#include "admission/remote/item_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/log.hpp"

namespace seckill::admission::remote {

ItemCopies::ItemCopies(const Ports& ports, const Config& config, const Gate& gate, RemoteItems& items)
    : ports_{ports}, config_{config}, gate_{gate}, items_{items}, reader_{ports.threads, ports.random} {}

void ItemCopies::start() {
  reader_.start("item-copies", config_.copy_period, [this] { refresh_all(); });
}

void ItemCopies::stop() { reader_.stop(); }

base::Result<CopyPtr> ItemCopies::read(const model::ItemKey& key) {
  const std::chrono::nanoseconds asked_at = ports_.clock.steady_now();
  auto authority = ports_.authority.item_authority(key);
  if (!authority) return std::unexpected(std::move(authority.error()));
  return copy_of(key, std::move(*authority), asked_at);
}

base::Result<CopyPtr> ItemCopies::copy_of(const model::ItemKey& key, store::ItemAuthority authority,
                                          std::chrono::nanoseconds asked_at) {
  const model::SaleItem* item = authority.sale.find(key.sku);
  if (item == nullptr) {
    return base::fail(base::Errc::not_found, "copying item " + key.text(), "its sale does not have it");
  }
  if (authority.lanes.empty()) {
    return base::fail(base::Errc::refused, "copying item " + key.text(), "it has no lanes: preload the sale first");
  }
  const model::ItemTerms terms = model::terms_of(authority.sale, *item);
  return std::make_shared<const ItemCopy>(
      ItemCopy{.authority = std::move(authority), .terms = terms, .read_at = asked_at});
}

base::Status ItemCopies::watch(const model::ItemKey& key) {
  auto copy = read(key);
  if (!copy) return std::unexpected(std::move(copy.error()));
  if (const ItemPtr known = items_.find(key)) {
    known->set_copy(*copy);
    install_terms(known, **copy);
    return {};
  }
  {
    const std::scoped_lock lock{watching_};
    if (wanted_ >= config_.items_max) {
      return base::fail(base::Errc::limit, "copying item " + key.text(),
                        fmt::format("a node watches at most {} items", config_.items_max));
    }
    ++wanted_;
  }
  const ItemPtr item = items_.add(std::make_shared<RemoteItem>(key, *copy));
  install_terms(item, **copy);
  return {};
}

void ItemCopies::unwatch(const model::ItemKey& key) {
  if (!items_.remove(key)) return;
  const std::scoped_lock lock{watching_};
  --wanted_;
}

void ItemCopies::refresh_all() {
  std::map<model::SaleId, std::vector<ItemPtr>> by_sale;
  for (const ItemPtr& item : items_.all()) by_sale[item->key.sale].push_back(item);
  for (const auto& [sale, items] : by_sale) {
    if (reader_.stopping()) return;
    const std::chrono::nanoseconds asked_at = ports_.clock.steady_now();
    auto authorities = ports_.authority.sale_authority(sale);
    for (const ItemPtr& item : items) {
      if (!authorities) {
        refreshed(item, std::unexpected(authorities.error()));
        continue;
      }
      const auto found = std::ranges::find(*authorities, item->key.sku, &store::ItemAuthority::sku);
      refreshed(item, found == authorities->end()
                          ? base::Result<CopyPtr>{base::fail(base::Errc::not_found, "copying item " + item->key.text(),
                                                             "its sale does not have it")}
                          : copy_of(item->key, std::move(*found), asked_at));
    }
  }
}

void ItemCopies::refreshed(const ItemPtr& item, const base::Result<CopyPtr>& copy) {
  if (!copy) {
    // The copy ages, and past its lease admissions are busy: nothing else is to be done about it here.
    if (!std::exchange(failing_, true)) base::log::warn("copies of items grow old: {}", copy.error().text());
    return;
  }
  if (std::exchange(failing_, false)) base::log::info("copies of items are fresh again");
  if ((*copy)->authority.lanes.size() != item->lane_count) {
    base::log::error("copying item {}: its number of lanes changed, which is fixed for the sale", item->key.text());
    return;
  }
  item->set_copy(*copy);
  install_terms(item, **copy);
}

// A lane that is not known to have the terms is told them, without waiting: a lane that does not answer must not make
// other items' copies old. Lanes compare versions, so a repeat is harmless.
void ItemCopies::install_terms(const ItemPtr& item, const ItemCopy& copy) {
  for (model::LaneIndex index = 0; index < item->lane_count; ++index) {
    const store::LaneAuthorityRow& row = copy.lane(index);
    if (row.state != store::LaneState::lane) continue;
    const model::Generation generation = row.row.generation;
    {
      LaneState& lane = item->lanes[index];
      const std::scoped_lock lock{lane.mutex};
      const bool known = lane.configured_generation == generation && lane.configured_version >= copy.terms.version;
      if (known || lane.configuring) continue;
      lane.configuring = true;
    }
    auto pass = gate_.enter();
    if (!pass) return;
    ports_.scripts.configure(
        item->lane_key(index), copy.server(index), copy.terms,
        [item, index, generation, version = copy.terms.version, pass = std::move(pass)](base::Result<LaneCode> code) {
          LaneState& lane = item->lanes[index];
          const std::scoped_lock lock{lane.mutex};
          lane.configuring = false;
          if (!code || *code != LaneCode::done) return;  // again with the next copy
          lane.configured_generation = generation;
          lane.configured_version = version;
        });
  }
}

}  // namespace seckill::admission::remote

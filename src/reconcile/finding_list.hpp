// How the identities note what they find. Private to this folder.
#pragma once

#include <map>
#include <vector>

#include "reconcile/identities.hpp"

namespace seckill::reconcile {

// Of whom and where a difference is.
struct Place {
  std::int32_t lane = no_lane;
  const model::BuyerId* buyer = nullptr;
  const model::Ticket* ticket = nullptr;
};

class FindingList {
 public:
  explicit FindingList(const model::ItemKey& item) : item_{item} {}
  void add(DifferenceKind kind, const Place& place, std::int64_t expected, std::int64_t found);
  [[nodiscard]] std::vector<Difference> take() { return std::move(found_); }

 private:
  const model::ItemKey& item_;
  std::vector<Difference> found_;
};

using OrdersByTicket = std::map<model::Ticket, const store::Order*>;

[[nodiscard]] inline std::int32_t lane_number(model::LaneIndex lane) noexcept {
  return static_cast<std::int32_t>(lane);
}

// The store's rows against each other.
void check_store(const StorePicture& store, const OrdersByTicket& orders, FindingList& list);
// One lane that takes part, against its stock row and its orders.
void check_lane(const ItemPicture& picture, const LanePicture& lane, const LaneRowPicture& row,
                const OrdersByTicket& orders, FindingList& list);

}  // namespace seckill::reconcile

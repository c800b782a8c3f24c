// MemoryAdmission::install: lanes from all the item's rows, or a sentence that says which rows contradict each other.
#include <fmt/format.h>

#include "admission/memory/lane_tickets.hpp"
#include "admission/memory/memory_admission.hpp"

namespace seckill::admission::memory {
namespace {

constexpr std::size_t items_max = base::limits::sales_open_max * base::limits::items_per_sale_max;

// Indexes are made this large at once at most, so that a lane of usual size never rehashes under its lock.
constexpr std::int64_t marks_reserved_max = 65'536;
// Stock rows and tickets are two readings; a ticket may end between them. A contradiction that stays is real.
constexpr int readings_max = 3;

class InstallInProgress {
 public:
  explicit InstallInProgress(std::atomic<std::uint32_t>& installs) : installs_{installs} { ++installs_; }
  ~InstallInProgress() { --installs_; }
  InstallInProgress(const InstallInProgress&) = delete;
  InstallInProgress& operator=(const InstallInProgress&) = delete;

 private:
  std::atomic<std::uint32_t>& installs_;
};

std::string check_stock_rows(const store::ItemStock& stock, std::uint32_t lanes) {
  if (lanes != 0 && lanes != stock.lanes.size())
    return fmt::format("the item has {} lanes but {} stock rows", lanes, stock.lanes.size());
  std::int64_t sum = stock.pool;
  for (std::size_t i = 0; i < stock.lanes.size(); ++i) {
    const store::LaneRow& row = stock.lanes[i];
    if (row.lane != i) return fmt::format("stock row {} is of lane {}", i, row.lane);
    if (row.stock.available < 0 || row.stock.held < 0 || row.stock.sold < 0) {
      return fmt::format("lane {} has a negative count", i);
    }
    sum += row.stock.total();
  }
  if (sum != stock.total) return fmt::format("pool and lanes have {} units, the item {}", sum, stock.total);
  return {};
}

// Builds the marks of an item nobody else can see yet.
class LaneBuilder {
 public:
  explicit LaneBuilder(Item& item) : item_{item}, stocks_(item.lane_count) {}

  void add(const store::TicketRow& row) {
    if (!problem_.empty()) return;
    const model::LaneIndex index = model::lane_of(row.buyer.view(), item_.lane_count);
    const model::Ticket derived =
        model::derive_ticket(item_.ticket_key, item_.key, row.buyer, row.request_id.view(), index);
    if (derived != row.ticket) {
      problem_ = fmt::format("ticket {} is not the one its buyer, request and the sale's key make", row.ticket.str());
      return;
    }
    // What has ended may have none: the failure of an intent whose units could not be believed.
    const std::int64_t units_min = model::is_ended(row.state) ? 0 : 1;
    if (row.units < units_min || row.units > base::limits::limit_max) {
      problem_ = fmt::format("ticket {} has {} units", row.ticket.str(), row.units);
      return;
    }
    Lane& lane = item_.lanes[index];
    if (lane.marks.find(row.ticket) != nullptr) {
      problem_ = fmt::format("ticket {} appears twice", row.ticket.str());
      return;
    }
    const std::uint64_t hash = MarkTable::hash_of(row.buyer.view());
    TicketRecord& record = lane.marks.add(lane.marks.find(row.buyer.view(), hash), row.buyer.view(), hash,
                                          PackedRequestId{row.request_id}, row.ticket, row.digest, row.units);
    record.admitted_at = row.admitted_at;
    record.state = model::ticket_state(row.state);
    record.published = true;
    record.units_state = Units::ended;
    if (model::is_held(row.state)) record.units_state = Units::held;
    if (model::is_sold(row.state)) record.units_state = Units::sold;
    if (record.units_state == Units::held) stocks_[index].held += row.units;
    if (record.units_state == Units::sold) stocks_[index].sold += row.units;
    item_.filter.add(hash);
  }

  // The first contradiction, or an empty text. Takes over the stock rows.
  [[nodiscard]] std::string finish(const store::ItemStock& stock) {
    for (std::size_t i = 0; i < stocks_.size() && problem_.empty(); ++i) {
      const ledger::LaneStock& row = stock.lanes[i].stock;
      if (row.held != stocks_[i].held || row.sold != stocks_[i].sold) {
        problem_ = fmt::format("lane {}'s stock row says {} held and {} sold, its orders {} and {}", i, row.held,
                               row.sold, stocks_[i].held, stocks_[i].sold);
      }
      item_.lanes[i].stock = row;
    }
    return problem_;
  }

 private:
  Item& item_;
  std::vector<ledger::LaneStock> stocks_;
  std::string problem_;
};

// One reading of the store, as lanes that are not open yet.
base::Result<std::unique_ptr<Item>> build(const model::ItemKey& key, const model::Sale& sale,
                                          const model::SaleItem& sale_item, store::Store& store,
                                          const std::string& doing) {
  const base::Result<store::ItemStock> stock = store.item_stock(key);
  if (!stock) return std::unexpected{stock.error()};
  if (stock->lanes.empty()) return base::fail(base::Errc::refused, doing, "the sale is not preloaded");
  const std::size_t lanes = stock->lanes.size();
  std::string problem = lanes > base::limits::lanes_max ? fmt::format("{} lanes are too many", lanes)
                                                        : check_stock_rows(*stock, sale_item.lanes);
  if (!problem.empty()) return base::fail(base::Errc::corrupt, doing, std::move(problem));

  auto item = std::make_unique<Item>(key, sale.ticket_key, static_cast<std::uint32_t>(lanes), stock->total);
  for (std::size_t i = 0; i < lanes; ++i) {
    Lane& lane = item->lanes[i];
    lane.generation = stock->lanes[i].generation;
    lane.marks.reserve(static_cast<std::size_t>(std::min(stock->lanes[i].stock.total(), marks_reserved_max)));
  }
  LaneBuilder builder{*item};
  const base::Status visited = store.visit_tickets(key, [&](const store::TicketRow& row) { builder.add(row); });
  if (!visited) return std::unexpected{visited.error()};
  problem = builder.finish(*stock);
  if (!problem.empty()) return base::fail(base::Errc::corrupt, doing, std::move(problem));
  return item;
}

}  // namespace

base::Status MemoryAdmission::install(const model::Sale& sale, const model::SaleItem& sale_item, store::Store& store) {
  const model::ItemKey key{.sale = sale.id, .sku = sale_item.sku};
  const std::string doing = "building the lanes of " + key.text();
  const std::scoped_lock one_at_a_time{installing_};
  const InstallInProgress in_progress{installs_};
  {
    const ItemRegistry::Reading reading{items_};
    if (const Item* present = reading.find(key)) {
      if (present->open.load()) return {};
      return base::fail(base::Errc::refused, doing, "they were closed; a restart builds them again");
    }
  }
  if (items_.size() >= items_max) {
    return base::fail(base::Errc::limit, doing, fmt::format("at most {} items are in memory", items_max));
  }
  base::Result<std::unique_ptr<Item>> built = build(key, sale, sale_item, store, doing);
  for (int i = 1; i < readings_max && !built && built.error().code == base::Errc::corrupt; ++i) {
    built = build(key, sale, sale_item, store, doing);
  }
  if (!built) return std::unexpected{built.error()};
  std::unique_ptr<Item> item = std::move(*built);
  const model::ItemTerms* terms = &item->terms_history.emplace_back(model::terms_of(sale, sale_item));
  for (std::uint32_t i = 0; i < item->lane_count; ++i) {
    item->lanes[i].terms = terms;
    item->lanes[i].open = true;
  }
  item->terms.store(terms, std::memory_order_release);
  item->open.store(true, std::memory_order_release);
  items_.add(std::move(item));
  return {};
}

}  // namespace seckill::admission::memory

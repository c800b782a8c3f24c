// Rebuilds, landing, ends and transfers of one item at the same time, from two nodes: nothing is refused for a
// deadlock, and the books balance.
#include <array>
#include <thread>
#include <vector>

#include "authority_world.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;

class MysqlAuthorityRaces : public AuthorityWorld {
 protected:
  static constexpr std::int64_t total = 4'000;
  static constexpr int rounds = 40;

  // What a node does with the item while others do theirs. Failures of the environment are failures of the test: the
  // store tries a deadlock again by itself.
  void lands(Store& node, const contract::Shop& shop, int worker) {
    for (int round = 0; round < rounds; ++round) {
      std::vector<model::LaneRecord> batch;
      for (int i = 0; i < 12; ++i) {
        // Every fifth intent is of another worker too: at least once means that copies race.
        const int whose = i % 5 == 0 ? 0 : worker;
        auto intent = shop.intent("buyer-" + std::to_string(whose) + "-" + std::to_string(round * 12 + i));
        intent.generation = generations_[intent.lane].load();
        batch.emplace_back(intent);
      }
      const auto landed = node.land(batch, contract::start_of_sale + 10);
      ASSERT_TRUE(landed.has_value()) << landed.error().text();
      end_some(node, batch, *landed, round);
    }
  }
  static void end_some(Store& node, const std::vector<model::LaneRecord>& batch, const std::vector<Landed>& landed,
                       int round) {
    std::vector<EndCommand> commands;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (landed[i].as != LandedAs::ordered) continue;
      const auto& ticket = std::get<model::OrderIntent>(batch[i]).ticket;
      if (i % 3 == 0) commands.push_back(contract::cancel(ticket));
      if (i % 3 == 1) commands.push_back(contract::pay(ticket, ticket.str()));
    }
    if (round % 2 == 0) std::ranges::reverse(commands);  // FS-13: as they come, not as they are locked
    const auto ended = node.end_tickets(commands);
    ASSERT_TRUE(ended.has_value()) << ended.error().text();
    for (const Ended& one : *ended) EXPECT_EQ(one.result, EndResult::done);
  }
  void rebuilds(LaneAuthority& node, const contract::Shop& shop, std::uint64_t token) {
    for (int round = 0; round < rounds; ++round) {
      const auto lane = static_cast<model::LaneIndex>(round) % shop.lanes();
      const auto made = node.rebuild_lane(shop.item(), lane, token);
      ASSERT_TRUE(made.has_value()) << made.error().text();
      std::int64_t held = 0;
      std::int64_t sold = 0;
      for (const TicketRow& ticket : made->tickets) {
        if (model::is_held(ticket.state)) held += ticket.units;
        if (model::is_sold(ticket.state)) sold += ticket.units;
      }
      EXPECT_EQ(made->stock.held, held) << "P2: tickets and row are of one reading";
      EXPECT_EQ(made->stock.sold, sold);
      const auto opened = node.open_lane(shop.item(), lane, made->generation, LaneState::lane, "run", "rep", token);
      ASSERT_TRUE(opened.has_value()) << opened.error().text();
      generations_[lane] = made->generation;
      ASSERT_TRUE(node.acquire_lease(leader_lease, "leader", std::chrono::minutes{5}).value().has_value());
    }
  }
  void transfers(LaneAuthority& node, const contract::Shop& shop, int worker) {
    for (int round = 0; round < rounds; ++round) {
      const auto from = static_cast<std::int32_t>((round + worker) % 4);
      const auto to = static_cast<std::int32_t>((round + worker + 1 + round % 3) % 4);
      if (from == to) continue;
      const LaneTransfer transfer{.id = "steal-" + std::to_string(worker) + "-" + std::to_string(round),
                                  .item = shop.item(),
                                  .from = from,
                                  .to = to,
                                  .units = 1 + round % 3,
                                  .from_generation = generations_[static_cast<std::size_t>(from)].load(),
                                  .to_generation = generations_[static_cast<std::size_t>(to)].load()};
      const auto committed = node.commit_transfer(transfer);
      ASSERT_TRUE(committed.has_value()) << committed.error().text();
      if (*committed != TransferResult::done) {
        ASSERT_EQ(node.abandon_transfer(transfer).value(), TransferResult::abandoned);
      } else {
        ASSERT_TRUE(node.close_transfer(transfer.id).has_value());
      }
    }
  }

  std::array<std::atomic<model::Generation>, 64> generations_{};
};

TEST_F(MysqlAuthorityRaces, P2_FS_13_rebuilds_landing_ends_and_transfers_at_once_leave_the_books_balanced) {
  model::SaleItem item = contract::an_item("sku1", total, 8);
  item.lanes = 4;
  const model::Sale sale = contract::a_sale("s1", {item});
  ASSERT_TRUE(store().create_sale(sale, contract::by("sale.create")).has_value());
  ASSERT_TRUE(store().preload(sale.id, contract::start_of_sale, contract::by("sale.preload")).has_value());
  const contract::Shop shop{store(), sale};
  ASSERT_EQ(shop.lanes(), 4U);
  for (auto& generation : generations_) generation = 1;
  const auto other = another_store();
  const auto token = lead(store(), "leader");
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([&] { lands(store(), shop, 1); });
    threads.emplace_back([&] { lands(*other, shop, 2); });
    threads.emplace_back([&] { lands(*other, shop, 3); });
    threads.emplace_back([&] { rebuilds(store(), shop, token); });
    threads.emplace_back([&] { transfers(store(), shop, 1); });
    threads.emplace_back([&] { transfers(*other, shop, 2); });
  }
  EXPECT_EQ(shop.broken(), "");
  const auto stock = shop.stock();
  const auto sums = shop.sums();
  EXPECT_EQ(stock.pool + sums.available + sums.held + sums.sold, total);
  EXPECT_GT(sums.sold, 0);
  EXPECT_GT(sums.held, 0);
  EXPECT_TRUE(store().open_transfers(shop.item()).value().empty());
  RecordProperty("retried", static_cast<int>(store().counters().retried + other->counters().retried));
}

TEST_F(MysqlAuthorityRaces, P2_of_commit_and_abandon_of_one_id_one_happens_and_both_say_so) {
  const auto shop = a_shop(4'000);
  const auto other = another_store();
  const std::int64_t share = row(shop, 0).row.stock.available;
  std::int64_t moved = 0;
  int abandoned = 0;
  for (int round = 0; round < 60; ++round) {
    const LaneTransfer transfer{.id = "t" + std::to_string(round),
                                .item = shop.item(),
                                .from = 0,
                                .to = 1,
                                .units = 1,
                                .from_generation = 1,
                                .to_generation = 1};
    std::array<base::Result<TransferResult>, 3> said{TransferResult::done, TransferResult::done, TransferResult::done};
    {
      std::jthread commit{[&] { said[0] = store().commit_transfer(transfer); }};
      std::jthread again{[&] { said[1] = other->commit_transfer(transfer); }};
      std::jthread abandon{[&] { said[2] = other->abandon_transfer(transfer); }};
    }
    for (const auto& answer : said) ASSERT_TRUE(answer.has_value()) << answer.error().text();
    const bool is_abandoned = store().transfer_state(transfer.id).value() == TransferState::abandoned;
    const auto of_commit = is_abandoned ? TransferResult::abandoned : TransferResult::done;
    EXPECT_EQ(*said[0], of_commit);
    EXPECT_EQ(*said[1], of_commit);
    EXPECT_EQ(*said[2], is_abandoned ? TransferResult::abandoned : TransferResult::committed);
    abandoned += is_abandoned ? 1 : 0;
    moved += is_abandoned ? 0 : 1;
  }
  RecordProperty("abandoned", abandoned);
  EXPECT_EQ(row(shop, 0).row.stock.available, share - moved);
  EXPECT_EQ(shop.broken(), "");
}

}  // namespace
}  // namespace seckill::store::mysql

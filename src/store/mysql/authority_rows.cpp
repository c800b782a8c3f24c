#include "store/mysql/authority_rows.hpp"

#include <fmt/format.h>

namespace seckill::store::mysql {

using base::Errc;

std::optional<LaneAuthorityRow> authority_row_from(const Row& row, std::size_t first) {
  const auto lane = lane_from(row.integer(first));
  const auto generation = generation_from(row.integer(first + 1));
  const auto state = lane_state_from(row.integer(first + 5));
  const auto drained = generation_from(row.integer(first + 8));
  const bool are_counts = are_units({row.integer(first + 2), row.integer(first + 3), row.integer(first + 4)}) &&
                          row.integer(first + 9) >= 0;
  if (!lane || !generation || !state || !drained || !are_counts) return std::nullopt;
  return LaneAuthorityRow{.row = {.lane = *lane,
                                  .generation = *generation,
                                  .stock = {.available = row.integer(first + 2),
                                            .held = row.integer(first + 3),
                                            .sold = row.integer(first + 4)}},
                          .state = *state,
                          .run_id = std::string{row.text(first + 6)},
                          .replication_id = std::string{row.text(first + 7)},
                          .drained_generation = *drained,
                          .strays = static_cast<std::uint64_t>(row.integer(first + 9))};
}

base::Result<FencedLane> lock_lane(Work& work, const model::ItemKey& item, model::LaneIndex lane) {
  const auto found_item = find_item(work, item);
  if (!found_item) return std::unexpected(found_item.error());
  static const std::string sql =
      fmt::format("SELECT {} FROM lane_stock WHERE item_id = ? AND lane = ? FOR UPDATE", authority_columns);
  std::optional<LaneAuthorityRow> read;
  const auto found =
      work.first([&](const Row& row) { read = authority_row_from(row); }, sql, found_item->item_id, std::int64_t{lane});
  if (!found) return std::unexpected(found.error());
  if (!*found) return work.fail(Errc::not_found, fmt::format("{} has no lane {}", item.text(), lane));
  if (!read) return corrupt_row(work.doing(), "a stock row of " + item.text());
  return FencedLane{.item_id = found_item->item_id, .lane = std::move(*read)};
}

namespace {

base::Status compare_token(Work& work, std::uint64_t token, std::string_view sql) {
  std::uint64_t last = 0;
  const auto found = work.first([&](const Row& row) { last = static_cast<std::uint64_t>(row.integer(0)); }, sql,
                                std::string_view{leader_lease});
  if (!found) return std::unexpected(found.error());
  if (*found && last == token) return {};
  return work.fail(Errc::stale, fmt::format("token {} is not the leader's", token));
}

}  // namespace

base::Status check_token(Work& work, std::uint64_t token) {
  return compare_token(work, token, "SELECT token FROM lease WHERE name = ?");
}

base::Status hold_token(Work& work, std::uint64_t token) {
  return compare_token(work, token, "SELECT token FROM lease WHERE name = ? LOCK IN SHARE MODE");
}

base::Result<base::UtcMs> server_now(Work& work) {
  base::UtcMs now = 0;
  const auto found = work.first([&](const Row& row) { now = row.integer(0); },
                                "SELECT CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED)");
  if (!found) return std::unexpected(found.error());
  if (!*found || now <= 0) return work.fail(Errc::corrupt, "the server does not tell its time");
  return now;
}

base::Status write_authority(Work& work, const FencedLane& locked, const LaneAuthorityRow& lane) {
  const LaneAuthorityRow& was = locked.lane;
  const auto changed = work.run(
      "UPDATE lane_stock SET generation = ?, state = ?, run_id = ?, replication_id = ?, drained_generation = ?, "
      "version = version + 1 WHERE item_id = ? AND lane = ? AND generation = ? AND state = ?",
      lane.row.generation, lane.state, lane.run_id, std::string_view{lane.replication_id}, lane.drained_generation,
      locked.item_id, was.row.lane, was.row.generation, was.state);
  if (!changed) return std::unexpected(changed.error());
  if (*changed != 1) return corrupt_row(work.doing(), fmt::format("the locked row of lane {}", was.row.lane));
  return {};
}

}  // namespace seckill::store::mysql

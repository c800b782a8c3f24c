// What the methods of LaneAuthority share: a locked stock row, the leader's token, the server's clock.
//
// Why nothing executes late here. A call that timed out may still be on its way to the server, and a leader must not
// have his lane opened by what he gave up. Each method that decides is therefore a transaction in steps: it locks the
// lane's row, hears the answer, and only then asks for COMMIT. What is still on its way when the caller gives up is
// either a step before COMMIT, which the lost connection rolls back, or COMMIT itself, whose transaction holds the row:
// whoever looks at the lane next waits for its outcome. A single statement under autocommit would have no such fence.
#pragma once

#include "store/mysql/rows.hpp"

namespace seckill::store::mysql {

struct FencedLane {
  std::int64_t item_id = 0;
  LaneAuthorityRow lane;
};

inline constexpr std::string_view authority_columns =
    "lane, generation, available, held, sold, state, run_id, replication_id, drained_generation, strays";
// authority_columns, which begin at `first`. nullopt: a stored value cannot be what was written.
[[nodiscard]] std::optional<LaneAuthorityRow> authority_row_from(const Row& row, std::size_t first = 0);

// Locks the lane's stock row until the transaction ends. Errc::not_found: there is no such item, or lane.
[[nodiscard]] base::Result<FencedLane> lock_lane(Work& work, const model::ItemKey& item, model::LaneIndex lane);

// Errc::stale unless `token` is the last one of leader_lease. check_token() reads it, to refuse early; hold_token()
// also keeps it so until the transaction ends, which delays the leader's own renewals: call it last before COMMIT.
// Whoever took the lease since has raised its token, so equality is all that fencing needs, run out or not.
[[nodiscard]] base::Status check_token(Work& work, std::uint64_t token);
[[nodiscard]] base::Status hold_token(Work& work, std::uint64_t token);

// The server's clock now; all nodes' leases and stamps are by it.
[[nodiscard]] base::Result<base::UtcMs> server_now(Work& work);

// Changes what fences the locked lane, from as it was locked to as `lane` says; units stay as they are.
[[nodiscard]] base::Status write_authority(Work& work, const FencedLane& locked, const LaneAuthorityRow& lane);

}  // namespace seckill::store::mysql

// Which generation of a lane is true, and who admits into it (DESIGN §4.5): the stock row decides, the leader's token
// and the generation fence what comes late.
#include <fmt/format.h>

#include "base/text.hpp"
#include "store/mysql/authority_rows.hpp"
#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;

base::Status audit_report(Work& work, const model::ItemKey& item, const LaneRow& lane, std::string_view why) {
  const auto now = server_now(work);
  if (!now) return std::unexpected(now.error());
  std::string quoted;
  base::append_json_string(quoted, why);
  return write_audit(work, {.actor = "system",
                            .action = "lane.report",
                            .detail = fmt::format(R"({{"item":"{}","lane":{},"generation":{},"why":{}}})", item.text(),
                                                  lane.lane, lane.generation, quoted),
                            .at = *now});
}

}  // namespace

base::Status MysqlStoreImpl::want_state(const model::ItemKey& item, LaneState wanted, const AuditEntry& audit) {
  const std::string doing = "choosing who admits for " + item.text();
  return operating_.transaction(doing, [&](Work& work) -> base::Status {
    const auto found = find_item(work, item);
    if (!found) return std::unexpected(found.error());
    const auto changed =
        work.run("UPDATE sale_item SET wanted = ? WHERE item_id = ? AND wanted <> ?", wanted, found->item_id, wanted);
    if (!changed) return std::unexpected(changed.error());
    if (*changed == 0) return {};
    return write_audit(work, audit);
  });
}

base::Status MysqlStoreImpl::report_lane(const model::ItemKey& item, model::LaneIndex index,
                                         model::Generation generation, const std::string& why) {
  const std::string doing = fmt::format("reporting lane {} of {}", index, item.text());
  return operating_.transaction(doing, [&](Work& work) -> base::Status {
    const auto locked = lock_lane(work, item, index);
    if (!locked) return std::unexpected(locked.error());
    LaneAuthorityRow lane = locked->lane;
    if (lane.row.generation != generation || lane.state != LaneState::lane) return {};
    lane.state = LaneState::closed;
    if (auto written = write_authority(work, *locked, lane); !written) return written;
    return audit_report(work, item, lane.row, why);
  });
}

base::Status MysqlStoreImpl::close_lane(const model::ItemKey& item, model::LaneIndex index, std::uint64_t token) {
  const std::string doing = fmt::format("closing lane {} of {}", index, item.text());
  return operating_.transaction(doing, [&](Work& work) -> base::Status {
    const auto locked = lock_lane(work, item, index);
    if (!locked) return std::unexpected(locked.error());
    if (auto leads = hold_token(work, token); !leads) return leads;
    LaneAuthorityRow lane = locked->lane;
    if (lane.state == LaneState::closed) return {};
    if (lane.state == LaneState::store) ++lane.row.generation;
    lane.state = LaneState::closed;
    return write_authority(work, *locked, lane);
  });
}

base::Status MysqlStoreImpl::open_lane(const model::ItemKey& item, model::LaneIndex index, model::Generation generation,
                                       LaneState to, const std::string& run_id, const std::string& replication_id,
                                       std::uint64_t token) {
  const std::string doing = fmt::format("opening lane {} of {}", index, item.text());
  if (to == LaneState::closed) return base::fail(Errc::invalid, doing, "a lane is opened as lane or store");
  return operating_.transaction(doing, [&](Work& work) -> base::Status {
    const auto locked = lock_lane(work, item, index);
    if (!locked) return std::unexpected(locked.error());
    if (auto leads = hold_token(work, token); !leads) return leads;
    LaneAuthorityRow lane = locked->lane;
    if (lane.row.generation != generation) {
      return work.fail(Errc::stale,
                       fmt::format("the lane is of generation {}, not {}", lane.row.generation, generation));
    }
    const bool same = lane.state == to && lane.run_id == run_id && lane.replication_id == replication_id;
    if (same) return {};
    if (lane.state != LaneState::closed) {
      return work.fail(Errc::stale, "the lane is open otherwise; it must be rebuilt first");
    }
    lane.state = to;
    lane.run_id = run_id;
    lane.replication_id = replication_id;
    return write_authority(work, *locked, lane);
  });
}

base::Status MysqlStoreImpl::drain_lane(const model::ItemKey& item, model::LaneIndex index,
                                        model::Generation generation, std::uint64_t strays, std::uint64_t token) {
  const std::string doing = fmt::format("noting that lane {} of {} is drained", index, item.text());
  return operating_.transaction(doing, [&](Work& work) -> base::Status {
    const auto locked = lock_lane(work, item, index);
    if (!locked) return std::unexpected(locked.error());
    if (auto leads = hold_token(work, token); !leads) return leads;
    LaneAuthorityRow lane = locked->lane;
    if (lane.row.generation != generation || lane.strays != strays) return {};
    lane.drained_generation = generation;
    return write_authority(work, *locked, lane);
  });
}

}  // namespace seckill::store::mysql

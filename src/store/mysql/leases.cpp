// Leases by the server's clock.
//
// The clock is read after the row was locked, in a statement of its own: a statement that waited for the lock has the
// time of before it waited. What a caller hears of `until` is as old as its COMMIT took; he counts his own time from
// before he asked.
#include "store/mysql/authority_rows.hpp"
#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;

struct LeaseRow {
  std::string holder;
  Lease lease;
};

base::Result<std::optional<LeaseRow>> lock_lease(Work& work, std::string_view name) {
  std::optional<LeaseRow> lease;
  const auto found = work.first(
      [&](const Row& row) {
        lease = LeaseRow{.holder = std::string{row.text(0)},
                         .lease = {.token = static_cast<std::uint64_t>(row.integer(1)), .until = row.integer(2)}};
      },
      "SELECT holder, token, until_at FROM lease WHERE name = ? FOR UPDATE", name);
  if (!found) return std::unexpected(found.error());
  return lease;
}

// The row of a lease, locked; made when there was none. The first of two that make it lets the second wait.
base::Result<LeaseRow> lock_or_make_lease(Work& work, std::string_view name) {
  auto lease = lock_lease(work, name);
  if (!lease) return std::unexpected(lease.error());
  if (*lease) return std::move(**lease);
  const auto made = work.run(
      "INSERT INTO lease (name, holder, token, until_at) VALUES (?, '', 0, 0) ON DUPLICATE KEY UPDATE name = name",
      name);
  if (!made) return std::unexpected(made.error());
  lease = lock_lease(work, name);
  if (!lease) return std::unexpected(lease.error());
  if (!*lease) return corrupt_row(work.doing(), "a lease that was made and is not there");
  return std::move(**lease);
}

}  // namespace

base::Result<std::optional<Lease>> MysqlStoreImpl::acquire_lease(const std::string& name, const std::string& holder,
                                                                 std::chrono::milliseconds ttl) {
  constexpr std::string_view doing = "taking a lease";
  if (name.empty() || holder.empty() || ttl.count() < 1) {
    return base::fail(Errc::invalid, std::string{doing}, "a lease needs a name, a holder and a time");
  }
  return operating_.transaction(doing, [&](Work& work) -> base::Result<std::optional<Lease>> {
    const auto was = lock_or_make_lease(work, name);
    if (!was) return std::unexpected(was.error());
    const auto now = server_now(work);
    if (!now) return std::unexpected(now.error());
    const bool runs = was->lease.until > *now;
    if (runs && was->holder != holder) return std::optional<Lease>{};
    // Also when the same holder comes back to a lease that had run out: he does not know what he missed.
    const Lease lease{.token = runs ? was->lease.token : was->lease.token + 1, .until = *now + ttl.count()};
    const auto taken = work.run("UPDATE lease SET holder = ?, token = ?, until_at = ? WHERE name = ? AND token = ?",
                                holder, lease.token, lease.until, std::string_view{name}, was->lease.token);
    if (!taken) return std::unexpected(taken.error());
    // None is changed when it was renewed twice within one millisecond; the row is locked, so it is as we would have
    // it.
    if (*taken != 1 && lease.until != was->lease.until) return corrupt_row(doing, "the locked row of a lease");
    return std::optional{lease};
  });
}

}  // namespace seckill::store::mysql

// Operator switches and the server's clock.
#include "store/mysql/authority_rows.hpp"
#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {

using base::Errc;

base::Result<std::vector<SwitchRow>> MysqlStoreImpl::switches() {
  return reads_.reading("reading the switches", [&](Work& work) -> base::Result<std::vector<SwitchRow>> {
    std::vector<SwitchRow> rows;
    const auto read = work.query(
        [&](const Row& row) {
          rows.push_back({.name = std::string{row.text(0)},
                          .value = std::string{row.text(1)},
                          .actor = std::string{row.text(2)},
                          .changed_at = row.integer(3)});
        },
        "SELECT name, value, actor, changed_at FROM degrade_switch ORDER BY name");
    if (!read) return std::unexpected(read.error());
    return rows;
  });
}

base::Status MysqlStoreImpl::set_switch(const std::string& name, const std::string& value, const AuditEntry& audit) {
  constexpr std::string_view doing = "setting a switch";
  if (name.empty()) return base::fail(Errc::invalid, std::string{doing}, "a switch has a name");
  return operating_.transaction(doing, [&](Work& work) -> base::Status {
    std::string before;
    const auto found = work.first([&](const Row& row) { before = row.text(0); },
                                  "SELECT value FROM degrade_switch WHERE name = ? FOR UPDATE", name);
    if (!found) return std::unexpected(found.error());
    if (*found && before == value) return {};
    const auto now = server_now(work);
    if (!now) return std::unexpected(now.error());
    // Of two that set it for the first time the later one stands, and both are audited.
    const auto set = work.run(
        "INSERT INTO degrade_switch (name, value, actor, changed_at) VALUES (?, ?, ?, ?) "
        "ON DUPLICATE KEY UPDATE value = VALUES(value), actor = VALUES(actor), changed_at = VALUES(changed_at)",
        name, std::string_view{value}, std::string_view{audit.actor}, *now);
    if (!set) return std::unexpected(set.error());
    return write_audit(work, audit);
  });
}

base::Result<base::UtcMs> MysqlStoreImpl::store_now() {
  // Without a transaction: a round trip is all the difference between the two clocks that the answer may have.
  return reads_.reading("reading the store's clock", [](Work& work) { return server_now(work); });
}

}  // namespace seckill::store::mysql

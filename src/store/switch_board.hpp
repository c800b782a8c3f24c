// Operator switches that every node must see within a second (DESIGN §4.6): kept in the store, read by each node's
// poll. Engines: MySQL/MariaDB; embedded mode has one process and needs none of it.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "store/store.hpp"

namespace seckill::store {

// The names are the program's: a closed list in ops. Values are short texts ("on", "off", a number).
struct SwitchRow {
  std::string name;
  std::string value;
  std::string actor;
  base::UtcMs changed_at = 0;  // by the store's clock
};

class SwitchBoard {
 public:
  virtual ~SwitchBoard() = default;
  // Every switch that was ever set; a name that is missing has its default. Blocks.
  virtual base::Result<std::vector<SwitchRow>> switches() = 0;
  // Sets one, with its audit row in the same transaction; the same value again changes nothing and is not audited.
  virtual base::Status set_switch(const std::string& name, const std::string& value, const AuditEntry& audit) = 0;
  // The store's clock, for nodes that compare theirs with it (more than 200 ms apart: not ready).
  virtual base::Result<base::UtcMs> store_now() = 0;
};

}  // namespace seckill::store

// What simulated seeds leave behind: one file for the last run, and, when asked, a record of all runs so far.
#pragma once

#include <string>

#include "simulation/runner/seeds.hpp"

namespace seckill::sim {

// Writes {"world","seeds","violations","virtual_hours","purchases","purchases_per_s",…,"points":{…}}; makes the folder.
// False when it cannot be written.
bool write_report(const std::string& path, const World& world, const Totals& totals);

// Adds the totals to the world's in the record: {"date","worlds":{"embedded":{"seeds","violations","virtual_hours",
// "purchases","date"}}}. False when it cannot be read or written.
bool add_to_record(const std::string& path, const World& world, const Totals& totals);

}  // namespace seckill::sim

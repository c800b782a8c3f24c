// How orders and outcomes read as JSON. Private to the handlers.
#pragma once

#include <string>

#include "orders/order_reads.hpp"
#include "store/store.hpp"

namespace seckill::gateway {

// One order as its buyer sees it, with braces.
void append_order(std::string& out, const store::Order& order);

// {"ticket":…,"state":…,…}; carries poll_ms until nothing more can happen by itself. Requires: outcome.found.
[[nodiscard]] std::string outcome_json(const orders::Outcome& outcome);

}  // namespace seckill::gateway

// What the scripts are given: ARGV of each, as its file states it. Numbers are decimal, ids and digests packed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "admission/lane_scripts.hpp"

namespace seckill::admission::redis {

// How long a lane's keys live after its sale and the last payment.
inline constexpr std::int64_t lane_life_after_ms = 7LL * 86'400'000;
// What one script call takes; more go in several calls.
inline constexpr std::size_t asks_max = 64;
inline constexpr std::size_t tickets_per_call_max = 500;

[[nodiscard]] std::vector<std::string> admit_arguments(model::Generation generation, std::span<const LaneAsk> asks);
[[nodiscard]] std::vector<std::string> transfer_arguments(model::Generation generation,
                                                          const LaneTransferRecord& transfer);
[[nodiscard]] std::vector<std::string> configure_arguments(const model::ItemTerms& terms);
// Units and times that no lane can hold are cut to what it can: every rule refuses them all the same.
[[nodiscard]] std::vector<std::string> adopt_arguments(const model::OrderIntent& intent);
[[nodiscard]] std::vector<std::string> begin_arguments(const InstallPlan& plan);
[[nodiscard]] std::vector<std::string> batch_arguments(const InstallPlan& plan, std::span<const InstallTicket> tickets);
[[nodiscard]] std::vector<std::string> open_arguments(const InstallPlan& plan);

}  // namespace seckill::admission::redis

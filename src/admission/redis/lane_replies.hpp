// What the scripts reply, read: each as its file states it. nullopt: no script of ours replies so.
#pragma once

#include <optional>
#include <span>

#include "admission/lane_scripts.hpp"
#include "drivers/redis/redis.hpp"

namespace seckill::admission::redis {

using drivers::redis::RedisReply;

// The code a reply begins with.
[[nodiscard]] std::optional<LaneCode> code_in(const RedisReply& reply);
[[nodiscard]] std::optional<LaneDecisions> decisions_in(const RedisReply& reply, const LaneKey& lane,
                                                        model::Generation generation, std::span<const LaneAsk> asks);
[[nodiscard]] std::optional<std::vector<model::OrderIntent>> claimed_in(const RedisReply& reply, const LaneKey& lane);
[[nodiscard]] std::optional<LaneScripts::MarkPage> page_in(const RedisReply& reply, const LaneKey& lane,
                                                           base::UtcMs before);
[[nodiscard]] std::optional<LaneScripts::HolderPage> holders_in(const RedisReply& reply);
[[nodiscard]] std::optional<LaneReading> reading_in(const RedisReply& reply);
[[nodiscard]] std::optional<LaneScripts::FoundTickets> found_in(const RedisReply& reply, const LaneKey& lane,
                                                                const model::BuyerId& buyer);
[[nodiscard]] std::optional<LaneDebit> debit_in(const RedisReply& reply);
[[nodiscard]] std::optional<AdoptReply> adopted_in(const RedisReply& reply);

// The lane server's time that a script says it has used; nullopt: it says none.
[[nodiscard]] std::optional<base::UtcMs> time_in(const RedisReply& reply, std::size_t place);

}  // namespace seckill::admission::redis

#include "admission/redis/redis_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "admission/redis/lane_arguments.hpp"
#include "admission/redis/lane_keys.hpp"
#include "admission/redis/lane_replies.hpp"
#include "admission/redis/packed_mark.hpp"
#include "admission/redis/script_texts.hpp"
#include "base/assert.hpp"

namespace seckill::admission::redis {
namespace {

using base::Errc;
using drivers::redis::CallAnswer;
using drivers::redis::CallEnd;
using drivers::redis::Redis;
using drivers::redis::RedisCall;
using drivers::redis::RedisIdentity;
using drivers::redis::RedisScript;

// Replies by which a server says that it has executed nothing: it checks all of them before a script's first command.
constexpr std::array<std::string_view, 13> unexecuted{"OOM",       "MISCONF",     "READONLY", "NOREPLICAS", "BUSY",
                                                      "LOADING",   "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOSCRIPT",
                                                      "CROSSSLOT", "NOAUTH",      "NOPERM"};

base::Error error_of(std::string_view script, std::string_view cause) {
  const bool known = std::ranges::find(unexecuted, cause.substr(0, cause.find(' '))) != unexecuted.end();
  return {known ? Errc::unavailable : Errc::timeout, fmt::format("lane script {}", script), std::string{cause}};
}

// What a call to another server is, where the answer has a code for it and where not.
template <typename T>
base::Result<T> foreign() {
  if constexpr (std::is_same_v<T, LaneCode>) {
    return LaneCode::foreign;
  } else if constexpr (requires(T t) { t.code; }) {
    T answer;
    answer.code = LaneCode::foreign;
    return answer;
  } else {
    return base::fail(Errc::stale, "lane script", "the connection leads to another server");
  }
}

RedisIdentity identity_of(const LaneServer& server) {
  return {.run_id = server.run_id, .replication_id = server.replication_id};
}

// Constant after construction: any thread.
class RedisLanes final : public LaneScripts {
 public:
  RedisLanes(Redis& redis, RedisLanesConfig config) : redis_{redis}, config_{config} {
    for (const ScriptText& script : script_texts()) scripts_.try_emplace(script.name, std::string{script.text});
  }

  void admit(const LaneKey& lane, const LaneServer& server, model::Generation generation, std::vector<LaneAsk> asks,
             LaneAnswer<LaneDecisions> answer) override {
    SECKILL_ASSERT(!asks.empty() && asks.size() <= asks_max, "P9: a call has 1..64 asks");
    auto arguments = admit_arguments(generation, asks);
    call<LaneDecisions>("admit", lane, server, LaneKeys::buying, std::move(arguments), std::move(answer),
                        [lane, generation, asks = std::move(asks)](const RedisReply& reply) {
                          return decisions_in(reply, lane, generation, asks);
                        });
  }
  void confirm_published(const LaneKey& lane, const LaneServer& server, std::vector<model::Ticket> tickets,
                         LaneAnswer<LaneCode> answer) override {
    if (tickets.empty()) return answer(LaneCode::done);
    in_parts<model::Ticket>(
        "confirm_published", lane, server, LaneKeys::buying, std::move(tickets),
        [](std::span<const model::Ticket> part) {
          std::vector<std::string> arguments;
          for (const model::Ticket& ticket : part) arguments.push_back(pack_ticket(ticket));
          return arguments;
        },
        std::move(answer));
  }
  void claim_intents(const LaneKey& lane, const LaneServer& server, std::int64_t age_ms, std::size_t count,
                     LaneAnswer<std::vector<model::OrderIntent>> answer) override {
    if (count == 0) return answer(std::vector<model::OrderIntent>{});
    const std::size_t most = std::min(count, tickets_per_call_max);
    call<std::vector<model::OrderIntent>>("claim_intents", lane, server, LaneKeys::buying,
                                          {std::to_string(age_ms), std::to_string(most)}, std::move(answer),
                                          [lane](const RedisReply& reply) { return claimed_in(reply, lane); });
  }
  void live_marks(const LaneKey& lane, const LaneServer& server, base::UtcMs before, std::uint64_t cursor,
                  LaneAnswer<MarkPage> answer) override {
    call<MarkPage>("live_marks", lane, server, LaneKeys::buying, {std::to_string(cursor)}, std::move(answer),
                   [lane, before](const RedisReply& reply) { return page_in(reply, lane, before); });
  }
  void mark_holders(const LaneKey& lane, const LaneServer& server, std::uint64_t cursor,
                    LaneAnswer<HolderPage> answer) override {
    call<HolderPage>("mark_holders", lane, server, LaneKeys::buying, {std::to_string(cursor)}, std::move(answer),
                     holders_in);
  }
  void wait_replicas(const LaneKey& lane, const LaneServer& server, std::chrono::milliseconds longest,
                     LaneAnswer<LaneCode> answer) override {
    const std::uint32_t replicas = config_.replicas;
    if (replicas == 0) return answer(LaneCode::refused);
    redis_.wait_replicas(
        routing_key_of(lane), identity_of(server), replicas, longest,
        [replicas, answer = std::move(answer)](base::Result<std::optional<std::uint32_t>> have) mutable {
          if (!have) return answer(std::unexpected{have.error()});
          if (!*have) return answer(LaneCode::foreign);
          answer(**have >= replicas ? LaneCode::done : LaneCode::refused);
        });
  }
  void read(const LaneKey& lane, const LaneServer& server, LaneAnswer<LaneReading> answer) override {
    call<LaneReading>("read", lane, server, LaneKeys::transfers, {}, std::move(answer), reading_in);
  }
  void buyer_tickets(const LaneKey& lane, const LaneServer& server, const model::BuyerId& buyer,
                     LaneAnswer<FoundTickets> answer) override {
    call<FoundTickets>("buyer_tickets", lane, server, LaneKeys::buying, {buyer.str()}, std::move(answer),
                       [lane, buyer](const RedisReply& reply) { return found_in(reply, lane, buyer); });
  }
  void release(const LaneKey& lane, const LaneServer& server, const model::Ticket& ticket,
               LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("release", lane, server, LaneKeys::buying, {pack_ticket(ticket)}, std::move(answer), code_in);
  }
  void post(const LaneKey& lane, const LaneServer& server, const model::Ticket& ticket,
            LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("post", lane, server, LaneKeys::buying, {pack_ticket(ticket)}, std::move(answer), code_in);
  }
  void debit(const LaneKey& lane, const LaneServer& server, model::Generation generation,
             const LaneTransferRecord& transfer, LaneAnswer<LaneDebit> answer) override {
    SECKILL_ASSERT(transfer.units >= 1, "P2: a debit asks for at least one unit");
    call<LaneDebit>("debit", lane, server, LaneKeys::transfers, transfer_arguments(generation, transfer),
                    std::move(answer), debit_in);
  }
  void undo_debit(const LaneKey& lane, const LaneServer& server, const std::string& id,
                  LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("undo_debit", lane, server, LaneKeys::transfers, {id}, std::move(answer), code_in);
  }
  void credit(const LaneKey& lane, const LaneServer& server, model::Generation generation,
              const LaneTransferRecord& transfer, LaneAnswer<LaneCode> answer) override {
    SECKILL_ASSERT(transfer.units >= 1, "P2: a credit brings at least one unit");
    call<LaneCode>("credit", lane, server, LaneKeys::transfers, transfer_arguments(generation, transfer),
                   std::move(answer), code_in);
  }
  void close_transfer(const LaneKey& lane, const LaneServer& server, const std::string& id,
                      LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("close_transfer", lane, server, LaneKeys::transfers, {id, std::to_string(transfer_memory_ms)},
                   std::move(answer), code_in);
  }
  void configure(const LaneKey& lane, const LaneServer& server, const model::ItemTerms& terms,
                 LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("configure", lane, server, LaneKeys::transfers, configure_arguments(terms), std::move(answer),
                   code_in);
  }
  void adopt(const LaneKey& lane, const LaneServer& server, const model::OrderIntent& intent,
             LaneAnswer<AdoptReply> answer) override {
    // It comes from a message, so its size is input.
    if (intent.fields && intent.fields->size() > fields_bytes_max) {
      return answer(base::fail(Errc::invalid, "lane script adopt", "order fields are longer than a mark can keep"));
    }
    call<AdoptReply>("adopt", lane, server, LaneKeys::buying, adopt_arguments(intent), std::move(answer), adopted_in);
  }
  void close(const LaneKey& lane, const LaneServer& server, model::Generation generation, LeaderToken leader,
             LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("close", lane, server, LaneKeys::installing,
                   {std::to_string(generation), std::to_string(leader.token), std::to_string(lane_life_after_ms)},
                   std::move(answer), code_in);
  }
  void install_begin(const LaneKey& lane, const LaneServer& server, const InstallPlan& plan,
                     LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("install_begin", lane, server, LaneKeys::installing, begin_arguments(plan), std::move(answer),
                   code_in);
  }
  void install_batch(const LaneKey& lane, const LaneServer& server, const InstallPlan& plan,
                     std::vector<InstallTicket> tickets, LaneAnswer<LaneCode> answer) override {
    in_parts<InstallTicket>(
        "install_batch", lane, server, LaneKeys::installing, std::move(tickets),
        [plan](std::span<const InstallTicket> part) { return batch_arguments(plan, part); }, std::move(answer));
  }
  void install_open(const LaneKey& lane, const LaneServer& server, const InstallPlan& plan,
                    LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("install_open", lane, server, LaneKeys::installing, open_arguments(plan), std::move(answer),
                   code_in);
  }
  void server_of(const LaneKey& lane, LaneAnswer<LaneServer> answer) override {
    RedisCall question;
    question.routing_key = routing_key_of(lane);
    question.args = {"EXISTS", question.routing_key};
    question.longest = config_.call_longest;
    redis_.call(std::move(question), [answer = std::move(answer)](base::Result<CallAnswer> replied) mutable {
      if (!replied) return answer(std::unexpected{replied.error()});
      if (replied->reply.is_error()) return answer(std::unexpected{error_of("(which server)", replied->reply.text())});
      answer(LaneServer{.run_id = replied->identity.run_id, .replication_id = replied->identity.replication_id});
    });
  }

 private:
  static constexpr std::size_t fields_bytes_max = 65'535;  // two bytes say their size

  // `read`: RedisReply → optional<T>; nullopt: the reply is none of the script's, and so what happened is not known.
  template <typename T, typename Read>
  void call(std::string_view script, const LaneKey& lane, const LaneServer& server, LaneKeys keys,
            std::vector<std::string> arguments, LaneAnswer<T> answer, Read read) {
    RedisCall asked{.routing_key = routing_key_of(lane),
                    .script = &scripts_.at(script),
                    .keys = keys_of(lane, keys),
                    .args = std::move(arguments),
                    .expected = identity_of(server),
                    .longest = config_.call_longest};
    redis_.call(std::move(asked),
                [script, read = std::move(read), answer = std::move(answer)](base::Result<CallAnswer> replied) mutable {
                  if (!replied) return answer(std::unexpected{replied.error()});
                  if (replied->end == CallEnd::foreign) return answer(foreign<T>());
                  if (replied->reply.is_error())
                    return answer(std::unexpected{error_of(script, replied->reply.text())});
                  auto value = read(replied->reply);
                  if (!value) return answer(std::unexpected{error_of(script, "its reply cannot be read")});
                  answer(*std::move(value));
                });
  }

  // Some hundred at a time, one call after the other, so that no script runs long; the first answer that is not `done`
  // is the whole's.
  template <typename Each>
  struct Parts {
    std::string_view script;
    LaneKey lane;
    LaneServer server;
    LaneKeys keys;
    std::vector<Each> all;
    std::function<std::vector<std::string>(std::span<const Each>)> arguments;
    LaneAnswer<LaneCode> answer;
    std::size_t from = 0;
  };
  template <typename Each>
  void in_parts(std::string_view script, const LaneKey& lane, const LaneServer& server, LaneKeys keys,
                std::vector<Each> all, std::function<std::vector<std::string>(std::span<const Each>)> arguments,
                LaneAnswer<LaneCode> answer) {
    next_part(std::make_unique<Parts<Each>>(Parts<Each>{.script = script,
                                                        .lane = lane,
                                                        .server = server,
                                                        .keys = keys,
                                                        .all = std::move(all),
                                                        .arguments = std::move(arguments),
                                                        .answer = std::move(answer)}));
  }
  template <typename Each>
  void next_part(std::unique_ptr<Parts<Each>> parts) {
    Parts<Each>& p = *parts;
    const std::size_t size = std::min(tickets_per_call_max, p.all.size() - p.from);
    auto arguments = p.arguments(std::span<const Each>{p.all}.subspan(p.from, size));
    p.from += size;
    call<LaneCode>(
        p.script, p.lane, p.server, p.keys, std::move(arguments),
        [this, parts = std::move(parts)](base::Result<LaneCode> code) mutable {
          if (!code || *code != LaneCode::done || parts->from == parts->all.size())
            return parts->answer(std::move(code));
          next_part(std::move(parts));
        },
        code_in);
  }

  Redis& redis_;
  const RedisLanesConfig config_;
  std::map<std::string_view, RedisScript> scripts_;  // constant after construction
};

}  // namespace

std::unique_ptr<LaneScripts> make_redis_lanes(Redis& redis, RedisLanesConfig config) {
  return std::make_unique<RedisLanes>(redis, config);
}

}  // namespace seckill::admission::redis

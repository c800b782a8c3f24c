#include "lanes/kept_lane.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "admission/redis/lane_arguments.hpp"
#include "admission/redis/lane_keys.hpp"
#include "admission/redis/packed_mark.hpp"

namespace seckill::admission::redis::test {
namespace {

using Fields = std::map<std::string, std::string, std::less<>>;

Fields fields_of(const RedisReply& reply) {
  Fields fields;
  for (std::size_t i = 0; i + 1 < reply.items().size(); i += 2) {
    fields.emplace(reply.items()[i].text(), reply.items()[i + 1].text());
  }
  return fields;
}

template <typename Number = std::int64_t>
Number number(const Fields& fields, std::string_view name) {
  const auto found = fields.find(name);
  Number value = 0;
  if (found != fields.end()) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  }
  return value;
}

model::ItemTerms terms_in(const Fields& stock) {
  model::ItemTerms terms;
  if (!stock.contains("version")) return terms;
  terms.starts_at = number(stock, "starts_at");
  terms.ends_at = number(stock, "ends_at");
  terms.state = static_cast<model::SaleState>(number(stock, "state"));
  terms.price_minor = number(stock, "price_minor");
  terms.currency = *model::Currency::parse(stock.find("currency")->second);
  terms.limit = number(stock, "limit");
  terms.tickets_max = static_cast<std::uint32_t>(number(stock, "tickets_max"));
  terms.pay_window_ms = number(stock, "pay_window_ms");
  terms.version = number(stock, "version");
  return terms;
}

steps::LanePhase phase_in(const Fields& stock) {
  const auto phase = stock.find("phase");
  if (phase == stock.end()) return steps::LanePhase::missing;
  if (phase->second == "open") return steps::LanePhase::open;
  return phase->second == "closed" ? steps::LanePhase::closed : steps::LanePhase::installing;
}

// One lane's five keys, in the order of keys_of().
void read_into(KeptLane& kept, steps::LaneState& lane, std::span<const RedisReply> keys) {
  const Fields stock = fields_of(keys[0]);
  const auto fault = [&](std::string what) { kept.faults.push_back(std::move(what)); };
  lane.phase = phase_in(stock);
  lane.generation = number<model::Generation>(stock, "generation");
  lane.leader = number<std::uint64_t>(stock, "leader");
  lane.closed_generation = number<model::Generation>(stock, "closed_generation");
  lane.terms = terms_in(stock);
  lane.stock = {.available = number(stock, "available"), .held = number(stock, "held"), .sold = number(stock, "sold")};
  lane.epoch = number<std::uint64_t>(stock, "epoch");
  lane.tickets = number<std::uint64_t>(stock, "tickets");
  const auto lines = stock.find("terms");
  const auto terms = TermsLines::parse(lines == stock.end() ? "" : lines->second);
  if (!terms) return fault("terms cannot be read");

  const Fields index = fields_of(keys[2]);
  const Fields claims = fields_of(keys[3]);
  const Fields ages = fields_of(keys[4]);
  std::size_t tickets = 0;
  for (const auto& [buyer, mark] : fields_of(keys[1])) {
    auto read = unpack_mark(mark, *terms);
    if (!read) {
      fault("the mark of " + buyer + " cannot be read");
      continue;
    }
    for (const steps::LaneTicket& ticket : *read) {
      ++tickets;
      const auto indexed = index.find(ticket_index(ticket.ticket));
      if (indexed == index.end() || indexed->second != buyer) fault("a ticket is not in the index");
      const std::string packed = pack_ticket(ticket.ticket);
      if (ticket.published == claims.contains(packed)) fault("P5: a ticket is open and has no intent, or the reverse");
      if (ticket.published) continue;
      if (number(ages, packed) != ticket.admitted_at) fault("an open intent has another age than its ticket");
      lane.intents.emplace(lane.next_entry++,
                           steps::OpenIntent{.ticket = ticket.ticket, .claimed_at = number(claims, packed)});
    }
    lane.marks.push_back({.buyer = model::BuyerId::trusted(buyer), .tickets = *std::move(read)});
  }
  if (tickets != index.size() || tickets != lane.tickets) fault("tickets and their index are not as many");
  if (ages.size() != claims.size() || std::ssize(claims) != number(stock, "intents")) fault("intents disagree");
  if (std::ssize(lane.marks) != number(stock, "marks")) fault("marks are not as many as their count");
}

void read_transfers(KeptLane& kept, std::span<const RedisReply> keys) {
  const Fields closed_at = fields_of(keys[2]);
  for (const std::size_t key : {0U, 1U}) {
    for (const auto& [id, record] : fields_of(keys[key])) {
      steps::TransferMemory memory;
      memory.record.id = id;
      memory.record.debit = record.starts_with("debit");
      std::array<std::int64_t, 4> numbers{};
      const char* at = record.data() + record.find(' ');
      for (std::int64_t& one : numbers) at = std::from_chars(at + 1, record.data() + record.size(), one).ptr;
      memory.record.units = numbers[0];
      memory.record.other = static_cast<std::int32_t>(numbers[1]);
      memory.record.other_generation = static_cast<model::Generation>(numbers[2]);
      memory.record.at = numbers[3];
      if (key == 1) memory.closed_at = number(closed_at, id);
      if (!kept.state.transfers.emplace(id, memory).second) kept.faults.push_back("a transfer is open and closed");
    }
  }
}

// FS-21: a key of a lane lives as long as its stock, and longer than its sale and all payments.
void check_lives(KeptLane& kept, const Fields& stock, std::span<const RedisReply> lives) {
  if (kept.state.phase == steps::LanePhase::missing) return;
  const std::int64_t expires_at = number(stock, "expires_at");
  const model::ItemTerms& terms = kept.state.terms;
  if (expires_at < terms.ends_at + terms.pay_window_ms + lane_life_after_ms) {
    kept.faults.emplace_back("FS-21: the lane expires too early");
  }
  for (std::size_t i = 0; i < 8; ++i) {
    const std::int64_t life = lives[i].integer().value_or(0);
    if (life != -2 && life != expires_at) {
      kept.faults.push_back(fmt::format("FS-21: key {} expires at {}, its lane at {}", i, life, expires_at));
    }
  }
}

}  // namespace

KeptLane kept_lane(LanesOnRedis& redis, const LaneKey& lane) {
  const std::vector<std::string> keys = keys_of(lane, LaneKeys::installing);
  std::vector<std::vector<std::string>> questions;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool is_sorted = i == 3 || i == 4 || i == 7 || i == 11 || i == 12;
    questions.push_back(is_sorted ? std::vector<std::string>{"ZRANGE", keys[i], "0", "-1", "WITHSCORES"}
                                  : std::vector<std::string>{"HGETALL", keys[i]});
  }
  for (const std::string& key : keys) questions.push_back({"PEXPIRETIME", key});
  const std::vector<RedisReply> replies = redis.commands(lane, std::move(questions));
  const std::span<const RedisReply> all{replies};

  KeptLane kept{.state = steps::LaneState{lane}, .faults = {}};
  read_into(kept, kept.state, all.subspan(0, 5));
  read_transfers(kept, all.subspan(5, 3));
  if (!all[8].items().empty()) {
    kept.state.beside.emplace_back(lane);
    read_into(kept, kept.state.beside.front(), all.subspan(8, 5));
  }
  check_lives(kept, fields_of(all[0]), all.subspan(13));
  return kept;
}

}  // namespace seckill::admission::redis::test

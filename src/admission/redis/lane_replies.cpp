#include "admission/redis/lane_replies.hpp"

#include <charconv>

#include "admission/redis/packed_mark.hpp"
#include "base/hash.hpp"

namespace seckill::admission::redis {
namespace {

using Items = std::vector<RedisReply>;

std::optional<LaneCode> code_from(std::string_view text) {
  if (text == "done") return LaneCode::done;
  if (text == "closed") return LaneCode::closed;
  if (text == "stale") return LaneCode::stale;
  if (text == "refused") return LaneCode::refused;
  return std::nullopt;
}

std::int64_t number(const RedisReply& reply) { return reply.integer().value_or(0); }

// A cursor is any 64-bit number, so it travels as text.
std::optional<std::uint64_t> cursor_in(const RedisReply& reply) {
  const std::string_view text = reply.text();
  std::uint64_t cursor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cursor);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return cursor;
}

// Where intents come from: the lane as it says it is, with its terms.
struct Source {
  const LaneKey& lane;
  model::Generation generation;
  TermsLines terms;

  [[nodiscard]] model::OrderIntent intent(const model::BuyerId& buyer, const steps::LaneTicket& ticket) const {
    return {.ticket = ticket.ticket,
            .item = lane.item,
            .buyer = buyer,
            .request_id = ticket.request_id,
            .digest = ticket.digest,
            .lane = lane.lane,
            .generation = generation,
            .units = ticket.units,
            .price_minor = ticket.terms->price_minor,
            .currency = ticket.terms->currency,
            .limit = ticket.terms->limit,
            .pay_window_ms = ticket.terms->pay_window_ms,
            .admitted_at = ticket.admitted_at,
            .fields = ticket.terms->fields};
  }
};

std::optional<Source> source_of(const LaneKey& lane, std::int64_t generation, const RedisReply& terms) {
  auto lines = TermsLines::parse(terms.text());
  if (!lines || generation < 0 || generation > UINT32_MAX) return std::nullopt;
  return Source{lane, static_cast<model::Generation>(generation), *std::move(lines)};
}

// The pairs (buyer, tickets) from this place on.
template <typename Each>
bool each_mark(const Items& items, std::size_t from, const Source& source, const Each& each) {
  if ((items.size() - from) % 2 != 0) return false;
  for (std::size_t i = from; i < items.size(); i += 2) {
    const auto buyer = model::BuyerId::stored(items[i].text());
    const auto tickets = unpack_mark(items[i + 1].text(), source.terms);
    if (!buyer || !tickets) return false;
    for (const steps::LaneTicket& ticket : *tickets) each(*buyer, ticket);
  }
  return true;
}

// What a live ticket that is not known durable elsewhere must have.
bool has_its_intent(const steps::LaneTicket& ticket) { return ticket.published || ticket.terms.has_value(); }

LaneDecision decided(Decision decision) {
  LaneDecision one;
  one.decision = decision;
  return one;
}

LaneDecision admitted(const Source& source, const LaneAsk& ask, base::UtcMs now, const steps::IntentTerms& terms) {
  steps::LaneTicket ticket{.ticket = ask.ticket,
                           .request_id = ask.request_id,
                           .digest = ask.digest,
                           .units = ask.units,
                           .admitted_at = now,
                           .terms = terms};
  ticket.terms->fields = ask.fields;
  LaneDecision decision = decided(Decision::admit);
  decision.ticket = steps::view_of(ticket);
  decision.intent = source.intent(ask.buyer, ticket);
  return decision;
}

std::optional<LaneDecision> replayed(const Source& source, const LaneAsk& ask, const RedisReply& record) {
  const auto tickets = unpack_mark(record.text(), source.terms);
  if (!tickets || tickets->size() != 1 || !has_its_intent(tickets->front())) return std::nullopt;
  const steps::LaneTicket& same = tickets->front();
  LaneDecision decision = decided(Decision::replay);
  decision.ticket = steps::view_of(same);
  decision.published = same.published;
  if (!same.published) decision.intent = source.intent(ask.buyer, same);
  return decision;
}

std::optional<LaneDecision> limited(const Source& source, const LaneAsk& ask, const RedisReply& mark) {
  const auto tickets = unpack_mark(mark.text(), source.terms);
  if (!tickets) return std::nullopt;
  LaneDecision decision = decided(Decision::limit_reached);
  for (const steps::LaneTicket& ticket : *tickets) {
    if (!ticket.live()) continue;
    if (!has_its_intent(ticket)) return std::nullopt;
    if (ticket.published) {
      decision.own.push_back(steps::view_of(ticket));
    } else {
      decision.own_unpublished.push_back(source.intent(ask.buyer, ticket));
    }
  }
  return decision;
}

std::optional<LaneDecision> refused(std::int64_t code) {
  switch (code) {
    case 0: return decided(Decision::short_of_stock);
    case -1: return decided(Decision::limit_reached);
    case -2: return decided(Decision::request_conflict);
    case -3: return decided(Decision::not_started);
    case -4: return decided(Decision::ended);
    case -5: return decided(Decision::paused);
    case -9: return decided(Decision::busy);
    default: return std::nullopt;
  }
}

std::optional<LaneTransferRecord> transfer_in(std::string_view id, std::string_view text) {
  LaneTransferRecord record;
  record.id = id;
  record.debit = text.starts_with("debit ");
  if (!record.debit && !text.starts_with("credit ")) return std::nullopt;
  text.remove_prefix(text.find(' '));
  const auto take = [&text](auto& value) {
    if (!text.starts_with(' ')) return false;
    text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return error == std::errc{};
  };
  if (!take(record.units) || !take(record.other) || !take(record.other_generation) || !take(record.at)) return {};
  return record;
}

}  // namespace

std::optional<LaneCode> code_in(const RedisReply& reply) {
  return reply.items().empty() ? std::nullopt : code_from(reply.items().front().text());
}

std::optional<base::UtcMs> time_in(const RedisReply& reply, std::size_t place) {
  return reply.items().size() > place ? reply.items()[place].integer() : std::nullopt;
}

std::optional<LaneDecisions> decisions_in(const RedisReply& reply, const LaneKey& lane, model::Generation generation,
                                          std::span<const LaneAsk> asks) {
  constexpr std::size_t first = 4;
  const auto code = code_in(reply);
  if (!code) return std::nullopt;
  LaneDecisions answer{.code = *code, .decisions = {}};
  if (*code != LaneCode::done) return answer;
  const Items& items = reply.items();
  if (items.size() != first + asks.size()) return std::nullopt;
  const auto source = source_of(lane, generation, items[3]);
  if (!source) return std::nullopt;
  const auto current = source->terms.at(static_cast<std::size_t>(number(items[2])));
  if (!current) return std::nullopt;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const RedisReply& one = items[first + i];
    std::optional<LaneDecision> decision;
    if (one.kind() == RedisReply::Kind::array && one.items().size() == 2) {
      const RedisReply& packed = one.items()[1];
      decision = number(one.items()[0]) == 1 ? replayed(*source, asks[i], packed) : limited(*source, asks[i], packed);
    } else if (const auto simple = one.integer()) {
      decision = *simple == 1 ? admitted(*source, asks[i], number(items[1]), *current) : refused(*simple);
    }
    if (!decision) return std::nullopt;
    answer.decisions.push_back(*std::move(decision));
  }
  return answer;
}

std::optional<std::vector<model::OrderIntent>> claimed_in(const RedisReply& reply, const LaneKey& lane) {
  const Items& items = reply.items();
  if (items.size() < 3) return std::nullopt;
  const auto source = source_of(lane, number(items[1]), items[2]);
  std::vector<model::OrderIntent> intents;
  bool all_whole = source.has_value();
  all_whole = all_whole && each_mark(items, 3, *source, [&](const auto& buyer, const auto& ticket) {
                if (ticket.terms) {
                  intents.push_back(source->intent(buyer, ticket));
                } else {
                  all_whole = false;
                }
              });
  if (!all_whole) return std::nullopt;
  return intents;
}

std::optional<LaneScripts::MarkPage> page_in(const RedisReply& reply, const LaneKey& lane, base::UtcMs before) {
  const Items& items = reply.items();
  if (items.size() < 3) return std::nullopt;
  LaneScripts::MarkPage page;
  const auto next = cursor_in(items[0]);
  if (!next) return std::nullopt;
  page.next = *next;
  const auto source = source_of(lane, number(items[1]), items[2]);
  const bool all_read = source && each_mark(items, 3, *source, [&](const auto& buyer, const auto& ticket) {
                          if (ticket.terms && ticket.admitted_at < before) {
                            page.intents.push_back(source->intent(buyer, ticket));
                          }
                        });
  if (!all_read) return std::nullopt;
  return page;
}

std::optional<LaneScripts::HolderPage> holders_in(const RedisReply& reply) {
  const auto code = code_in(reply);
  if (!code) return std::nullopt;
  LaneScripts::HolderPage page;
  page.code = *code;
  if (*code != LaneCode::done) return page;
  const Items& items = reply.items();
  const auto next = items.size() < 3 ? std::nullopt : cursor_in(items[2]);
  if (!next) return std::nullopt;
  page.generation = static_cast<model::Generation>(number(items[1]));
  page.next = *next;
  for (std::size_t i = 3; i < items.size(); ++i) page.fingerprints.push_back(base::xxh3_64(items[i].text()));
  return page;
}

std::optional<LaneReading> reading_in(const RedisReply& reply) {
  constexpr std::size_t first_transfer = 10;
  const Items& items = reply.items();
  if (items.size() < 2) return std::nullopt;
  LaneReading reading;
  if (items[0].text() == "missing") return reading;
  if (items.size() < first_transfer || (items.size() - first_transfer) % 2 != 0) return std::nullopt;
  reading.known = true;
  reading.open = items[0].text() == "open";
  reading.generation = static_cast<model::Generation>(number(items[2]));
  reading.stock = {.available = number(items[3]), .held = number(items[4]), .sold = number(items[5])};
  reading.epoch = static_cast<std::uint64_t>(number(items[6]));
  reading.marks = number(items[7]);
  reading.open_intents = number(items[8]);
  reading.oldest_open_intent = number(items[9]);
  for (std::size_t i = first_transfer; i < items.size(); i += 2) {
    auto transfer = transfer_in(items[i].text(), items[i + 1].text());
    if (!transfer) return std::nullopt;
    reading.transfers.push_back(*std::move(transfer));
  }
  return reading;
}

std::optional<LaneScripts::FoundTickets> found_in(const RedisReply& reply, const LaneKey& lane,
                                                  const model::BuyerId& buyer) {
  const auto code = code_in(reply);
  if (!code) return std::nullopt;
  LaneScripts::FoundTickets found;
  found.code = *code;
  if (*code != LaneCode::done) return found;
  const Items& items = reply.items();
  if (items.size() != 4) return std::nullopt;
  const auto source = source_of(lane, number(items[1]), items[2]);
  const auto tickets = source ? unpack_mark(items[3].text(), source->terms) : std::nullopt;
  if (!tickets) return std::nullopt;
  found.generation = source->generation;
  for (const steps::LaneTicket& ticket : *tickets) {
    if (!has_its_intent(ticket)) return std::nullopt;
    found.tickets.push_back(steps::view_of(ticket));
    if (ticket.live() && !ticket.published) found.unpublished.push_back(source->intent(buyer, ticket));
  }
  return found;
}

std::optional<LaneDebit> debit_in(const RedisReply& reply) {
  const auto code = code_in(reply);
  if (!code || reply.items().size() < 2) return std::nullopt;
  return LaneDebit{.code = *code, .units = number(reply.items()[1])};
}

std::optional<AdoptReply> adopted_in(const RedisReply& reply) {
  const auto code = code_in(reply);
  if (!code || reply.items().size() < 3) return std::nullopt;
  const std::string_view adopted = reply.items()[1].text();
  AdoptReply answer{.code = *code,
                    .adopted = adopted == "adopted"      ? Adopted::adopted
                               : adopted == "superseded" ? Adopted::superseded
                                                         : Adopted::refused,
                    .generation = static_cast<model::Generation>(number(reply.items()[2]))};
  return answer;
}

}  // namespace seckill::admission::redis

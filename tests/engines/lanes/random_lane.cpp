#include "lanes/random_lane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/redis/lane_keys.hpp"
#include "admission/redis/lane_replies.hpp"

namespace seckill::admission::redis::test {
namespace {

// Ids that differ in case, in trailing space or in composition are different ids (FS-68); so are one that begins
// another, and a UUID and the text of its bytes.
constexpr std::array<std::string_view, 6> buyers{"b0",       "B0",        "b0 ",
                                                 "\xc3\xa9", "e\xcc\x81", "a-buyer-with-a-long-name"};
constexpr std::array<std::string_view, 8> request_ids{"r",
                                                      "r1",
                                                      "R1",
                                                      "61626364-6566-6768-696a-6b6c6d6e6f70",
                                                      "abcdefghijklmnop",
                                                      "61626364-6566-6768-696A-6B6C6D6E6F70",
                                                      "01ARZ3NDEKTSV4RRFFQ69G5FAV",
                                                      "r-234567890123456789012345678901234567890123456789012345678901"};

}  // namespace

RandomLane::RandomLane(LanesOnRedis& redis, std::uint64_t seed)
    : redis_{redis},
      random_{seed},
      key_{redis.fresh_lane()},
      server_{redis.server_of(key_)},
      model_{key_},
      started_{base::SystemClock{}.now_utc()} {
  rebuild();
}

std::int64_t RandomLane::pick(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
}
model::BuyerId RandomLane::buyer() {
  return *model::BuyerId::parse(buyers[static_cast<std::size_t>(pick(0, buyers.size() - 1))]);
}
model::RequestId RandomLane::request_id() {
  return *model::RequestId::parse(request_ids[static_cast<std::size_t>(pick(0, request_ids.size() - 1))]);
}
model::OrderFields RandomLane::fields() {
  if (!once_in(3)) return nullptr;
  return std::make_shared<const std::string>(once_in(4) ? std::string(700, 'f') : R"({"receiver":"\u0000"})");
}
std::uint64_t RandomLane::digest() { return once_in(5) ? UINT64_MAX - 5 : 3; }
model::Ticket RandomLane::ticket(const model::BuyerId& buyer, const model::RequestId& request_id) const {
  return model::derive_ticket({}, key_.item, buyer, request_id.view(), key_.lane);
}
model::Ticket RandomLane::any_ticket() {
  const auto who = buyer();
  return ticket(who, request_id());
}
model::Generation RandomLane::about(model::Generation generation) {
  return once_in(4) ? generation + static_cast<model::Generation>(pick(0, 2)) - (generation > 0 ? 1 : 0) : generation;
}
std::string RandomLane::transfer_id() { return fmt::format("t{}", pick(0, 7)); }

model::ItemTerms RandomLane::terms() {
  model::ItemTerms terms;
  terms.starts_at = once_in(12) ? started_ + 3'600'000 : started_ - 1'000;
  terms.ends_at = once_in(12) ? started_ + pick(0, 3'000) : started_ + 7'200'000 + pick(0, 3) * 60'000;
  terms.state = once_in(10) ? static_cast<model::SaleState>(pick(1, 4)) : model::SaleState::preloaded;
  terms.price_minor = once_in(6) ? 100'000'000'000 : 9'900;
  terms.currency = once_in(6) ? *model::Currency::parse("EUR") : model::Currency{};
  terms.limit = pick(1, 6);
  terms.tickets_max = static_cast<std::uint32_t>(once_in(6) ? 16 : pick(1, 4));
  terms.pay_window_ms = once_in(3) ? 60'000 : 900'000;
  terms.version = model_.terms.version + pick(-1, 2);
  return terms;
}

base::UtcMs RandomLane::time_at(std::size_t place) const {
  return time_in(redis_.redis().last(), place).value_or(0);  // none: the step was not as far as to use it
}

void RandomLane::compare(std::string_view what, const std::string& script, const std::string& step) {
  if (script == step) return;
  same_ = false;
  ADD_FAILURE() << "after " << said_ << ": " << what << " of the script:\n" << script << "\nof the step:\n" << step;
}

bool RandomLane::step() {
  switch (pick(0, 36)) {
    case 0: confirm(); break;
    case 1: confirm(); break;
    case 2: claim(); break;
    case 3: marks(); break;
    case 4: once_in(2) ? read() : holders(); break;
    case 5: find(); break;
    case 6: end(true); break;
    case 7: end(true); break;
    case 8: end(false); break;
    case 9: debit(); break;
    case 10: debit(); break;
    case 11: undo(); break;
    case 12: credit(); break;
    case 13: credit(); break;
    case 14: close_transfer(); break;
    case 15: close_transfer(); break;
    case 16: age_transfers(); break;
    case 17: configure(); break;
    case 18: configure(); break;
    case 19: adopt(); break;
    case 20: adopt(); break;
    case 21: adopt(); break;
    case 22: once_in(3) ? close() : read(); break;
    case 23: begin(); break;
    case 24: batch(); break;
    case 25: open(); break;
    case 26: rebuild(); break;
    default: model_.phase == steps::LanePhase::open || once_in(4) ? admit() : rebuild(); break;
  }
  compare("what is kept", text(kept_lane(redis_, key_)), text(model_));
  return same_;
}

void RandomLane::admit() {
  std::vector<LaneAsk> asks;
  for (std::int64_t i = pick(1, 8); i > 0; --i) {
    const auto who = buyer();
    const auto id = request_id();
    asks.push_back({.buyer = who,
                    .request_id = id,
                    .ticket = ticket(who, id),
                    .units = once_in(30)   ? INT64_MAX
                             : once_in(30) ? INT64_MIN
                                           : pick(-1, 4),
                    .digest = digest(),
                    .fields = fields()});
  }
  const model::Generation generation = about(model_.generation);
  said_ = fmt::format("admit of {}", asks.size());
  const auto script = ask<LaneDecisions>(
      [&](auto answer) { redis_.lanes().admit(key_, server_, generation, asks, std::move(answer)); });
  compare("the answer", text(script), text(steps::admit(model_, generation, asks, time_at(1))));
}

void RandomLane::confirm() {
  std::vector<model::Ticket> tickets;
  for (std::int64_t i = pick(1, 6); i > 0; --i) tickets.push_back(any_ticket());
  said_ = "confirm_published";
  const auto script =
      ask<LaneCode>([&](auto answer) { redis_.lanes().confirm_published(key_, server_, tickets, std::move(answer)); });
  compare("the answer", text(script), text(steps::confirm_published(model_, tickets)));
}

void RandomLane::claim() {
  const std::int64_t age = std::array<std::int64_t, 4>{0, 5, 100, 1'000'000}[static_cast<std::size_t>(pick(0, 3))];
  const auto count = static_cast<std::size_t>(once_in(3) ? pick(0, 3) : 100);
  said_ = fmt::format("claim_intents age {} count {}", age, count);
  const auto script = ask<std::vector<model::OrderIntent>>(
      [&](auto answer) { redis_.lanes().claim_intents(key_, server_, age, count, std::move(answer)); });
  if (count == 0) return compare("the answer", text(script), "");
  const base::UtcMs now = time_at(0);
  steps::LaneState all = model_;
  const auto claimable = steps::claim_intents(all, age, 1'000, now);
  if (claimable.size() <= count) {
    model_ = std::move(all);
    return compare("the answer", text(script), text(claimable));
  }
  // Which of them is the engine's to say: all must be claimable, and as many as asked.
  compare("the count", std::to_string(script.size()), std::to_string(count));
  for (const model::OrderIntent& intent : script) {
    const auto found = std::ranges::find(claimable, intent.ticket, &model::OrderIntent::ticket);
    compare("an intent", text(intent), found == claimable.end() ? "not claimable" : text(*found));
    for (auto& [entry, open] : model_.intents) {
      if (open.ticket == intent.ticket) open.claimed_at = now;
    }
  }
}

void RandomLane::marks() {
  const base::UtcMs before = started_ + pick(-1'000, 60'000);
  const auto all_pages = [](const auto& page_of) {
    std::vector<model::OrderIntent> intents;
    std::uint64_t cursor = 0;
    do {
      const LaneScripts::MarkPage page = page_of(cursor);
      intents.insert(intents.end(), page.intents.begin(), page.intents.end());
      cursor = page.next;
    } while (cursor != 0);
    return text(intents);
  };
  said_ = "live_marks";
  const auto script = all_pages([&](std::uint64_t cursor) {
    return ask<LaneScripts::MarkPage>(
        [&](auto answer) { redis_.lanes().live_marks(key_, server_, before, cursor, std::move(answer)); });
  });
  compare("the answer", script,
          all_pages([&](std::uint64_t cursor) { return steps::live_marks(model_, before, cursor); }));
}

void RandomLane::holders() {
  said_ = "mark_holders";
  const auto script = ask<LaneScripts::HolderPage>(
      [&](auto answer) { redis_.lanes().mark_holders(key_, server_, 0, std::move(answer)); });
  compare("the answer", text(script), text(steps::mark_holders(model_, 0)));
}

void RandomLane::read() {
  said_ = "read";
  const auto script = ask<LaneReading>([&](auto answer) { redis_.lanes().read(key_, server_, std::move(answer)); });
  compare("the answer", text(script), text(steps::read(model_)));
}

void RandomLane::find() {
  const auto who = buyer();
  said_ = "buyer_tickets";
  const auto script = ask<LaneScripts::FoundTickets>(
      [&](auto answer) { redis_.lanes().buyer_tickets(key_, server_, who, std::move(answer)); });
  compare("the answer", text(script), text(steps::buyer_tickets(model_, who)));
}

void RandomLane::end(bool released) {
  const auto one = any_ticket();
  said_ = released ? "release" : "post";
  const auto script = ask<LaneCode>([&](auto answer) {
    released ? redis_.lanes().release(key_, server_, one, std::move(answer))
             : redis_.lanes().post(key_, server_, one, std::move(answer));
  });
  compare("the answer", text(script), text(released ? steps::release(model_, one) : steps::post(model_, one)));
}

}  // namespace seckill::admission::redis::test

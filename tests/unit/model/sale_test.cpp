// The rules of a sale: what is sound, what an edit may change and when, and the phases of the half-open interval.
#include "model/sale.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

namespace seckill::model {
namespace {

constexpr base::UtcMs start = 1'800'000'000'500;
constexpr base::UtcMs end = start + 3'600'000;

Sale sound_sale() {
  Sale sale;
  sale.id = *SaleId::parse("double-11_a");
  sale.title = "双十一";
  sale.starts_at = start;
  sale.ends_at = end;
  SaleItem item;
  item.sku = *Sku::parse("sku-1");
  item.title = "A thing";
  item.price_minor = 9'900;
  item.list_price_minor = 19'900;
  item.total = 100;
  item.limit = 2;
  sale.items.push_back(item);
  return sale;
}

// The one problem that the change makes; the test fails when there is none or more than one.
std::string problem(const std::function<void(Sale&)>& change) {
  Sale sale = sound_sale();
  change(sale);
  const std::vector<std::string> problems = problems_of(sale);
  EXPECT_EQ(problems.size(), 1U) << fmt::format("{}", fmt::join(problems, "; "));
  return problems.empty() ? "" : problems.front();
}

TEST(SaleRules, a_sound_sale_has_no_problems) { EXPECT_TRUE(problems_of(sound_sale()).empty()); }

TEST(SaleRules, each_broken_rule_is_one_sentence_that_names_it) {
  const std::vector<std::pair<std::string, std::function<void(Sale&)>>> cases{
      {"id must be", [](Sale& s) { s.id = {}; }},
      {"title must be", [](Sale& s) { s.title.clear(); }},
      {"title must be", [](Sale& s) { s.title = "\xff"; }},
      {"title must be", [](Sale& s) { s.title = std::string(256, 'x'); }},
      {"starts_at is missing", [](Sale& s) { s.starts_at = 0, s.ends_at = 1'000; }},
      {"ends_at must be after", [](Sale& s) { s.ends_at = s.starts_at; }},
      {"366 days", [](Sale& s) { s.ends_at = s.starts_at + 367LL * 86'400'000; }},
      {"number of items", [](Sale& s) { s.items.clear(); }},
      {"sku-1.title", [](Sale& s) { s.items[0].title.clear(); }},
      {"sku-1.price_minor", [](Sale& s) { s.items[0].price_minor = -1; }},
      {"sku-1.price_minor", [](Sale& s) { s.items[0].price_minor = std::numeric_limits<std::int64_t>::max(); }},
      {"sku-1.list_price_minor", [](Sale& s) { s.items[0].list_price_minor = -1; }},
      {"sku-1.total", [](Sale& s) { s.items[0].total = 0; }},
      {"sku-1.total", [](Sale& s) { s.items[0].total = 100'000'001; }},
      {"sku-1.reserve", [](Sale& s) { s.items[0].reserve = 100; }},
      {"sku-1.limit", [](Sale& s) { s.items[0].limit = 0; }},
      {"sku-1.limit", [](Sale& s) { s.items[0].limit = 1'001; }},
      {"sku-1.tickets_max", [](Sale& s) { s.items[0].tickets_max = 0; }},
      {"sku-1.tickets_max", [](Sale& s) { s.items[0].tickets_max = 17; }},
      {"sku-1.pay_window_ms", [](Sale& s) { s.items[0].pay_window_ms = 999; }},
      {"sku-1.lanes", [](Sale& s) { s.items[0].lanes = 13; }},
      {"order_fields: at most",
       [](Sale& s) { s.items[0].order_fields = {"a", "b", "c", "d", "e", "f", "g", "h", "i"}; }},
      {"order_fields[0]", [](Sale& s) { s.items[0].order_fields = {"with space"}; }},
      {"appears twice", [](Sale& s) { s.items.push_back(s.items[0]); }},
  };
  for (const auto& [words, change] : cases) {
    const std::string said = problem(change);
    EXPECT_NE(said.find(words), std::string::npos) << "'" << said << "' should say '" << words << "'";
  }
}

TEST(SaleRules, all_problems_are_told_at_once) {
  Sale sale = sound_sale();
  sale.title.clear();
  sale.ends_at = 0;
  sale.items[0].limit = -1;
  sale.items[0].total = -5;
  EXPECT_GE(problems_of(sale).size(), 4U);
}

TEST(Phase, FS_72_the_interval_is_half_open_to_the_millisecond) {
  using enum SaleState;
  EXPECT_EQ(phase_at(preloaded, start, end, start - 1), Phase::not_started);
  EXPECT_EQ(phase_at(preloaded, start, end, start), Phase::open);
  EXPECT_EQ(phase_at(preloaded, start, end, end - 1), Phase::open);
  EXPECT_EQ(phase_at(preloaded, start, end, end), Phase::ended);
  EXPECT_EQ(phase_at(preloaded, start, end, end + 1), Phase::ended);
}

TEST(Phase, paused_hides_neither_the_future_nor_the_end) {
  using enum SaleState;
  EXPECT_EQ(phase_at(paused, start, end, start - 1), Phase::not_started);
  EXPECT_EQ(phase_at(paused, start, end, start), Phase::paused);
  EXPECT_EQ(phase_at(paused, start, end, end), Phase::ended);
  EXPECT_EQ(phase_at(draft, start, end, start), Phase::not_started);
  EXPECT_EQ(phase_at(draft, start, end, end), Phase::ended);
  EXPECT_EQ(phase_at(closed, start, end, start - 1), Phase::ended);
  EXPECT_EQ(phase_at(closed, start, end, start), Phase::ended);
}

TEST(DefaultLanes, at_least_8_units_a_lane_and_at_most_16) {
  EXPECT_EQ(default_lanes(1), 1U);
  EXPECT_EQ(default_lanes(15), 1U);
  EXPECT_EQ(default_lanes(16), 2U);
  EXPECT_EQ(default_lanes(100), 12U);
  EXPECT_EQ(default_lanes(100'000'000), 16U);
}

TEST(Edit, FS_53_an_edit_raises_the_version_and_changes_what_it_names) {
  SaleEdit edit{.version = 1, .title = "New", .starts_at = start + 1'000, .ends_at = end + 1'000, .items = {}};
  ItemEdit item;
  item.sku = *Sku::parse("sku-1");
  item.price_minor = 8'800;
  item.limit = 3;
  item.tickets_max = 4;
  item.pay_window_ms = 60'000;
  item.title = "Renamed";
  edit.items.push_back(item);
  const base::Result<Sale> edited = apply_edit(sound_sale(), edit, start - 10'000);
  ASSERT_TRUE(edited.has_value()) << edited.error().text();
  EXPECT_EQ(edited->version, 2);
  EXPECT_EQ(edited->title, "New");
  EXPECT_EQ(edited->starts_at, start + 1'000);
  EXPECT_EQ(edited->ends_at, end + 1'000);
  EXPECT_EQ(edited->items[0].price_minor, 8'800);
  EXPECT_EQ(edited->items[0].limit, 3);
  EXPECT_EQ(edited->items[0].tickets_max, 4U);
  EXPECT_EQ(edited->items[0].pay_window_ms, 60'000);
  EXPECT_EQ(edited->items[0].title, "Renamed");
  EXPECT_EQ(edited->items[0].total, 100) << "stock is never edited";
}

TEST(Edit, FS_53_forbidden_edits_are_refused_with_a_reason) {
  Sale running = sound_sale();
  running.state = SaleState::preloaded;
  const auto code = [&](SaleEdit edit, base::UtcMs now) {
    if (edit.version == 0) edit.version = 1;
    const base::Result<Sale> edited = apply_edit(running, edit, now);
    return edited ? std::optional<base::Errc>{} : std::optional{edited.error().code};
  };
  SaleEdit edit;
  edit.version = 2;
  EXPECT_EQ(code(edit, start), base::Errc::stale);
  edit = {};
  edit.starts_at = start + 1;
  EXPECT_EQ(code(edit, start), base::Errc::refused) << "a started sale keeps its start";
  edit.starts_at = start - 100;
  EXPECT_EQ(code(edit, start - 50), base::Errc::refused) << "no start in the past";
  EXPECT_EQ(code(edit, start - 200), std::nullopt) << "a start may be pulled forward";
  edit = {};
  edit.ends_at = end + 1;
  EXPECT_EQ(code(edit, start), std::nullopt);
  EXPECT_EQ(code(edit, end), base::Errc::refused) << "it has ended";
  edit.ends_at = start;
  EXPECT_EQ(code(edit, start), base::Errc::invalid) << "an end before the start";
  edit = {};
  ItemEdit item;
  item.sku = *Sku::parse("other");
  edit.items = {item};
  EXPECT_EQ(code(edit, start), base::Errc::invalid) << "items are fixed";
  item.sku = *Sku::parse("sku-1");
  item.price_minor = 0;
  edit.items = {item};
  EXPECT_EQ(code(edit, start), base::Errc::refused) << "price 0 decides how orders end";
  item.price_minor = 1;
  item.limit = 0;
  edit.items = {item};
  EXPECT_EQ(code(edit, start), base::Errc::invalid);
}

TEST(Commands, FS_53_each_state_takes_the_commands_that_make_sense_and_repeats_are_harmless) {
  using enum SaleState;
  using enum SaleCommand;
  const std::map<std::pair<SaleState, SaleCommand>, SaleState> allowed{{{draft, SaleCommand::preload}, preloaded},
                                                                       {{preloaded, SaleCommand::preload}, preloaded},
                                                                       {{paused, SaleCommand::preload}, paused},
                                                                       {{preloaded, pause}, paused},
                                                                       {{paused, pause}, paused},
                                                                       {{paused, resume}, preloaded},
                                                                       {{preloaded, resume}, preloaded},
                                                                       {{draft, close}, closed},
                                                                       {{preloaded, close}, closed},
                                                                       {{paused, close}, closed},
                                                                       {{closed, close}, closed}};
  for (const SaleState state : {draft, preloaded, paused, closed}) {
    for (const SaleCommand command : {SaleCommand::preload, pause, resume, close}) {
      const base::Result<SaleState> next = apply_command(state, command);
      const auto expected = allowed.find({state, command});
      ASSERT_EQ(next.has_value(), expected != allowed.end()) << name(command) << " " << name(state);
      if (next) EXPECT_EQ(*next, expected->second) << name(command) << " " << name(state);
      if (!next) EXPECT_EQ(next.error().code, base::Errc::refused);
    }
  }
}

TEST(Names, kinds_and_states_read_back) {
  for (const SaleKind kind : {SaleKind::goods, SaleKind::coupon, SaleKind::slot, SaleKind::entry}) {
    EXPECT_EQ(sale_kind_from(name(kind)), kind);
    EXPECT_EQ(sale_kind_from(static_cast<std::int64_t>(kind)), kind);
  }
  EXPECT_FALSE(sale_kind_from("Goods").has_value());
  EXPECT_FALSE(sale_kind_from(std::int64_t{0}).has_value());
  for (std::int64_t stored = 1; stored <= 4; ++stored) EXPECT_TRUE(sale_state_from(stored).has_value());
  EXPECT_FALSE(sale_state_from(5).has_value());
}

TEST(Terms, a_lane_gets_the_items_terms_and_the_sales_times) {
  const Sale sale = sound_sale();
  const ItemTerms terms = terms_of(sale, sale.items[0]);
  EXPECT_EQ(terms.starts_at, start);
  EXPECT_EQ(terms.ends_at, end);
  EXPECT_EQ(terms.price_minor, 9'900);
  EXPECT_EQ(terms.limit, 2);
  EXPECT_EQ(terms.version, 1);
  EXPECT_EQ(sale.find(*Sku::parse("sku-1")), &sale.items[0]);
  EXPECT_EQ(sale.find(*Sku::parse("nothing")), nullptr);
}

}  // namespace
}  // namespace seckill::model

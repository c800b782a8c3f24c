#include "simulation/embedded/setup.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace seckill::sim::embedded {
namespace {

using std::chrono::milliseconds;

// A number that is mostly small: simulated sales are, because what breaks, breaks at the edges.
std::int64_t mostly_small(Random& random, std::int64_t lowest, std::int64_t highest) {
  const std::int64_t once = random.between(lowest, highest);
  return random.chance(700) ? std::min(once, random.between(lowest, highest)) : once;
}

Time within(Random& random, Time length) { return Time{random.between(0, length.count())}; }

model::SaleItem draw_item(Random& random, std::size_t index) {
  model::SaleItem item;
  item.sku = *model::Sku::parse(fmt::format("sku{}", index));
  item.title = "A thing";
  item.total = mostly_small(random, 4, 60);
  item.reserve = random.chance(300) ? random.between(0, item.total / 3) : 0;
  item.lanes = static_cast<std::uint32_t>(
      random.between(1, std::max<std::int64_t>(1, std::min<std::int64_t>(8, item.total / 2))));
  item.limit = mostly_small(random, 1, 5);
  item.tickets_max = static_cast<std::uint32_t>(random.chance(300) ? random.between(1, 3) : 16);
  item.price_minor = random.chance(200) ? 0 : 990;
  item.pay_window_ms = mostly_small(random, 1'000, 40'000);
  return item;
}

// Draws the steps of one plan; each kind of step from dice of its own, so that changing one kind leaves the others.
class Drawing {
 public:
  Drawing(std::uint64_t seed, const Setup& setup) : setup_{setup}, random_{Random{seed}.fork("plan")} {
    plan_.seed = seed;
  }

  Plan draw() {
    purchases(random_.fork("purchases"));
    operators(random_.fork("operators"));
    faults(random_.fork("faults"));
    crashes(random_.fork("crashes"));
    settle(plan_);
    return std::move(plan_);
  }

 private:
  void add(Time at, const char* what, std::vector<std::int64_t> numbers) {
    plan_.steps.push_back({.at = at, .number = 0, .what = what, .numbers = std::move(numbers)});
  }

  // A buyer's story: he asks, perhaps again, perhaps with other content, and does something with his ticket.
  void purchases(Random random) {
    const std::int64_t stories = mostly_small(random, 5, 120);
    // Most of the crowd comes in one rush.
    const Time rush = within(random, setup_.plan_length / 2);
    const Time rush_length = milliseconds{random.between(1, 3'000)};
    for (std::int64_t story = 0; story < stories; ++story) {
      const std::int64_t item = random.between(0, std::ssize(setup_.sale.items) - 1);
      const std::int64_t buyer = random.between(0, setup_.buyers - 1);
      const std::int64_t request = random.chance(700) ? story : random.between(0, 3);
      const std::int64_t units = random.chance(700) ? 1 : random.between(1, 4);
      Time at = random.chance(600) ? rush + within(random, rush_length) : within(random, setup_.plan_length);
      add(at, step::buy, {item, buyer, request, units, 0, random.chance(80)});
      while (random.chance(250)) {  // a repeat: a reply was lost, or a thumb is nervous
        at += milliseconds{random.chance(500) ? random.between(0, 5) : random.between(0, 4'000)};
        const bool other = random.chance(150);
        add(at, step::buy,
            {item, buyer, request, other && random.chance(500) ? units + 1 : units, other, random.chance(80)});
      }
      while (random.chance(600)) {
        at += milliseconds{random.chance(300) ? random.between(0, 20) : random.between(0, 20'000)};
        const std::uint64_t die = random.below(10);
        add(at, die < 5 ? step::pay : die < 8 ? step::cancel : step::look, {item, buyer, request});
      }
    }
  }

  void operators(Random random) {
    if (random.chance(300)) return;
    const std::int64_t changes = mostly_small(random, 1, 10);
    for (std::int64_t change = 0; change < changes; ++change) {
      const Time at = within(random, setup_.plan_length);
      const std::int64_t item = random.between(0, std::ssize(setup_.sale.items) - 1);
      const std::uint64_t die = random.below(100);
      if (die < 30) {
        edit(at, item, random);
      } else if (die < 45) {
        add(at, step::pause, {});
        if (random.chance(850)) add(at + milliseconds{random.between(1, 8'000)}, step::resume, {});
      } else if (die < 72) {
        add(at, step::top_up, {item, random.between(1, 12), change, random.chance(300)});
        if (random.chance(300))
          add(at + milliseconds{random.between(0, 9'000)}, step::top_up, plan_.steps.back().numbers);
      } else if (die < 97) {
        add(at, step::reduce, {item, random.between(1, 12), change});
        if (random.chance(300))
          add(at + milliseconds{random.between(0, 9'000)}, step::reduce, plan_.steps.back().numbers);
      } else {
        add(at, step::close, {});
      }
    }
  }

  void edit(Time at, std::int64_t item, Random& random) {
    switch (static_cast<EditedField>(random.below(4))) {
      case EditedField::limit:
        return add(at, step::edit, {item, static_cast<std::int64_t>(EditedField::limit), random.between(1, 5)});
      case EditedField::price:
        return add(at, step::edit, {item, static_cast<std::int64_t>(EditedField::price), random.between(1, 2'000)});
      case EditedField::tickets_max:
        return add(at, step::edit, {item, static_cast<std::int64_t>(EditedField::tickets_max), random.between(1, 16)});
      case EditedField::pay_window_ms:
        return add(at, step::edit,
                   {item, static_cast<std::int64_t>(EditedField::pay_window_ms), random.between(1'000, 40'000)});
    }
  }

  void faults(Random random) {
    if (random.chance(400)) return;
    const std::int64_t times = mostly_small(random, 1, 6);
    for (std::int64_t i = 0; i < times; ++i) {
      const Time at = within(random, setup_.plan_length);
      if (random.chance(250)) {
        add(at, step::down, {random.between(1, 8'000)});
        continue;
      }
      const auto rate = [&](std::int64_t most) { return random.chance(500) ? random.between(0, most) : 0; };
      add(at, step::faults, {rate(200), rate(200), rate(300), rate(200), random.between(100, 15'000)});
    }
  }

  void crashes(Random random) {
    if (random.chance(300)) return;
    const std::int64_t times = mostly_small(random, 1, 5);
    for (std::int64_t i = 0; i < times; ++i) {
      const Time at = within(random, setup_.plan_length);
      const std::int64_t down_ms = random.between(1, 5'000);
      if (random.chance(250)) {
        add(at, step::kill, {down_ms});
      } else {
        add(at, step::crash_at,
            {random.between(0, std::ssize(crash_points()) - 1), mostly_small(random, 1, 20), down_ms});
      }
    }
  }

  const Setup& setup_;
  Random random_;
  Plan plan_;
};

}  // namespace

const std::vector<std::string>& crash_points() {
  static const std::vector<std::string> points{"c1",
                                               "c2",
                                               "c3",
                                               "c4",
                                               "c5",
                                               "c6",
                                               "c7",
                                               "c8",
                                               "c9",
                                               "pool.asked",
                                               "pool.committed",
                                               "lanes.asked",
                                               "lanes.committed",
                                               "sale.asked",
                                               "sale.committed"};
  return points;
}

Setup setup_of(std::uint64_t seed) {
  Random random = Random{seed}.fork("setup");
  Setup setup;
  setup.plan_length = milliseconds{random.between(5'000, 40'000)};
  setup.sale.id = *model::SaleId::parse("sale");
  setup.sale.title = "A sale";
  setup.sale.starts_at = Kernel::utc_at_start + (random.chance(300) ? random.between(0, 5'000) : -1'000);
  // Some end while the crowd still asks; the others last until after all is quiet.
  setup.sale.ends_at = setup.sale.starts_at + (random.chance(250) ? random.between(2'000, 40'000) : 86'400'000);
  setup.sale.created_at = Kernel::utc_at_start - 10'000;
  for (std::uint8_t& byte : setup.sale.ticket_key) byte = static_cast<std::uint8_t>(random.below(256));
  const std::size_t items = random.chance(750) ? 1 : 2;
  for (std::size_t i = 0; i < items; ++i) setup.sale.items.push_back(draw_item(random, i));
  setup.buyers = mostly_small(random, 2, 40);
  if (random.chance(300)) {
    setup.queue.capacity = static_cast<std::size_t>(random.between(8, 40));
    setup.queue.batch_max = static_cast<std::size_t>(random.between(1, 8));
  }
  return setup;
}

Plan draw(std::uint64_t seed) {
  const Setup setup = setup_of(seed);
  return Drawing{seed, setup}.draw();
}

}  // namespace seckill::sim::embedded

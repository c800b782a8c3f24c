// What one core does in the lanes: admissions (hold + mark + intent) up to a million winners through an instant queue,
// bytes a winner by what the allocator handed out, repeats, refusals, early refusals, and building lanes from rows.
// Prints one figure a line: name value unit. Single thread, no input, no network; ends by itself in a few seconds.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "admission/memory/memory_admission.hpp"
#include "base/crypto.hpp"
#include "bench_store.hpp"
#include "queue/direct/direct_queue.hpp"

namespace {

using namespace seckill;
using admission::AdmitReply;
using admission::AdmitRequest;
using model::PurchaseAnswer;

constexpr std::int64_t winners = 1'000'000;
constexpr std::int64_t last_part =
    100'000;  // the figure is taken over these last holds, when a million winners are there
constexpr std::int64_t losers = 200'000;

// Durable at once: the confirmation waits only for publish() to return, as the port demands.
class InstantQueue final : public queue::IntentQueue {
 public:
  bool try_reserve(std::size_t) noexcept override { return true; }
  void cancel_reservation(std::size_t) noexcept override {}
  void publish(model::LaneRecord record, queue::Confirm confirm) noexcept override {
    record_ = std::move(record);
    confirms_.push_back(std::move(confirm));
  }
  std::size_t depth() const noexcept override { return confirms_.size(); }
  void confirm_all() {
    const queue::Confirmation landed{.durable = true, .landed = store::Landed{}};
    for (queue::Confirm& confirm : confirms_) confirm(landed);
    confirms_.clear();
  }

 private:
  model::LaneRecord record_;
  std::vector<queue::Confirm> confirms_;
};

double cpu_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// CPU seconds that `work` takes.
double timed(const std::function<void()>& work) {
  const double begin = cpu_now();
  work();
  return cpu_now() - begin;
}

std::string uuid(std::uint64_t n) {
  const std::uint64_t a = n * 0x9E3779B97F4A7C15ULL;
  const std::uint64_t b = (n + 1) * 0xC2B2AE3D27D4EB4FULL;
  return fmt::format("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", a >> 32, (a >> 16) & 0xFFFF, a & 0xFFF, b >> 52,
                     b & 0xFFFF'FFFF'FFFF);
}

void print(std::string_view name, double value, std::string_view unit) {
  fmt::print("{} {:.1f} {}\n", name, value, unit);
}

struct Shop {
  explicit Shop(std::uint32_t lanes) {
    sale.id = *model::SaleId::parse("bench");
    sale.title = "bench";
    sale.starts_at = clock.now_utc() - 1'000;
    sale.ends_at = clock.now_utc() + 3'600'000;
    sale.state = model::SaleState::preloaded;
    base::random_bytes(sale.ticket_key);
    model::SaleItem item;
    item.sku = *model::Sku::parse("sku");
    item.total = winners;
    item.lanes = lanes;
    item.price_minor = 100;
    sale.items.push_back(item);
    store.preload(winners, lanes);
  }
  [[nodiscard]] AdmitRequest request(std::uint64_t n) const {
    AdmitRequest request;
    request.item = {sale.id, sale.items[0].sku};
    request.buyer = *model::BuyerId::parse(fmt::format("{:016x}", n * 0x9E3779B97F4A7C15ULL));
    request.request_id = *model::RequestId::parse(uuid(n));
    request.digest = model::content_digest(1, nullptr);
    return request;
  }

  base::SystemClock clock;
  model::Sale sale;
  bench::BenchStore store;
};

void measure(std::uint32_t lanes) {
  Shop shop{lanes};
  InstantQueue queue;
  admission::memory::MemoryAdmission lanes_in_memory{queue, shop.clock};
  const std::size_t heap_before = heap_bytes();
  if (!lanes_in_memory.install(shop.sale, shop.sale.items[0], shop.store)) std::abort();
  const auto ask = [&](const AdmitRequest& request) {
    PurchaseAnswer answer{};
    lanes_in_memory.admit(request, [&](const AdmitReply& reply) { answer = reply.answer; });
    queue.confirm_all();
    return answer;
  };

  // Requests are made outside the measured time, in slices that stay in the cache as a freshly parsed one does.
  constexpr std::int64_t slice = 500;
  std::vector<AdmitRequest> requests;
  requests.reserve(slice);
  const auto make = [&](std::int64_t begin) {
    requests.clear();
    for (std::int64_t i = 0; i < slice; ++i) requests.push_back(shop.request(static_cast<std::uint64_t>(begin + i)));
  };
  // CPU seconds a request of doing `work` for each request of [begin, begin + count): the median of the slices, because
  // on shared cores a slice that was interrupted finds its caches full of somebody else's data.
  const auto in_slices = [&](std::int64_t begin, std::int64_t count, const auto& work) {
    std::vector<double> seconds;
    for (std::int64_t at = begin; at < begin + count; at += slice) {
      make(at);
      seconds.push_back(timed([&] {
        for (const AdmitRequest& request : requests) work(request);
      }));
    }
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::ranges::nth_element(seconds, middle);
    return *middle / slice;
  };
  const auto expect = [&](PurchaseAnswer wanted) {
    return [&ask, wanted](const AdmitRequest& request) {
      if (ask(request) != wanted) std::abort();
    };
  };
  const double first_part = in_slices(0, winners - last_part, expect(PurchaseAnswer::admitted));
  const double last = in_slices(winners - last_part, last_part, expect(PurchaseAnswer::admitted));
  requests.clear();
  const std::size_t heap_after = heap_bytes();
  const std::string suffix = lanes == 16 ? "" : fmt::format("_{}_lanes", lanes);
  print("ledger_holds_per_s" + suffix, 1 / last, "1/s");
  print("ledger_holds_per_s_from_0" + suffix, 1 / first_part, "1/s");
  print("bytes_per_winner" + suffix, static_cast<double>(heap_after - heap_before) / static_cast<double>(winners),
        "bytes");
  if (lanes != 16) return;

  print("replay_ns", in_slices(0, winners, expect(PurchaseAnswer::replayed)) * 1e9, "ns");
  print("sold_out_in_lane_ns", in_slices(winners, losers, expect(PurchaseAnswer::sold_out)) * 1e9, "ns");
  std::int64_t asked = 0;
  std::int64_t refused = 0;
  const auto early = [&](const AdmitRequest& request) {
    // Sold out is leased for a second: who goes through to the lane renews it.
    if (++asked % slice == 1) ask(request);
    refused += lanes_in_memory.early_answer(request.item, request.buyer.view(), 1) == PurchaseAnswer::sold_out;
  };
  print("early_answer_first_ns", in_slices(winners, losers, early) * 1e9, "ns");
  // Again for the same buyers, whose filter bits are in the cache now: what the code itself costs.
  print("early_answer_ns",
        in_slices(winners, slice * 20,
                  [&](const AdmitRequest& request) {
                    for (int i = 0; i < 10; ++i) early(request);
                  }) *
            1e8,
        "ns");
  print("early_answer_refused_share", static_cast<double>(refused) / static_cast<double>(asked), "of 1");
}

void measure_install() {
  Shop shop{16};
  shop.store.make_tickets(shop.sale, winners);
  InstantQueue queue;
  admission::memory::MemoryAdmission lanes_in_memory{queue, shop.clock};
  const double seconds = timed([&] {
    if (!lanes_in_memory.install(shop.sale, shop.sale.items[0], shop.store)) std::abort();
  });
  print("install_1m_marks_s", seconds, "s");
}

// Lands at once.
class InstantLanding final : public queue::IntentConsumer {
 public:
  base::Result<std::vector<store::Landed>> consume(std::span<const model::LaneRecord> records) override {
    return std::vector<store::Landed>(records.size());
  }
};

// Records through the direct queue from one publisher, by wall clock: what the hand-over between two threads allows.
void measure_queue() {
  constexpr std::int64_t records = 500'000;
  const base::SystemClock clock;
  InstantLanding landing;
  std::atomic<std::int64_t> confirmed{0};
  queue::direct::DirectQueue queue{landing, clock, {}};
  queue.start();
  const auto begin = clock.steady_now();
  const double cpu = timed([&] {
    for (std::int64_t i = 0; i < records; ++i) {
      while (!queue.try_reserve(1)) std::this_thread::yield();
      queue.publish(model::OrderIntent{}, [&](const queue::Confirmation&) { ++confirmed; });
    }
  });
  queue.stop();
  if (confirmed != records) std::abort();
  const double seconds = std::chrono::duration<double>(clock.steady_now() - begin).count();
  print("direct_queue_records_per_s", static_cast<double>(records) / seconds, "1/s");
  print("direct_queue_publish_ns", cpu * 1e9 / static_cast<double>(records), "ns");
}

}  // namespace

int main() {
  measure(16);
  measure(1);
  measure_install();
  measure_queue();
  return 0;
}

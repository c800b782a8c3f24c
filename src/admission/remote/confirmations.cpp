#include "admission/remote/confirmations.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace seckill::admission::remote {

Confirmations::Confirmations(const Ports& ports, const Config& config, const Gate& gate, RemoteItems& items,
                             std::atomic<std::uint64_t>& not_told)
    : ports_{ports},
      config_{config},
      gate_{gate},
      items_{items},
      changed_{ports.threads.make_signal()},
      not_told_{not_told} {}

void Confirmations::start() {
  thread_ = ports_.threads.start("confirmations", [this] { run(); });
}

void Confirmations::stop() {
  {
    const std::scoped_lock lock{mutex_};
    stopping_ = true;
  }
  changed_->notify_all();
  if (thread_ == nullptr) return;
  thread_->join();
  thread_ = nullptr;
}

void Confirmations::add(std::vector<Confirmed> confirmed) {
  if (confirmed.empty()) return;
  bool first = false;
  {
    const std::scoped_lock lock{mutex_};
    if (stopping_ || gathered_.size() + confirmed.size() > config_.confirmations_max) {
      not_told_ += confirmed.size();
      return;
    }
    first = gathered_.empty();
    gathered_.insert(gathered_.end(), std::make_move_iterator(confirmed.begin()),
                     std::make_move_iterator(confirmed.end()));
  }
  if (first) changed_->notify_all();
}

void Confirmations::run() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_->wait(lock, [&] { return stopping_ || !gathered_.empty(); });
    (void)ports_.threads.wait_for(*changed_, lock, config_.confirm_after, [&] { return stopping_; });
    if (gathered_.empty()) return;  // stopping
    std::vector<Confirmed> all = std::exchange(gathered_, {});
    lock.unlock();
    send(std::move(all));
    lock.lock();
  }
}

void Confirmations::send(std::vector<Confirmed> confirmed) {
  const auto place = [](const Confirmed& one) { return std::tie(one.item, one.lane); };
  std::ranges::sort(confirmed, [&](const Confirmed& a, const Confirmed& b) { return place(a) < place(b); });
  for (auto first = confirmed.begin(); first != confirmed.end();) {
    const auto end = std::find_if(first, confirmed.end(), [&](const auto& one) { return place(one) != place(*first); });
    std::vector<model::Ticket> tickets;
    tickets.reserve(static_cast<std::size_t>(end - first));
    std::transform(first, end, std::back_inserter(tickets), [](const Confirmed& one) { return one.ticket; });
    if (const ItemPtr item = items_.find(first->item); item != nullptr && first->lane < item->lane_count) {
      send(item, first->lane, std::move(tickets));
    }
    first = end;
  }
}

// An intent that never was in a stream (admission by database) has nothing to confirm: unknown tickets are skipped.
void Confirmations::send(const ItemPtr& item, model::LaneIndex lane, std::vector<model::Ticket> tickets) {
  const CopyPtr copy = item->copy();
  if (copy->lane(lane).state != store::LaneState::lane) return;
  const std::size_t count = tickets.size();
  auto pass = gate_.enter();
  if (!pass) {
    not_told_ += count;
    return;
  }
  ports_.scripts.confirm_published(item->lane_key(lane), copy->server(lane), std::move(tickets),
                                   [this, count, pass = std::move(pass)](const base::Result<LaneCode>& code) {
                                     if (!code || *code != LaneCode::done) not_told_ += count;
                                   });
}

}  // namespace seckill::admission::remote

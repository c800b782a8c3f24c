// What the plan's steps do: the crowd, the operator, and what breaks.
#include <fmt/format.h>

#include "simulation/cluster/cluster_world.hpp"

namespace seckill::sim {
namespace {

constexpr int operator_tries_max = 20;

model::BuyerId buyer_name(std::uint32_t number) { return *model::BuyerId::parse(fmt::format("buyer-{}", number)); }

// False: it may help to ask again.
bool settled(const auto& result) {
  if (result) return true;
  const base::Errc code = result.error().code;
  return code != base::Errc::unavailable && code != base::Errc::timeout && code != base::Errc::stale;
}

Time ms(std::uint32_t count) { return std::chrono::milliseconds{count}; }

}  // namespace

Time ClusterWorld::net() { return Time{random_.between(100'000, 5'000'000)}; }

ClusterWorld::Host* ClusterWorld::some_api() {
  Host& host = *hosts_[random_.below(plan_.api_nodes)];
  return host.node->alive() && host.life ? &host : nullptr;
}

void ClusterWorld::take(const ClusterStep& step) {
  if (resting_) return;
  switch (step.kind) {
    case StepKind::buy:
    case StepKind::cancel:
    case StepKind::pay:
    case StepKind::outcome: return buyer_step(step);
    case StepKind::edit:
    case StepKind::pause:
    case StepKind::resume:
    case StepKind::top_up:
    case StepKind::reduce:
    case StepKind::by_database:
    case StepKind::by_lanes:
    case StepKind::synchronous_on:
    case StepKind::synchronous_off: kernel_.note("operator: " + step.text()); return operator_step(step);
    case StepKind::kill_node:
    case StepKind::fail_over:
    case StepKind::split_brain:
    case StepKind::roll_back:
    case StepKind::restart_lanes:
    case StepKind::flush:
    case StepKind::evict:
    case StepKind::pause_lanes:
    case StepKind::slow_lanes:
    case StepKind::move_slot:
    case StepKind::broker_crash:
    case StepKind::broker_alarm:
    case StepKind::broker_disconnect:
    case StepKind::broker_purge:
    case StepKind::store_down: kernel_.note("fault: " + step.text()); return fault_step(step);
  }
}

BuyersRequest ClusterWorld::request_of(const ClusterStep& step) {
  BuyersRequest request;
  request.buyer = buyer_name(step.a);
  request.request_id = *model::RequestId::parse(fmt::format("r{}", step.b));
  request.units = std::max<std::int64_t>(step.c, 1);
  request.digest = model::content_digest(request.units, nullptr);
  request.sent_at = kernel_.now();
  return request;
}

void ClusterWorld::buyer_step(const ClusterStep& step) {
  const BuyersRequest request = request_of(step);
  if (step.kind == StepKind::buy) return buy(request);
  if (step.kind == StepKind::cancel) return end(request, model::OrderEvent::cancel);
  if (step.kind == StepKind::pay) return end(request, model::OrderEvent::pay);
  ask_outcome(request);
}

void ClusterWorld::buy(const BuyersRequest& request) {
  ++requests_;
  kernel_.after(net(), [this, request] {
    Host* host = some_api();
    if (host == nullptr) return;  // connection refused
    kernel_.after(*host->node, 0s, [this, host, request] {
      admission::AdmitRequest asked;
      asked.item = item_;
      asked.buyer = request.buyer;
      asked.request_id = request.request_id;
      asked.units = request.units;
      asked.digest = request.digest;
      // As the gateway does: whom the node may refuse by itself costs no call of his lane (P9).
      if (const auto early = host->life->admission().early_answer(item_, request.buyer.view(), 1)) {
        kernel_.passing("early_answer");
        kernel_.note(fmt::format("{}: {} {} ×{}: {} early", host->node->name(), request.buyer.view(),
                                 request.request_id.view(), request.units, model::name(*early)));
        // It rests on a reading of the lanes that may be a second old: what he got through another node since then is
        // what docs/decisions/early-answers.md leaves open.
        BuyersRequest as_of_reading = request;
        as_of_reading.sent_at -= 1s;
        return kernel_.after(net(), [this, as_of_reading, early = *early] {
          record_.told(as_of_reading, {.answer = early, .ticket = {}, .own = {}}, false);
        });
      }
      host->life->admission().admit(asked, [this, request, name = host->node->name()](admission::AdmitReply reply) {
        kernel_.note(fmt::format("{}: {} {} ×{}: {}", name, request.buyer.view(), request.request_id.view(),
                                 request.units, model::name(reply.answer)));
        const model::LaneIndex lane = model::lane_of(request.buyer.view(), plan_.lanes);
        const bool undecided = item_row().lanes.at(lane).state == store::LaneState::store;
        kernel_.after(net(), [this, request, lane, undecided, reply = std::move(reply)] {
          record_.told(request, reply, undecided);
          // Its replicas may have said yes just before they were destroyed.
          const ShardIndex shard = lanes_.shard_of({.item = item_, .lane = lane});
          const auto destroyed = destroyed_at_.find(shard);
          if (destroyed != destroyed_at_.end() && kernel_.now() - destroyed->second < 2s) excuse_replicas_only(shard);
        });
      });
    });
  });
}

void ClusterWorld::end(const BuyersRequest& request, model::OrderEvent event) {
  const auto ticket = record_.ticket_of(request.buyer, request.request_id);
  if (!ticket) return;
  kernel_.after(net(), [this, request, event, ticket = *ticket] {
    Host* host = some_api();
    if (host == nullptr) return;
    kernel_.after(*host->node, 0s, [this, host, request, event, ticket] {
      store::EndCommand command;
      command.ticket = ticket;
      command.event = event;
      command.buyer = request.buyer;
      if (event == model::OrderEvent::pay) {
        command.payment_provider = "demo";
        command.payment_id = "pay-" + ticket.str();
      }
      host->life->ends().submit(std::move(command), [this, request, event, name = host->node->name()](
                                                        const base::Result<store::Ended>& ended) {
        kernel_.note(fmt::format("{}: {} {} {}: {}", name, request.buyer.view(), model::name(event),
                                 request.request_id.view(),
                                 ended ? fmt::format("{}", static_cast<int>(ended->result)) : ended.error().text()));
      });
    });
  });
}

void ClusterWorld::ask_outcome(const BuyersRequest& request) {
  kernel_.after(net(), [this, request] {
    Host* host = some_api();
    if (host == nullptr) return;
    host->operator_tasks.push_back(host->node->threads().start("outcome", [this, host, request] {
      const auto ticket = host->life->admission().ticket_of(item_, request.buyer, request.request_id);
      if (!ticket) return;  // 503
      const auto order = host->life->store().find_order(*ticket);
      if (!order) return;  // 503
      if (*order) return record_.told_outcome(request, true);
      auto found = kernel_.await<base::Result<std::optional<admission::TicketView>>>(
          [&](auto done) { host->life->admission().find_ticket(item_, request.buyer, *ticket, std::move(done)); });
      if (found) record_.told_outcome(request, found->has_value());
    }));
  });
}

void ClusterWorld::operate(std::string what, std::function<bool(Host&)> work) {
  Host* host = some_api();
  if (host == nullptr) return;
  host->operator_tasks.push_back(
      host->node->threads().start("operator", [this, host, what = std::move(what), work = std::move(work)] {
        for (int i = 0; i < operator_tries_max && !resting_; ++i) {
          // A desk is one thread's: its node's change worker takes one thing after the other.
          while (host->at_desk) host->node->threads().sleep_for(10ms);
          host->at_desk = true;
          const bool done = work(*host);
          host->at_desk = false;
          if (done) return kernel_.note("operator: done: " + what);
          host->node->threads().sleep_for(500ms);
        }
        kernel_.note("operator: gives up: " + what);
      }));
}

void ClusterWorld::edit(const ClusterStep& step) {
  limit_max_ = std::max<std::int64_t>(limit_max_, step.a);
  operate("edit", [this, step](Host& host) {
    const auto sale = host.life->store().find_sale(sale_.id);
    if (!sale) return false;
    model::SaleEdit edit;
    edit.version = sale->version;
    model::ItemEdit item;
    item.sku = item_.sku;
    item.limit = step.a;
    if (plan_.price_minor > 0) item.price_minor = plan_.price_minor * step.b;
    edit.items.push_back(std::move(item));
    return settled(host.desk->edit(sale_.id, edit, "operator"));
  });
}

void ClusterWorld::operator_step(const ClusterStep& step) {
  const auto command = [&](std::string what, model::SaleCommand command) {
    operate(std::move(what),
            [this, command](Host& host) { return settled(host.desk->command(sale_.id, command, "operator")); });
  };
  const auto want = [&](std::string what, store::LaneState state) {
    operate(std::move(what),
            [this, state](Host& host) { return settled(host.life->store().want_state(item_, state, {})); });
  };
  if (step.kind == StepKind::edit) return edit(step);
  if (step.kind == StepKind::pause) return command("pause", model::SaleCommand::pause);
  if (step.kind == StepKind::resume) return command("resume", model::SaleCommand::resume);
  if (step.kind == StepKind::by_database) return want("admission by database", store::LaneState::store);
  if (step.kind == StepKind::by_lanes) return want("admission by lanes", store::LaneState::lane);
  if (step.kind == StepKind::synchronous_on || step.kind == StepKind::synchronous_off) {
    devices_.synchronous = step.kind == StepKind::synchronous_on;
    return;
  }
  const bool more = step.kind == StepKind::top_up;
  const ops::StockChange change{.units = step.a, .id = fmt::format("change-{}", next_change_++), .from_reserve = false};
  operate(more ? "top up" : "reduce", [this, more, change](Host& host) {
    return more ? settled(host.desk->top_up(item_, change, "operator"))
                : settled(host.desk->reduce(item_, change, "operator"));
  });
}

void ClusterWorld::fault_step(const ClusterStep& step) {
  if (step.kind == StepKind::kill_node) {
    Host& host = *hosts_[step.a % hosts_.size()];
    if (!host.node->alive()) return;
    host.node->crash();
    return crashed(*host.node, ms(step.b));
  }
  if (step.kind == StepKind::store_down) {
    store_faults_.down = true;
    kernel_.after(ms(step.b), [this] { store_faults_.down = false; });
    return;
  }
  if (step.kind == StepKind::broker_crash) return broker_.crash(ms(step.b));
  if (step.kind == StepKind::broker_disconnect) return broker_.disconnect(*hosts_[step.a % hosts_.size()]->node);
  if (step.kind == StepKind::broker_alarm) {
    broker_.set_alarm(true);
    kernel_.after(ms(step.b), [this] { broker_.set_alarm(false); });
    return;
  }
  if (step.kind == StepKind::broker_purge) {
    broker_lost_content_ = true;
    return broker_.lose_everything();
  }
  lanes_fault(step);
}

// Flush, eviction and a power failure destroy what a shard holds with its replica's copy. A buyer may have been
// answered on the word of those replicas alone while the broker was slow (DESIGN §4.1.4); nothing is left of his intent
// then.
void ClusterWorld::excuse_replicas_only(ShardIndex shard) {
  for (const auto& [ticket, one] : record_.acknowledged()) {
    const bool here = lanes_.shard_of({.item = item_, .lane = ticket.lane()}) == shard;
    if (here && !broker_.holds(ticket) && tables_.find(ticket) == nullptr) record_.excuse(ticket);
  }
}

void ClusterWorld::lanes_fault(const ClusterStep& step) {
  const ShardIndex shard = step.a % lanes_.shards();
  const admission::LaneKey lane{.item = item_, .lane = step.a % plan_.lanes};
  const bool evicts = step.kind == StepKind::evict;
  if (evicts || step.kind == StepKind::flush || step.kind == StepKind::roll_back) {
    const ShardIndex hit = evicts ? lanes_.shard_of(lane) : shard;
    destroyed_at_[hit] = kernel_.now();
    excuse_replicas_only(hit);
  }
  // What does not fit the shard's present state does nothing.
  if (step.kind == StepKind::fail_over) lanes_.fail_over(shard);
  if (step.kind == StepKind::split_brain) lanes_.partition_old_master(shard, ms(step.b), step.a % 2 == 0);
  if (step.kind == StepKind::roll_back) lanes_.restart_rolled_back(shard, ms(step.b / 4));
  if (step.kind == StepKind::restart_lanes) lanes_.restart(shard, ms(step.b));
  if (step.kind == StepKind::flush) lanes_.flush(shard);
  if (step.kind == StepKind::evict) lanes_.evict(lane);
  if (step.kind == StepKind::pause_lanes) lanes_.pause(shard, ms(step.b));
  if (step.kind == StepKind::move_slot) lanes_.move_slot(lane, (lanes_.shard_of(lane) + 1) % lanes_.shards());
  if (step.kind == StepKind::slow_lanes) {
    lanes_.slow(shard, ms(step.b / 40));
    kernel_.after(ms(step.b), [this, shard] { lanes_.slow(shard, 0s); });
  }
}

}  // namespace seckill::sim

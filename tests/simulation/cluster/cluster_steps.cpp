// What the plan's steps do: the crowd, the operator, and what breaks.
#include <fmt/format.h>

#include "simulation/cluster/cluster_world.hpp"

namespace seckill::sim {
namespace {

constexpr int operator_tries_max = 20;

model::BuyerId buyer_name(std::uint32_t number) { return *model::BuyerId::parse(fmt::format("buyer-{}", number)); }

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
  switch (step.kind) {
    case StepKind::buy: return buy(request);
    case StepKind::cancel: return end(request, model::OrderEvent::cancel);
    case StepKind::pay: return end(request, model::OrderEvent::pay);
    default: return ask_outcome(request);  // the caller sends no other kind
  }
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
      host->life->admission().admit(asked, [this, request, name = host->node->name()](admission::AdmitReply reply) {
        kernel_.note(fmt::format("{}: {} {} ×{}: {}", name, request.buyer.view(), request.request_id.view(),
                                 request.units, model::name(reply.answer)));
        const model::LaneIndex lane = model::lane_of(request.buyer.view(), plan_.lanes);
        const bool undecided = item_row().lanes.at(lane).state == store::LaneState::store;
        kernel_.after(
            net(), [this, request, undecided, reply = std::move(reply)] { record_.told(request, reply, undecided); });
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
          if (work(*host)) return kernel_.note("operator: done: " + what);
          host->node->threads().sleep_for(500ms);
        }
        kernel_.note("operator: gives up: " + what);
      }));
}

void ClusterWorld::operator_step(const ClusterStep& step) {
  const auto settled = [](const auto& result) {
    if (result) return true;
    const base::Errc code = result.error().code;
    return code != base::Errc::unavailable && code != base::Errc::timeout && code != base::Errc::stale;
  };
  const std::string change = fmt::format("change-{}", next_change_++);
  switch (step.kind) {
    case StepKind::edit:
      limit_max_ = std::max<std::int64_t>(limit_max_, step.a);
      return operate("edit", [this, settled, step](Host& host) {
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
    case StepKind::pause:
      return operate("pause", [this, settled](Host& host) {
        return settled(host.desk->command(sale_.id, model::SaleCommand::pause, "operator"));
      });
    case StepKind::resume:
      return operate("resume", [this, settled](Host& host) {
        return settled(host.desk->command(sale_.id, model::SaleCommand::resume, "operator"));
      });
    case StepKind::top_up:
      return operate("top up", [this, settled, step, change](Host& host) {
        return settled(host.desk->top_up(item_, {.units = step.a, .id = change, .from_reserve = false}, "operator"));
      });
    case StepKind::reduce:
      return operate("reduce", [this, settled, step, change](Host& host) {
        return settled(host.desk->reduce(item_, {.units = step.a, .id = change, .from_reserve = false}, "operator"));
      });
    case StepKind::by_database:
      return operate("admission by database", [this, settled](Host& host) {
        return settled(host.life->store().want_state(item_, store::LaneState::store, {}));
      });
    case StepKind::by_lanes:
      return operate("admission by lanes", [this, settled](Host& host) {
        return settled(host.life->store().want_state(item_, store::LaneState::lane, {}));
      });
    case StepKind::synchronous_on: devices_.synchronous = true; return;
    default: devices_.synchronous = false; return;  // synchronous_off: the caller sends no other kind
  }
}

void ClusterWorld::fault_step(const ClusterStep& step) {
  switch (step.kind) {
    case StepKind::kill_node: {
      Host& host = *hosts_[step.a % hosts_.size()];
      if (!host.node->alive()) return;
      host.node->crash();
      return crashed(*host.node, ms(step.b));
    }
    case StepKind::store_down:
      store_faults_.down = true;
      kernel_.after(ms(step.b), [this] { store_faults_.down = false; });
      return;
    case StepKind::broker_crash:
    case StepKind::broker_alarm:
    case StepKind::broker_disconnect:
    case StepKind::broker_purge: return broker_fault(step);
    default: return lanes_fault(step);
  }
}

void ClusterWorld::broker_fault(const ClusterStep& step) {
  switch (step.kind) {
    case StepKind::broker_crash: return broker_.crash(ms(step.b));
    case StepKind::broker_alarm:
      broker_.set_alarm(true);
      kernel_.after(ms(step.b), [this] { broker_.set_alarm(false); });
      return;
    case StepKind::broker_disconnect: return broker_.disconnect(*hosts_[step.a % hosts_.size()]->node);
    default:  // broker_purge: the caller sends no other kind
      broker_lost_content_ = true;
      return broker_.lose_everything();
  }
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
  if (step.kind == StepKind::flush || step.kind == StepKind::roll_back) excuse_replicas_only(shard);
  if (step.kind == StepKind::evict) excuse_replicas_only(lanes_.shard_of(lane));
  switch (step.kind) {
    case StepKind::fail_over: lanes_.fail_over(shard); return;
    case StepKind::split_brain: lanes_.partition_old_master(shard, ms(step.b), step.a % 2 == 0); return;
    case StepKind::roll_back: lanes_.restart_rolled_back(shard, ms(step.b / 4)); return;
    case StepKind::restart_lanes: lanes_.restart(shard, ms(step.b)); return;
    case StepKind::flush: lanes_.flush(shard); return;
    case StepKind::evict: lanes_.evict(lane); return;
    case StepKind::pause_lanes: lanes_.pause(shard, ms(step.b)); return;
    case StepKind::slow_lanes:
      lanes_.slow(shard, ms(step.b / 40));
      kernel_.after(ms(step.b), [this, shard] { lanes_.slow(shard, 0s); });
      return;
    default: lanes_.move_slot(lane, (lanes_.shard_of(lane) + 1) % lanes_.shards()); return;  // move_slot
  }
}

}  // namespace seckill::sim

#include "simulation/cluster/breakage.hpp"

#include <utility>

#include "simulation/cluster/forwarding_lanes.hpp"

namespace seckill::sim {
namespace {

using admission::LaneKey;
using admission::LaneServer;

class BrokenLanes final : public ForwardingLanes {
 public:
  BrokenLanes(ClusterBreakage breakage, SimLanes& cluster, std::unique_ptr<admission::LaneScripts> inner)
      : ForwardingLanes{std::move(inner)}, breakage_{breakage}, cluster_{cluster} {}

  void admit(const LaneKey& lane, const LaneServer& server, model::Generation generation,
             std::vector<admission::LaneAsk> asks, admission::LaneAnswer<admission::LaneDecisions> answer) override {
    if (is(ClusterBreakage::sees_no_other_content)) {
      for (admission::LaneAsk& ask : asks) ask.digest = 7;
    }
    ForwardingLanes::admit(lane, server, generation, std::move(asks), std::move(answer));
  }
  void release(const LaneKey& lane, const LaneServer& server, const model::Ticket& ticket,
               admission::LaneAnswer<admission::LaneCode> answer) override {
    if (is(ClusterBreakage::swallows_releases)) return answer(admission::LaneCode::done);
    ForwardingLanes::release(lane, server, ticket, std::move(answer));
  }
  void credit(const LaneKey& lane, const LaneServer& server, model::Generation generation,
              const admission::LaneTransferRecord& transfer,
              admission::LaneAnswer<admission::LaneCode> answer) override {
    if (is(ClusterBreakage::credits_twice)) {
      admission::LaneTransferRecord again = transfer;
      again.id += "!";
      ForwardingLanes::credit(lane, server, generation, again, [](const base::Result<admission::LaneCode>&) {});
    }
    ForwardingLanes::credit(lane, server, generation, transfer, std::move(answer));
  }
  void read(const LaneKey& lane, const LaneServer& server,
            admission::LaneAnswer<admission::LaneReading> answer) override {
    if (!is(ClusterBreakage::reads_every_lane_as_empty)) return ForwardingLanes::read(lane, server, std::move(answer));
    ForwardingLanes::read(lane, server,
                          [answer = std::move(answer)](base::Result<admission::LaneReading> reading) mutable {
                            if (reading) reading->stock.available = 0;
                            answer(std::move(reading));
                          });
  }
  void configure(const LaneKey& lane, const LaneServer& server, const model::ItemTerms& terms,
                 admission::LaneAnswer<admission::LaneCode> answer) override {
    ForwardingLanes::configure(lane, server, limitless(terms), std::move(answer));
  }
  void install_begin(const LaneKey& lane, const LaneServer& server, const admission::InstallPlan& plan,
                     admission::LaneAnswer<admission::LaneCode> answer) override {
    admission::InstallPlan changed = plan;
    changed.terms = limitless(plan.terms);
    ForwardingLanes::install_begin(lane, server, changed, std::move(answer));
  }

 protected:
  LaneServer server_for(const LaneKey& lane, const LaneServer& asked) const override {
    if (!is(ClusterBreakage::believes_any_server)) return asked;
    return cluster_.server(cluster_.shard_of(lane));
  }

 private:
  [[nodiscard]] bool is(ClusterBreakage breakage) const noexcept { return breakage_ == breakage; }
  [[nodiscard]] model::ItemTerms limitless(model::ItemTerms terms) const {
    if (is(ClusterBreakage::forgets_the_limit)) terms.limit = 1'000;
    return terms;
  }

  const ClusterBreakage breakage_;
  SimLanes& cluster_;
};

class DroppingPublisher final : public queue::IntentPublisher {
 public:
  DroppingPublisher(Kernel& kernel, Node& node, std::unique_ptr<queue::IntentPublisher> inner)
      : kernel_{kernel}, node_{node}, inner_{std::move(inner)} {}
  void publish(queue::Partition, std::vector<model::OrderIntent>, queue::PublishDone done) override {
    kernel_.after(node_, 1ms, [done = std::move(done)]() mutable { done(queue::Published::confirmed); });
  }
  bool accepting() const noexcept override { return inner_->accepting(); }
  base::Status barrier(queue::Partition partition, std::chrono::milliseconds longest) override {
    return inner_->barrier(partition, longest);
  }

 private:
  Kernel& kernel_;
  Node& node_;
  std::unique_ptr<queue::IntentPublisher> inner_;
};

class HastySource final : public queue::IntentSource {
 public:
  explicit HastySource(std::unique_ptr<queue::IntentSource> inner) : inner_{std::move(inner)} {}
  base::Result<std::vector<queue::Delivery>> receive(std::size_t intents_max,
                                                     std::chrono::milliseconds longest) override {
    auto deliveries = inner_->receive(intents_max, longest);
    if (!deliveries) return deliveries;
    for (const queue::Delivery& one : *deliveries) (void)inner_->acknowledge(one.tag);
    return deliveries;
  }
  base::Status acknowledge(std::uint64_t) override { return {}; }
  base::Status retry_later(std::uint64_t, std::vector<model::OrderIntent>, std::chrono::milliseconds) override {
    return {};
  }

 private:
  std::unique_ptr<queue::IntentSource> inner_;
};

}  // namespace

std::string_view name(ClusterBreakage breakage) noexcept {
  switch (breakage) {
    case ClusterBreakage::none: return "none";
    case ClusterBreakage::confirms_what_it_drops: return "confirms_what_it_drops";
    case ClusterBreakage::acknowledges_before_landing: return "acknowledges_before_landing";
    case ClusterBreakage::swallows_releases: return "swallows_releases";
    case ClusterBreakage::credits_twice: return "credits_twice";
    case ClusterBreakage::reads_every_lane_as_empty: return "reads_every_lane_as_empty";
    case ClusterBreakage::forgets_the_limit: return "forgets_the_limit";
    case ClusterBreakage::believes_any_server: return "believes_any_server";
    case ClusterBreakage::sees_no_other_content: return "sees_no_other_content";
  }
  return "?";
}

std::unique_ptr<admission::LaneScripts> break_lanes(ClusterBreakage breakage, SimLanes& cluster,
                                                    std::unique_ptr<admission::LaneScripts> lanes) {
  if (breakage == ClusterBreakage::none) return lanes;
  return std::make_unique<BrokenLanes>(breakage, cluster, std::move(lanes));
}

std::unique_ptr<queue::IntentPublisher> break_publisher(ClusterBreakage breakage, Kernel& kernel, Node& node,
                                                        std::unique_ptr<queue::IntentPublisher> publisher) {
  if (breakage != ClusterBreakage::confirms_what_it_drops) return publisher;
  return std::make_unique<DroppingPublisher>(kernel, node, std::move(publisher));
}

std::unique_ptr<queue::IntentSource> break_source(ClusterBreakage breakage,
                                                  std::unique_ptr<queue::IntentSource> source) {
  if (breakage != ClusterBreakage::acknowledges_before_landing) return source;
  return std::make_unique<HastySource>(std::move(source));
}

}  // namespace seckill::sim

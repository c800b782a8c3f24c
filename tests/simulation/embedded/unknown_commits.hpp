// A store whose commits are sometimes told `timeout`, as one behind a network or a stalled disk: half of them happened.
#pragma once

#include "simulation/embedded/forwarding_store.hpp"
#include "simulation/kernel/kernel.hpp"

namespace seckill::sim::embedded {

class UnknownCommits final : public ForwardingStore {
 public:
  // `permille` of the calls that write; read at each call.
  UnknownCommits(store::Store& inner, Random random, const std::uint32_t& permille)
      : ForwardingStore{inner}, random_{random}, permille_{permille} {}

  base::Result<std::vector<store::Landed>> land(std::span<const model::LaneRecord> records, base::UtcMs now) override {
    return perhaps("landing", [&] { return inner_.land(records, now); });
  }
  base::Result<std::vector<store::Ended>> end_tickets(std::span<const store::EndCommand> commands) override {
    return perhaps("ending tickets", [&] { return inner_.end_tickets(commands); });
  }
  base::Status acknowledge_releases(std::span<const std::int64_t> ids) override {
    return perhaps("acknowledging releases", [&] { return inner_.acknowledge_releases(ids); });
  }
  base::Status acknowledge_released(std::span<const model::Ticket> tickets) override {
    return perhaps("acknowledging releases", [&] { return inner_.acknowledge_released(tickets); });
  }
  base::Status add_to_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                           const store::AuditEntry& audit) override {
    return perhaps("adding to the pool", [&] { return inner_.add_to_pool(item, units, id, audit); });
  }
  base::Status take_from_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                              const store::AuditEntry& audit) override {
    return perhaps("taking from the pool", [&] { return inner_.take_from_pool(item, units, id, audit); });
  }
  base::Status pool_to_lanes(std::span<const model::StockTransfer> transfers, const store::AuditEntry& audit) override {
    return perhaps("moving units to lanes", [&] { return inner_.pool_to_lanes(transfers, audit); });
  }

 private:
  template <typename Call>
  auto perhaps(const char* doing, Call call) -> decltype(call()) {
    const bool unknown = random_.chance(permille_);
    const bool happens = random_.chance(500);
    if (!unknown) return call();
    if (happens) (void)call();
    return base::fail(base::Errc::timeout, doing, happens ? "simulated; it happened" : "simulated; it did not happen");
  }

  Random random_;
  const std::uint32_t& permille_;
};

}  // namespace seckill::sim::embedded

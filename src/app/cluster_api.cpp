#include "app/cluster_api.hpp"

#include "app/listeners.hpp"

namespace seckill::app {

ClusterApi::ClusterApi(ClusterEngines& engines, ClusterCore& core, std::size_t readers)
    : reads_{*engines.store, core.admission(), readers}, demo_provider_{core.ends()} {}

base::Result<std::unique_ptr<ClusterApi>> ClusterApi::make(ClusterEngines& engines, ClusterCore& core,
                                                           const Config& config, const base::Clock& clock) {
  std::unique_ptr<ClusterApi> made{new ClusterApi{engines, core, config.cluster->mysql.read_connections}};
  gateway::BuyerApiParts parts{
      .clock = clock, .admission = core.admission(), .reads = made->reads_, .ends = core.ends(), .pay = {}};
  if (config.demo) {
    parts.pay = [provider = &made->demo_provider_](const model::Ticket& ticket, const model::BuyerId& buyer,
                                                   orders::EndDone done) {
      provider->pay(ticket, buyer, std::move(done));
    };
    if (config.login.algorithm == gateway::JwtAlgorithm::hs256) {
      auto signer = gateway::TokenSigner::make(config.login.hs256_secret, config.login.issuer, config.login.audience);
      if (!signer) return std::unexpected(std::move(signer.error()));
      made->signer_ = *std::move(signer);
      parts.signer = made->signer_.get();
    }
  }
  auto api = gateway::BuyerApi::make(buyer_api_config(config), std::move(parts));
  if (!api) return std::unexpected(std::move(api.error()));
  made->buyer_api_ = *std::move(api);
  made->server_ = std::make_unique<gateway::http::Server>(buyer_listener(config.buyer), *made->buyer_api_);
  return made;
}

base::Status ClusterApi::start() {
  reads_.start();
  return server_->start();
}

bool ClusterApi::drain(std::chrono::milliseconds longest) { return server_->port() == 0 || server_->drain(longest); }

}  // namespace seckill::app

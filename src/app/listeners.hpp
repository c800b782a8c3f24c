// What the configuration says of the HTTP ports and the buyer API, as their own settings. Embedded and cluster mode
// alike.
#pragma once

#include <string>

#include "app/config.hpp"
#include "gateway/buyer_api.hpp"
#include "gateway/http/server.hpp"

namespace seckill::app {

// 0 in the configuration: one a core.
[[nodiscard]] unsigned thread_count(unsigned configured);

[[nodiscard]] gateway::http::ServerConfig buyer_listener(const ListenerConfig& config);
[[nodiscard]] gateway::http::ServerConfig admin_listener(const ListenerConfig& config);
[[nodiscard]] gateway::BuyerApiConfig buyer_api_config(const Config& config);

}  // namespace seckill::app

// docs/api/openapi.yaml and the admin API's table name the same routes.
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <set>
#include <string>

#include "ops/admin_api.hpp"

namespace seckill::ops {
namespace {

// "GET /admin/v1/sales" for each operation: a path is a key at two spaces, its methods are keys at four.
std::set<std::string> documented_admin_routes() {
  std::set<std::string> routes;
  std::ifstream file{std::string{SECKILL_SOURCE_DIR} + "/docs/api/openapi.yaml"};
  std::string path;
  bool in_paths = false;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != ' ' && line[0] != '#') in_paths = line == "paths:";
    if (!in_paths) continue;
    if (line.starts_with("  /")) path = line.substr(2, line.find_last_of(':') - 2);
    if (!path.starts_with("/admin/") && path != "/livez" && path != "/readyz" && path != "/metrics") continue;
    for (const char* method : {"get", "post", "put", "patch", "delete"}) {
      if (!line.starts_with("    " + std::string{method} + ":")) continue;
      std::string name{method};
      for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      routes.insert(name + " " + path);
    }
  }
  return routes;
}

TEST(AdminRoutes, AreTheDocumentedOnesAndNoOthers) {
  std::set<std::string> in_code;
  for (const AdminRoute& route : admin_routes()) {
    in_code.insert(std::string{gateway::http::name(route.method)} + " " + std::string{route.pattern});
  }
  EXPECT_EQ(documented_admin_routes(), in_code);
}

TEST(AdminRoutes, AllButTheProbesNeedTheToken) {
  for (const AdminRoute& route : admin_routes()) {
    EXPECT_EQ(route.needs_token, route.pattern.starts_with("/admin/")) << route.pattern;
  }
}

}  // namespace
}  // namespace seckill::ops

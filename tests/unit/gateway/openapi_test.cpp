// docs/api/openapi.yaml and the route tables name the same routes.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "gateway/router.hpp"

namespace seckill::gateway {
namespace {

// The document, found from this file's own place in the tree.
std::filesystem::path document() {
  for (std::filesystem::path at = std::filesystem::current_path();; at = at.parent_path()) {
    if (std::filesystem::exists(at / "docs/api/openapi.yaml")) return at / "docs/api/openapi.yaml";
    if (at == at.root_path()) return {};
  }
}

// "GET /api/v1/time" for each operation: a path is a key at two spaces, its methods are keys at four.
std::set<std::string> documented_routes() {
  std::set<std::string> routes;
  std::ifstream file{document()};
  std::string path;
  bool in_paths = false;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != ' ' && line[0] != '#') in_paths = line == "paths:";
    if (!in_paths) continue;
    if (line.starts_with("  /")) path = line.substr(2, line.find_last_of(':') - 2);
    for (const char* method : {"get", "post", "put", "patch", "delete"}) {
      if (!line.starts_with("    " + std::string{method} + ":")) continue;
      std::string name{method};
      for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      routes.insert(name + " " + path);
    }
  }
  return routes;
}

bool is_admin(const std::string& route) {
  return route.find(" /admin/") != std::string::npos || route.ends_with(" /livez") || route.ends_with(" /readyz") ||
         route.ends_with(" /metrics");
}

TEST(OpenApi, NamesTheBuyerRoutesAndNoOthers) {
  std::set<std::string> in_code;
  for (const Route& route : routes())
    in_code.insert(std::string{http::name(route.method)} + " " + std::string{route.pattern});
  std::set<std::string> in_document;
  for (const std::string& route : documented_routes()) {
    if (!is_admin(route)) in_document.insert(route);
  }
  EXPECT_EQ(in_document, in_code);
}

}  // namespace
}  // namespace seckill::gateway

// The route table and its matcher: one spelling a path, everything else does not exist.
#include "gateway/router.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace seckill::gateway {
namespace {

using http::Method;

constexpr std::string_view purchase_path = "/api/v1/sales/s1/items/sku-1/purchases";

TEST(Router, FindsThePurchaseAndItsIds) {
  const RouteMatch found = match(Method::post, purchase_path);
  EXPECT_EQ(found.id, RouteId::purchase);
  EXPECT_TRUE(found.needs_login);
  EXPECT_EQ(found.sale, "s1");
  EXPECT_EQ(found.sku, "sku-1");
}

TEST(Router, FindsEveryRouteOfTheTableByItsOwnPattern) {
  std::set<std::string> names;
  for (const Route& route : routes()) {
    std::string path{route.pattern};
    for (const auto& [hole, value] :
         {std::pair{"{sale}", "a"}, {"{sku}", "b"}, {"{ticket}", "c"}, {"{file}", "d.js"}}) {
      if (const auto at = path.find(hole); at != std::string::npos)
        path.replace(at, std::string_view{hole}.size(), value);
    }
    const RouteMatch found = match(route.method, path);
    EXPECT_EQ(found.id, route.id) << path;
    EXPECT_EQ(found.needs_login, route.needs_login) << path;
    EXPECT_TRUE(names.insert(std::string{name(route.id)}).second) << "two routes share a name";
  }
}

TEST(Router, FS_48_OtherSpellingsOfAPathDoNotExist) {
  for (const std::string_view path :
       {"/api/v1/sales/s1/items/sku-1/purchases/", "//api/v1/sales/s1/items/sku-1/purchases",
        "/api//v1/sales/s1/items/sku-1/purchases", "/./api/v1/sales/s1/items/sku-1/purchases",
        "/API/v1/sales/s1/items/sku-1/purchases", "/api/v1/Sales/s1/items/sku-1/purchases",
        "/api/v1/sales/s1/items/sku-1/Purchases", "/api/v1/sales/s1/items/sku-1/purchases;x=1",
        "/%61pi/v1/sales/s1/items/sku-1/purchases", "/api/v1/sales//items/sku-1/purchases",
        "/api/v1/sales/s1/items//purchases", "/api/v1/sales/s1//items/sku-1/purchases",
        "/api/v1/sales/s1/items/sku-1/x/purchases", "/api/v1/sales/s1/x/sku/purchases",
        "api/v1/sales/s1/items/sku-1/purchases", "/api/v1/sales/s1/items/sku-1/purchasesx", "", "/purchases"}) {
    for (const Method method : {Method::post, Method::get}) {
      const RouteMatch found = match(method, path);
      EXPECT_EQ(found.id, RouteId::none) << path;
      EXPECT_EQ(found.allowed, 0U) << path;
    }
  }
}

TEST(Router, TellsWhichMethodsAPathHas) {
  EXPECT_EQ(allow_header(match(Method::put, purchase_path).allowed), "GET, HEAD, POST");
  EXPECT_EQ(allow_header(match(Method::post, "/api/v1/time").allowed), "GET, HEAD");
  EXPECT_EQ(allow_header(match(Method::get, "/api/v1/orders/T/cancel").allowed), "POST");
  EXPECT_EQ(match(Method::options, purchase_path).id, RouteId::none);
  EXPECT_EQ(match(Method::other, purchase_path).id, RouteId::none);
}

TEST(Router, AnswersHeadWhereItAnswersGet) {
  EXPECT_EQ(match(Method::head, "/api/v1/time").id, RouteId::time);
  EXPECT_EQ(match(Method::head, "/").id, RouteId::page);
  EXPECT_EQ(match(Method::head, purchase_path).id, RouteId::outcome_by_request);
  EXPECT_EQ(match(Method::head, "/api/v1/orders/T/pay").id, RouteId::none);
}

}  // namespace
}  // namespace seckill::gateway

#include "unit/payments/counterparties.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace seckill::payments::test {
namespace {

constexpr const char* key_lines[] = {
#include "unit/payments/vectors/keys.inc"
};

template <typename P>
std::unique_ptr<P> made(base::Result<std::unique_ptr<P>> result) {
  if (!result) ADD_FAILURE() << result.error().text();
  return std::move(result.value());
}

}  // namespace

std::string key_text(std::string_view name) {
  for (const char* line : key_lines) {
    const auto value = base::parse_json(line).value();
    const auto& object = value.get_object();
    if (base::text_of(object, "key") == name) return base::text_of(object, "value");
  }
  ADD_FAILURE() << "keys.inc has no " << name;
  return {};
}

generic::Config generic_config() {
  return {"1900000109",
          "https://pay.example/calls",
          {Secret{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, Secret{"whsec_TGFTd0tRUnhTdEJ5UUQ5OGtsWlBJTzJMYUxhU3c="}}};
}

wechat::Config wechat_config() {
  wechat::Config config;
  config.merchant_id = "1900000109";
  config.app_ids = {"wx0000000000000000", "wxd678efh567hg6787"};
  config.certificate_serial = "408B07E79B8269FEC3D5D3E6AB8ED163A6A380DB";
  config.private_key = Secret{key_text("shop_private")};
  config.api_v3_key = Secret{"0123456789abcdefghijklmnopqrstuv"};
  config.platform_keys = {{std::string{wechat_key_id}, key_text("wechat_public")},
                          {"", key_text("wechat_certificate")}};
  return config;
}

alipay::Config alipay_config() {
  alipay::Config config;
  config.app_id = "2014072300007148";
  config.seller_id = "2088102146225135";
  config.private_key = Secret{key_text("shop_private")};
  config.alipay_keys = {key_text("alipay_public"), key_text("alipay_next_bare")};
  return config;
}

const Provider& provider_named(std::string_view name) {
  static const auto all = [] {
    std::map<std::string, std::unique_ptr<Provider>, std::less<>> providers;
    providers["generic"] = made(generic::GenericProvider::make(generic_config()));
    providers["wechat"] = made(wechat::WechatProvider::make(wechat_config()));
    providers["alipay"] = made(alipay::AlipayProvider::make(alipay_config()));
    return providers;
  }();
  return *all.find(name)->second;
}

Refund vectors_refund() {
  return {std::string{ticket_text}, "4200001", "R1", 8'888, 8'888, model::Currency{}, "迟到的付款"};
}

CallStamp vectors_stamp() { return {vectors_now, "593BEC0C930BF1AFEB40B4A08C8FB242"}; }

}  // namespace seckill::payments::test

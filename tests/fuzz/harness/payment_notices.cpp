// Notices and answers of payment providers. The first byte says how the rest is meant; for most of them the harness
// signs the rest as the provider would, so that what lies behind the signature is reached. Nothing unsigned is
// believed, and what is believed has ids and amounts within their bounds, the amounts those of the text (P7).
#include <openssl/evp.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "fuzz/property.hpp"
#include "payments/alipay/alipay_provider.hpp"
#include "payments/form.hpp"
#include "payments/generic/generic_provider.hpp"
#include "payments/generic/standard_webhooks.hpp"
#include "payments/wechat/wechat_provider.hpp"
#include "payments/wire.hpp"
#include "payments/yuan.hpp"

namespace seckill::fuzz {
namespace {

using namespace payments;

constexpr base::UtcMs now = 1'794'362'400'000;
constexpr std::string_view order = "0123456789ABCDEFGHJKMNPQRS";
constexpr std::string_view api_v3_key = "0123456789abcdefghijklmnopqrstuv";
constexpr std::string_view webhook_secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

// Keys that stay the same, so that a crash can be repeated and no input pays for making one.
constexpr const char* key_lines[] = {
#include "unit/payments/vectors/keys.inc"
};

std::string key_text(std::string_view name) {
  for (const char* line : key_lines) {
    const auto value = base::parse_json(line);
    if (base::text_of(value->get_object(), "key") == name) return base::text_of(value->get_object(), "value");
  }
  return {};
}

// The three adapters, with the provider's private key beside them.
struct World {
  Secret secret = *generic::parse_secret(Secret{std::string{webhook_secret}});
  RsaPrivateKey key = *RsaPrivateKey::parse(Secret{key_text("shop_private")});  // here the provider's
  std::unique_ptr<Provider> generic_provider;
  std::unique_ptr<Provider> wechat_provider;
  std::unique_ptr<Provider> alipay_provider;

  World() {
    generic_provider = *generic::GenericProvider::make({"m", "https://p", {Secret{std::string{webhook_secret}}}});
    wechat::Config wechat;
    wechat.merchant_id = "m";
    wechat.certificate_serial = "S";
    wechat.private_key = Secret{key_text("second_private")};
    wechat.api_v3_key = Secret{std::string{api_v3_key}};
    wechat.platform_keys = {{"K", key_text("shop_public")}};
    wechat_provider = *wechat::WechatProvider::make(std::move(wechat));
    alipay::Config alipay;
    alipay.app_id = "a";
    alipay.seller_id = "m";
    alipay.private_key = Secret{key_text("second_private")};
    alipay.alipay_keys = {key_text("shop_public")};
    alipay_provider = *alipay::AlipayProvider::make(std::move(alipay));
  }
};

const World& world() {
  static const World made;
  return made;
}

std::vector<Header> wechat_headers(std::string_view body) {
  const std::string seconds = std::to_string(now / 1'000);
  const std::string message = seconds + "\nn\n" + std::string{body} + "\n";
  return {{"Wechatpay-Timestamp", seconds},
          {"Wechatpay-Nonce", "n"},
          {"Wechatpay-Serial", "K"},
          {"Wechatpay-Signature", to_base64(world().key.sign(message))}};
}

// AES-256-GCM as WeChat Pay seals, since the program only opens.
std::string seal(std::string_view plain) {
  std::string sealed(plain.size() + 16, '\0');
  auto* out = reinterpret_cast<unsigned char*>(sealed.data());
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  int size = 0;
  EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nullptr, reinterpret_cast<const unsigned char*>(api_v3_key.data()),
                     reinterpret_cast<const unsigned char*>("nonce of 12!"));
  EVP_EncryptUpdate(context, out, &size, reinterpret_cast<const unsigned char*>(plain.data()),
                    static_cast<int>(plain.size()));
  EVP_EncryptFinal_ex(context, out + size, &size);
  EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, out + plain.size());
  EVP_CIPHER_CTX_free(context);
  return sealed;
}

void check_notice(const Notice& notice, std::string_view text) {
  require(is_id(notice.notice_id, notice_id_bytes_max) && is_id(notice.out_trade_no), "a notice has its ids", text);
  require(notice.transaction_id.size() <= provider_id_bytes_max, "a transaction's number is bounded", text);
  require(notice.amount_minor >= 0 && notice.total_minor >= 0, "no amount is negative", text);
  require(notice.event == NoticeEvent::closed || is_id(notice.transaction_id), "money has a transaction", text);
  require(notice.event == NoticeEvent::closed || notice.amount_minor <= notice.total_minor, "no more than all", text);
  require(!notice.ticket || notice.ticket->str() == notice.out_trade_no, "a ticket has one spelling", text);
  require(notice.merchant_id == "m", "a notice is for our merchant", text);
}

void check_judged(const Judged& judged, std::string_view text) {
  if (judged) return check_notice(*judged, text);
  require(judged.error() != NoticeFault::bad_signature && judged.error() != NoticeFault::too_old &&
              judged.error() != NoticeFault::unknown_key && judged.error() != NoticeFault::undecipherable,
          "what the provider signed is the provider's", text);
}

void generic_notice(std::string_view body) {
  const std::vector<Header> headers = generic::sign(world().secret, "id", now, body);
  check_judged(world().generic_provider->judge({headers, body}, now, {}), body);
}

void wechat_envelope(std::string_view body) {
  const Judged judged = world().wechat_provider->judge({wechat_headers(body), body}, now, {});
  require(!judged, "what was not sealed with our key is not believed", body);
  require(judged.error() != NoticeFault::bad_signature, "what the provider signed is the provider's", body);
}

void wechat_content(std::string_view content) {
  for (const char* event : {"TRANSACTION.SUCCESS", "REFUND.SUCCESS"}) {
    const std::string resource = JsonText{}
                                     .text("algorithm", "AEAD_AES_256_GCM")
                                     .text("ciphertext", to_base64(seal(content)))
                                     .text("nonce", "nonce of 12!")
                                     .text("associated_data", "")
                                     .str();
    const std::string body = JsonText{}
                                 .text("id", "id")
                                 .text("create_time", "2026-11-11T10:00:00+08:00")
                                 .text("event_type", event)
                                 .raw("resource", resource)
                                 .str();
    check_judged(world().wechat_provider->judge({wechat_headers(body), body}, now, {}), content);
  }
}

void alipay_notice(std::string_view form) {
  auto fields = parse_form(form);
  if (!fields) return;
  const auto again = parse_form(format_form(*fields));
  require(again && again->size() == fields->size(), "a form comes back", form);
  std::erase_if(*fields, [](const FormField& f) { return f.name == "sign" || f.name == "sign_type"; });
  const std::string signature = to_base64(world().key.sign(alipay::text_of_notice(*fields)));
  fields->push_back({"sign_type", "RSA2"});
  fields->push_back({"sign", signature});
  if (fields->size() > form_fields_max) return;
  const std::string body = format_form(*fields);
  const Judged judged = world().alipay_provider->judge({{}, body}, now, {});
  check_judged(judged, form);
  if (!judged || judged->event != NoticeEvent::paid) return;
  const std::string* amount = find_field(*fields, "total_amount");
  require(amount != nullptr && format_yuan(judged->amount_minor).starts_with(*amount), "the amount is the text's",
          form);
}

// Lines of headers, an empty line, a body: as a stranger might send them.
void unsigned_request(std::string_view bytes) {
  Taker input{bytes};
  std::vector<Header> headers;
  while (!input.empty()) {
    const std::string_view line = input.until('\n');
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    headers.push_back({std::string{line.substr(0, colon)}, std::string{line.substr(colon + 1)}});
  }
  const NoticeRequest request{headers, input.rest()};
  for (const Provider* provider :
       {world().generic_provider.get(), world().wechat_provider.get(), world().alipay_provider.get()}) {
    require(!provider->judge(request, now, {}), "nothing unsigned is believed", bytes);
    const CallAnswer answer{200, headers, std::string{request.body}};
    require(provider->read_query(order, {now, "n"}, answer, now).state == QueryState::unknown, "nor answered", bytes);
  }
}

void check_answers(const Provider& provider, const CallAnswer& answer) {
  const CallStamp stamp{now, "n"};
  const Refund refund{std::string{order}, "4200001", "R1", 100, 100, {}, {}};
  const QueryAnswer query = provider.read_query(order, stamp, answer, now);
  require(query.notice.has_value() == (query.state == QueryState::paid || query.state == QueryState::refunded),
          "a payment is told with what it was", answer.body);
  if (query.notice) {
    require(query.notice->out_trade_no == order, "an answer is for the order that was asked for", answer.body);
    require(is_id(query.notice->transaction_id) && query.notice->amount_minor >= 0, "and within bounds", answer.body);
  }
  (void)provider.read_close(order, stamp, answer, now);
  const RefundAnswer answered = provider.read_refund_query(refund, stamp, answer, now);
  require(answered.code.size() <= code_bytes_max && query.code.size() <= code_bytes_max, "codes are short",
          answer.body);
  (void)provider.read_refund(refund, stamp, answer, now);
}

void signed_answer(std::string_view body) {
  const World& all = world();
  check_answers(*all.generic_provider, {200, generic::sign(all.secret, "call_n", now, body), std::string{body}});
  for (const int status : {200, 204, 404}) {
    check_answers(*all.wechat_provider, {status, wechat_headers(body), std::string{body}});
  }
  for (const char* node : {"alipay_trade_query_response", "alipay_trade_fastpay_refund_query_response"}) {
    const std::string json = JsonText{}.raw(node, body).text("sign", to_base64(all.key.sign(body))).str();
    check_answers(*all.alipay_provider, {200, {}, json});
  }
}

// The exact text of every member is what a parser of the whole sees there.
void members(std::string_view json) {
  const auto whole = base::parse_json(json);
  if (!whole || !whole->is_object()) return;
  for (const auto& member : whole->get_object()) {
    const std::string_view key{member.key().data(), member.key().size()};
    const auto raw = alipay::raw_member(json, key);
    if (!raw) continue;  // a key that was written with escapes
    const auto value = base::parse_json(*raw);
    require(value.has_value() && *value == member.value(), "a member's text is its value", json);
  }
}

void amount(std::string_view text) {
  const auto minor = parse_yuan(text);
  if (!minor) return;
  require(*minor >= 0 && format_yuan(*minor).starts_with(text.substr(0, text.find('.'))), "yuan are yuan", text);
  require(parse_yuan(format_yuan(*minor)) == minor, "an amount comes back", text);
}

}  // namespace
}  // namespace seckill::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seckill::fuzz;
  std::string_view bytes = text_of(data, size);
  if (bytes.empty()) return 0;
  const char how = bytes.front();
  bytes.remove_prefix(1);
  switch (how) {
    case 'g': generic_notice(bytes); break;
    case 'e': wechat_envelope(bytes); break;
    case 'w': wechat_content(bytes); break;
    case 'a': alipay_notice(bytes); break;
    case 'q': signed_answer(bytes); break;
    case 'm': members(bytes); break;
    case 'y': amount(bytes); break;
    default: unsigned_request(bytes);
  }
  return 0;
}

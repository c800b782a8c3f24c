// The buyer API: routes, filters, login and the handlers behind the buyers' port (docs/api/openapi.yaml).
//
//   request ─► router ─► filters (filters/order.hpp) ─► body and Idempotency-Key ─► view of the sale ─► admission ─►
//   reply
//
// Keeps P5 (202 only when admission says durable), P9 (refusals are rendered beforehand, every table is bounded) and
// the rule that a buyer with a ticket may be delayed but never denied.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>

#include "admission/admission.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "gateway/counters.hpp"
#include "gateway/filters/buyer_bucket.hpp"
#include "gateway/filters/filter_modes.hpp"
#include "gateway/http/handler.hpp"
#include "gateway/login/token_signer.hpp"
#include "gateway/login/token_verifier.hpp"
#include "gateway/replies.hpp"
#include "gateway/static_files.hpp"
#include "orders/order_reads.hpp"
#include "orders/ticket_ends.hpp"

namespace seckill::gateway {

// Asks the payment provider to take a buyer's payment (payments::DemoProvider::pay). Must not block.
using PayTicket = std::function<void(const model::Ticket&, const model::BuyerId&, orders::EndDone)>;

struct BuyerApiConfig {
  LoginConfig login;
  BucketRate buyer_bucket{5, 1'000};   // purchases
  BucketRate buyer_calls{40, 10'000};  // everything else with a login
  std::chrono::seconds busy_retry_after{1};
  bool demo_mode = false;  // opens pay and demo/logins
  std::chrono::seconds demo_login_lifetime{12 * 3'600};
};

// Sentences about values out of range, each with its key; key material is judged by BuyerApi::make().
[[nodiscard]] std::vector<std::string> problems_of(const BuyerApiConfig& config);

// All borrowed but `pay`; they outlive the BuyerApi. Admission, reads and ends must have stopped calling back before
// the BuyerApi goes (stop the HTTP server, then reads and ends, then destroy).
struct BuyerApiParts {
  const base::Clock& clock;
  admission::Admission& admission;
  orders::OrderReads& reads;
  orders::TicketEnds& ends;
  PayTicket pay;                        // demo mode
  const TokenSigner* signer = nullptr;  // demo mode
  std::span<const StaticFile> files = static_files();
};

struct BuyerContext;

class BuyerApi final : public http::RequestHandler {
 public:
  // Errc::invalid: the login's key material cannot be used. Requires: problems_of(config) is empty. Blocking (reads key
  // files).
  [[nodiscard]] static base::Result<std::unique_ptr<BuyerApi>> make(const BuyerApiConfig& config, BuyerApiParts parts);
  ~BuyerApi() override;

  void handle(const http::Request& request, http::ReplySlot reply) override;

  // An operator changed the sale here: buyers see it with their next question. Any thread, does not block.
  void sale_changed(const model::SaleId& sale);

  // For ops: metrics, the funnel and the switches. Any thread.
  [[nodiscard]] GatewayCounters& counters() noexcept;
  [[nodiscard]] FilterModes& filters() noexcept;

 private:
  explicit BuyerApi(std::unique_ptr<BuyerContext> context);
  std::unique_ptr<BuyerContext> context_;
};

}  // namespace seckill::gateway

// `seckill order|orders|token|backup`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "app/admin_client.hpp"
#include "app/commands.hpp"
#include "app/config.hpp"
#include "app/table.hpp"
#include "base/duration.hpp"
#include "base/text.hpp"
#include "gateway/login/token_signer.hpp"

namespace seckill::app {
namespace {

struct OrderOptions {
  ClientOptions client;
  std::string ticket;
  std::string sale;
  std::string buyer;
  std::string state;
  std::int64_t before = 0;
  std::int64_t limit = 20;
};

std::string instant_at(const boost::json::object& order, std::string_view key) {
  const std::int64_t ms = number_at(order, key);
  return ms > 0 ? base::format_instant(ms) : "-";
}

int show_order(const OrderOptions& options) {
  AdminClient client{options.client};
  const auto order = client.call("GET", "/admin/v1/orders/" + url_encoded(options.ticket));
  if (!order || client.raw()) return client.exit_code();
  const std::string currency = text_at(*order, "currency");
  std::vector<std::vector<std::string>> rows{{"ticket", text_at(*order, "ticket")},
                                             {"state", text_at(*order, "state")},
                                             {"sale", text_at(*order, "sale")},
                                             {"sku", text_at(*order, "sku")},
                                             {"buyer", text_at(*order, "buyer")},
                                             {"units", fmt::format("{}", number_at(*order, "units"))},
                                             {"amount", money(number_at(*order, "amount_minor"), currency)},
                                             {"admitted", instant_at(*order, "admitted_at")},
                                             {"landed", instant_at(*order, "landed_at")},
                                             {"pay before", instant_at(*order, "pay_before")},
                                             {"ended", instant_at(*order, "ended_at")}};
  if (const std::string reason = text_at(*order, "reason"); !reason.empty()) rows.push_back({"reason", reason});
  const boost::json::object& fields = object_at(*order, "fields");
  for (const auto& field : fields) {
    const std::string key{field.key()};
    rows.push_back({base::printable(key, 60), text_at(fields, key)});
  }
  std::fputs(table(rows).c_str(), stdout);
  return client.exit_code();
}

int list_orders(const OrderOptions& options) {
  std::string path = fmt::format("/admin/v1/orders?limit={}", options.limit);
  if (options.before > 0) path += fmt::format("&before={}", options.before);
  if (!options.sale.empty()) path += "&sale=" + url_encoded(options.sale);
  if (!options.buyer.empty()) path += "&buyer=" + url_encoded(options.buyer);
  if (!options.state.empty()) path += "&state=" + url_encoded(options.state);
  AdminClient client{options.client};
  const auto answer = client.call("GET", path);
  if (!answer || client.raw()) return client.exit_code();
  std::vector<std::vector<std::string>> rows{
      {"TICKET", "SALE", "SKU", "BUYER", "UNITS", "AMOUNT", "STATE", "ADMITTED"}};
  for (const boost::json::value& value : array_at(*answer, "orders")) {
    if (!value.is_object()) continue;
    const boost::json::object& order = value.get_object();
    rows.push_back({text_at(order, "ticket"), text_at(order, "sale"), text_at(order, "sku"), text_at(order, "buyer"),
                    fmt::format("{}", number_at(order, "units")),
                    money(number_at(order, "amount_minor"), text_at(order, "currency")), text_at(order, "state"),
                    instant_at(order, "admitted_at")});
  }
  std::fputs(table(rows).c_str(), stdout);
  if (const std::int64_t next = number_at(*answer, "next"); next > 0)
    std::printf("more: --before %lld\n", static_cast<long long>(next));
  return client.exit_code();
}

int make_token(const std::string& config_file, const std::string& buyer_text, const std::string& ttl) {
  ConfigOverrides overrides = overrides_from_environment();
  overrides.demo = true;  // only the login section matters, so a missing operator token is no complaint
  const auto config = load_config(config_file.empty() ? std::nullopt : std::optional{config_file}, overrides);
  if (!config) {
    for (const Problem& problem : config.error()) std::fprintf(stderr, "%s\n", problem.text().c_str());
    return exit_usage;
  }
  if (config->login.algorithm != gateway::JwtAlgorithm::hs256) {
    std::fputs("test logins need HS256: with RS256 and ES256 only your login service holds the signing key\n", stderr);
    return exit_usage;
  }
  if (config->login_secret_drawn) {
    std::fputs("the login secret is missing: set SECKILL_LOGIN_SECRET, or give --config with one\n", stderr);
    return exit_usage;
  }
  const auto buyer = model::BuyerId::parse(buyer_text);
  const auto lifetime = base::parse_duration_ms(ttl);
  if (!buyer || !lifetime || *lifetime < 1'000) {
    std::fputs(buyer ? "--ttl must be a length of time like 30m or 12h\n"
                     : "--buyer must be 1 to 64 bytes of UTF-8 without control characters\n",
               stderr);
    return exit_usage;
  }
  const auto signer =
      gateway::TokenSigner::make(config->login.hs256_secret, config->login.issuer, config->login.audience);
  const auto token =
      signer ? (*signer)->sign(*buyer, base::SystemClock{}.now_utc(), std::chrono::seconds{*lifetime / 1'000})
             : base::Result<std::string>{std::unexpected(signer.error())};
  if (!token) {
    std::fprintf(stderr, "%s\n", token.error().text().c_str());
    return exit_failed;
  }
  std::printf("%s\n", token->c_str());
  return exit_ok;
}

}  // namespace

void add_orders(CLI::App& app, int& exit_code) {
  CLI::App* one = app.add_subcommand("order", "look at one order");
  one->require_subcommand(1);
  auto show = std::make_shared<OrderOptions>();
  CLI::App* command = one->add_subcommand("show", "an order by its ticket");
  add_client_options(*command, show->client);
  command->add_option("ticket", show->ticket, "the ticket, 26 characters")->required();
  command->callback([show, &exit_code] { exit_code = show_order(*show); });

  CLI::App* many = app.add_subcommand("orders", "look at orders");
  many->require_subcommand(1);
  auto list = std::make_shared<OrderOptions>();
  command = many->add_subcommand("list", "orders, newest first");
  add_client_options(*command, list->client);
  command->add_option("--sale", list->sale, "of this sale");
  command->add_option("--buyer", list->buyer, "of this buyer");
  command->add_option("--state", list->state, "in this state (awaiting_payment, paid, …)");
  command->add_option("--before", list->before, "the next page, as the page before says")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--limit", list->limit, "how many")->check(CLI::Range(1, 1'000));
  command->callback([list, &exit_code] { exit_code = list_orders(*list); });
}

void add_token(CLI::App& app, int& exit_code) {
  struct Options {
    std::string config;
    std::string buyer;
    std::string ttl = "12h";
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("token", "make a test login (HS256 only)");
  command->add_option("--buyer", options->buyer, "who logs in")->required();
  command->add_option("--ttl", options->ttl, "how long it is good (default 12h)");
  command->add_option("--config", options->config, "the server's configuration file");
  command->callback([options, &exit_code] { exit_code = make_token(options->config, options->buyer, options->ttl); });
}

void add_backup(CLI::App& app, int& exit_code) {
  struct Options {
    ClientOptions client;
    std::string to;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("backup", "copy the running server's store into a new file on its machine");
  add_client_options(*command, options->client);
  command->add_option("--to", options->to, "the new file")->required();
  command->callback([options, &exit_code] {
    AdminClient client{options->client};
    const std::string path = std::filesystem::absolute(options->to).lexically_normal().string();
    const auto answer =
        client.call("POST", "/admin/v1/backup", boost::json::serialize(boost::json::object{{"path", path}}));
    if (answer && !client.raw()) {
      std::printf("%s: %lld bytes\n", path.c_str(), static_cast<long long>(number_at(*answer, "bytes")));
    }
    exit_code = client.exit_code();
  });
}

}  // namespace seckill::app

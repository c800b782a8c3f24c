// `seckill sale …`: what an operator does to sales, over the admin API.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <memory>

#include "app/admin_client.hpp"
#include "app/commands.hpp"
#include "app/sale_file.hpp"
#include "app/table.hpp"
#include "base/clock.hpp"
#include "base/crypto.hpp"
#include "base/duration.hpp"

namespace seckill::app {
namespace {

struct SaleOptions {
  ClientOptions client;
  std::string sale;
  std::string file;
  std::string id;  // create: instead of the file's; stock changes: the change's
  std::string sku;
  std::int64_t units = 0;
  std::string from = "new";
};

std::string sale_path(const SaleOptions& options) { return "/admin/v1/sales/" + url_encoded(options.sale); }

void print_sale(const boost::json::object& sale) {
  const std::string currency = text_at(sale, "currency");
  std::printf("%s  %s\n", text_at(sale, "id").c_str(), text_at(sale, "title").c_str());
  std::printf("%s, %s (now %s), version %lld\n", text_at(sale, "kind").c_str(), text_at(sale, "state").c_str(),
              text_at(sale, "phase").c_str(), static_cast<long long>(number_at(sale, "version")));
  std::printf("%s to %s\n\n", text_at(sale, "starts_at_text").c_str(), text_at(sale, "ends_at_text").c_str());
  std::vector<std::vector<std::string>> rows{
      {"SKU", "TITLE", "PRICE", "TOTAL", "POOL", "AVAILABLE", "HELD", "SOLD", "LIMIT", "PAY WITHIN", "LANES"}};
  for (const boost::json::value& value : array_at(sale, "items")) {
    if (!value.is_object()) continue;
    const boost::json::object& item = value.get_object();
    const boost::json::object& stock = object_at(item, "stock");
    const auto number = [](const boost::json::object& object, std::string_view key) {
      return fmt::format("{}", number_at(object, key));
    };
    rows.push_back({text_at(item, "sku"), text_at(item, "title"), money(number_at(item, "price_minor"), currency),
                    number(stock, "total"), number(stock, "pool"), number(stock, "available"), number(stock, "held"),
                    number(stock, "sold"), number(item, "limit"),
                    base::format_duration(number_at(item, "pay_window_ms")), number(item, "lanes")});
  }
  std::fputs(table(rows).c_str(), stdout);
}

int show_answer(AdminClient& client, const std::optional<boost::json::object>& sale) {
  if (sale && !client.raw()) print_sale(*sale);
  return client.exit_code();
}

int send_file(const SaleOptions& options, const std::string& method, const std::string& path) {
  auto sale = load_sale_file(options.file, base::SystemClock{}.now_utc());
  if (!sale) {
    for (const Problem& problem : sale.error()) std::fprintf(stderr, "%s\n", problem.text().c_str());
    return exit_usage;
  }
  if (!options.id.empty()) (*sale)["id"] = options.id;
  AdminClient client{options.client};
  return show_answer(client, client.call(method, path, boost::json::serialize(*sale)));
}

int list_sales(const SaleOptions& options) {
  AdminClient client{options.client};
  const auto answer = client.call("GET", "/admin/v1/sales");
  if (!answer || client.raw()) return client.exit_code();
  std::vector<std::vector<std::string>> rows{{"SALE", "KIND", "STATE", "PHASE", "STARTS", "ENDS", "ITEMS", "TITLE"}};
  for (const boost::json::value& value : array_at(*answer, "sales")) {
    if (!value.is_object()) continue;
    const boost::json::object& sale = value.get_object();
    rows.push_back({text_at(sale, "id"), text_at(sale, "kind"), text_at(sale, "state"), text_at(sale, "phase"),
                    text_at(sale, "starts_at_text"), text_at(sale, "ends_at_text"),
                    fmt::format("{}", array_at(sale, "items").size()), text_at(sale, "title")});
  }
  std::fputs(table(rows).c_str(), stdout);
  return client.exit_code();
}

int change_stock(const SaleOptions& options, bool top_up) {
  std::string id = options.id;
  if (id.empty()) {
    std::array<std::uint8_t, 8> bytes{};
    base::random_bytes(bytes);
    id = base::to_hex(bytes);
  }
  boost::json::object body{{"units", options.units}, {"id", id}};
  if (top_up) body["from"] = options.from;
  AdminClient client{options.client};
  const std::string path =
      fmt::format("{}/items/{}/{}", sale_path(options), url_encoded(options.sku), top_up ? "top-up" : "reduce");
  const auto answer = client.call("POST", path, boost::json::serialize(body));
  if (!answer) {
    std::fprintf(stderr, "to finish or repeat this change and no other: --id %s\n", id.c_str());
    return client.exit_code();
  }
  if (client.raw()) return client.exit_code();
  const boost::json::object& stock = object_at(*answer, "stock");
  const auto* repeated = answer->if_contains("repeated");
  if (repeated != nullptr && repeated->is_bool() && repeated->get_bool())
    std::printf("done before, nothing moved now; ");
  std::printf("%s %lld: total %lld, pool %lld, available %lld, held %lld, sold %lld (id %s)\n",
              top_up ? "moved" : "taken", static_cast<long long>(number_at(*answer, top_up ? "moved" : "taken")),
              static_cast<long long>(number_at(stock, "total")), static_cast<long long>(number_at(stock, "pool")),
              static_cast<long long>(number_at(stock, "available")), static_cast<long long>(number_at(stock, "held")),
              static_cast<long long>(number_at(stock, "sold")), id.c_str());
  return client.exit_code();
}

// A subcommand with the options every client command has.
CLI::App* add(CLI::App& group, const char* name, const char* what, const std::shared_ptr<SaleOptions>& options) {
  CLI::App* command = group.add_subcommand(name, what);
  add_client_options(*command, options->client);
  return command;
}

void add_state_command(CLI::App& group, const char* name, const char* what, int& exit_code) {
  auto options = std::make_shared<SaleOptions>();
  CLI::App* command = add(group, name, what, options);
  command->add_option("sale", options->sale, "the sale's id")->required();
  command->callback([options, name, &exit_code] {
    AdminClient client{options->client};
    exit_code = show_answer(client, client.call("POST", sale_path(*options) + "/" + name));
  });
}

void add_stock_command(CLI::App& group, const char* name, const char* what, bool top_up, int& exit_code) {
  auto options = std::make_shared<SaleOptions>();
  CLI::App* command = add(group, name, what, options);
  command->add_option("sale", options->sale, "the sale's id")->required();
  command->add_option("sku", options->sku, "the item")->required();
  command->add_option("units", options->units, "how many units")->required()->check(CLI::Range(1, 100'000'000));
  if (top_up) {
    command->add_option("--from", options->from, "new units, or units of the reserve")
        ->check(CLI::IsMember({"new", "reserve"}));
  }
  command->add_option("--id", options->id, "names this change: repeating it under the same id moves nothing twice");
  command->callback([options, top_up, &exit_code] { exit_code = change_stock(*options, top_up); });
}

void add_file_commands(CLI::App& group, int& exit_code) {
  auto create = std::make_shared<SaleOptions>();
  CLI::App* command = add(group, "create", "create a sale from a file (see examples/)", create);
  command->add_option("-f,--file", create->file, "YAML or JSON file")->required();
  command->add_option("--id", create->id, "another id than the file's");
  command->callback([create, &exit_code] { exit_code = send_file(*create, "POST", "/admin/v1/sales"); });

  auto edit = std::make_shared<SaleOptions>();
  command = add(group, "edit", "change title, times and terms; the file carries the version it is based on", edit);
  command->add_option("sale", edit->sale, "the sale's id")->required();
  command->add_option("-f,--file", edit->file, "YAML or JSON file")->required();
  command->callback([edit, &exit_code] { exit_code = send_file(*edit, "PATCH", sale_path(*edit)); });
}

}  // namespace

void add_sale(CLI::App& app, int& exit_code) {
  CLI::App* group = app.add_subcommand("sale", "create, watch and steer sales");
  group->require_subcommand(1);
  add_file_commands(*group, exit_code);

  auto list = std::make_shared<SaleOptions>();
  add(*group, "list", "all sales, newest first", list)->callback([list, &exit_code] { exit_code = list_sales(*list); });

  auto show = std::make_shared<SaleOptions>();
  CLI::App* command = add(*group, "show", "one sale with its stock", show);
  command->add_option("sale", show->sale, "the sale's id")->required();
  command->callback([show, &exit_code] {
    AdminClient client{show->client};
    exit_code = show_answer(client, client.call("GET", sale_path(*show)));
  });

  add_state_command(*group, "preload", "move the stock into lanes; the sale opens at its start", exit_code);
  add_state_command(*group, "pause", "answer purchases with paused", exit_code);
  add_state_command(*group, "resume", "end a pause", exit_code);
  add_state_command(*group, "close", "end the sale for good", exit_code);
  add_stock_command(*group, "top-up", "bring units on sale", true, exit_code);
  add_stock_command(*group, "reduce", "take unsold units off sale", false, exit_code);
}

}  // namespace seckill::app

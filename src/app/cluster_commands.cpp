// `seckill lanes|switch …`: what an operator does to a deployment, over the admin API.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "app/admin_client.hpp"
#include "app/commands.hpp"
#include "app/table.hpp"

namespace seckill::app {
namespace {

struct LaneOptions {
  ClientOptions client;
  std::string sale;
  std::string sku;
  std::string wanted;
  std::string why;
};

struct SwitchOptions {
  ClientOptions client;
  std::string name;
  std::string value;
  std::string why;
};

std::string number(const boost::json::object& object, std::string_view key) {
  return fmt::format("{}", number_at(object, key));
}

int show_lanes(AdminClient& client, const std::optional<boost::json::object>& item) {
  if (!item || client.raw()) return client.exit_code();
  std::printf("%s %s: wanted %s, pool %s\n\n", text_at(*item, "sale").c_str(), text_at(*item, "sku").c_str(),
              text_at(*item, "wanted").c_str(), number(*item, "pool").c_str());
  std::vector<std::vector<std::string>> rows{
      {"LANE", "STATE", "GENERATION", "AVAILABLE", "HELD", "SOLD", "OPEN HERE", "LIVE AVAILABLE", "SERVER"}};
  for (const boost::json::value& value : array_at(*item, "lanes")) {
    if (!value.is_object()) continue;
    const boost::json::object& lane = value.get_object();
    const boost::json::object& stock = object_at(lane, "stock");
    const boost::json::object& live = object_at(lane, "live");
    const auto* open = live.if_contains("open");
    const bool is_open = open != nullptr && open->is_bool() && open->get_bool();
    rows.push_back({number(lane, "lane"), text_at(lane, "state"), number(lane, "generation"),
                    number(stock, "available"), number(stock, "held"), number(stock, "sold"),
                    live.empty() ? "-" : (is_open ? "yes" : "no"), number(object_at(live, "stock"), "available"),
                    text_at(lane, "run_id").substr(0, 12)});
  }
  std::fputs(table(rows).c_str(), stdout);
  return client.exit_code();
}

std::string lanes_path(const LaneOptions& options) {
  return fmt::format("/admin/v1/sales/{}/items/{}/lanes", url_encoded(options.sale), url_encoded(options.sku));
}

int show_switches(AdminClient& client, const std::optional<boost::json::object>& answer) {
  if (!answer || client.raw()) return client.exit_code();
  std::vector<std::vector<std::string>> rows{{"SWITCH", "VALUE", "THIS NODE", "SINCE", "BY", "CONSEQUENCE"}};
  for (const boost::json::value& value : array_at(*answer, "switches")) {
    if (!value.is_object()) continue;
    const boost::json::object& one = value.get_object();
    rows.push_back({text_at(one, "name"), text_at(one, "value"), text_at(one, "followed_here"),
                    text_at(one, "changed_at_text"), text_at(one, "actor"), text_at(one, "consequence")});
  }
  std::fputs(table(rows).c_str(), stdout);
  return client.exit_code();
}

}  // namespace

void add_lanes(CLI::App& app, int& exit_code) {
  CLI::App* group = app.add_subcommand("lanes", "an item's lanes in a deployment: look, and choose who admits");
  group->require_subcommand(1);
  auto show = std::make_shared<LaneOptions>();
  CLI::App* command = group->add_subcommand("show", "each lane's state, generation, server and units");
  add_client_options(*command, show->client);
  command->add_option("sale", show->sale, "the sale's id")->required();
  command->add_option("sku", show->sku, "the item")->required();
  command->callback([show, &exit_code] {
    AdminClient client{show->client};
    exit_code = show_lanes(client, client.call("GET", lanes_path(*show)));
  });

  auto want = std::make_shared<LaneOptions>();
  command = group->add_subcommand("want", "lane: Redis admits; store: the database does; closed: nobody");
  add_client_options(*command, want->client);
  command->add_option("sale", want->sale, "the sale's id")->required();
  command->add_option("sku", want->sku, "the item")->required();
  command->add_option("wanted", want->wanted, "lane, store or closed")
      ->required()
      ->check(CLI::IsMember({"lane", "store", "closed"}));
  command->add_option("--why", want->why, "what the audit log will say")->required();
  command->callback([want, &exit_code] {
    AdminClient client{want->client};
    const boost::json::object body{{"wanted", want->wanted}, {"why", want->why}};
    exit_code = show_lanes(client, client.call("PUT", lanes_path(*want), boost::json::serialize(body)));
  });
}

void add_switch(CLI::App& app, int& exit_code) {
  CLI::App* group = app.add_subcommand("switch", "a deployment's switches; a change reaches every node in a second");
  group->require_subcommand(1);
  auto list = std::make_shared<SwitchOptions>();
  CLI::App* command = group->add_subcommand("list", "each switch, its value and what follows from it");
  add_client_options(*command, list->client);
  command->callback([list, &exit_code] {
    AdminClient client{list->client};
    exit_code = show_switches(client, client.call("GET", "/admin/v1/switches"));
  });

  auto set = std::make_shared<SwitchOptions>();
  command = group->add_subcommand("set", "turn a switch; audited");
  add_client_options(*command, set->client);
  command->add_option("name", set->name, "the switch, as `switch list` names it")->required();
  command->add_option("value", set->value, "on or off")->required();
  command->add_option("--why", set->why, "what the audit log will say")->required();
  command->callback([set, &exit_code] {
    AdminClient client{set->client};
    const boost::json::object body{{"value", set->value}, {"why", set->why}};
    exit_code = show_switches(
        client, client.call("PUT", "/admin/v1/switches/" + url_encoded(set->name), boost::json::serialize(body)));
  });
}

}  // namespace seckill::app

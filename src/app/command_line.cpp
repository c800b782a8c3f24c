#include "app/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "app/commands.hpp"
#include "app/embedded.hpp"

namespace seckill::app {

void add_version(CLI::App& app, int& exit_code) {
  app.add_subcommand("version", "print the version")->callback([&exit_code] {
    std::printf("seckill %s\n", version());
    exit_code = exit_ok;
  });
}

int run(int argc, char** argv) {
  CLI::App app{"seckill: a flash-sale server that sells exactly its stock", "seckill"};
  app.require_subcommand(1);
  int exit_code = exit_ok;
  try {
    add_serve(app, exit_code);
    add_migrate(app, exit_code);
    add_demo(app, exit_code);
    add_sale(app, exit_code);
    add_lanes(app, exit_code);
    add_switch(app, exit_code);
    add_orders(app, exit_code);
    add_token(app, exit_code);
    add_backup(app, exit_code);
    add_config(app, exit_code);
    add_version(app, exit_code);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    const bool asked_for_help = app.exit(problem) == 0;
    return asked_for_help ? exit_ok : exit_usage;
  } catch (const std::exception& thrown) {  // nothing of ours throws; a library's last resort, such as no memory
    std::fprintf(stderr, "seckill: %s\n", thrown.what());
    return exit_failed;
  }
  return exit_code;
}

}  // namespace seckill::app

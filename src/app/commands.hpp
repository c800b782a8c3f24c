// The subcommands, one function each that adds it to the command line; its callback sets `exit_code`.
#pragma once

#include <cstdint>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace seckill::app {

inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;  // refused, or failed on the way
inline constexpr int exit_usage = 2;   // the command line or the configuration is wrong

void add_serve(CLI::App& app, int& exit_code);
void add_migrate(CLI::App& app, int& exit_code);
void add_demo(CLI::App& app, int& exit_code);
void add_sale(CLI::App& app, int& exit_code);
void add_lanes(CLI::App& app, int& exit_code);
void add_switch(CLI::App& app, int& exit_code);
void add_orders(CLI::App& app, int& exit_code);
void add_token(CLI::App& app, int& exit_code);
void add_backup(CLI::App& app, int& exit_code);
void add_config(CLI::App& app, int& exit_code);
void add_version(CLI::App& app, int& exit_code);

}  // namespace seckill::app

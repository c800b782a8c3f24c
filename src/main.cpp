// seckill: everything is a subcommand; see app/command_line.hpp.
#include "app/command_line.hpp"

int main(int argc, char** argv) { return seckill::app::run(argc, argv); }

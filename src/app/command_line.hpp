// The command line: `seckill <command>`. Exit codes: 0 done, 1 refused or failed, 2 usage or configuration.
#pragma once

namespace seckill::app {

// The whole program. Reports on standard output, complaints on standard error.
[[nodiscard]] int run(int argc, char** argv);

}  // namespace seckill::app

// What is wrong with a file an operator wrote: all of it at once, each with its place and what would be valid.
#pragma once

#include <string>
#include <vector>

namespace seckill::app {

struct Problem {
  std::string file;  // as the operator named it; empty for the environment and the command line
  int line = 0;      // from 1; 0 when there is no one line
  std::string key;   // "buyer.port"
  std::string what;  // a sentence that says what would be valid

  // "seckill.yaml:12: buyer.port: 99999 is out of range; a whole number from 0 to 65535"
  [[nodiscard]] std::string text() const;
};

using Problems = std::vector<Problem>;

}  // namespace seckill::app

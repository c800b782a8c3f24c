// bench_server refusals [ROUNDS] | durable [SECONDS] | restart [WINNERS]  --binary PATH
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "figures.hpp"

int main(int argc, char** argv) try {
  std::string binary = "build/release/seckill";
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view{argv[i]} == "--binary" && i + 1 < argc) {
      binary = argv[++i];
    } else {
      words.emplace_back(argv[i]);
    }
  }
  const auto number = [&](unsigned otherwise) {
    return words.size() > 1 ? static_cast<unsigned>(std::strtoul(words[1].c_str(), nullptr, 10)) : otherwise;
  };
  const std::string what = words.empty() ? "" : words[0];
  if (what == "refusals") {
    seckill::bench::measure_refusals(binary, number(60));
  } else if (what == "durable") {
    seckill::bench::measure_durable(binary, number(5));
  } else if (what == "restart") {
    seckill::bench::measure_restart(binary, number(1'000'000));
  } else {
    fmt::print(stderr,
               "usage: bench_server refusals [ROUNDS] | durable [SECONDS] | restart [WINNERS]  [--binary PATH]\n");
    return 2;
  }
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "bench_server: {}\n", e.what());
  return 1;
}

// bench_cluster crowd | gaps | peer | rebuild, each with its words (--name value); measure.py calls it.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "crowd.hpp"

int main(int argc, char** argv) try {
  using namespace seckill::bench;
  const std::string_view what = argc > 1 ? argv[1] : "";
  const Words words{argc, argv};
  if (what == "crowd") {
    run_crowd(words);
  } else if (what == "gaps") {
    run_gaps(words);
  } else if (what == "peer") {
    compare_with_peer(words);
  } else if (what == "rebuild") {
    measure_rebuild(words);
  } else {
    fmt::print(stderr, "usage: bench_cluster crowd|gaps|peer|rebuild [--name value]…\n");
    return 2;
  }
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "bench_cluster: {}\n", e.what());
  return 1;
}

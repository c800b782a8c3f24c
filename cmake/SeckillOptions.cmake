# Compiler flags, sanitizers, ccache and the linker.
option(SECKILL_BUILD_TESTS "Build the unit and contract tests" ON)
option(SECKILL_BUILD_BENCH "Build the benchmarks" OFF)
option(SECKILL_PCH "Use precompiled headers" ON)
option(SECKILL_WERROR "Treat warnings as errors" ON)
set(SECKILL_SANITIZE "" CACHE STRING "Comma-separated sanitizers: address,undefined or thread")
option(SECKILL_FUZZ "Build the fuzzers (clang's libFuzzer): target fuzzers" OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -D_GLIBCXX_ASSERTIONS")
# The library's own assertions find what AddressSanitizer cannot: an index past size() but within capacity().
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS")

add_library(seckill_flags INTERFACE)
target_compile_options(seckill_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual -Wnull-dereference -Wimplicit-fallthrough -Werror=switch -Werror=unused-result
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
if(SECKILL_WERROR)
  target_compile_options(seckill_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # A precompiled header that carries no time stamp can be found again by ccache.
  target_compile_options(seckill_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()

if(SECKILL_SANITIZE)
  add_compile_options(-fsanitize=${SECKILL_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SECKILL_SANITIZE})
endif()
if(SECKILL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage for libFuzzer in all our code; its main() in the fuzzers alone
endif()

# ccache, told what precompiled headers need, and to see the same command in every build folder and clone. The
# precompiled headers themselves name their folder, so their users hit again in the same folder only.
find_program(SECKILL_CCACHE ccache)
if(SECKILL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;CCACHE_NOHASHDIR=1;CCACHE_BASEDIR=${CMAKE_SOURCE_DIR};${SECKILL_CCACHE}")
endif()
find_program(SECKILL_LLD NAMES ld.lld-19 ld.lld)
if(SECKILL_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_link_options(--ld-path=${SECKILL_LLD})
endif()

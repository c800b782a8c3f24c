#!/bin/sh
# Configures a preset once and builds targets with visible progress.
# Usage: tools/build.sh PRESET [TARGET...]     e.g. tools/build.sh release seckill
#   JOBS=n overrides the number of parallel jobs (default: the cores, but at most one job for each 1.5 GB of free memory).
#   CMAKE_ARGS=... is passed on when configuring.
set -eu
preset=$1
shift
cd "$(dirname "$0")/.."
build=build/$preset
say() { printf '%s\n' "$*"; }
stop() { printf 'build: %s\n' "$*" >&2; exit 1; }

command -v cmake >/dev/null 2>&1 || stop "cmake is not installed; run: make setup"
version=$(cmake --version | sed -n '1s/.*version \([0-9]*\.[0-9]*\).*/\1/p')
[ "${version%%.*}" -gt 3 ] || [ "${version#*.}" -ge 25 ] || stop "cmake $version is too old; 3.25 or newer is needed (Debian 12 has it)."
command -v ninja >/dev/null 2>&1 || stop "ninja is not installed; run: make setup"
command -v clang++-19 >/dev/null 2>&1 || [ -n "${CXX:-}" ] ||
  stop "clang++-19 is not installed; run: make setup   (or set CXX to clang++ >= 19 or g++ >= 13)"
mkdir -p "$build" || stop "cannot write in $(pwd)/build"
free_mb=$(df -Pm build | awk 'NR == 2 {print $4}')
need_mb=2000
[ ! -f "$build/.built" ] || need_mb=300  # what is there needs little more
[ "$free_mb" -ge "$need_mb" ] ||
  stop "the disk of $(pwd)/build has only $free_mb MB free; a build needs $need_mb MB. Free some space (make clean removes old builds)."

# One build at a time in a folder; the second waits instead of tripping over the first.
exec 9>"$build/.lock"
if command -v flock >/dev/null 2>&1 && ! flock -n 9; then
  say "build: another build is running in $build; waiting for it."
  flock 9
fi

# A folder that was moved or copied cannot be used again: CMake keeps absolute paths.
if [ -f "$build/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "$build/CMakeCache.txt" &&
  ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd)" "$build/CMakeCache.txt"; then
  say "build: $build was made for another folder; starting it anew."
  find "$build" -mindepth 1 -maxdepth 1 ! -name .lock -exec rm -rf {} +
fi

if [ ! -f "$build/build.ninja" ] || [ -n "${CMAKE_ARGS:-}" ]; then
  say "build: configuring $build"
  log=$build/configure.log
  # shellcheck disable=SC2086  # several arguments on purpose
  if ! cmake --preset "$preset" ${CXX:+-DCMAKE_CXX_COMPILER="$CXX"} ${CMAKE_ARGS:-} >"$log" 2>&1; then
    grep -A6 -E 'CMake Error|error:' "$log" | head -n 30 >&2 || tail -n 20 "$log" >&2
    stop "configuring failed; all of it is in $log. A missing library: run 'make setup'."
  fi
fi

jobs=${JOBS:-}
if [ -z "$jobs" ]; then
  cores=$(nproc 2>/dev/null || echo 2)
  memory_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo 2>/dev/null || echo 4000000)
  if [ -r /sys/fs/cgroup/memory.max ] && limit=$(cat /sys/fs/cgroup/memory.max) && [ "$limit" != max ]; then
    used=$(cat /sys/fs/cgroup/memory.current 2>/dev/null || echo 0)
    [ $(((limit - used) / 1024)) -ge "$memory_kb" ] || memory_kb=$(((limit - used) / 1024))
  fi
  jobs=$((memory_kb / 1500000))
  [ "$jobs" -ge 1 ] || jobs=1
  [ "$jobs" -le "$cores" ] || jobs=$cores
fi

say "build: $build${*:+: $*} ($jobs at a time)"
export NINJA_STATUS='[%f/%t %es] '
trap 'say ""; say "build: stopped; run the same command again to go on from here."; exit 130' INT
if ! ninja -C "$build" -j "$jobs" "$@"; then
  free_mb=$(df -Pm build | awk 'NR == 2 {print $4}')
  [ "$free_mb" -ge 100 ] || stop "failed: the disk is full ($free_mb MB free)."
  stop "failed in $build; the first error is above. 'Killed' means too little memory: try JOBS=1."
fi
: >"$build/.built"

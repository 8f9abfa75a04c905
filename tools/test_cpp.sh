#!/usr/bin/env bash
# test_cpp.sh PRESET   builds and runs the C++ tests under a preset of CMakePresets.json (release, debug,
# clang, asan, tsan). Without the doctest header: skipped, plainly; in CI (CI=true) that is a failure.
set -eu
preset=${1:?usage: tools/test_cpp.sh PRESET}
cd "$(dirname "$0")/.."
folder=build/test-$preset

if ! tools/system_packages.sh doctest; then
  [ "${CI:-}" = true ] && exit 3
  echo "SKIPPED: the C++ tests ($preset)"
  exit 0
fi
[ "$preset" != tsan ] || tools/system_packages.sh tsan
echo "== C++ tests ($preset)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A compiler that is newer than CI's may warn of more; only CI makes that a failure.
strict=$([ "${CI:-}" = true ] && echo ON || echo OFF)
# With a compiler cache the core's objects are those that the package was built of, as long as the flags are the same.
# Without one they are compiled again, at -O2: little more than half the time of -O3. (Hashes at -O3 are compared by make
# determinism, and by the Python tests of the module.)
flags=$([ -n "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ] && echo "-O3 -DNDEBUG" || echo "-O2 -DNDEBUG")
# The thread sanitizer is for what has threads, and builds no more than that.
targets=$([ "$preset" = tsan ] && echo "--target pool_tests determinism" || true)
build() {
  cmake --preset "$preset" -B "$folder" -DLUDUS_PYTHON=OFF -DLUDUS_WERROR="$strict" \
    -DCMAKE_CXX_FLAGS_RELEASE="$flags" -Wno-dev &&
    cmake --build "$folder" -j "$(getconf _NPROCESSORS_ONLN)" $targets
}
build >"$log" 2>&1 || { cat "$log"; exit 1; }
ctest --test-dir "$folder" --output-on-failure --no-tests=error

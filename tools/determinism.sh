#!/usr/bin/env bash
# determinism.sh [PRESET...]: the pinned hash of MiniRTS (cpp/tests/determinism.cpp) under several builds.
#
# Without arguments: GCC -O3, GCC -O0, Clang, address and undefined-behaviour sanitizers, thread
# sanitizer; a build whose compiler is missing is named and fails. Only what the check needs is built.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- release debug clang asan tsan
failed=0
mkdir -p build
for preset in "$@"; do
  echo "== $preset"
  build=build/determinism-$preset
  cmake --preset "$preset" -B "$build" -DLUDUS_PYTHON=OFF -DLUDUS_TOOLS=OFF >"$build.log" 2>&1 ||
    { cat "$build.log"; failed=1; continue; }
  cmake --build "$build" --target determinism >>"$build.log" 2>&1 || { tail -30 "$build.log"; failed=1; continue; }
  "$build/cpp/tests/determinism" || failed=1
done
exit $((failed * 3))

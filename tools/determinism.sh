#!/usr/bin/env bash
# determinism.sh [PRESET...]: the pinned hash of MiniRTS (cpp/tests/determinism.cpp) and the pinned signatures of all
# games (cpp/tests/signatures.cpp; not under the thread sanitizer) in several builds.
#
# Without arguments: GCC -O3, GCC -O0, Clang, address and undefined-behaviour sanitizers, Clang's
# thread sanitizer; a build whose compiler is missing is named and fails. Only what the check needs is built.
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
  checks="determinism signatures"
  [ "$preset" != tsan ] || checks=determinism
  # shellcheck disable=SC2086
  cmake --build "$build" --target $checks >>"$build.log" 2>&1 || { tail -30 "$build.log"; failed=1; continue; }
  for check in $checks; do "$build/cpp/tests/$check" || failed=1; done
done
exit $((failed * 3))

#!/usr/bin/env bash
# core_beside_sources.sh: builds the compiled core into src/ludus/native, for an editable install (make dev). Seconds after
# the first time: only what a change touches is compiled.
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
python=${VENV:-.venv}/bin/python
echo "== the compiled core, beside its sources"
# The flags of the package, so that a compiler cache has the objects of either.
cmake -S . -B build/dev -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE="$PWD/$python" -Wno-dev >"$log" 2>&1 &&
  cmake --build build/dev -j "$(getconf _NPROCESSORS_ONLN)" >>"$log" 2>&1 || { cat "$log"; exit 1; }

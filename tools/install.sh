#!/usr/bin/env bash
# install.sh PYTHON EXTRAS: ludus-rl[EXTRAS] into the environment of PYTHON, its core compiled while what it needs is fetched.
# One after the other both take minutes, and neither uses what the other does.
set -eu -o pipefail
python=${1:?usage: tools/install.sh PYTHON EXTRAS} extras=${2-}
cd "$(dirname "$0")/.."

needs=$(mktemp) made=$(mktemp -d)
log=$made/build.log build=
trap '[ -z "$build" ] || kill "$build" 2>/dev/null || true; rm -rf "$needs" "$made"' EXIT
"$python" -m tools.requirements "$extras" >"$needs"

"$python" -m pip wheel -c constraints.txt --no-build-isolation --no-deps -w "$made" . >"$log" 2>&1 &
build=$!
"$python" -m pip install -c constraints.txt -r "$needs"
echo "== the compiled core"
wait "$build" || { cat "$log"; exit 1; }
# An environment older than the name ludus-rl: two distributions must not own the same files.
"$python" -m pip uninstall -q -y ludus 2>/dev/null
# Anew even where this version is there already: its sources may have changed.
"$python" -m pip install --no-deps --force-reinstall "$made"/ludus_rl-*.whl

#!/usr/bin/env bash
# system_packages.sh [compiler] [doctest] [chromium] [clang] [tsan] [gnugo] [ccache]
#   (none named: all but ccache, which nothing needs)
#
# Makes sure that what pip cannot bring is there. As root on a Debian-like machine it installs what is
# missing (LUDUS_NO_APT=1: never); for anyone else it prints what to install. Exit code 3: something is missing.
set -u

have_compiler() {
  printf '#include <concepts>\n#include <span>\nstatic_assert(__cplusplus > 201703L); int main() { return 0; }\n' |
    "${CXX:-c++}" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null
}
have_doctest() { printf '#include <doctest/doctest.h>\n' | "${CXX:-c++}" -x c++ -E - >/dev/null 2>&1; }
have_clang() { command -v clang++ >/dev/null; }
have_tsan() {
  local made code=1
  have_clang && made=$(mktemp) && {
    printf 'int main() { return 0; }\n' | clang++ -fsanitize=thread -x c++ - -o "$made" 2>/dev/null && code=0
    rm -f "$made"
  }
  return $code
}
have_gnugo() { command -v gnugo >/dev/null || [ -x /usr/games/gnugo ]; }
have_ccache() { command -v ccache >/dev/null; }
have_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null

declare -A package=([compiler]=g++ [doctest]=doctest-dev [chromium]=chromium [clang]=clang [tsan]='clang libclang-rt-dev' [gnugo]=gnugo [ccache]=ccache)
declare -A purpose=(
  [compiler]="a C++20 compiler (GCC >= 11 or Clang >= 14), which builds the core"
  [doctest]="the doctest header, which the C++ tests need"
  [clang]="Clang, with which the hashes of the games are compared (make determinism)"
  [tsan]="Clang's thread sanitizer (make sanitize)"
  [gnugo]="GNU Go, with which the rules of Go and whole matches over GTP are compared"
  [ccache]="ccache, with which nothing is compiled twice"
  [chromium]="a Chromium or Chrome, which the browser tests need"
)

[ $# -gt 0 ] || set -- compiler doctest chromium clang tsan gnugo
missing=()
for name in "$@"; do
  [ -n "${package[$name]:-}" ] || { echo "system_packages.sh: unknown name $name (${!package[*]})" >&2; exit 2; }
  "have_$name" || missing+=("$name")
done
[ ${#missing[@]} -gt 0 ] || exit 0

names=()
for name in "${missing[@]}"; do read -ra more <<<"${package[$name]}" && names+=("${more[@]}"); done

if [ "$(id -u)" = 0 ] && [ "${LUDUS_NO_APT:-}" != 1 ] && command -v apt-get >/dev/null; then
  echo "== system packages: ${names[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  install() { apt-get install -y -qq --no-install-recommends "${names[@]}" </dev/null >/dev/null; }
  install 2>/dev/null || { apt-get update -qq </dev/null >/dev/null && install; }
fi

still=0
for name in "${missing[@]}"; do
  "have_$name" && continue
  echo "missing: ${purpose[$name]} (Debian and Ubuntu: apt-get install ${package[$name]})" >&2
  still=3
done
exit $still

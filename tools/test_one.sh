#!/usr/bin/env bash
# test_one.sh py PYTHON [pytest's options]   with K=returns: the test files whose names hold the word, else the tests
# test_one.sh cpp                            with T=replay: the same of C++; what has changed is compiled first
set -eu
cd "$(dirname "$0")/.."
kind=${1:?usage: test_one.sh py|cpp}

if [ "$kind" = py ]; then
  python=${2:?usage: test_one.sh py PYTHON}
  shift 2
  [ -n "${K:-}" ] || { echo "make test-py K=returns: expected the name of a test or of its file" >&2; exit 2; }
  case $K in
  */* | *.py) exec "$python" -m pytest -q "$K" "$@" ;;
  esac
  files=()
  while IFS= read -r file; do files+=("$file"); done < <(find tests -name "test_*$K*.py" | sort)
  [ ${#files[@]} -gt 0 ] && exec "$python" -m pytest -q "${files[@]}" "$@"
  exec "$python" -m pytest -q -k "$K" "$@"
fi

preset=${CPP_PRESET:-release} T=${T:-}
[ -n "$T" ] || { echo "make test-cpp T=replay: expected the name of a test or of its file" >&2; exit 2; }
tools/system_packages.sh compiler doctest
folder=build/test-$preset log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ! -f "$folder/build.ninja" ]; then
  cmake --preset "$preset" -B "$folder" -DLUDUS_PYTHON=OFF -DLUDUS_WERROR=OFF -Wno-dev >"$log" 2>&1 || { cat "$log"; exit 1; }
fi
cmake --build "$folder" -j "$(getconf _NPROCESSORS_ONLN)" --target ludus_tests pool_tests >"$log" 2>&1 || { cat "$log"; exit 1; }
found=0 code=0
for program in ludus_tests pool_tests; do
  for filter in -sf -tc; do # by the file's name, else by the test's
    count=$("$folder/cpp/tests/$program" "$filter=*$T*" -c -nv | sed -n 's/.*filters: \([0-9]*\)$/\1/p')
    [ "${count:-0}" -gt 0 ] || continue
    found=1
    "$folder/cpp/tests/$program" "$filter=*$T*" || code=1
    break
  done
done
[ $found = 1 ] || { echo "no C++ test and no test file is named *$T* (list: $folder/cpp/tests/ludus_tests -ltc)" >&2; exit 2; }
exit $code

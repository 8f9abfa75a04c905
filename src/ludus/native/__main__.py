"""``python -m ludus.native --cmake-dir``: where CMake finds Ludus."""

from __future__ import annotations

import sys

from ludus.native import cmake_dir

if __name__ == "__main__":
    if sys.argv[1:] != ["--cmake-dir"]:
        sys.stderr.write("usage: python -m ludus.native --cmake-dir\n")
        sys.exit(2)
    sys.stdout.write(f"{cmake_dir()}\n")

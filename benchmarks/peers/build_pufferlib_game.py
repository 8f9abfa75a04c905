"""Compiles one of PufferLib's games in C into the environment whose interpreter runs this.

Its own build of all games fetches raylib for browsers and box2d from the network; without them (NO_OCEAN=1)
no game is compiled. The sources that PyPI has bring raylib for Linux along, which is all that Breakout needs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

import numpy
import pufferlib

PACKAGE, GAME = "pufferlib==3.0.0", "breakout"


def main() -> None:
    game = Path(pufferlib.__file__).parent / "ocean" / GAME
    target = game / f"binding{sysconfig.get_config_var('EXT_SUFFIX')}"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--no-deps", "--no-build-isolation"),
                *("--no-binary", "pufferlib", "-d", folder, PACKAGE),
            ],
            check=True,
            env={**os.environ, "NO_OCEAN": "1"},
        )
        (archive,) = Path(folder).glob("pufferlib-*.tar.gz")
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
        (sources,) = (p for p in Path(folder).glob("pufferlib-*") if p.is_dir())
        raylib = sources / "raylib-5.5_linux_amd64"
        # The flags of its setup.py.
        subprocess.run(
            [
                *("gcc", "-shared", "-fPIC", "-O2", "-flto", "-fwrapv", "-DPLATFORM_DESKTOP"),
                *("-DNPY_NO_DEPRECATED_API=NPY_1_7_API_VERSION", "-Wno-implicit-function-declaration"),
                *(f"-I{sysconfig.get_path('include')}", f"-I{numpy.get_include()}", f"-I{raylib}/include"),
                *(f"{sources}/pufferlib/ocean/{GAME}/binding.c", f"{raylib}/lib/libraylib.a"),
                *("-lm", "-lpthread", "-ldl", "-o", str(target)),
            ],
            check=True,
        )


if __name__ == "__main__":
    main()

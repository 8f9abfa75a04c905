"""Builds the wheel for PyPI, checks it, and tries it in an empty environment.

    make wheel                           # for the Python of .venv
    make wheel PYTHON=python3.12 VENV=.venv312

The wheel is compiled for the baseline of the architecture, gets its manylinux tag from auditwheel and lands
in dist/. Each Python version has a wheel: nanobind's stable ABI (abi3) needs Python 3.12 or later, and Ludus
supports 3.10.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from tools.wheel_files import (
    WheelError,
    check_contents,
    check_file,
    check_name,
    presets,
    python_tag,
    zoo_files,
)
from tools.wheel_trial import Installed, run, try_plain, try_training, try_zoo

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
WORK = ROOT / "build" / "wheel"

#: Programs that build something; an empty environment has none.
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cmake", "ninja", "make")
#: Settings of a developer's shell that reach the compiler.
COMPILER_SETTINGS = ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_ARGS", "CMAKE_BUILD_TYPE")
#: Options that raise the instruction set above the architecture's baseline.
_ABOVE_BASELINE = re.compile(r"-m(arch|cpu|tune|avx|sse[34]|ssse|fma|bmi|popcnt|lzcnt|f16c|aes)[\w.=+-]*")


def above_baseline(commands: Iterable[Mapping[str, str]]) -> list[str]:
    """Compiler options in a ``compile_commands.json`` that old processors cannot run, each once."""
    found: dict[str, None] = {}
    for entry in commands:
        options = shlex.split(entry["command"])
        found |= dict.fromkeys(o for o in options if _ABOVE_BASELINE.fullmatch(o))
    return list(found)


def _plain_environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in COMPILER_SETTINGS}


def _build_wheel(sources: Path, out: Path, environment: Mapping[str, str]) -> None:
    words = ("--no-build-isolation", "--no-deps", "-w", str(out), str(sources))
    pip(sys.executable, "wheel", *words, env=environment)


def build() -> Path:
    """Return the wheel as compiled here, with the tag of this machine."""
    environment = _plain_environment()
    raw = WORK / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    _build_wheel(ROOT, raw, environment)
    [wheel] = raw.glob("*.whl")
    tags = wheel.name.removesuffix(".whl").split("-", 2)[2]
    commands = ROOT / "build" / tags / "compile_commands.json"
    options = above_baseline(json.loads(commands.read_text(encoding="utf-8")))
    if options:
        raise WheelError(
            f"compiled with {' '.join(options)}: above the architecture's baseline; remove {commands.parent}"
        )
    return wheel


def repair(wheel: Path) -> Path:
    """Return the wheel with its manylinux tag, in dist/."""
    folder = WORK / "repaired"
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(folder), str(wheel), quiet=True)
    [made] = folder.glob("*.whl")
    check_name(made.name, python_tag(*sys.version_info[:2]))
    line = check_file(made)
    DIST.mkdir(exist_ok=True)
    out = DIST / made.name
    shutil.copyfile(made, out)
    print(f"== {DIST.name}/{line}", flush=True)
    return out


def build_sdist() -> Path:
    """Return the source distribution in dist/."""
    from scikit_build_core import build as backend

    DIST.mkdir(exist_ok=True)
    out = DIST / backend.build_sdist(str(DIST))
    print(f"== {DIST.name}/{check_file(out)}", flush=True)
    return out


def try_sdist(archive: Path, folder: Path) -> None:
    """Build the wheel of a source distribution with this environment's tools, and check its files."""
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    [unpacked] = folder.iterdir()
    raw = folder / "wheel"
    # Objects in the compiler's cache serve any folder.
    environment = {**_plain_environment(), "CCACHE_BASEDIR": str(unpacked)}
    pip(
        sys.executable,
        "wheel",
        "--no-build-isolation",
        "--no-deps",
        "-w",
        str(raw),
        str(unpacked),
        env=environment,
    )
    [wheel] = raw.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        check_contents(file.namelist(), presets(), zoo_files())
    print(f"  built: {wheel.name}", flush=True)


class Empty(Installed):
    """An environment with nothing in it but pip, outside the sources, where no compiler is found."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, str(folder / "venv" / "bin" / "python"))
        run(sys.executable, "-m", "venv", str(folder / "venv"))
        self.environment["PATH"] = str(folder / "venv" / "bin")
        for setting in ("CC", "CXX"):
            self.environment.pop(setting, None)
        if found := [name for name in COMPILERS if shutil.which(name, path=self.environment["PATH"])]:
            raise WheelError(f"the empty environment has {', '.join(found)}, expected no compiler")

    def install(self, what: str, *constraints: str) -> None:
        more = [word for c in constraints for word in ("-c", c)]
        pip(self.python, "install", "-q", "--only-binary", ":all:", *more, what, env=self.environment)


def pip(python: str, *words: str, env: Mapping[str, str] | None = None) -> None:
    """Run pip with the pinned versions, without its output."""
    first, *rest = words
    run(python, "-m", "pip", first, "-c", str(ROOT / "constraints.txt"), *rest, env=env, quiet=True)


def torch_constraint(folder: Path) -> Path:
    """Return a constraints file with this environment's build of torch, local version included (``+cpu``)."""
    path = folder / "torch.txt"
    path.write_text(f"torch=={metadata.version('torch')}\n", encoding="utf-8")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--no-training", action="store_true", help="leave torch, the training and the zoo out of the trial"
    )
    parser.add_argument(
        "--sdist", action="store_true", help="the source distribution too, and a wheel from it (minutes)"
    )
    options = parser.parse_args()
    try:
        print("== building the wheel", flush=True)
        wheel = repair(build())
        with tempfile.TemporaryDirectory(prefix="ludus-wheel-") as name:
            empty = Empty(Path(name))
            print("== in an empty environment without a compiler, without extras", flush=True)
            empty.install(str(wheel))
            try_plain(empty)
            if not options.no_training:
                print("== with [train,web]", flush=True)
                empty.install(f"{wheel}[train,web]", str(torch_constraint(empty.folder)))
                try_training(empty)
                try_zoo(empty)
        if options.sdist:
            print("== source distribution", flush=True)
            with tempfile.TemporaryDirectory(prefix="ludus-sdist-") as name:
                try_sdist(build_sdist(), Path(name))
    except WheelError as error:
        print(f"make wheel: {error}", file=sys.stderr)
        return 1
    print(f"== ready: {wheel.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

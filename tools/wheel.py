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
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path, PurePosixPath

from tools.vendor_web import FILES, PACKAGES

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
WORK = ROOT / "build" / "wheel"

#: Debian 12, Ubuntu 22.04, RHEL 9 and newer have this glibc. docs/start.md promises it.
NEWEST_GLIBC = (2, 34)
#: `import ludus` loads neither numpy nor torch.
IMPORT_LIMIT_S = 0.1
#: Settings of a developer's shell that reach the compiler.
COMPILER_SETTINGS = ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_ARGS", "CMAKE_BUILD_TYPE")
#: Options that raise the instruction set above the architecture's baseline.
_ABOVE_BASELINE = re.compile(r"-m(arch|cpu|tune|avx|sse[34]|ssse|fma|bmi|popcnt|lzcnt|f16c|aes)[\w.=+-]*")
_NAME = re.compile(r"ludus_rl-[\w.]+-(cp3\d+)-(cp3\d+)-([\w.]+)\.whl")
_GLIBC = re.compile(r"manylinux_(\d+)_(\d+)_\w+")
_LICENCES = (
    "LICENSE",
    *(f"licenses/{name}.txt" for name in ("nanobind", "robin-map", *(p.name for p in PACKAGES))),
)


class WheelError(RuntimeError):
    """The wheel cannot be published as it is."""


def python_tag(major: int, minor: int) -> str:
    """Return the interpreter tag of a Python version: ``cp311``."""
    return f"cp{major}{minor}"


def check_name(name: str, python: str, newest_glibc: tuple[int, int] = NEWEST_GLIBC) -> tuple[int, int]:
    """Return the glibc that a wheel named ``name`` needs. Raises ``WheelError`` if PyPI refuses its tags.

    ``python`` is the interpreter tag that the wheel must have.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise WheelError(f"{name}: expected ludus_rl-VERSION-{python}-{python}-PLATFORM.whl")
    if match[1] != python or match[2] != python:
        raise WheelError(f"{name}: tags {match[1]}-{match[2]}, expected {python}-{python}")
    found = [(int(m[1]), int(m[2])) for m in map(_GLIBC.fullmatch, match[3].split(".")) if m]
    if not found:
        raise WheelError(f"{name}: platform {match[3]}, expected a manylinux tag")
    glibc = min(found)  # a wheel with several tags installs where the oldest one does
    if glibc > newest_glibc:
        needed, limit = (f"{a}.{b}" for a, b in (glibc, newest_glibc))
        raise WheelError(
            f"{name}: needs glibc {needed}, expected at most {limit}; build it on an older system"
        )
    return glibc


def check_contents(names: Iterable[str], presets: Iterable[str]) -> None:
    """Raise ``WheelError`` with everything that is missing in a wheel, or does not belong there."""
    files = set(names)
    expected = (
        r"ludus/native/_core\.cpython-\S+\.so",
        r"ludus/native/_core\.pyi",
        r"ludus/native/cmake/ludus-config\.cmake",
        r"ludus/native/cpp/game/\w+\.hpp",
        r"ludus/py\.typed",
        r"ludus/web/static/replay/page\.html",
        r"ludus/web/static/app/index\.html",
        *(rf"ludus/web/static/vendor/{re.escape(file.name)}" for file in FILES),
        *(rf"ludus_rl-[\w.]+\.dist-info/licenses/{re.escape(name)}" for name in _LICENCES),
        *(re.escape(f"ludus/data/presets/{name}") for name in presets),
    )
    problems = [
        "missing " + pattern.replace("\\", "")
        for pattern in expected
        if not any(re.fullmatch(pattern, file) for file in files)
    ]
    for file in sorted(files):
        path = PurePosixPath(file)
        if path.parts[0] != "ludus" and not path.parts[0].endswith(".dist-info"):
            # auditwheel copies libraries that no manylinux system has; theirs are licences to ship.
            problems.append(f"unexpected {file}")
        elif path.suffix in (".pyc", ".in") or "tests" in path.parts:
            problems.append(f"unexpected {file}")
    if problems:
        raise WheelError("the wheel: " + "; ".join(problems))


def above_baseline(commands: Iterable[Mapping[str, str]]) -> list[str]:
    """Compiler options in a ``compile_commands.json`` that old processors cannot run, each once."""
    found: dict[str, None] = {}
    for entry in commands:
        options = shlex.split(entry["command"])
        found |= dict.fromkeys(o for o in options if _ABOVE_BASELINE.fullmatch(o))
    return list(found)


def build() -> Path:
    """Return the wheel as compiled here, with the tag of this machine."""
    environment = {k: v for k, v in os.environ.items() if k not in COMPILER_SETTINGS}
    raw = WORK / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    pip(
        sys.executable,
        "wheel",
        "--no-build-isolation",
        "--no-deps",
        "-w",
        str(raw),
        str(ROOT),
        env=environment,
    )
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
    glibc = check_name(made.name, python_tag(*sys.version_info[:2]))
    with zipfile.ZipFile(made) as file:
        check_contents(file.namelist(), [p.name for p in (ROOT / "presets").glob("*.toml")])
    DIST.mkdir(exist_ok=True)
    out = DIST / made.name
    shutil.copyfile(made, out)
    print(
        f"== {out.relative_to(ROOT)}: {out.stat().st_size / 1e6:.1f} MB, glibc >= {glibc[0]}.{glibc[1]}",
        flush=True,
    )
    return out


class Empty:
    """An environment with nothing in it but pip, outside the sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = str(folder / "venv" / "bin" / "python")
        # Nothing of the sources or of the calling environment may be found.
        drop = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
        self.environment = {
            k: v for k, v in os.environ.items() if k not in drop and not k.startswith("LUDUS")
        }
        self.environment["XDG_CONFIG_HOME"] = self.environment["XDG_STATE_HOME"] = str(folder / "home")
        run(sys.executable, "-m", "venv", str(folder / "venv"))

    def install(self, what: str, *constraints: str) -> None:
        more = [word for c in constraints for word in ("-c", c)]
        pip(self.python, "install", "-q", *more, what, env=self.environment)

    def __call__(self, *words: str) -> str:
        """Run ``ludus WORDS`` and return its stdout."""
        print("  ludus", *words, flush=True)
        command = str(self.folder / "venv" / "bin" / "ludus")
        return run(command, *words, env=self.environment, cwd=self.folder, quiet=True)

    def import_s(self) -> float:
        """Seconds that ``import ludus`` takes, the best of five processes."""
        code = (
            "from time import perf_counter as now; t = now(); import ludus; print(now() - t, ludus.__file__)"
        )
        times = []
        for _ in range(5):
            took, file = run(
                self.python, "-c", code, env=self.environment, cwd=self.folder, quiet=True
            ).split()
            if not Path(file).is_relative_to(self.folder):
                raise WheelError(f"import ludus: found {file}, expected the wheel's")
            times.append(float(took))
        return min(times)


def try_plain(empty: Empty) -> None:
    """Check that games, benchmarks, matches of bots, replays and their pages work without extras."""
    if (took := empty.import_s()) > IMPORT_LIMIT_S:
        raise WheelError(f"import ludus: {took * 1e3:.0f} ms, expected at most {IMPORT_LIMIT_S * 1e3:.0f} ms")
    print(f"  import ludus: {took * 1e3:.0f} ms", flush=True)
    listed = empty("games", "list")
    if "minirts" not in listed:
        raise WheelError(f"ludus games list: no minirts in\n{listed}")
    golden = (ROOT / "tests" / "golden" / "games" / "signature.txt").read_text(encoding="utf-8")
    signature = json.loads(empty("signature", "--json"))["games"]
    if signature != dict(line.split() for line in golden.splitlines()):
        raise WheelError(f"ludus signature: {signature}, expected what tests/golden/games/signature.txt pins")
    empty("bench", "sim", "minirts", "--seconds", "1")
    match = ("eval", "simple", "--against", "hit_and_run", "--game", "minirts", "--matches", "2")
    result = json.loads(empty(*match, "--record", "kept", "--json"))
    empty("replay", "verify", *result["replays"])
    empty("replay", "to-html", result["replays"][0], "--out", "page.html")


def try_training(empty: Empty) -> None:
    """Five seconds of training, and a match of the weights."""
    started = time.monotonic()
    empty("train", "tic_tac_toe", "--run-dir", "trained", "--quiet", "--run.max-minutes", f"{5 / 60:.4f}")
    print(f"  trained, with start and evaluation: {time.monotonic() - started:.0f} s", flush=True)
    match = ("eval", "trained@last", "--against", "random", "--matches", "20")
    result = json.loads(empty(*match, "--record", "played", "--json"))
    empty("replay", "verify", *result["replays"])


def pip(python: str, *words: str, env: Mapping[str, str] | None = None) -> None:
    """Run pip with the pinned versions, without its output."""
    first, *rest = words
    run(python, "-m", "pip", first, "-c", str(ROOT / "constraints.txt"), *rest, env=env, quiet=True)


def run(*command: str, env: Mapping[str, str] | None = None, cwd: Path = ROOT, quiet: bool = False) -> str:
    """Run a command and return its stdout. Raises ``WheelError`` with all its output if it fails."""
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WheelError(f"{shlex.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    if not quiet:
        print(done.stdout, end="", flush=True)
    return done.stdout


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
        "--no-training", action="store_true", help="leave torch and the training out of the trial"
    )
    options = parser.parse_args()
    try:
        print("== building the wheel", flush=True)
        wheel = repair(build())
        with tempfile.TemporaryDirectory(prefix="ludus-wheel-") as name:
            empty = Empty(Path(name))
            print("== in an empty environment, without extras", flush=True)
            empty.install(str(wheel))
            try_plain(empty)
            if not options.no_training:
                print("== with [train]", flush=True)
                empty.install(f"{wheel}[train]", str(torch_constraint(empty.folder)))
                try_training(empty)
    except WheelError as error:
        print(f"make wheel: {error}", file=sys.stderr)
        return 1
    print(f"== ready: {wheel.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

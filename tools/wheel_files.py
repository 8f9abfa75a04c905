"""Checks the files of a release: names, contents and sizes of wheels and of the source distribution.

python -m tools.wheel_files dist            # every file of a folder
python -m tools.wheel_files --tag v0.1.0    # is the tag the package's version?
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from tools.vendor_web import FILES, PACKAGES

ROOT = Path(__file__).resolve().parent.parent

#: Debian 12, Ubuntu 22.04, RHEL 9 and newer have this glibc. docs/start.md promises it.
NEWEST_GLIBC = (2, 34)
#: The first macOS for Apple's own processors.
OLDEST_MACOS = 11
#: Bytes of a file of a release.
LARGEST = 16_000_000
#: Folders whose files make the package; each file that git knows there is in the source distribution.
SOURCE_FOLDERS = ("cmake", "cpp", "licenses", "presets", "src")
SOURCE_FILES = ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml")
_NAME = re.compile(r"ludus_rl-[\w.]+-(cp3\d+)-(cp3\d+)-([\w.]+)\.whl")
_SDIST = re.compile(r"ludus_rl-[\w.]+\.tar\.gz")
_GLIBC = re.compile(r"manylinux_(\d+)_(\d+)_\w+")
_MACOS = re.compile(r"macosx_(\d+)_\d+_arm64")
_VERSION = re.compile(r'^version = "([^"]+)"', re.MULTILINE)
_LICENCES = (
    "LICENSE",
    *(f"licenses/{name}.txt" for name in ("nanobind", "robin-map", *(p.name for p in PACKAGES))),
)


class WheelError(RuntimeError):
    """The wheel or the source distribution cannot be published as it is."""


def python_tag(major: int, minor: int) -> str:
    """Return the interpreter tag of a Python version: ``cp311``."""
    return f"cp{major}{minor}"


def check_name(name: str, python: str, newest_glibc: tuple[int, int] = NEWEST_GLIBC) -> str:
    """Return what a wheel named ``name`` needs: ``glibc >= 2.28``.

    ``python`` is the interpreter tag that it must have. Raises ``WheelError`` if PyPI refuses its tags.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise WheelError(f"{name}: expected ludus_rl-VERSION-{python}-{python}-PLATFORM.whl")
    if match[1] != python or match[2] != python:
        raise WheelError(f"{name}: tags {match[1]}-{match[2]}, expected {python}-{python}")
    platforms = match[3].split(".")
    if (macos := [m for m in map(_MACOS.fullmatch, platforms) if m]) and int(macos[0][1]) >= OLDEST_MACOS:
        return f"macOS >= {macos[0][1]}"
    found = [(int(m[1]), int(m[2])) for m in map(_GLIBC.fullmatch, platforms) if m]
    if not found:
        raise WheelError(f"{name}: platform {match[3]}, expected a manylinux tag or macosx_11_0_arm64")
    glibc = min(found)  # a wheel with several tags installs where the oldest one does
    if glibc > newest_glibc:
        needed, limit = (f"{a}.{b}" for a, b in (glibc, newest_glibc))
        raise WheelError(
            f"{name}: needs glibc {needed}, expected at most {limit}; build it on an older system"
        )
    return f"glibc >= {glibc[0]}.{glibc[1]}"


def check_size(name: str, size: int) -> None:
    """Raise ``WheelError`` if a file of the release is larger than :data:`LARGEST`."""
    if size > LARGEST:
        raise WheelError(f"{name}: {size / 1e6:.1f} MB, expected at most {LARGEST / 1e6:.0f} MB")


def check_contents(names: Iterable[str], presets: Iterable[str], zoo: Iterable[str] = ()) -> None:
    """Raise ``WheelError`` with everything that is missing in a wheel, or does not belong there.

    ``presets`` and ``zoo`` are the names of the files that the package's folders of these names have.
    """
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
        *(re.escape(f"ludus/zoo/{name}") for name in zoo),
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


def check_sdist(name: str, names: Iterable[str], sources: Iterable[str]) -> None:
    """Raise ``WheelError`` if a source is missing in the archive ``name``, or a built file is in it."""
    top = name.removesuffix(".tar.gz")
    files = {file.removeprefix(f"{top}/") for file in names}
    missing = sorted(set(sources) - files)
    built = sorted(f for f in files if PurePosixPath(f).suffix in (".so", ".pyc", ".o", ".whl"))
    problems = [*(f"missing {f}" for f in missing[:5]), *(f"unexpected {f}" for f in built[:5])]
    if problems:
        more = len(missing) + len(built) - len(problems)
        raise WheelError(f"{name}: " + "; ".join(problems) + (f"; and {more} more" if more else ""))


def sources() -> list[str]:
    """Files of the package that git knows, from the root."""
    done = subprocess.run(
        ["git", "ls-files", "-z", *SOURCE_FOLDERS, *SOURCE_FILES], cwd=ROOT, capture_output=True, check=True
    )
    return [name for name in done.stdout.decode().split("\0") if name]


def presets() -> list[str]:
    """Names of the files of presets."""
    return sorted(p.name for p in (ROOT / "presets").glob("*.toml"))


def zoo_files() -> list[str]:
    """Weights and cards of the players that come with the package."""
    folder = ROOT / "src" / "ludus" / "zoo"
    return sorted(f.name for f in folder.glob("*") if f.suffix in (".safetensors", ".toml"))


def check_file(file: Path) -> str:
    """Check one file of a release and return a line about it."""
    size = file.stat().st_size
    check_size(file.name, size)
    if _SDIST.fullmatch(file.name):
        with tarfile.open(file) as archive:
            check_sdist(file.name, archive.getnames(), sources())
        needs = "sources"
    else:
        match = _NAME.fullmatch(file.name)
        needs = check_name(file.name, match[1] if match else "cp311")
        with zipfile.ZipFile(file) as wheel:
            check_contents(wheel.namelist(), presets(), zoo_files())
    return f"{file.name}: {size / 1e6:.1f} MB of at most {LARGEST / 1e6:.0f} MB, {needs}"


def check_tag(tag: str, project: str) -> None:
    """Raise ``WheelError`` if a tag is not the version in the text of pyproject.toml."""
    found = _VERSION.search(project)
    version = found[1] if found else ""
    if tag != f"v{version}":
        raise WheelError(f"tag {tag}: the package's version is {version}, expected v{version}")


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", help="a folder of wheels and source distributions")
    parser.add_argument("--tag", help="the tag of the release")
    options = parser.parse_args(words)
    try:
        if options.tag is not None:
            check_tag(options.tag, (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        if options.folder is not None:
            files = sorted(Path(options.folder).glob("*"))
            if not files:
                raise WheelError(f"{options.folder}: no files, expected wheels or a source distribution")
            for file in files:
                print(check_file(file))
    except WheelError as error:
        print(f"wheel_files: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

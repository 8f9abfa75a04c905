"""Compare the package that Python imports with the sources; tests/conftest.py stops where they differ."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

from tools.sources_digest import CPP, sources_digest

ROOT = CPP.parent
SOURCES = ROOT / "src" / "ludus"
INSTALLED_DATA = {"data/presets": ROOT / "presets"}
NOT_INSTALLED = {"__pycache__", "_core.pyi"}
#: Environment variable: tests run on a package that differs from the sources, as mutants do.
ANY_PACKAGE = "LUDUS_TESTS_ANY_PACKAGE"
HINT = "run `make install`, or `make dev` once for a checkout that runs what you edit"


def package_folder() -> Path:
    """Return the folder of the package ``ludus`` that Python imports."""
    found = importlib.util.find_spec("ludus")
    if found is None or found.origin is None:
        raise SystemExit(f"ludus is not installed in this environment: {HINT}")
    return Path(found.origin).resolve().parent


def stale(package: Path, sources: Path = SOURCES, cpp: Path = CPP) -> str:
    """Name the first difference between the package under test and the sources; empty where there is none."""
    if package != sources:
        for name in _names(sources, ""):
            if not _same(package / name, sources / name):
                return f"{package / name} is not src/ludus/{name}: {HINT}"
        for where, folder in INSTALLED_DATA.items():
            for name in _names(folder, ""):
                if not _same(package / where / name, folder / name):
                    return f"{package / where / name} is not {folder.name}/{name}: {HINT}"
    from ludus.native import core

    if core.build_info().get("sources") != sources_digest(cpp):
        return f"the core in {package / 'native'} was not built from cpp/ as it is now: {HINT}"
    return ""


def _names(folder: Path, below: str) -> Iterator[str]:
    for path in sorted((folder / below).iterdir()):
        name = path.relative_to(folder).as_posix()
        if path.name in NOT_INSTALLED or path.suffix in (".so", ".in"):
            continue
        if path.is_dir():
            yield from _names(folder, name)
        else:
            yield name


def _same(installed: Path, source: Path) -> bool:
    return installed.is_file() and installed.read_bytes() == source.read_bytes()

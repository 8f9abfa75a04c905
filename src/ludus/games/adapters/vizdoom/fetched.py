"""Scenarios that ``ludus games fetch vizdoom-scenarios`` has stored.

``fetched.toml`` has the name, size and hash of each file; the files are the user's own copy.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from pathlib import Path

from ludus.flow.inputs.shown import shell
from ludus.flow.packaged import PackagedFiles, data_folder, packaged_files

NAME = "vizdoom-scenarios"
COMMAND = f"ludus games fetch {shell(NAME)}"

_whole: set[tuple[str, int, int]] = set()  # path, size and time of files whose content was right


@lru_cache(maxsize=1)
def manifest() -> PackagedFiles:
    """Return what the files are and where they come from."""
    return packaged_files(resources.files(__package__).joinpath("fetched.toml").read_text(encoding="utf-8"))


def folder() -> Path:
    """Return the folder of fetched scenarios, which need not exist (:func:`data_folder`)."""
    return data_folder(NAME)


def missing() -> str:
    """Return the end of a message about a scenario that is not there: the command that fetches it."""
    return f"the scenario is not there: {COMMAND} fetches it from {manifest().source}"


def names() -> list[str]:
    """Return the stems of the ``.cfg`` files that are stored and unchanged, their maps too."""
    found = []
    for stem in sorted(manifest().maps):
        try:
            if config(stem) is not None:
                found.append(stem)
        except ValueError:
            continue
    return found


def config(stem: str) -> Path | None:
    """Return the ``.cfg`` of a fetched scenario, None if it is not stored.

    The ``.cfg`` and its map are compared with the manifest once for each state of the files.

    Raises:
        ValueError: A file has changed, or one of the two is missing; the message names it.
        KeyError: The manifest has no such scenario.
    """
    files, where = manifest(), folder()
    needed = (f"{stem}.cfg", files.maps[stem])
    path = where / needed[0]
    if not path.exists() and not path.is_symlink():
        return None
    for name in needed:
        if _state(where / name) in _whole:
            continue
        before = _state(where / name)
        if fault := files.file(name).fault(where):
            raise ValueError(f"{shell(str(where / name))}: {fault}; {COMMAND} restores it")
        if before is not None:
            _whole.add(before)
    return path


def _state(path: Path) -> tuple[str, int, int] | None:
    try:
        about = path.lstat()
    except OSError:
        return None
    return str(path), about.st_size, about.st_mtime_ns

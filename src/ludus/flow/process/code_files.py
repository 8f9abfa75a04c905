"""Files that a run's code and rules come from, by their hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from ludus.flow.inputs.regular import open_regular

SHORT = 12  # hex digits of a hash that a message shows
_BLOCK = 1 << 20


class CodeFile(msgspec.Struct, frozen=True):
    """A file that a setting's code or rules come from.

    Args:
        setting: Path of the setting that names it: ``game.name``.
        name: The file in short: ``nim.py``, ``my_package/rules.py``.
        path: Where it lay.
        sha256: Hash of its bytes, in hex.
    """

    setting: str
    name: str
    path: str
    sha256: str


class CodeChange(msgspec.Struct, frozen=True):
    """A file that is another one than before.

    Args:
        setting: As of :class:`CodeFile`.
        name: The file in short, as it was before.
        path: Where it lies.
        before: Hash before; "" = the file was not there.
        after: Hash now; "" = the file is gone.
        kept: The run keeps what it took from the file before: the lines of a rulebook.
    """

    setting: str
    name: str
    path: str
    before: str
    after: str
    kept: bool = False


def code_file(setting: str, path: Path, name: str = "") -> CodeFile | None:
    """Return a file with its hash; None for one that cannot be read. ``name``: "" = the last part."""
    digest = sha256_of(path)
    return CodeFile(setting, name or path.name, str(path), digest) if digest else None


def sha256_of(path: Path) -> str:
    """Return the hash of a regular file; "" for one that cannot be read."""
    digest = hashlib.sha256()
    try:
        with open_regular(path) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()


def line_in(error: BaseException, path: str) -> int:
    """Return the last line of a file that an error came through; 0 for none."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if path and trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def changed(before: Iterable[CodeFile], now: Iterable[CodeFile]) -> tuple[CodeChange, ...]:
    """Return the files in which ``now`` differs from ``before``, for the settings that both have.

    A single file under another name is the same file, since a user may have renamed it.
    """
    then, here = _by_setting(before), _by_setting(now)
    found: list[CodeChange] = []
    for setting in here.keys() & then.keys():
        old, new = then[setting], here[setting]
        if len(old) == len(new) == 1:
            (one,), (two,) = old.values(), new.values()
            if one.sha256 != two.sha256:
                found.append(CodeChange(setting, one.name, two.path, one.sha256, two.sha256))
            continue
        for name in sorted(old.keys() | new.keys()):
            one_hash = old[name].sha256 if name in old else ""
            two_hash = new[name].sha256 if name in new else ""
            if one_hash != two_hash:
                path = (new.get(name) or old[name]).path
                found.append(CodeChange(setting, name, path, one_hash, two_hash))
    return tuple(sorted(found, key=lambda change: (change.setting, change.path)))


def applied(files: Iterable[CodeFile], change: CodeChange) -> tuple[CodeFile, ...]:
    """Return the files after a change."""
    place = (change.setting, change.name)
    rest = [f for f in files if (f.setting, f.name) != place]
    return (*rest, *([CodeFile(*place, change.path, change.after)] if change.after else []))


def _by_setting(files: Iterable[CodeFile]) -> dict[str, dict[str, CodeFile]]:
    found: dict[str, dict[str, CodeFile]] = {}
    for file in files:
        found.setdefault(file.setting, {})[file.name] = file
    return found

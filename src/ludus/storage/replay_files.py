"""Names of the replays that Ludus writes: evaluations', training's, and matches that people play."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import time
from collections.abc import Container, Sequence
from pathlib import Path

from ludus.storage.files import TEMPORARY, file_part, fsync_directory, own_folder, write_synced

SUFFIX = ".ludus"
_MAX_STEM = 200  # characters; names of files have at most 255 bytes
CLOCK_S = 2.0  # by which the clock of a file server may differ
_LAST_S = 253402300799.0  # end of the year 9999
_TIME = re.compile(r"(?:^|-)(?P<day>[12]\d{7})-(?P<time>\d{6})(?=[-.]|$)")
_FINAL = re.compile(r"final-(?P<against>.+)-(?P<number>\d{1,9})(\.\d{1,9})?", re.DOTALL)
_MATCH = re.compile(r"match-(?P<number>\d{1,9})")
_PLAYED = re.compile(
    r".*-(?P<day>[12]\d{7})-(?P<time>\d{6})(?P<watched>-watched)?(\.(?P<copy>\d{1,9}))?", re.DOTALL
)
_SOLO = "alone"  # the opponent in games of one seat
_NUMBER = re.compile(rf"\.(\d{{1,9}}){re.escape(SUFFIX)}$")


def replay_name(*parts: object, taken: Container[str] = ()) -> str:
    """Return the name of a replay's file: its parts joined by ``-``, safe on every system.

    Args:
        parts: Words, numbers and names of players; characters that other systems refuse are replaced.
        taken: Names in lower case that other replays of the folder have; a number is put behind one of them.
    """
    stem = "-".join(file_part(str(part)) for part in parts)
    stem = file_part(stem) if len(stem) > _MAX_STEM else stem
    name, number = stem + SUFFIX, 2
    while name.lower() in taken:
        name, number = f"{stem}.{number}{SUFFIX}", number + 1
    return name


def replay_title(name: str, players: Sequence[str] = ()) -> str:
    """Return the name of a replay's file in words: ``final against simple, match 1``.

    A name of another form is returned without its ending.

    Args:
        name: The file's name.
        players: Names of the match's players, of which a file's name has a form that is safe everywhere.
    """
    stem = name.removesuffix(SUFFIX)
    if found := _FINAL.fullmatch(stem):
        against = next((p for p in players if file_part(p) == found["against"]), found["against"])
        versus = "" if against in (_SOLO, "solo") else f" against {against}"
        return f"final{versus}, match {int(found['number'])}"
    if found := _MATCH.fullmatch(stem):
        return f"match {int(found['number'])}"
    if found := _PLAYED.fullmatch(stem):
        day, clock = found["day"], found["time"]
        watched = ", watched" if found["watched"] else ""
        number = f", {found['copy']}" if found["copy"] else ""
        return f"played {day[:4]}-{day[4:6]}-{day[6:]} {clock[:2]}:{clock[2:4]}{number}{watched}"
    return stem


def keep_replay(folder: Path, data: bytes, *parts: object) -> Path:
    """Write a new replay into ``folder``, whole or not at all, and return its path. Nothing is replaced.

    Args:
        folder: Created where it is missing; never followed through a link.
        data: The bytes of the replay.
        parts: As of :func:`replay_name`.

    Raises:
        OSError: It cannot be written.
        CorruptFile: The folder is a link, or no folder.
    """
    own_folder(folder, make=True)
    taken: set[str] = {name.lower() for name in os.listdir(folder)}
    aside = folder / f"{replay_name(*parts)}.{secrets.token_hex(4)}{TEMPORARY}"
    try:
        write_synced(aside, data)
        while True:
            path = folder / replay_name(*parts, taken=taken)
            try:
                _place(aside, path)
            except FileExistsError:  # of another writer
                taken.add(path.name.lower())
            else:
                fsync_directory(folder)
                return path
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)


def written_order(name: str, modified: float, now: float) -> tuple[bool, str, float, int, str]:
    """Return the sorting key of a replay's file among others, the oldest first.

    The time in a name counts before the file's, which a copy changes. A file from the future was written
    before the clock was set back, so that it is older than every file written since.

    Args:
        name: The file's name.
        modified: Its time of modification.
        now: The present time.
    """
    found = _TIME.search(name)
    named = found["day"] + found["time"] if found else ""
    latest = time.strftime("%Y%m%d%H%M%S", time.gmtime(now + CLOCK_S))
    if not named:
        named = time.strftime("%Y%m%d%H%M%S", time.gmtime(min(max(0.0, modified), _LAST_S)))
    number = _NUMBER.search(name)
    past = modified <= now + CLOCK_S and named <= latest
    return past, named, modified, int(number[1]) if number else 1, name


def prune_replays(folder: Path, part: str, newest: int, written: Path | None = None) -> int:
    """Remove all but the newest replays whose name ends with ``part``, and return how many were removed.

    Other files stay, and links, and what cannot be removed.

    Args:
        folder: Where :func:`keep_replay` has written.
        part: The last one of the names, as of :func:`replay_name`.
        newest: How many stay, from 1.
        written: The file that was written just now: it stays under any clock.
    """
    ours = re.compile(rf".*-{re.escape(file_part(part))}(\.\d+)?{re.escape(SUFFIX)}", re.DOTALL)
    found: list[tuple[bool, tuple[object, ...], str]] = []
    now = time.time()
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if ours.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    order = written_order(entry.name, entry.stat(follow_symlinks=False).st_mtime, now)
                    found.append((written is not None and entry.name == written.name, order, entry.path))
    removed = 0
    for _, _, path in sorted(found)[: max(0, len(found) - newest)]:
        with contextlib.suppress(OSError):
            os.unlink(path)
            removed += 1
    return removed


def _place(aside: Path, path: Path) -> None:
    """Give a file its name, unless the name is taken. Raises ``FileExistsError`` then."""
    try:
        os.link(aside, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
            raise
        if os.path.lexists(path):  # no hard links here
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        os.rename(aside, path)

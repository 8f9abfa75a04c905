"""Runs in a list: state, how far they are, and their result in the words that people look for."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from pathlib import Path
from typing import Literal

import msgspec

from ludus.flow.inputs.decode import TomlError, from_toml
from ludus.flow.inputs.shown import visible
from ludus.games.hosted import is_hosted
from ludus.presets.checks.game import params_text
from ludus.presets.stored_game import parse_game
from ludus.reporting.measures import FINAL, INSIDE, Kind, Value, results_in
from ludus.reporting.run_view import Newest, RunView, number, stamp_of
from ludus.storage.errors import StorageError
from ludus.storage.jsonl import Row
from ludus.storage.rundir import RunDirectory
from ludus.web.serve.games import is_playable, seats_of, title_of
from ludus.web.serve.library import MAX_RUNS, Run, UnknownId
from ludus.web.serve.messages import linked
from ludus.web.serve.sentences import sentence

MOST_RESULTS = 8  # of a run in a list
_MARK = b'"kind":"evaluation"'
Source = Literal["final matches", "best evaluation", "newest evaluation", "initial weights"]


class ShownResult(msgspec.Struct, frozen=True):
    """Result of a run against one opponent. ``against``: ``alone`` in a game of one seat."""

    against: str
    kind: Kind
    value: Value


class RunLine(msgspec.Struct, frozen=True):
    """A run in a list.

    ``age_s``: seconds since its files changed; ``problem``: why it cannot be read; ``params``: parameters of
    its game; ``playable``: whether pages play the game; ``results``: results of ``measured``, the strongest
    opponent first; ``seats``: number of seats of a playable game; ``hosted``: whether an installed Python
    package has the game; ``league``: whether it has a league.
    """

    id: str
    name: str
    sweep: str
    game: str = ""
    title: str = ""
    method: str = ""
    state: str = ""
    started: str = ""
    steps: int | None = None
    minutes: float | None = None
    best: str = ""
    results: tuple[ShownResult, ...] = ()
    measured: Source | Literal[""] = ""
    bytes: int = 0
    age_s: float = 0.0
    problem: str = ""
    params: dict[str, str] = {}
    playable: bool = False
    seats: int = 0
    hosted: bool = False
    league: bool = False


def line_of(run: Run) -> RunLine:
    """Return the line of a run; a run that cannot be read has a problem."""
    line = RunLine(run.id, run.name, run.sweep)
    try:
        view = view_at(run.path)
        refuse_links(view.directory)
        directory, info, newest = view.directory, view.info(), _newest(run.path, stamp_of(view.source))
        size, changed = _weigh(run.path)
        configured = _configured(run.path, stamp_of(directory.config))
        results, measured = _results(run.path, stamp_of(view.source))
        return msgspec.structs.replace(
            line,
            game=visible(info.game),
            title=title_of(info.game),
            method=visible(info.method or configured.method),
            state=view.status().state,
            started=visible(info.started),
            steps=newest.steps,
            minutes=newest.minutes,
            best=view.best(),
            results=results,
            measured=measured,
            bytes=size,
            age_s=max(0.0, time.time() - changed),
            params=configured.params,
            playable=is_playable(info.game),
            seats=seats_of(info.game),
            hosted=is_hosted(info.game),
            league=directory.league.is_file() and not directory.league.is_symlink(),
        )
    except (ValueError, OSError, StorageError) as error:
        return msgspec.structs.replace(line, problem=_reason(run, error))


def refuse_links(run: RunDirectory) -> None:
    """Raise :class:`UnknownId` where a file that pages show is a link, which may lead anywhere."""
    for path in RunView(run).files():
        if path.is_symlink():
            raise UnknownId(f"{path.name} is a link; links are not followed")


@functools.lru_cache(maxsize=MAX_RUNS)
def view_at(path: Path) -> RunView:
    """Return the view of a run, which remembers what it has read."""
    return RunView(RunDirectory(path))


@functools.lru_cache(maxsize=MAX_RUNS)
def _newest(path: Path, stamp: tuple[int, int]) -> Newest:
    return view_at(path).newest()


@functools.lru_cache(maxsize=MAX_RUNS)
def _results(path: Path, stamp: tuple[int, int]) -> tuple[tuple[ShownResult, ...], Source | Literal[""]]:
    """Return the results that say most about a run, and where they come from."""
    newest: tuple[tuple[ShownResult, ...], Source] | None = None
    for row in view_at(path).newest_evaluations():
        if row.get("final") is True:
            if found := results_of(row, FINAL):
                return found, "final matches"
        elif row.get("playoff") is not True and (found := results_of(row, INSIDE)):
            initial = row.get("initial") is True
            newest = newest or (found, "initial weights" if initial else "newest evaluation")
            if row.get("best") is True:
                return found, "best evaluation"
    return newest or ((), "")


def results_of(row: Row, namespace: str) -> tuple[ShownResult, ...]:
    """Return the results in a row, the strongest opponent first."""
    numbers = {name: made for name, value in row.items() if (made := number(value)) is not None}
    found = [ShownResult(*result) for result in results_in(numbers, namespace) if result[1] != "elo"]
    return tuple(sorted(found, key=lambda r: r.value.value))[:MOST_RESULTS]


class _ListedConfig(msgspec.Struct, frozen=True):
    """Part of ``config.toml`` that a list shows: learning method, and parameters of the game for links."""

    method: str = ""
    params: dict[str, str] = {}


@functools.lru_cache(maxsize=MAX_RUNS)
def _configured(path: Path, stamp: tuple[int, int]) -> _ListedConfig:
    """Return method and parameters; empty if they cannot be read, parameters also if they fit no link."""
    try:
        text = RunDirectory(path).config_bytes().decode("utf-8", "replace")
        part = _tables(text)
        named = from_toml(part).get("algorithm")
    except (TomlError, OSError, StorageError):
        return _ListedConfig()
    method = named.get("name") if isinstance(named, dict) else None
    try:
        params = linked(params_text(parse_game(part.encode(), str(path)).params))
    except (ValueError, StorageError):
        params = {}
    return _ListedConfig(method[:80] if isinstance(method, str) else "", params)


def _tables(text: str) -> str:
    """Return the tables of the game and the method's name from a configuration, which is long to parse."""
    if any(quotes in text for quotes in ('"""', "'''")):
        return text
    kept, table = [], ""
    for line in text.splitlines():
        if line.startswith("["):
            table = line.strip("[] \t")
        game = table == "game" or table.startswith("game.")
        if game or (table == "algorithm" and line.startswith(("[", "name"))):
            kept.append(line)
    return "\n".join(kept)


def _weigh(path: Path) -> tuple[int, float]:
    """Return the bytes of the files in a folder and the folders in it, and when the newest changed."""
    size, changed, folders = 0, 0.0, [(path, 0)]
    while folders:
        folder, depth = folders.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                about = entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False) and depth < 2:
                    folders.append((Path(entry.path), depth + 1))
                elif entry.is_file(follow_symlinks=False):
                    size, changed = size + about.st_size, max(changed, about.st_mtime)
    return size, changed


def _reason(run: Run, error: Exception) -> str:
    if not (run.path / "run.json").is_file():
        return "the run has been removed"
    return sentence(error)

"""Carries out an analysis: units in several threads, lines in their order, a record that continues."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import msgspec

from ludus.analyses.analysis import UNIT, Analysis, PreparedAnalysis, WorkUnit, computed
from ludus.analyses.matches import MATCH
from ludus.analyses.record import (
    AnalysisBudget,
    AnalysisRecord,
    Line,
    check_tables,
    read_record,
    write_record,
)
from ludus.evaluation.settings import MatchHooks
from ludus.flow.inputs.shown import shown, utf8
from ludus.flow.process.as_found import as_found, one_thread
from ludus.presets.errors import ConfigError
from ludus.storage import StorageError, utc_now
from ludus.version import __version__

SAVE_EVERY_S = 10.0  # what kill -9 can cost, besides units in play


class RecordStands(StorageError):
    """A record is there already, and the analysis was not asked to continue it."""


def new_record(prepared: PreparedAnalysis, command: Sequence[str]) -> AnalysisRecord:
    """Return the record of an analysis before its first line; ``command``: the command line."""
    now = utc_now()
    return AnalysisRecord(
        name=prepared.analysis.name,
        command=tuple(utf8(word) for word in command),
        ludus=__version__,
        run=utf8(prepared.run),
        game=prepared.spec.name,
        params=prepared.params,
        rules=prepared.spec.version,
        seed=prepared.seed,
        settings=prepared.settings,
        players={name: utf8(reference) for name, reference in prepared.players.items()},
        budget=AnalysisBudget(visits=prepared.visits),
        started=now,
        ended=now,
        complete=False,
        units=len(prepared.units),
        floors=prepared.floors,
        notes=prepared.notes,
    )


def continued(path: Path, fresh: AnalysisRecord, analysis: type[Analysis], *, resume: bool) -> AnalysisRecord:
    """Return the record from which an analysis starts: ``fresh``, or the one at ``path``.

    Args:
        path: The record's file.
        fresh: The record of a new analysis.
        analysis: The analysis.
        resume: Whether to continue a record; without one the analysis is new.

    Raises:
        RecordStands: A record is at ``path``, and ``resume`` is false.
        ConfigError: It is of another analysis, or of other settings.
        CorruptFile: It is damaged, or its tables do not follow from its lines.
    """
    if not path.exists() and not path.is_symlink():
        return fresh
    if not resume:
        raise RecordStands(f"{path}: there is a record already")
    found = read_record(path)
    for what in ("name", "game", "params", "rules", "seed", "settings", "players"):
        theirs, ours = getattr(found, what), getattr(fresh, what)
        if theirs != ours:
            raise ConfigError(f"{path}: {_difference(what, theirs, ours)}; choose another folder")
    check_tables(path, found, computed(analysis, found.lines, str(path)))
    return msgspec.structs.replace(found, command=fresh.command, notes=fresh.notes, units=fresh.units)


def _difference(what: str, theirs: object, ours: object) -> str:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        name = next(n for n in {**theirs, **ours} if theirs.get(n) != ours.get(n))
        what = f"{what[:-1] if what.endswith('s') else what} {shown(str(name))}"
        theirs, ours = theirs.get(name, "none"), ours.get(name, "none")
    return f"a record with {what} {shown(str(theirs))}, asked for {shown(str(ours))}"


@as_found()
def conduct(
    prepared: PreparedAnalysis,
    record: AnalysisRecord,
    hooks: MatchHooks,
    *,
    jobs: int = 1,
    over: Callable[[WorkUnit], None] = lambda unit: None,
    save: Callable[[AnalysisRecord], None] = lambda record: None,
) -> AnalysisRecord:
    """Carry out the units that ``record`` lacks and return it with their lines and the tables.

    Lines are in the order of the units, whatever ``jobs`` is and however often the analysis was interrupted.

    Args:
        prepared: The analysis.
        record: New, or the record of an earlier part (:func:`continued`).
        hooks: Counts matches. Once its ``should_stop`` is true, units in play are given up.
        jobs: Units that are played at a time, at least 1.
        over: Receives each unit that is over.
        save: Receives the record from time to time and at the end, also after an error.

    Raises:
        ConfigError: Players that cannot play.
    """
    one_thread()  # parallel work is the units'
    order = {unit.name: number for number, unit in enumerate(prepared.units)}
    made: dict[int, list[Line]] = {}
    for line in record.lines:
        if line.get(UNIT) in order:
            made.setdefault(order[str(line[UNIT])], []).append(line)
    left = [unit for unit in prepared.units if order[unit.name] not in made]
    since, seconds, saved = time.monotonic(), record.budget.seconds, time.monotonic()

    def now() -> AnalysisRecord:
        lines = tuple(line for number in sorted(made) for line in made[number])
        return msgspec.structs.replace(
            record,
            lines=lines,
            tables=computed(prepared.analysis, lines),
            ended=utc_now(),
            complete=len(made) == len(prepared.units),
            budget=AnalysisBudget(
                sum(MATCH in line for line in lines), prepared.visits, seconds + time.monotonic() - since
            ),
        )

    try:
        for unit, lines in _carried_out(left, hooks, jobs):
            made[order[unit.name]] = lines
            over(unit)
            if time.monotonic() - saved > SAVE_EVERY_S:
                save(now())
                saved = time.monotonic()
    except BaseException:
        if made:
            save(now())
        raise
    ended = now()
    save(ended)
    return ended


def _carried_out(
    units: Sequence[WorkUnit], hooks: MatchHooks, jobs: int
) -> Iterator[tuple[WorkUnit, list[Line]]]:
    """Yield units that are over with their lines, ``jobs`` at a time, until the hooks say stop."""

    def stopped() -> bool:
        return hooks.should_stop is not None and hooks.should_stop()

    if jobs <= 1:
        for unit in units:
            if stopped() or (lines := unit.play(hooks)) is None:
                return
            yield unit, lines
        return
    shared = _locked(hooks)
    waiting = list(reversed(units))
    with ThreadPoolExecutor(jobs, "analysis") as pool:
        playing: dict[Future[list[Line] | None], WorkUnit] = {}
        try:
            while waiting or playing:
                while waiting and len(playing) < jobs and not stopped():
                    unit = waiting.pop()
                    playing[pool.submit(unit.play, shared)] = unit
                if not playing:
                    return
                for future in wait(playing, return_when=FIRST_COMPLETED).done:
                    unit = playing.pop(future)
                    if (lines := future.result()) is not None:
                        yield unit, lines
        finally:
            for future in playing:
                future.cancel()


def _locked(hooks: MatchHooks) -> MatchHooks:
    """Return hooks that several threads may call."""
    lock = threading.Lock()
    finished, played, started = hooks.finished, hooks.played, hooks.started

    def one_at_a_time(call: Callable[..., object] | None) -> Callable[..., None] | None:
        if call is None:
            return None

        def locked(*given: object) -> None:
            with lock:
                call(*given)

        return locked

    return MatchHooks(
        hooks.should_stop, one_at_a_time(finished), one_at_a_time(played), one_at_a_time(started)
    )


def saver(path: Path) -> Callable[[AnalysisRecord], None]:
    """Return a function that writes a record to ``path``."""
    return lambda record: write_record(path, record)

"""Training losses by version, and each version against reference players: figures 3a and 3b of ELF OpenGo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ludus.analyses.analysis import UNIT, TableCurve, WorkUnit
from ludus.analyses.matches import SCORE, PlayedPairing, matches_in, number, score_of, whole, word
from ludus.analyses.record import Line, RecordColumn, RecordTable
from ludus.analyses.subject import KeptVersion
from ludus.flow.inputs.bounds import LARGEST_COUNT
from ludus.reporting.run_view import LONGEST_NAME, RunView
from ludus.reporting.run_view import number as finite
from ludus.storage import RunDirectory
from ludus.storage.jsonl import Row

MOST_UPDATES = 500  # in a record, evenly spread
_LOSS = "loss/"
_UNIT = "training losses"
_MOST_LOSSES = 60
_NONE = -1  # version of a player that is none


class LossesAnalysis:
    """Losses and scores by version. See :class:`ludus.analyses.analysis.Analysis`."""

    name: ClassVar[str] = "losses"
    title: ClassVar[str] = "Training losses, and scores against reference players"
    curves: ClassVar[tuple[TableCurve, ...]] = (
        TableCurve(0, "version", ("score",), "low", "high", by="against"),
        TableCurve(1, "version", (), log=True),
    )

    @staticmethod
    def tables(lines: Sequence[Line]) -> tuple[RecordTable, ...]:
        """Return the scores against each reference player, and the losses."""
        met: dict[tuple[str, int, str], list[Line]] = {}
        for line in matches_in(lines):
            key = word(line, "b"), whole(line, "version"), word(line, "a")
            met.setdefault(key, []).append(line)
        rows = tuple(
            (key[0], key[1] if key[1] != _NONE else None, key[2], *score_of(met[key]).cells())
            for key in sorted(met)
        )
        columns = (RecordColumn("against"), RecordColumn("version"), RecordColumn("player"), *SCORE)
        scores = RecordTable("Score of each version, version 0 and uniform play as floors", columns, rows)
        return scores, _losses([line for line in lines if line.get(UNIT) == _UNIT])


def _losses(lines: Sequence[Line]) -> RecordTable:
    names = sorted({name for line in lines for name in line if name.startswith(_LOSS)})
    if len(names) > _MOST_LOSSES or len(lines) > MOST_UPDATES:
        raise ValueError(f"{len(names)} losses of {len(lines)} updates")
    columns = (RecordColumn("version"), *(RecordColumn(name.removeprefix(_LOSS), "", 4) for name in names))
    rows = [
        (whole(line, "version"), *(number(line, name) if name in line else None for name in names))
        for line in lines
    ]
    return RecordTable("Training losses by version", columns, tuple(rows))


def loss_unit(run: RunDirectory) -> WorkUnit:
    """Return the unit that reads a run's losses: of :data:`MOST_UPDATES` updates at most, evenly spread."""

    def read(_: object) -> list[Line]:
        found: list[Line] = []
        for row in RunView(run).updates():
            version, steps = finite(row.get("version")), finite(row.get("steps")) or 0.0
            losses = _losses_of(row)
            if losses and _is_count(version) and _is_count(steps):
                found.append({UNIT: _UNIT, "version": int(version or 0), "steps": int(steps), **losses})
        if len(found) > MOST_UPDATES:
            picks = np.unique(np.linspace(0, len(found) - 1, MOST_UPDATES).round().astype(int))
            found = [found[int(k)] for k in picks]
        return found

    return WorkUnit(_UNIT, 0, read, plays=False)


def _is_count(value: float | None) -> bool:
    return value is not None and 0 <= value <= LARGEST_COUNT


def _losses_of(row: Row) -> dict[str, float]:
    """Return the losses of an update, as far as a record may hold them."""
    names = [name for name in row if name.startswith(_LOSS) and len(name) <= LONGEST_NAME]
    found = {name: finite(row[name]) for name in names[:_MOST_LOSSES]}
    return {name: loss for name, loss in found.items() if loss is not None}


def loss_pairings(versions: Sequence[KeptVersion], against: Sequence[str], floor: str) -> list[PlayedPairing]:
    """Return every version, and the ``floor``, against every reference player.

    Args:
        versions: The versions.
        against: Names of the reference players.
        floor: A player without training; it does not meet itself.
    """
    pairings: list[PlayedPairing] = []
    for other in against:
        everyone = [(v.name, v.version) for v in versions] + ([(floor, _NONE)] if floor != other else [])
        pairings += [PlayedPairing(name, other, {"version": version}) for name, version in everyone]
    return pairings

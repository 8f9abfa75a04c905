"""Skill over the versions of a run: self-play Elo at several spacings, Elo of all pairs, Nash averaging.

Figure 2 of ELF OpenGo (Tian et al. 2019). Self-play Elo lets consecutive versions meet alone, is cheap, and
overestimates progress: the closer the versions, the more. Nash averaging counts every pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ludus.analyses.analysis import TableCurve
from ludus.analyses.matches import (
    SCORE,
    PlayedPairing,
    matches_in,
    number,
    score_of,
    whole,
    word,
)
from ludus.analyses.record import Cell, Line, RecordColumn, RecordTable
from ludus.analyses.subject import KeptVersion
from ludus.evaluation.play import UNIFORM
from ludus.ratings import bradley_terry, nash_average

_REACH = 1.96  # standard errors of a 95% interval
_NONE = -1  # number of a player that is no version
_MOST_PLAYERS = 128  # of a record: ratings take the cube of their number
_MOST_SPACINGS = 16


class EloAnalysis:
    """Elo and Nash averaging of the versions of a run. See :class:`ludus.analyses.analysis.Analysis`."""

    name: ClassVar[str] = "elo"
    title: ClassVar[str] = "Skill over the versions of a run"
    curves: ClassVar[tuple[TableCurve, ...]] = (
        TableCurve(
            0, "version", ("rating",), "low", "high", by="kind", level=0.0, level_name="first version"
        ),
        TableCurve(1, "player", ("Elo",), "low", "high"),
    )

    @staticmethod
    def tables(lines: Sequence[Line]) -> tuple[RecordTable, ...]:
        """Return ratings by version, ratings of all players, and the score of every pair."""
        matches = matches_in(lines)
        numbers = _players(matches)
        names = list(numbers)
        points, met = _pairs(matches, names)
        return (
            _progress(matches, numbers, points, met),
            _ratings(names, points, met),
            _matrix(names, points, met),
            _scores(matches, names),
        )


def elo_pairings(
    versions: Sequence[KeptVersion], spacings: Sequence[int], floors: Sequence[str] = (UNIFORM,)
) -> list[PlayedPairing]:
    """Return every pair of versions and floors.

    Args:
        versions: Versions, oldest first.
        spacings: Spacings of self-play Elo, in versions of the list.
        floors: Players that are no versions.
    """
    everyone = [(v.name, v.version) for v in versions] + [(name, _NONE) for name in floors]
    return [
        PlayedPairing(
            a,
            b,
            {
                "a_number": i if a_version != _NONE else _NONE,
                "b_number": j if b_version != _NONE else _NONE,
                "a_version": a_version,
                "b_version": b_version,
                "spacings": " ".join(str(s) for s in spacings if _meet(i, j, s))
                if b_version != _NONE
                else "",
            },
        )
        for i, (a, a_version) in enumerate(everyone)
        for j, (b, b_version) in enumerate(everyone)
        if i < j
    ]


def _meet(i: int, j: int, spacing: int) -> bool:
    """Return whether versions i < j are consecutive at a spacing."""
    return i % spacing == 0 and j - i == spacing


def _players(matches: Sequence[Line]) -> dict[str, tuple[int, int]]:
    """Return the number in the list and the version of each player, in the list's order, floors last."""
    found: dict[str, tuple[int, int]] = {}
    for line in matches:
        for side in ("a", "b"):
            found[word(line, side)] = whole(line, f"{side}_number"), whole(line, f"{side}_version")
    if len(found) > _MOST_PLAYERS:
        raise ValueError(f"{len(found)} players, expected at most {_MOST_PLAYERS}")
    return dict(sorted(found.items(), key=lambda item: (item[1][0] == _NONE, item[1][0], item[0])))


def _pairs(
    matches: Sequence[Line], names: Sequence[str]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the points of i against j and their matches, both ``[N, N]``."""
    at = {name: k for k, name in enumerate(names)}
    points, met = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    score_of(matches)  # points are 0, 0.5 or 1
    for line in matches:
        i, j = at[word(line, "a")], at[word(line, "b")]
        points[i, j] += number(line, "points")
        points[j, i] += 1.0 - number(line, "points")
        met[i, j] += 1
        met[j, i] += 1
    return points, met


def _progress(
    matches: Sequence[Line],
    numbers: dict[str, tuple[int, int]],
    points: npt.NDArray[np.float64],
    met: npt.NDArray[np.float64],
) -> RecordTable:
    """Return every rating of the versions, relative to the first version."""
    columns = (
        RecordColumn("kind"),
        RecordColumn("version"),
        RecordColumn("rating", "Elo"),
        RecordColumn("low", "Elo"),
        RecordColumn("high", "Elo"),
    )
    names = list(numbers)
    versions = {name: version for name, (_, version) in numbers.items() if version != _NONE}
    rows: list[tuple[Cell, ...]] = []
    spacings = sorted({int(s) for line in matches for s in word(line, "spacings").split()})
    if len(spacings) > _MOST_SPACINGS:
        raise ValueError(f"{len(spacings)} spacings, expected at most {_MOST_SPACINGS}")
    for spacing in spacings:
        chosen = [line for line in matches if str(spacing) in word(line, "spacings").split()]
        chain = list(dict.fromkeys(name for line in chosen for name in (word(line, "a"), word(line, "b"))))
        chain.sort(key=lambda name: numbers[name][0])
        rows += _relative(f"Elo, spacing {spacing}", chain, versions, *_pairs(chosen, chain))
    rated = [name for name in names if name in versions]
    inside = np.ix_(range(len(rated)), range(len(rated)))  # floors are last
    rows += _relative("Elo of all pairs", rated, versions, points[inside], met[inside])
    if rated and _all_met(met[inside]):
        nash = nash_average(points[inside], met[inside]).rating
        rows += [
            ("Nash averaging", versions[name], float(nash[k] - nash[0]), None, None)
            for k, name in enumerate(rated)
        ]
    return RecordTable("Ratings of the versions, relative to the first", columns, tuple(rows))


def _all_met(met: npt.NDArray[np.float64]) -> bool:
    """Return whether every pair has met: Nash averaging would count the others as equal."""
    return bool((met + np.eye(len(met)) > 0).all())


def _relative(
    kind: str,
    names: Sequence[str],
    versions: dict[str, int],
    points: npt.NDArray[np.float64],
    met: npt.NDArray[np.float64],
) -> list[tuple[Cell, ...]]:
    if not names:
        return []
    table = bradley_terry(points, met)
    rows: list[tuple[Cell, ...]] = [(kind, versions[names[0]], 0.0, None, None)]
    for k in range(1, len(names)):
        more, error = table.difference(k, 0)
        rows.append((kind, versions[names[k]], more, more - _REACH * error, more + _REACH * error))
    return rows


def _ratings(
    names: Sequence[str], points: npt.NDArray[np.float64], met: npt.NDArray[np.float64]
) -> RecordTable:
    columns = (
        RecordColumn("player"),
        RecordColumn("Elo", "Elo"),
        RecordColumn("low", "Elo"),
        RecordColumn("high", "Elo"),
        RecordColumn("Nash rating", "Elo"),
        RecordColumn("Nash share", "%", 1),
        RecordColumn("score", "%", 1),
        RecordColumn("matches"),
    )
    rows: list[tuple[Cell, ...]] = []
    if names:
        table = bradley_terry(points, met)
        nash = nash_average(points, met) if _all_met(met) else None
        errors = table.error()
        for k, name in enumerate(names):
            rating, reach, count = float(table.rating[k]), _REACH * float(errors[k]), int(met[k].sum())
            rows.append(
                (
                    name,
                    rating,
                    rating - reach,
                    rating + reach,
                    float(nash.rating[k]) if nash else None,
                    float(nash.share[k]) if nash else None,
                    float(points[k].sum()) / count if count else None,
                    count,
                )
            )
    return RecordTable("All players, floors included: Elo (mean 0) and Nash averaging", columns, tuple(rows))


def _matrix(
    names: Sequence[str], points: npt.NDArray[np.float64], met: npt.NDArray[np.float64]
) -> RecordTable:
    """Return the score of each row's player against each column's."""
    columns = (RecordColumn("score of"), *(RecordColumn(name, "%", 0) for name in names))
    rows = tuple(
        (name, *(float(points[i, j] / met[i, j]) if met[i, j] else None for j in range(len(names))))
        for i, name in enumerate(names)
    )
    return RecordTable("Score of each row against each column", columns, rows)


def _scores(matches: Sequence[Line], names: Sequence[str]) -> RecordTable:
    columns = (RecordColumn("player"), RecordColumn("against"), *SCORE)
    met: dict[tuple[str, str], list[Line]] = {}
    for line in matches:
        met.setdefault((word(line, "a"), word(line, "b")), []).append(line)
    at = {name: k for k, name in enumerate(names)}
    pairs = sorted(met, key=lambda pair: (at[pair[0]], at[pair[1]]))
    rows = tuple((a, b, *score_of(met[a, b]).cells()) for a, b in pairs)
    return RecordTable("Every pair", columns, rows)

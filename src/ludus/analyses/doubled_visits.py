"""Each version against itself with more visits, by colour: figure 7 of ELF OpenGo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ludus.analyses.analysis import TableCurve
from ludus.analyses.matches import ELO, SCORE, PlayedPairing, matches_in, number, score_of, whole, word
from ludus.analyses.record import Cell, Line, RecordColumn, RecordTable
from ludus.analyses.subject import KeptVersion, searched


class VisitsAnalysis:
    """Scores with more visits, by version and colour. See :class:`ludus.analyses.analysis.Analysis`."""

    name: ClassVar[str] = "visits"
    title: ClassVar[str] = "More visits against the same weights, by colour"
    curves: ClassVar[tuple[TableCurve, ...]] = (
        TableCurve(0, "version", ("score",), "low", "high", by="side", level=0.5, level_name="equal play"),
    )

    @staticmethod
    def tables(lines: Sequence[Line]) -> tuple[RecordTable, ...]:
        """Return the score of either seat, with more visits and with equal ones, which are the floor."""
        groups: dict[tuple[int, bool, int, str], list[Line]] = {}
        for line in matches_in(lines):
            seat, factor = whole(line, "seat"), number(line, "factor")
            side = word(line, "second" if seat else "first")
            what = f"{side}, {factor:g} x visits" if factor != 1.0 else f"{side}, equal"
            groups.setdefault((whole(line, "version"), factor == 1.0, seat, what), []).append(line)
        rows: list[tuple[Cell, ...]] = []
        for version, equal, seat, what in sorted(groups):
            score = score_of(groups[version, equal, seat, what])
            rows.append((what, version, "floor" if equal else "", *score.cells(), *score.elo()))
        rows.sort(key=lambda row: (row[2] == "floor", str(row[0])))
        columns = (RecordColumn("side"), RecordColumn("version"), RecordColumn("is"), *SCORE, *ELO)
        return (RecordTable("Score of the side, by version", columns, tuple(rows)),)


def visits_pairings(
    versions: Sequence[KeptVersion], visits: int, factor: float, sides: tuple[str, str]
) -> tuple[list[PlayedPairing], dict[str, str]]:
    """Return each version with ``factor`` times and with equal visits against itself, and the players.

    Args:
        versions: The versions.
        visits: Visits of a decision of the opponent.
        factor: By which the visits of the player are multiplied.
        sides: Names of the first and of the second seat.
    """
    pairings, players = [], {}
    for version in versions:
        players[version.name] = searched(version.reference, visits)
        for times in (factor, 1.0):
            name = f"{version.name}, {times:g} x {visits} visits"
            players[name] = searched(version.reference, max(1, round(times * visits)))
            fields: Line = {
                "version": version.version,
                "factor": times,
                "first": sides[0],
                "second": sides[1],
            }
            pairings.append(PlayedPairing(name, version.name, fields))
    return pairings, players

"""Values of one setting of the search against its default, with equal visits.

Figure 6 of ELF OpenGo (c_puct) and its table 1 (virtual loss).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ludus.analyses.analysis import TableCurve
from ludus.analyses.matches import ELO, SCORE, PlayedPairing, matches_in, number, score_of, word
from ludus.analyses.record import Line, RecordColumn, RecordTable
from ludus.analyses.subject import searched

_AGAINST = "default"


class _SettingAnalysis:
    """Scores by the value of a setting. A value equal to the default is the floor: 50% up to chance."""

    name: ClassVar[str]
    title: ClassVar[str]
    curves: ClassVar[tuple[TableCurve, ...]] = (
        TableCurve(0, "value", ("score",), "low", "high", level=0.5, level_name="equal play"),
    )

    @staticmethod
    def tables(lines: Sequence[Line]) -> tuple[RecordTable, ...]:
        """Return the score of each value against the default."""
        matches = matches_in(lines)
        by_value: dict[float, list[Line]] = {}
        for line in matches:
            by_value.setdefault(number(line, "value"), []).append(line)
        rows = []
        for value in sorted(by_value):
            score = score_of(by_value[value])
            floor = "floor" if value == number(by_value[value][0], "default") else ""
            rows.append((value, floor, *score.cells(), *score.elo()))
        setting = word(matches[0], "setting") if matches else "the setting"
        default = f"{number(matches[0], 'default'):g}" if matches else "the default"
        columns = (RecordColumn("value", "", 2), RecordColumn("is"), *SCORE, *ELO)
        return (RecordTable(f"{setting} against {default}, equal visits", columns, tuple(rows)),)


class PuctAnalysis(_SettingAnalysis):
    """Values of c_puct. See :class:`ludus.analyses.analysis.Analysis`."""

    name: ClassVar[str] = "puct"
    title: ClassVar[str] = "Exploration constant c_puct against its default"


class VirtualLossAnalysis(_SettingAnalysis):
    """Values of the virtual loss. See :class:`ludus.analyses.analysis.Analysis`."""

    name: ClassVar[str] = "virtual-loss"
    title: ClassVar[str] = "Virtual loss against its default"


def value_pairings(
    reference: str,
    setting: str,
    values: Sequence[float],
    default: float,
    visits: int,
    others: Mapping[str, float],
) -> tuple[list[PlayedPairing], dict[str, str]]:
    """Return the pairings of the values with the default, and their players by name.

    Args:
        reference: Weights without a search.
        setting: Name of the setting of the search.
        values: Its values; the default is added, as the floor.
        default: Its default.
        visits: Visits of every decision of both.
        others: Other settings of both.
    """
    players = {_AGAINST: searched(reference, visits, **{setting: default}, **others)}
    pairings = []
    for value in sorted({*values, default}):
        name = f"{setting} = {value:g}"
        players[name] = searched(reference, visits, **{setting: value}, **others)
        fields: Line = {"setting": setting, "value": value, "default": default}
        pairings.append(PlayedPairing(name, _AGAINST, fields))
    return pairings, players

"""Parts of an analysis: tables from lines, curves of its page, and units of work that make the lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import msgspec

from ludus.analyses.record import Line, RecordTable
from ludus.evaluation.settings import MatchHooks
from ludus.flow.inputs.decode import from_json, to_json
from ludus.flow.inputs.shown import shown
from ludus.flow.spec import GameSpec
from ludus.storage.errors import CorruptFile

#: Name of the unit in each of its lines, by which an analysis that continues knows what is over.
UNIT = "unit"


class TableCurve(NamedTuple):
    """A plot of columns of one table.

    Attributes:
        table: Number of the table.
        across: Column of the horizontal axis; its values are names, or numbers that ascend.
        up: Columns of the curves, or one column with ``by``.
        low: Column of the interval's lower end; empty: no interval.
        high: Column of its upper end.
        by: Column whose values tell curves apart; empty: one curve a column of ``up``.
        level: Value of a dashed line.
        level_name: Its name.
        log: Whether the scale of values is logarithmic where all are above 0.
    """

    table: int
    across: str
    up: tuple[str, ...]
    low: str = ""
    high: str = ""
    by: str = ""
    level: float | None = None
    level_name: str = ""
    log: bool = False


class Analysis(Protocol):
    """One analysis. Stateless: everything about results is in the lines."""

    name: ClassVar[str]
    title: ClassVar[str]
    curves: ClassVar[tuple[TableCurve, ...]]

    @staticmethod
    def tables(lines: Sequence[Line]) -> tuple[RecordTable, ...]:
        """Return the tables. They depend on ``lines`` alone, also if some units are missing.

        Raises:
            KeyError, TypeError, ValueError: Lines that this analysis does not write.
        """
        ...


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """A part of an analysis that is made as a whole or not at all.

    Attributes:
        name: Its name, unique within the analysis and the same in every session.
        matches: Number of its matches, or of other things that progress counts.
        play: Makes the lines, with hooks that count and may stop it; None if it was stopped. Called by any
            thread, several units at a time, so what it draws depends on the unit alone.
        plays: Whether its hooks count what is over, match by match; else it counts as a whole at its end.
    """

    name: str
    matches: int
    play: Callable[[MatchHooks], list[Line] | None]
    plays: bool = True


@dataclass(frozen=True, slots=True)
class PreparedAnalysis:
    """An analysis that is ready to be carried out: the head of its record, and its units.

    Attributes:
        analysis: Its tables and curves.
        run: The run, or the player, that is analysed.
        spec: The game.
        params: Parameters of the game.
        seed: Seed of everything that is drawn.
        settings: All settings on which the lines depend.
        players: Names in lines -> references.
        units: Units of work, in the order of their lines.
        visits: Visits of a decision, for the budget; 0 without a search.
        floors: Players without training.
        notes: What is left out, in words.
        things: Plural name of what progress counts.
    """

    analysis: type[Analysis]
    run: str
    spec: GameSpec
    params: dict[str, str]
    seed: int
    settings: Line
    players: dict[str, str]
    units: list[WorkUnit]
    visits: int = 0
    floors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    things: str = "matches"


def computed(analysis: type[Analysis], lines: Sequence[Line], where: str = "") -> tuple[RecordTable, ...]:
    """Return the tables of ``lines`` as a record has them after it was written and read.

    Args:
        analysis: The analysis.
        lines: Raw lines, of this process or of a file.
        where: The file of the lines, in messages.

    Raises:
        CorruptFile: Lines that this analysis does not write.
    """
    try:
        return from_json(to_json(analysis.tables(lines)), tuple[RecordTable, ...])
    except (LookupError, TypeError, ValueError, ArithmeticError, msgspec.MsgspecError) as error:
        what = f"{type(error).__name__}: {error}"
        raise CorruptFile(
            f"{where or 'the record'}: lines that {analysis.name} does not write: {shown(what)}"
        ) from error

"""Records of analyses: raw lines, the tables that follow from them, and where they come from.

A record is a JSON file that may be anyone's: it is bounded, and every value is checked. Its tables are
computed again when it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from ludus.flow.inputs.bounds import Count
from ludus.flow.inputs.decode import from_json, to_json
from ludus.flow.inputs.shown import shown
from ludus.storage.errors import CorruptFile
from ludus.storage.files import own_folder, read_bounded, write_atomic

MOST_BYTES = 64 << 20
MOST_LINES = 400_000
_TOLERANCE = 1e-6  # of tables computed on another machine

Text = Annotated[str, msgspec.Meta(max_length=4096)]
Cell = Text | int | float | bool | None
Line = Annotated[dict[Text, Cell], msgspec.Meta(max_length=64)]
Few = Annotated[tuple[Text, ...], msgspec.Meta(max_length=4096)]


class RecordColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A column of a table. ``digits``: decimals shown; ``unit``: ``%`` shows a share as a percentage."""

    name: Text
    unit: Text = ""
    digits: Annotated[int, msgspec.Meta(ge=0, le=9)] = 0


class RecordTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of results, computed from raw lines. A cell is None where nothing is known."""

    title: Text
    columns: Annotated[tuple[RecordColumn, ...], msgspec.Meta(max_length=256)]
    rows: Annotated[
        tuple[Annotated[tuple[Cell, ...], msgspec.Meta(max_length=256)], ...], msgspec.Meta(max_length=20_000)
    ]

    def column(self, name: str) -> int:
        """Return the number of the column ``name``. Raises ``ValueError`` if there is none."""
        return [column.name for column in self.columns].index(name)


class AnalysisBudget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Effort of an analysis: finished matches, visits of a decision (0 = no search), seconds of work."""

    matches: Count = 0
    visits: Count = 0
    seconds: float = 0.0


class AnalysisRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Record of one analysis.

    Attributes:
        name: Name of the analysis.
        command: Command line that made it.
        ludus: Version of Ludus.
        run: The run, or the player, that was analysed.
        game: Name of its game.
        params: Parameters of the game.
        rules: Version of the game's rules.
        seed: Seed of all matches and draws.
        settings: Settings of the analysis; a resumed one has the same.
        players: Players that met, as their names in lines: reference of each.
        budget: What the analysis took.
        started: Time of the start, UTC.
        ended: Time of the last change, UTC.
        complete: Whether every unit is over.
        units: Number of all units.
        floors: Players without training among the players.
        notes: What was left out, in words.
        lines: Raw lines, one a match, position or version.
        tables: Tables that follow from the lines.
    """

    format: Literal[1] = 1
    name: Text
    command: Few
    ludus: Text
    run: Text
    game: Text
    params: Annotated[dict[Text, Text], msgspec.Meta(max_length=1024)]
    rules: Count
    seed: Count
    settings: Line
    players: Annotated[dict[Text, Text], msgspec.Meta(max_length=4096)]
    budget: AnalysisBudget
    started: Text
    ended: Text
    complete: bool
    units: Count
    floors: Few = ()
    notes: Few = ()
    lines: Annotated[tuple[Line, ...], msgspec.Meta(max_length=MOST_LINES)] = ()
    tables: Annotated[tuple[RecordTable, ...], msgspec.Meta(max_length=64)] = ()


def read_record(path: Path) -> AnalysisRecord:
    """Read a record; its tables are not compared with its lines (:func:`check_tables` does).

    Raises:
        OSError: The file cannot be read.
        CorruptFile: No record, too long, or with values that no analysis writes.
    """
    raw = read_bounded(path, MOST_BYTES)
    try:
        record = from_json(raw, AnalysisRecord)
    except msgspec.DecodeError as error:
        raise CorruptFile(f"{path}: not a record of an analysis: {error}") from None
    for number in _numbers(record):
        if not math.isfinite(number):
            raise CorruptFile(f"{path}: {number}: expected finite numbers")
    for table in record.tables:
        if any(len(row) != len(table.columns) for row in table.rows):
            raise CorruptFile(f"{path}: table {shown(table.title)}: rows and columns differ in length")
    return record


def _numbers(record: AnalysisRecord) -> Iterator[float]:
    cells: list[Sequence[Cell]] = [list(line.values()) for line in (*record.lines, record.settings)]
    cells += [row for table in record.tables for row in table.rows]
    yield record.budget.seconds
    yield from (cell for row in cells for cell in row if isinstance(cell, float))


def write_record(path: Path, record: AnalysisRecord) -> None:
    """Write a record, whole or not at all. Raises ``OSError``; ``CorruptFile``: its folder is a link."""
    own_folder(path.parent, make=True)
    write_atomic(path, msgspec.json.format(to_json(record), indent=1) + b"\n")


def check_tables(path: Path, record: AnalysisRecord, computed: Sequence[RecordTable]) -> None:
    """Compare the tables of a record with those that its lines give.

    Raises:
        CorruptFile: They differ; the message names the first difference.
    """
    where = f"{path}: the tables do not follow from the lines"
    if len(record.tables) != len(computed):
        raise CorruptFile(f"{where}: {len(record.tables)} tables, expected {len(computed)}")
    for told, right in zip(record.tables, computed, strict=True):
        if (told.title, told.columns, len(told.rows)) != (right.title, right.columns, len(right.rows)):
            raise CorruptFile(f"{where}: table {shown(told.title)}, expected {shown(right.title)}")
        for number, (row, other) in enumerate(zip(told.rows, right.rows, strict=True), 1):
            for column, cell, expected in zip(right.columns, row, other, strict=True):
                if not _equal(cell, expected):
                    raise CorruptFile(
                        f"{where}: table {shown(told.title)}, row {number}, column {column.name}: "
                        f"{shown(str(cell))}, expected {shown(str(expected))}"
                    )


def _equal(cell: Cell, expected: Cell) -> bool:
    if isinstance(cell, bool) or isinstance(expected, bool) or not isinstance(cell, (int, float)):
        return type(cell) is type(expected) and cell == expected
    if not isinstance(expected, (int, float)):
        return False
    return math.isclose(cell, expected, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)

"""The page of an analysis: one HTML file without a network, every number of it from the record."""

from __future__ import annotations

from collections.abc import Sequence

from ludus.analyses.analysis import Analysis, TableCurve
from ludus.analyses.plot import plot
from ludus.analyses.record import AnalysisRecord, Cell, RecordColumn, RecordTable
from ludus.flow.inputs.shown import code, markdown, visible
from ludus.reporting.page import page

NOTHING = "-"
_INTERRUPTED = (
    "Interrupted: some units of the analysis have not been played; the tables count those that have."
)


def cell_text(cell: Cell, column: RecordColumn) -> str:
    """Return a cell as it is shown: a share of the unit ``%`` as a percentage, nothing as a dash."""
    if cell is None:
        return NOTHING
    if isinstance(cell, (bool, str)):
        return visible(str(cell))
    share = column.unit == "%"
    text = f"{100.0 * cell if share else cell:.{column.digits}f}"
    text = text.removeprefix("-") if float(text) == 0.0 else text
    return f"{text}%" if share else text


def column_text(column: RecordColumn) -> str:
    """Return the head of a column, with its unit where that is not its name or in its cells."""
    told = not column.unit or column.unit == "%" or column.unit in column.name
    return column.name if told else f"{column.name} ({column.unit})"


def render(analysis: type[Analysis], record: AnalysisRecord) -> str:
    """Return the page of a record whose tables have been computed or checked.

    Args:
        analysis: The analysis that made it.
        record: The record.
    """
    plots = {
        f"plot{number}.svg": drawn
        for number, curve in enumerate(analysis.curves)
        if (drawn := plot(curve, record.tables))
    }
    lines = [f"# {markdown(analysis.title)}", ""]
    if not record.complete:
        lines += [f"**{_INTERRUPTED}**", ""]
    lines += [*_facts(record), ""]
    for number, table in enumerate(record.tables):
        lines += [f"## {markdown(table.title)}", ""]
        for k, curve in enumerate(analysis.curves):
            if curve.table == number and f"plot{k}.svg" in plots:
                lines += [f"![{markdown(_caption(curve))}](plot{k}.svg)", ""]
        lines += [*_table(table), ""]
    lines += ["## Record", "", *_about(record), ""]
    return page("\n".join(lines), plots)


def _caption(curve: TableCurve) -> str:
    what = " and ".join(curve.up) or "values"
    return f"{what} by {curve.across}{', with 95% intervals' if curve.low else ''}"


def _facts(record: AnalysisRecord) -> list[str]:
    visits = f"{record.budget.visits:,} visits a decision" if record.budget.visits else "no search"
    facts = [
        f"Run or player: {code(record.run)}; game: {code(record.game)}, version {record.rules} of its rules",
        f"Budget: {record.budget.matches:,} matches, {visits}, {record.budget.seconds:.1f} s; "
        f"seed {record.seed}",
        f"Floors: {', '.join(code(floor) for floor in record.floors) or 'none'}",
        "Intervals: 95%; of scores Wilson's, in which a draw counts half",
    ]
    return [f"- {fact}" for fact in (*facts, *(markdown(note) for note in record.notes))]


def _about(record: AnalysisRecord) -> list[str]:
    params = ", ".join(f"{name} = {value}" for name, value in record.params.items())
    settings = ", ".join(f"{name} = {value}" for name, value in record.settings.items())
    return [
        f"- Command: {code(' '.join(record.command))}",
        f"- Ludus {markdown(record.ludus)}, {markdown(record.started)} to {markdown(record.ended)}",
        f"- Parameters of the game: {code(params or 'defaults')}",
        f"- Settings: {code(settings or 'defaults')}",
        f"- Raw lines: {len(record.lines)}",
        *(f"- Player {code(name)}: {code(reference)}" for name, reference in record.players.items()),
    ]


def _table(table: RecordTable) -> list[str]:
    heads = [markdown(column_text(column)) for column in table.columns]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in table.rows:
        cells = [markdown(cell_text(cell, column)) for cell, column in zip(row, table.columns, strict=True)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def text_tables(tables: Sequence[RecordTable]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return title, heads and cells of each table, for a terminal."""
    return [
        (
            table.title,
            [column_text(column) for column in table.columns],
            [
                [cell_text(cell, column) for cell, column in zip(row, table.columns, strict=True)]
                for row in table.rows
            ],
        )
        for table in tables
    ]


__all__ = ["TableCurve", "cell_text", "column_text", "render", "text_tables"]

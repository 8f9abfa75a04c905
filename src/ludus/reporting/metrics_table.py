"""All numbers of runs as one table of CSV: a row for each update and each evaluation."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ludus.flow.inputs.shown import visible
from ludus.reporting.metrics import EvaluationMetrics, Metrics, UpdateMetrics
from ludus.reporting.run_view import RunView

COLUMNS = ("run", "game", "seed", "kind", "player", "version", "steps", "ticks", "matches", "progress")


def metrics_table(views: Sequence[RunView]) -> str:
    """Return the numbers of runs as CSV, with a row of names.

    The first columns are :data:`COLUMNS`; ``kind`` is ``update``, ``evaluation``, ``initial``, ``playoff`` or
    ``final``. The others are the numbers of ``metrics.jsonl`` under their names; a row lacks those that it
    does not have.

    Raises:
        CorruptFile: A file of a run is damaged.
    """
    rows: list[tuple[list[str], Metrics]] = []
    for view in views:
        info, metrics = view.info(), view.metrics()
        about = [csv_text(view.directory.path.resolve().name), csv_text(info.game), str(info.seed)]
        every: list[Metrics] = [*metrics.updates, *metrics.evaluations]
        rows += [(about, row) for row in sorted(every, key=lambda row: (row.steps, row.kind == "evaluation"))]
    names = sorted({name for _, row in rows for name in row.numbers})
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow((*COLUMNS, *map(csv_text, names)))
    for about, row in rows:
        numbers = row.numbers
        table.writerow([*about, *_counters(row), *(numbers.get(name, "") for name in names)])
    return out.getvalue()


def _counters(row: Metrics) -> list[str | int | float]:
    player = csv_text(row.player)
    if isinstance(row, UpdateMetrics):
        return ["update", player, row.version, row.steps, row.ticks, row.matches, row.progress]
    return [_kind(row), player, row.version, row.steps, "", "", ""]


def _kind(row: EvaluationMetrics) -> str:
    if row.final or row.playoff:
        return "final" if row.final else "playoff"
    return "initial" if row.initial else "evaluation"


def csv_text(text: str) -> str:
    """Return a name that a spreadsheet does not read as a formula."""
    return f"'{text}" if text[:1] in "=+-@" and text else visible(text)

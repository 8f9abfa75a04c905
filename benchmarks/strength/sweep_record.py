"""Finished sweeps as one record of ``benchmarks/results``: the centre of each cell's seeds with its interval.

Greedy actions and drawn ones, a raw line for each seed, and the floors that the runs measured: initial
weights and uniform play.

    python -m benchmarks.strength.sweep_record NAME RUNS... --title TITLE --reference TEXT --commit SHA \
        --machine TEXT

``RUNS`` are directories of sweeps, whose ``results.json`` and runs' ``metrics.jsonl`` are read.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.strength.run_floors import floor_figures, floor_lines
from ludus.evaluation.results import EvalResult
from ludus.storage import StorageError
from ludus.train.sweep.comparison import CellBudget
from tools.raw_lines import Line, figure_of, line_of, read_lines, write_record
from tools.records import RECORDS, Figure, Record, preset_hash

COUNT = "Counts are seeds: from five on IQM and bootstrap interval, else mean and Student's interval."


class Run(msgspec.Struct, frozen=True):
    """One run: its final matches with drawn and with greedy actions."""

    name: str
    cell: str
    seed: int
    final: tuple[EvalResult, ...]
    greedy: tuple[EvalResult, ...]


class Results(msgspec.Struct, frozen=True):
    """What a record needs of ``results.json``."""

    runs: tuple[Run, ...]
    budgets: tuple[CellBudget, ...]
    missing: tuple[str, ...]


class _Config(msgspec.Struct):
    source: str


class _Sweep(msgspec.Struct):
    started: str
    config: _Config
    presets: dict[str, str]


def chosen(
    report: Results, cells: Collection[str], against: Collection[str], plays: Collection[str]
) -> Iterator[Line]:
    """A line a run, opponent and way to choose actions. An empty collection means all."""
    for play in plays:
        for run in report.runs:
            for r in run.final if play == "drawn" else run.greedy:
                if (cells and run.cell not in cells) or (against and r.against not in against):
                    continue
                label = ", ".join((run.cell, *(() if r.alone else (f"against {r.against}",)), play))
                yield line_of(r, label, seed=run.seed, play=play)


def figures(lines: Sequence[Line]) -> Iterator[Figure]:
    """One a label, over its seeds; win rates in percent."""
    for label in dict.fromkeys(line.label for line in lines):
        alone = any(line.value is not None for line in lines if line.label == label)
        yield figure_of(lines, label, "return" if alone else "%", "seeds")


def budget(budgets: Sequence[CellBudget]) -> str:
    """Decisions, gradient steps and processor minutes of one run: the range over cells."""

    def span(values: Sequence[float], form: str) -> str:
        low, high = format(min(values), form), format(max(values), form)
        return low if low == high else f"{low} to {high}"

    steps = span([b.steps / 1e6 for b in budgets], ".1f")
    updates = span([b.gradient_steps for b in budgets], ",.0f")
    minutes = span([b.cpu_minutes for b in budgets if b.cpu_minutes is not None] or [0.0], ".1f")
    return f"a run: {steps} M decisions, {updates} gradient steps, {minutes} processor minutes"


def record(args: argparse.Namespace) -> tuple[Record, list[Line]]:
    """The record of the directories in ``args.runs`` and its raw lines.

    Raises ``OSError`` and ``msgspec.DecodeError``.
    """
    made: list[Line] = []
    floors: list[Line] = [line for path in args.floors for line in read_lines(path)]
    notes, commands, dates = [COUNT, *args.note], [], []
    presets = set[str]()
    budgets: list[CellBudget] = []
    for folder in args.runs:
        report = msgspec.json.decode((folder / "results.json").read_bytes(), type=Results)
        sweep = msgspec.json.decode((folder / "sweep.json").read_bytes(), type=_Sweep)
        made += chosen(report, args.cells, args.against, args.plays)
        for run in report.runs:
            if not args.cells or run.cell in args.cells:
                found = floor_lines(folder / "runs" / run.name / "metrics.jsonl", run.seed, run.cell)
                floors += [f for f in found if not args.against or not f.against or f.against in args.against]
        budgets += [b for b in report.budgets if not args.cells or b.cell in args.cells]
        commands.append(f"ludus sweep {sweep.config.source}")
        dates.append(sweep.started[:10])
        presets |= set(sweep.presets)
        if report.missing:
            notes.append(f"{len(report.missing)} runs of {sweep.config.source} are missing.")
    preset = presets.pop() if len(presets) == 1 else ""
    made_of = Record(
        schema=2,
        section="learning",
        title=args.title,
        figures=tuple(figures(made)),
        floors=floor_figures(floors),
        commands=tuple(commands),
        commit=args.commit,
        date=max(dates),
        machine=args.machine,
        preset=preset,
        preset_sha256=preset_hash(preset) if preset else "",
        budget=budget(budgets),
        reference=args.reference,
        notes=tuple(notes),
    )
    return made_of, [*made, *floors]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("name", help="of the record")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--title", required=True)
    parser.add_argument("--reference", default="")
    parser.add_argument("--cells", nargs="*", default=[], help="these cells (default: all)")
    parser.add_argument("--against", nargs="*", default=[], help="these opponents (default: all)")
    parser.add_argument(
        "--plays",
        nargs="*",
        choices=["greedy", "drawn"],
        default=["greedy", "drawn"],
        help="drawn, greedy (default: both)",
    )
    parser.add_argument("--floors", nargs="*", type=Path, default=[], help="raw lines of more floors")
    parser.add_argument("--note", action="append", default=[])
    parser.add_argument("--commit", required=True)
    parser.add_argument("--machine", required=True)
    args = parser.parse_args()
    try:
        write_record(args.name, *record(args), RECORDS)
    except (OSError, ValueError, StorageError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

"""Finished sweeps as one record of ``benchmarks/results``: the centre of each cell's seeds with its interval.

    python -m benchmarks.strength.sweep_record NAME RUNS... --title TITLE --reference TEXT --commit SHA \
        --machine TEXT

``RUNS`` are directories of sweeps, whose ``results.json`` is read.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from ludus.train.sweep.comparison import TOGETHER, CellBudget
from tools.results import RECORDS, Figure, Record, preset_hash

COUNT = "Counts are seeds: from five on IQM and bootstrap interval, else mean and Student's interval."


class CentreOfSeeds(msgspec.Struct, frozen=True):
    """JSON has null for an interval that is not known."""

    values: tuple[float, ...]
    centre: float
    low: float | None
    high: float | None


class Result(msgspec.Struct, frozen=True):
    """One cell against one opponent."""

    cell: str
    against: str
    play: str
    alone: bool
    summary: CentreOfSeeds


class Results(msgspec.Struct, frozen=True):
    """What a record needs of ``results.json``."""

    results: tuple[Result, ...]
    budgets: tuple[CellBudget, ...]
    missing: tuple[str, ...]


class _Config(msgspec.Struct):
    source: str


class _Sweep(msgspec.Struct):
    started: str
    config: _Config
    presets: dict[str, str]


def figures(
    report: Results, cells: Collection[str], against: Collection[str], plays: Collection[str]
) -> Iterator[Figure]:
    """One a cell, opponent and way to choose actions; win rates in percent. An empty collection means all."""
    for r in report.results:
        if r.play not in plays or r.against == TOGETHER:
            continue
        if (cells and r.cell not in cells) or (against and r.against not in against):
            continue
        s, scale = r.summary, 1.0 if r.alone else 100.0
        ends = [e if r.alone or e is None else min(1.0, max(0.0, e)) for e in (s.low, s.high)]
        low, high = (None if e is None else round(scale * e, 1) for e in ends)
        label = ", ".join((r.cell, *(() if r.alone else (f"against {r.against}",)), r.play))
        unit = "return" if r.alone else "%"
        yield Figure(round(scale * s.centre, 1), unit, label, None, low, high, len(s.values))


def budget(budgets: Sequence[CellBudget]) -> str:
    """Decisions, gradient steps and processor minutes of one run: the range over cells."""

    def span(values: Sequence[float], form: str) -> str:
        low, high = format(min(values), form), format(max(values), form)
        return low if low == high else f"{low} to {high}"

    steps = span([b.steps / 1e6 for b in budgets], ".1f")
    updates = span([b.gradient_steps for b in budgets], ",.0f")
    minutes = span([b.cpu_minutes for b in budgets if b.cpu_minutes is not None] or [0.0], ".1f")
    return f"a run: {steps} M decisions, {updates} gradient steps, {minutes} processor minutes"


def record(args: argparse.Namespace) -> Record:
    """The record of the directories in ``args.runs``. Raises ``OSError`` and ``msgspec.DecodeError``."""
    made: list[Figure] = []
    notes, commands, dates = [COUNT, *args.note], [], []
    presets = set[str]()
    budgets: list[CellBudget] = []
    for folder in args.runs:
        report = msgspec.json.decode((folder / "results.json").read_bytes(), type=Results)
        sweep = msgspec.json.decode((folder / "sweep.json").read_bytes(), type=_Sweep)
        made += figures(report, args.cells, args.against, args.plays)
        budgets += [b for b in report.budgets if not args.cells or b.cell in args.cells]
        commands.append(f"ludus sweep {sweep.config.source}")
        dates.append(sweep.started[:10])
        presets |= set(sweep.presets)
        if report.missing:
            notes.append(f"{len(report.missing)} runs of {sweep.config.source} are missing.")
    preset = presets.pop() if len(presets) == 1 else ""
    return Record(
        schema=1,
        section="learning",
        title=args.title,
        figures=tuple(made),
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("name", help="of the record")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--title", required=True)
    parser.add_argument("--reference", default="")
    parser.add_argument("--cells", nargs="*", default=[], help="these cells (default: all)")
    parser.add_argument("--against", nargs="*", default=[], help="these opponents (default: all)")
    parser.add_argument("--plays", nargs="*", default=["drawn"], help="drawn, greedy")
    parser.add_argument("--note", action="append", default=[])
    parser.add_argument("--commit", required=True)
    parser.add_argument("--machine", required=True)
    args = parser.parse_args()
    text = msgspec.json.format(msgspec.json.encode(record(args)), indent=1) + b"\n"
    (RECORDS / f"{args.name}.json").write_bytes(text)


if __name__ == "__main__":
    main()

"""Finished sweeps as one record of ``benchmarks/results``: the centre of each cell's seeds with its interval.

    python -m benchmarks.strength.sweep_record NAME RUNS... --title TITLE --reference TEXT --commit SHA \
        --machine TEXT

``RUNS`` are directories of sweeps, whose ``results.json`` is read. ``ludus report SWEEP`` writes it again.
Greedy play is ELF's protocol and comes first, where the sweep has it. The raw lines are the evaluations of
each seed; floors are the initial weights of each seed and uniform play.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from ludus.evaluation.results import EvalResult
from ludus.training.sweep.comparison import CellBudget
from ludus.training.sweep.results import RunSummary
from tools.raw_lines import INITIAL, UNIFORM, Line, figure_of, line_of, write_record
from tools.records import RECORDS, Figure, Record, preset_hash

COUNT = "Counts are seeds: from five on IQM and bootstrap interval, else mean and Student's interval."
PLAYS = ("greedy", "drawn")
GREEDY_SETTING = "evaluation.greedy"


class Results(msgspec.Struct, frozen=True):
    """Part of ``results.json`` that a record needs."""

    runs: tuple[RunSummary, ...]
    budgets: tuple[CellBudget, ...]
    missing: tuple[str, ...]


class _Config(msgspec.Struct):
    source: str


class _Sweep(msgspec.Struct):
    started: str
    config: _Config
    presets: dict[str, str]


def lines_of(
    runs: Sequence[RunSummary],
    cells: Collection[str],
    against: Collection[str],
    plays: Collection[str],
    own: bool = False,
) -> list[Line]:
    """Return the evaluations of finished runs, a line each seed and opponent. An empty collection means all.

    ``own``: each cell against the opponent that it is named by alone.
    """
    wanted = plays or PLAYS
    chosen = [r for r in runs if r.finished and (not cells or r.cell in cells)]
    found = []
    for play in (p for p in PLAYS if p in wanted):
        for run in chosen:
            for result in _results(run, play):
                if own and result.against != own_opponent(run.cell):
                    continue
                if not against or result.against in against:
                    label = _label(run.cell, result.alone, result.against, play)
                    found.append(line_of(result, label, seed=run.seed, play=play))
    return found


def own_opponent(cell: str) -> str:
    """Return the opponent that a cell is named by: ``simple`` of ``simple, frame_skip=50``."""
    return cell.partition(",")[0]


def _results(run: RunSummary, play: str) -> tuple[EvalResult, ...]:
    if run.settings.get(GREEDY_SETTING):  # then the final matches are greedy, too
        return run.final if play == "greedy" else ()
    return run.greedy if play == "greedy" else run.final


def floor_lines(
    runs: Sequence[RunSummary], lines: Sequence[Line], cells: Collection[str], own: bool = False
) -> list[Line]:
    """Return the floors against the opponents of ``lines``; uniform play has no seed of training."""
    opponents = {line.against for line in lines}
    found = []
    for run in runs:
        if not run.finished or (cells and run.cell not in cells):
            continue
        play = "greedy" if run.settings.get(GREEDY_SETTING) else "drawn"
        for kind, how, results in (
            (INITIAL, play, run.floors.initial),
            (UNIFORM, "", run.floors.uniform),
        ):
            for result in results:
                if own and result.against != own_opponent(run.cell):
                    continue
                if result.alone or result.against in opponents:
                    label = f"{kind}, {_label(run.cell, result.alone, result.against, how)}"
                    seed = run.seed if kind == INITIAL or result.alone else None
                    found.append(line_of(result, label, seed=seed, play=how))
    return found


def _label(cell: str, alone: bool, against: str, play: str) -> str:
    return ", ".join(t for t in (cell, "" if alone else f"against {against}", play) if t)


def figures(lines: Sequence[Line]) -> Iterator[Figure]:
    """One for each label, over its seeds; of uniform play against an opponent, over all its matches."""
    for label in dict.fromkeys(line.label for line in lines):
        alone = next(line.value is not None for line in lines if line.label == label)
        together = label.startswith(UNIFORM) and not alone
        yield figure_of(lines, label, "return" if alone else "%", "wilson" if together else "seeds")


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
    """Return the record of the directories in ``args.runs`` and its raw lines.

    Raises ``OSError``, ``ValueError`` and ``msgspec.DecodeError``.
    """
    lines: list[Line] = []
    floors: list[Line] = []
    notes, commands, dates = [COUNT, *args.note], [], []
    presets = set[str]()
    budgets: list[CellBudget] = []
    for folder in args.runs:
        report = msgspec.json.decode((folder / "results.json").read_bytes(), type=Results)
        sweep = msgspec.json.decode((folder / "sweep.json").read_bytes(), type=_Sweep)
        own = lines_of(report.runs, args.cells, args.against, args.plays, args.own)
        lines += own
        floors += floor_lines(report.runs, own, args.cells, args.own)
        budgets += [b for b in report.budgets if not args.cells or b.cell in args.cells]
        commands.append(f"ludus sweep {sweep.config.source}")
        dates.append(sweep.started[:10])
        presets |= set(sweep.presets)
        if report.missing:
            notes.append(f"{len(report.missing)} runs of {sweep.config.source} are missing.")
        initial = sorted(
            {Path(r.floors.initial_weights).name for r in report.runs if r.floors.initial_weights}
        )
        if initial:
            notes.append(f"The initial weights are those of {', '.join(initial)}.")
    if not lines:
        raise ValueError("no finished run of these cells, opponents and plays")
    lines.sort(key=lambda line: PLAYS.index(line.play))  # of several sweeps; stable
    preset = presets.pop() if len(presets) == 1 else ""
    made = Record(
        schema=2,
        section="learning",
        title=args.title,
        figures=tuple(figures(lines)),
        floors=tuple(figures(floors)),
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
    return made, [*lines, *floors]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("name", help="of the record")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--title", required=True)
    parser.add_argument("--reference", default="")
    parser.add_argument("--cells", nargs="*", default=[], help="these cells (default: all)")
    parser.add_argument("--against", nargs="*", default=[], help="these opponents (default: all)")
    parser.add_argument("--own", action="store_true", help="each cell against the opponent of its name alone")
    parser.add_argument("--plays", nargs="*", choices=PLAYS, default=[], help="default: all that there are")
    parser.add_argument("--note", action="append", default=[])
    parser.add_argument("--commit", required=True)
    parser.add_argument("--machine", required=True)
    args = parser.parse_args()
    try:
        made, lines = record(args)
    except (OSError, ValueError) as error:  # msgspec's DecodeError is a ValueError
        print(f"sweep_record: {error}", file=sys.stderr)
        return 2
    write_record(args.name, made, lines, RECORDS)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

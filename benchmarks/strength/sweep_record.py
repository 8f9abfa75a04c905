"""Finished sweeps as one record of ``benchmarks/results``: each cell's seeds, drawn and greedy, with floors.

    python -m benchmarks.strength.sweep_record SWEEP... --matches 1000 [--record NAME --title TITLE]

``SWEEP`` are directories of sweeps. The weights ``RUN@best`` of each finished run are kept and play the
sweep's opponents again, from the kept file. A cell is named as the sweep names it. ``--lines FILE`` keeps
finished evaluations: a second call plays only the others.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.strength.evaluated import (
    Played,
    Store,
    all_floors,
    evaluations,
    kept_runs,
    preset_of,
    weights_folder,
)
from ludus.evaluation.results import ALONE
from ludus.games import spec
from ludus.policies.weights import WeightsError
from ludus.presets.checks.game import params_text
from ludus.presets.errors import ConfigError
from ludus.storage.errors import StorageError
from ludus.sweep.comparison import CellBudget
from ludus.sweep.results import RunSummary
from tools.figures import figures_of, floors_of
from tools.new_record import add_record_options, own_command, published
from tools.play_lines import PLAYS
from tools.raw_lines import Line


class Results(msgspec.Struct, frozen=True):
    """Part of ``results.json`` that a record needs."""

    runs: tuple[RunSummary, ...]
    budgets: tuple[CellBudget, ...]
    missing: tuple[str, ...]


class _Config(msgspec.Struct):
    source: str


class _Sweep(msgspec.Struct):
    config: _Config


def own_opponent(cell: str) -> str:
    """Return the opponent that a cell is named by: ``simple`` of ``simple, frame_skip=50``."""
    return cell.partition(",")[0]


def budget(budgets: Sequence[CellBudget]) -> str:
    """Decisions, gradient steps and processor minutes of one run: the range over cells."""

    def span(values: Sequence[float], form: str) -> str:
        low, high = format(min(values), form), format(max(values), form)
        return low if low == high else f"{low} to {high}"

    steps = span([b.steps / 1e6 for b in budgets], ".1f")
    updates = span([b.gradient_steps for b in budgets], ",.0f")
    minutes = span([b.cpu_minutes for b in budgets if b.cpu_minutes is not None] or [0.0], ".1f")
    return f"a run: {steps} M decisions, {updates} gradient steps, {minutes} processor minutes"


def command_of(source: str, options: Sequence[str]) -> str:
    """Return the command of a sweep, with the options that it was run with beside its file."""
    return shlex.join(["ludus", "sweep", source, *options])


def cells_of(args: argparse.Namespace, folder: Path) -> tuple[dict[str, list[Played]], list[CellBudget]]:
    """Return the kept runs of each cell, and the budgets. Raises ``ValueError`` for an unfinished run."""
    cells: dict[str, list[Played]] = {}
    budgets: list[CellBudget] = []
    for sweep in args.sweeps:
        report = msgspec.json.decode((sweep / "results.json").read_bytes(), type=Results)
        source = msgspec.json.decode((sweep / "sweep.json").read_bytes(), type=_Sweep).config.source
        chosen = [r for r in report.runs if not args.cells or r.cell in args.cells]
        unfinished = [*report.missing, *(r.cell for r in chosen if not r.finished)]
        if unfinished:
            raise ValueError(f"{sweep}: {len(unfinished)} runs are not finished: {unfinished[0]}")
        budgets += [b for b in report.budgets if not args.cells or b.cell in args.cells]
        for cell in dict.fromkeys(r.cell for r in chosen):
            paths = [f"{sweep / 'runs' / r.name}@{args.weights}" for r in chosen if r.cell == cell]
            cells[cell] = kept_runs(
                paths,
                command_of(source, args.options.split()),
                folder,
                cell=cell,
                initial=args.initial,
                started_from=args.started_from,
            )
    if not cells:
        raise ValueError("no finished run of these cells")
    return cells, budgets


def opponents_of(one: Played, args: argparse.Namespace) -> list[str]:
    """Return the opponents of a cell: ``--against``, with ``--own`` the one of its name, or its sweep's."""
    preset = preset_of(one.where)
    if spec(preset.game.name, params_text(preset.game.params)).seats == 1:
        return [ALONE]
    if args.own:
        return [own_opponent(one.run.cell)]
    return list(args.against or preset.evaluation.against or ["random"])


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Play everything, print the figures, write the record. Raises ``ValueError`` and ``StorageError``."""
    cells, budgets = cells_of(args, folder)
    store = Store(args.lines)
    lines: list[Line] = []
    for play_ in args.plays:
        for runs in cells.values():
            opponents = opponents_of(runs[0], args)
            lines += evaluations(runs, opponents, [play_], args.matches, args.seed, store, folder)
    figures = [
        figure
        for line in {line.label: line for line in lines}.values()
        for figure in figures_of(
            [x for x in lines if x.label == line.label], "return" if line.samples else "%", "seeds"
        )
    ]
    every = [one.run for runs in cells.values() for one in runs]
    floor_lines, kinds = all_floors(lines, every, figures, store, folder)
    floors = floors_of(floor_lines, figures, kinds)
    for figure in (*figures, *floors):
        print(figure.text())
    published(
        args,
        section="learning",
        title=args.title,
        lines=[*lines, *floor_lines],
        figures=figures,
        floors=floors,
        runs=every,
        commands=[own_command("benchmarks.strength.sweep_record")],
        budget=budget(budgets) if budgets else "",
        reference=args.reference,
        notes=args.note,
    )


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sweeps", nargs="+", type=Path, help="directories of finished sweeps")
    parser.add_argument("--options", default="", help="that ludus sweep was run with, in one word")
    parser.add_argument("--weights", choices=("best", "last"), default="best", help="that play")
    parser.add_argument("--cells", nargs="*", default=[], help="these cells (default: all)")
    parser.add_argument("--against", nargs="*", default=[], help="opponents (default: the sweep's)")
    parser.add_argument("--own", action="store_true", help="each cell against the opponent of its name only")
    parser.add_argument("--plays", nargs="*", choices=PLAYS, default=["greedy", "drawn"])
    parser.add_argument("--matches", type=int, default=1000, help="of an evaluation")
    parser.add_argument("--seed", type=int, default=1, help="of the matches")
    parser.add_argument(
        "--initial", default="", help="weights that the runs started from, if not random ones"
    )
    parser.add_argument("--started-from", default="", help="what these are, for the page")
    parser.add_argument("--lines", type=Path, help="JSON lines, one an evaluation; read first if there")
    parser.add_argument("--title", default="", help="of the record")
    parser.add_argument("--reference", default="", help="of the record")
    parser.add_argument("--note", action="append", default=[], help="of the record; repeat it")
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    parser = parser_of()
    args = parser.parse_args()
    if args.record and not args.title:
        parser.error("--record: expected --title too")
    try:
        with weights_folder(args.record) as folder:
            measure(args, folder)
    except (OSError, ValueError, ConfigError, StorageError, WeightsError) as error:
        parser.error(str(error))  # msgspec's DecodeError is a ValueError


if __name__ == "__main__":
    main()

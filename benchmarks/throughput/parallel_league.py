"""Decisions a second of a league's members in processes, over a league whose members take turns.

    python -m benchmarks.throughput.parallel_league [pbt] [--processes 2] [--rounds 60] [--turns 7]
        [--setting pool.threads=1]

Both leagues have the same settings and are trained in turns of ``--rounds`` rounds, so that what else the
machine does falls on both. A turn ends when its updates are reported. The league that takes turns uses its
usual threads: it learns and plays on all processors too. Medians, least and greatest readings.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.file import load_preset
from ludus.storage import RunDirectory, RunInfo
from ludus.training.league.league_run import LeagueTrainer, prepare
from ludus.training.run_context import RunContext
from tools.figures import figure_of
from tools.new_record import add_record_options, own_command, published
from tools.raw_lines import Line, sampled
from tools.records import Wanted

QUIET = {"evaluation.every_steps": "0", "evaluation.matches": "0", "evaluation.final_matches": "0"}
WARM = 2  # turns before the first that counts


@contextlib.contextmanager
def started(preset: Preset, folder: Path) -> Iterator[LeagueTrainer]:
    """Yield the steps of a league's run that has not learned yet."""
    spec, _ = resolve_spec(preset)
    info = RunInfo(1, "", spec.name, spec.spec_hash, preset.run.seed, "", ())
    context = RunContext(preset, RunDirectory.create(folder, to_toml(preset), info))
    prepared = prepare(preset, None)
    with contextlib.closing(context.report), contextlib.closing(prepared.start(context)) as steps:
        assert isinstance(steps, LeagueTrainer)
        yield steps


def rate(steps: LeagueTrainer, rounds: int) -> float:
    """Return decisions learned from a second of wall time over ``rounds`` rounds."""
    start, before = time.perf_counter(), steps.state.budget.steps
    for _ in range(rounds):
        steps.prepare_round()
        steps.round(None)
    steps.report_updates(wait=True)
    return (steps.state.budget.steps - before) / (time.perf_counter() - start)


def with_processes(preset: Preset, processes: int) -> Preset:
    """Return the preset with its members in a number of processes."""
    assert preset.league is not None
    league = msgspec.structs.replace(preset.league, processes=processes)
    return msgspec.structs.replace(preset, league=league)


def measured(preset: Preset, processes: int, rounds: int, turns: int) -> list[Line]:
    """Return a line for each rate and one for their ratio, a reading a turn."""
    with (
        tempfile.TemporaryDirectory() as folder,
        started(with_processes(preset, 0), Path(folder) / "turns") as here,
        started(with_processes(preset, processes), Path(folder) / "processes") as there,
    ):
        pairs: list[tuple[float, float]] = []
        for turn in range(WARM + turns):
            pair = [0.0, 0.0]
            for side in (0, 1) if turn % 2 else (1, 0):
                pair[side] = rate((here, there)[side], rounds) * 1e-3
            pairs.append((pair[0], pair[1]))
    return [
        sampled("members that take turns", [one for one, _ in pairs[WARM:]]),
        sampled("members in processes", [other for _, other in pairs[WARM:]]),
        sampled("processes over turns", [other / one for one, other in pairs[WARM:]]),
    ]


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("preset", nargs="?", default="pbt")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument(
        "--setting", action="append", default=[], metavar="PATH=VALUE", help="of both leagues"
    )
    parser.add_argument("--wanted", type=float, help="least ratio")
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command."""
    args = parser_of().parse_args()
    settings = dict(text.split("=", 1) for text in args.setting)
    preset = load_preset(args.preset, QUIET | settings).preset
    assert preset.league is not None
    lines = measured(preset, args.processes, args.rounds, args.turns)
    units = ("k decisions/s", "k decisions/s", "x")
    figures = [figure_of(lines, ln.label, unit, "readings") for ln, unit in zip(lines, units, strict=True)]
    for figure in figures:
        print(figure.text())
    members = len(preset.league.members)
    published(
        args,
        section="throughput",
        title=f"{args.preset}: {members} members of a league in {args.processes} processes and in turns",
        lines=lines,
        figures=figures,
        commands=[own_command("benchmarks.throughput.parallel_league")],
        wanted=[] if args.wanted is None else [Wanted(lines[-1].label, least=args.wanted)],
        notes=["Median, least and greatest of the readings; members that take turns use all processors too."],
    )


if __name__ == "__main__":
    main()

"""A population whose settings change against the same members whose settings stay: preset ``pbt``.

    python -m benchmarks.strength.population --seeds 1 2 3 --minutes 3
    python -m benchmarks.strength.population --seeds 1 --steps 800000 --record population-cartpole

Both runs start with the same four learning rates, of which three are 30 times and more off, and have the same
budget. ``return``: mean of a member's last 100 episodes or so, while it learns. ``final``: ``RUN@best``, the
winner of the play-off over the members' last weights, in matches that no choice was made by.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import msgspec

from benchmarks.strength.evaluated import Store, all_floors, weights_folder
from ludus.evaluation.results import ALONE
from ludus.league.summary import status
from ludus.presets.config import Preset
from ludus.presets.file import load_preset
from ludus.reporting.run_view import RunView
from ludus.training.runs import start_run
from tools.figures import figures_of, floor_label, floors_of
from tools.new_record import add_record_options, own_command, published
from tools.play_lines import play, run_of, setting_of
from tools.raw_lines import Line, Setting, sampled
from tools.records import INITIAL, UNIFORM, Figure, Run

PRESET = "pbt"
PRESETS = (PRESET,)
GAME = "gymnasium/CartPole-v1"
MATCHES = 100
CELLS = {True: "population", False: "fixed rates"}
RATE = "algorithm.learning_rate"
NEVER = 10**15  # decisions


class Result(msgspec.Struct, frozen=True):
    """``first``, ``last``: a member's learning rates, by member; ``returns``: how it plays in the end.

    ``run``: with the run's best weights, the weights of the member ``best``.
    """

    seed: int
    changes: bool
    steps: int
    minutes: float
    first: tuple[float, ...]
    last: tuple[float, ...]
    returns: tuple[float, ...]
    copies: int
    best: str
    final: float
    where: str = ""
    run: Run | None = None


def preset_of_run(seed: int, steps: int, minutes: float, changes: bool) -> Preset:
    """Return the shipped preset with a budget; without ``changes`` members never copy another."""
    budget = {"run.seed": str(seed), "run.max_steps": str(steps), "run.max_minutes": str(minutes)}
    preset = load_preset(PRESET, {**budget, "run.threads": "1", "evaluation.every_steps": "0"}).preset
    assert preset.league is not None
    if changes:
        return preset
    never = msgspec.structs.replace(preset.league.population, every=NEVER)
    return msgspec.structs.replace(preset, league=msgspec.structs.replace(preset.league, population=never))


def train(
    seed: int, steps: int, minutes: float, changes: bool, folder: Path, command: str, weights: Path
) -> Result:
    """Trains one population in ``folder``."""
    preset = preset_of_run(seed, steps, minutes, changes)
    done = start_run(preset, folder / f"{'pbt' if changes else 'fixed'}-{seed}")
    record = RunView.open(Path(done.run)).league()
    assert preset.league is not None
    members = status(record, "").members
    return Result(
        seed=seed,
        changes=changes,
        steps=done.steps,
        minutes=done.minutes,
        first=tuple(p.tune[RATE].start[i] for i, p in enumerate(preset.league.members)),
        last=tuple(m.hyper[RATE] for m in members),
        returns=tuple(m.mean_return or 0.0 for m in members),
        copies=sum(m.what == "copied" for m in record.milestones),
        best=done.best_player,
        final=done.final[0].mean_return,
        where=done.run,
        run=run_of(
            f"{done.run}@best",
            command,
            cell=CELLS[changes],
            initial=f"{done.run}@{preset.league.members[0].name}:0",
            folder=weights,
        ),
    )


def table(results: Sequence[Result]) -> str:
    """Return a table with a line for each run."""
    lines = [
        "| seed | settings | decisions | minutes | rates: first > last: return | copies | best | final |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in results:
        members = ", ".join(
            f"{first:.2g} > {last:.2g}: {got:.0f}"
            for first, last, got in zip(r.first, r.last, r.returns, strict=True)
        )
        settings = "change" if r.changes else "stay"
        lines.append(
            f"| {r.seed} | {settings} | {r.steps:,} | {r.minutes:.1f} | {members} | {r.copies} "
            f"| {r.best} | {r.final:.1f} |"
        )
    return "\n".join(lines)


def lines_of(results: Sequence[Result], weights: Path) -> list[Line]:
    """Members of each population while they learn, and the matches of the best weights."""
    found = []
    for r in results:
        assert r.run is not None
        training = Setting(GAME, returned="mean of the last 100 episodes or so", measure="training")
        ranked = sorted(r.returns)
        shown = {f"{CELLS[r.changes]}, worst member while it learns": ranked[0]}
        if not r.changes:
            shown = {"best fixed rate while it learns": ranked[-1]}
            if len(ranked) > 1:
                shown["second best fixed rate while it learns"] = ranked[-2]
        for label, value in shown.items():
            line = sampled(label, [value], setting=training)
            found.append(msgspec.structs.replace(line, seed=r.seed, run=r.run.id))
        final = setting_of(GAME, {}, ALONE, "drawn", MATCHES)
        found.append(play(f"{CELLS[r.changes]}, final matches", final, r.seed, run=r.run, folder=weights))
    return found


def floors_while_learning(
    lines: Sequence[Line], figures: Sequence[Figure], runs: Sequence[Run], weights: Path
) -> list[Line]:
    """Return the floors of the measures of training: mean returns of matches."""
    by_id = {run.id: run for run in runs}
    found = []
    final = setting_of(GAME, {}, ALONE, "drawn", MATCHES)
    for figure in figures:
        mine = [x for x in lines if x.label == figure.label]
        training = mine[0].setting
        if training is None or training.measure != "training":
            continue
        uniform = play("", final, 1, player=UNIFORM, folder=weights)
        line = sampled(floor_label(UNIFORM, figure.label), [mean(uniform.samples)], setting=training)
        found.append(msgspec.structs.replace(line, player=UNIFORM))
        for own in mine:
            first = play("", final, 1, run=by_id[own.run], initial=True, folder=weights)
            line = sampled(floor_label(INITIAL, figure.label), [mean(first.samples)], setting=training)
            found.append(msgspec.structs.replace(line, seed=own.seed, run=own.run))
    return found


def publish(args: argparse.Namespace, results: Sequence[Result], weights: Path) -> None:
    """Write the populations as a record."""
    lines = lines_of(results, weights)
    runs = [r.run for r in results if r.run is not None]
    figures = figures_of(lines, "return", "seeds")
    floor_lines, kinds = all_floors(lines, runs, figures, Store(None), weights)
    floor_lines += floors_while_learning(lines, figures, runs, weights)
    budget = f"{args.steps:,} decisions of all members together"
    published(
        args,
        section="learning",
        title="A population on CartPole: four members, three of the learning rates 30 times and more off",
        lines=[*lines, *floor_lines],
        figures=figures,
        floors=floors_of(floor_lines, figures, kinds or [INITIAL, UNIFORM]),
        runs=runs,
        commands=[own_command("benchmarks.strength.population")],
        budget=budget + (f", at most {args.minutes:g} minutes a population" if args.minutes else ""),
        reference="500 is the maximum; wanted: within 10% of the best fixed rate in 3 minutes",
        notes=("While it learns: mean of a member's last 100 episodes or so.",),
    )


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--steps", type=int, default=2_000_000, help="decisions of all members together")
    parser.add_argument("--minutes", type=float, default=3.0)
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    args = parser_of().parse_args()
    command = own_command("benchmarks.strength.population")
    results = []
    with tempfile.TemporaryDirectory() as folder, weights_folder(args.record) as weights:
        for seed in args.seeds:
            for changes in (True, False):
                made = train(seed, args.steps, args.minutes, changes, Path(folder), command, weights)
                results.append(made)
                print(table(results).splitlines()[-1], file=sys.stderr, flush=True)
        print(table(results))
        if args.record:
            publish(args, results, weights)


if __name__ == "__main__":
    main()

"""Figure 6 of OpenAI Five in miniature: trained policies, continued by surgery at three horizons.

    python -m benchmarks.strength.surgery_horizon --folder runs/horizon
    python -m benchmarks.strength.surgery_horizon --folder runs/horizon \
        --record surgery-horizon

Extended MiniRTS against its bots rush, swords and riders. The policies were trained at discount 0.97; a
continuation has a shorter or a longer horizon, or twice the hidden layer and memory. Two of them exist twice:
with updates at learning rate 0 first (`--settle`), and without. All are
evaluated after as many updates that do change weights, with equal seeds, beside the policy before surgery and
the continuation in which nothing was changed. Every seed has its own policy.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from benchmarks.strength.evaluated import all_floors, weights_folder
from benchmarks.strength.surgery_runs import (
    PRESET,
    WIDER,
    Work,
    add_options,
    folder_of,
    parsed,
    steps_of,
)
from tools.figures import figure_of, figures_of, floors_of
from tools.new_record import own_command, published
from tools.raw_lines import Line
from tools.records import Figure

PRESETS = (PRESET,)
SMALL = {"pool.slots": "32", "algorithm.minibatches": "2"}
UPDATE = 1024  # decisions of an update: 32 slots of 32
BASE = {"algorithm.discount": "0.97"}
BEFORE = "before surgery, discount 0.97"
#: Name of a continuation -> its settings; a match has about 85 decisions.
ARMS: dict[str, dict[str, str]] = {
    "discount 0.97": {},
    "discount 0.9": {"algorithm.discount": "0.9"},
    "discount 0.99": {"algorithm.discount": "0.99"},
    "discount 0.997": {"algorithm.discount": "0.997"},
    "twice as wide": WIDER,
}
SETTLED = ("discount 0.9", "twice as wide")


def arms(args: argparse.Namespace) -> Iterator[tuple[str, int, str]]:
    """Yield each continuation: its name, its updates at learning rate 0, and its label."""
    for arm in ARMS:
        for settle in (0, args.settle) if arm in SETTLED else (0,):
            yield arm, settle, f"{arm}, settle {settle}, after {args.updates} updates"


def measured(work: Work, args: argparse.Namespace) -> list[Line]:
    """Train the policy once a seed and continue it. Return the lines of all evaluations."""
    lines: list[Line] = []
    for seed in args.seeds:
        base = work.train(
            f"base-{seed}", {**SMALL, **BASE, "run.seed": str(seed), "run.max_steps": str(args.steps)}
        )
        trained = steps_of(base)
        lines += work.judge(base, BEFORE)
        for arm, settle, label in arms(args):
            name = f"{arm.replace(' ', '-')}-{settle}-{seed}"
            budget = str(trained + UPDATE * (settle + args.updates))
            settings = {**SMALL, **BASE, **ARMS[arm], "run.seed": str(seed), "run.max_steps": budget}
            work.cut(f"base-{seed}", name, settings, "--settle", str(settle))
            lines += work.judge(work.train(name, settings), label)
    return lines


def figures_of_arms(lines: Sequence[Line], args: argparse.Namespace) -> list[Figure]:
    """Return win rates, and the differences to the continuation in which nothing was changed."""
    rates = figures_of(lines, "%", "seeds")
    unchanged = next(label for arm, _, label in arms(args) if not ARMS[arm])
    differences = [
        figure_of(
            lines,
            f"{label}, minus the unchanged continuation",
            "points",
            "difference",
            of=(label, unchanged),
        )
        for arm, _, label in arms(args)
        if ARMS[arm]
    ]
    return [*rates, *differences]


def publish(work: Work, lines: Sequence[Line], args: argparse.Namespace) -> None:
    """Print the continuations, and write them as a record."""
    figures = figures_of_arms(lines, args)
    runs = list(work.runs.values())
    floor_lines, kinds = all_floors(lines, runs, figures, work.store, work.weights)
    floors = floors_of(floor_lines, figures, kinds)
    for figure in (*figures, *floors):
        print(figure.text())
    published(
        args,
        section="learning",
        title="Surgery: policies of Extended MiniRTS continued at other horizons",
        lines=[*lines, *floor_lines],
        figures=figures,
        floors=floors,
        runs=runs,
        commands=[own_command("benchmarks.strength.surgery_horizon")],
        budget=f"{args.steps:,} decisions, then {args.updates} updates of {UPDATE:,}",
        reference="the same policy continued as long with nothing changed",
        notes=(
            f"{args.matches} matches against each of the three bots for each seed, drawn actions.",
            "The command's own number of updates at learning rate 0 is 200 where weights are added, else 0.",
        ),
    )


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_options(parser, matches=100)
    parser.add_argument("--steps", type=int, default=200_000, help="decisions before surgery")
    parser.add_argument("--settle", type=int, default=20, help="updates at learning rate 0")
    parser.add_argument("--updates", type=int, default=50, help="that change weights, after surgery")
    return parser


def main() -> None:
    """Run the command line."""
    parser = parser_of()
    args = parsed(parser)
    command = own_command("benchmarks.strength.surgery_horizon")
    try:
        with folder_of(args) as folder, weights_folder(args.record) as weights:
            work = Work(folder, args.matches, weights, command)
            publish(work, measured(work, args), args)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

"""Figure 6 of OpenAI Five in miniature: one trained policy, continued by surgery at three horizons.

    python -m benchmarks.strength.surgery_horizon --folder runs/horizon
    python -m benchmarks.strength.surgery_horizon --folder runs/horizon \
        --record surgery-horizon --commit 1a2b3c4 --machine Xeon

Extended MiniRTS against its bots rush, swords and riders. Every continuation exists twice: with updates at
learning rate 0 first (`--settle`), and without. A fourth one doubles the hidden layer and the memory. All are
evaluated after as many updates that do change weights, with equal seeds, beside the policy before surgery.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence

from benchmarks.strength.surgery_runs import (
    PRESET,
    WIDER,
    Work,
    add_options,
    difference,
    figures,
    folder_of,
    parsed,
    print_lines,
    steps_of,
)
from ludus.storage import utc_now
from tools.raw_lines import INITIAL, UNIFORM, Line, figures_of, write_record
from tools.records import Record, preset_hash

SMALL = {"pool.slots": "32", "algorithm.minibatches": "2"}
UPDATE = 1024  # decisions of an update: 32 slots of 32
BEFORE = "before surgery, discount 0.997"
#: Name of a continuation -> its settings; a match has about 85 decisions.
ARMS = {
    "discount 0.9": {"algorithm.discount": "0.9"},
    "discount 0.97": {"algorithm.discount": "0.97"},
    "discount 0.997": {},
    "twice as wide": WIDER,
}


def arms(args: argparse.Namespace) -> Iterator[tuple[str, int, str]]:
    """Yield each continuation: its name, its updates at learning rate 0, and its label."""
    for arm in ARMS:
        for settle in (0, args.settle):
            yield arm, settle, f"{arm}, settle {settle}, after {args.updates} updates"


def measured(work: Work, args: argparse.Namespace) -> list[Line]:
    """Train the policy and continue it. Return the lines of all evaluations, then the differences."""
    base = work.train(
        "base", {**SMALL, "run.seed": "1", "run.max_steps": str(args.steps), **work.with_floor()}
    )
    trained = steps_of(base)
    lines = work.judge(base, BEFORE, 1, times=len(args.seeds))
    reference = list(lines)
    for seed in args.seeds:
        for arm, settle, label in arms(args):
            name = f"{arm.replace(' ', '-')}-{settle}-{seed}"
            budget = str(trained + UPDATE * (settle + args.updates))
            settings = {**SMALL, **ARMS[arm], "run.seed": str(seed), "run.max_steps": budget}
            work.cut("base", name, settings, "--settle", str(settle))
            lines += work.judge(work.train(name, settings), label, seed)
    differences = [
        difference(f"{label}, minus before", reference, [line for line in lines if line.label == label])
        for _, _, label in arms(args)
    ]
    return [*lines, *differences, *work.floors(base, "", 1)]


def _dips(lines: Sequence[Line]) -> str:
    """Return which continuations are below the policy before surgery by more than the interval."""
    names = [
        line.label.partition(", after")[0] for line in lines if line.high is not None and line.high < 0.0
    ]
    return f"Below the policy before surgery by more than the interval: {'; '.join(names) or 'none'}."


def record_of(lines: Sequence[Line], args: argparse.Namespace) -> Record:
    """Return the continuations as a published result."""
    floors = [line for line in lines if line.label.startswith((INITIAL, UNIFORM))]
    rates = [line for line in lines if line.won is not None and line not in floors]
    before = [line for line in rates if line.label == BEFORE]
    options = [
        *("--seeds", *map(str, args.seeds), "--steps", str(args.steps), "--matches", str(args.matches)),
        *("--settle", str(args.settle), "--updates", str(args.updates)),
    ]
    return Record(
        schema=2,
        section="learning",
        title="Surgery: one policy of Extended MiniRTS continued at three horizons",
        figures=(
            *figures_of(before, "%", "wilson"),
            *figures([line for line in rates if line not in before], "%", len(args.seeds)),
            *figures_of([line for line in lines if line.value is not None], "points", "line"),
        ),
        floors=figures_of(floors, "%", "wilson"),
        commands=(shlex.join(["python", "-m", "benchmarks.strength.surgery_horizon", *options]),),
        commit=args.commit,
        date=utc_now()[:10],
        machine=args.machine,
        preset=PRESET,
        preset_sha256=preset_hash(PRESET),
        budget=f"{args.steps:,} decisions, then {args.updates} updates of {UPDATE:,}",
        reference="wanted: with settle no dip after 50 updates beyond the interval",
        notes=(
            _dips(lines),
            "Minus before: interval over the matches of both evaluations, as if these were independent.",
            f"{args.matches} matches against each of the three bots for each seed, drawn actions.",
            "Seeds are of the continuations; the policy before surgery is one run of seed 1.",
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
    try:
        with folder_of(args) as folder:
            lines = measured(Work(folder, args.matches), args)
            print_lines(lines)
            if args.record:
                write_record(args.record, record_of(lines, args), lines)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

"""Figure 4 of OpenAI Five in miniature: one run through two surgeries against a run from scratch.

    python -m benchmarks.strength.surgery_stages --steps 100000 --folder runs/stages
    python -m benchmarks.strength.surgery_stages --folder runs/stages \
        --record surgery-stages --commit 1a2b3c4 --machine Xeon

Extended MiniRTS against its bots rush, swords and riders. Stage 1 has 14 types and 64 units a layer. Cut 1
adds a type, the pikeman (pikes.toml), which starts as a copy of the spearman; cut 2 doubles the hidden layer
and the memory. The rerun has the last rules and the last network from its first decision, and the decisions
of all three stages together.
A threshold is reached when five windows of training matches in a row have its share of wins.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

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
    reached,
    windows,
)
from ludus.games.rulebook import read
from ludus.storage import utc_now
from tools.raw_lines import INITIAL, UNIFORM, Line, figures_of, write_record
from tools.records import Record, preset_hash

RULES = {"game.params.rulebook": str(Path(__file__).with_name("pikes.toml"))}
LIKE = "pikeman=spearman"
STAGES: tuple[dict[str, str], ...] = ({}, RULES, {**RULES, **WIDER})
CUTS = "cut 1, a unit type more", "cut 2, hidden layer and memory doubled"
PRICED_OUT = "after, at a price that no one can pay"


def stages(work: Work, seed: int, steps: int, settle: int) -> list[Line]:
    """Train the three stages of one seed. Return the evaluations before and after each cut, and the last."""
    lines: list[Line] = []
    name = ""
    for number, changes in enumerate(STAGES, start=1):
        old, name = name, f"stage{number}-{seed}"
        settings = {**changes, "run.seed": str(seed), "run.max_steps": str(number * steps)}
        if old:
            hints = ("--like", LIKE) if number == 2 else ()
            run = work.cut(old, name, settings, "--verify", "--settle", str(settle), *hints)
            after = work.judge(run, f"{CUTS[number - 2]}: after", seed)
            if number == 2:
                after += priced_out(work, old, name, seed)
            before = [line for line in lines if line.label == f"{CUTS[number - 2]}: before"]
            lines += [*after, *seed_by_seed(before, after, seed)]
        run = work.train(name, settings)
        last = number == len(STAGES)
        lines += work.judge(run, "stage 3: end" if last else f"{CUTS[number - 1]}: before", seed)
    return lines


def priced_out_rules(folder: Path) -> str:
    """Return the last rules with a price of the new type that no one can pay. A file goes to ``folder``."""
    file = folder / "priced_out.toml"
    file.write_text(Path(RULES["game.params.rulebook"]).read_text().replace("cost = 70", "cost = 30000"))
    return read(file)


def priced_out(work: Work, old: str, name: str, seed: int) -> list[Line]:
    """Return the matches after cut 1 under rules by which no one can pay for the new type.

    They differ from those before the cut only by what surgery did to the network.
    """
    weights = work.weights(old, name, "--like", LIKE)
    label, run = f"{CUTS[0]}: {PRICED_OUT}", work.run(name)
    return work.judge(run, label, seed, player=str(weights), rules=priced_out_rules(work.folder))


def seed_by_seed(before: Sequence[Line], after: Sequence[Line], seed: int) -> list[Line]:
    """Return the differences of a cut for one seed."""
    labels = dict.fromkeys(line.label for line in after)
    return [
        difference(
            f"{label} minus before, seed by seed", before, [x for x in after if x.label == label], seed
        )
        for label in labels
    ]


def rerun(work: Work, seed: int, steps: int) -> list[Line]:
    """Train the run from scratch. Return its evaluation and its floors."""
    budget = {"run.seed": str(seed), "run.max_steps": str(len(STAGES) * steps)}
    run = work.train(f"rerun-{seed}", {**STAGES[-1], **budget, **work.with_floor()})
    floors = work.floors(run, ", last rules", seed)
    return [*work.judge(run, "rerun from scratch: end", seed), *floors]


def until(work: Work, seed: int, thresholds: Sequence[float], window: int) -> list[Line]:
    """Return how many decisions each stage took to its threshold, and the rerun to the same one."""
    lines = []
    for number, threshold in enumerate(thresholds, start=1):
        for name, run in ((f"stage {number}", f"stage{number}-{seed}"), ("scratch", f"rerun-{seed}")):
            found = windows(work.run(run), window)
            steps = reached(found, threshold)
            value = (found[-1].steps if steps is None else steps) / 1000.0
            label = f"{name}, until {threshold:g}%"
            detail: dict[str, str | float] = {"reached": float(steps is not None)}
            lines.append(Line(label, seed, value=round(value, 1), detail=detail))
    return lines


def measured(work: Work, args: argparse.Namespace) -> list[Line]:
    """Train and evaluate every seed. Return all lines, those over the seeds last."""
    lines: list[Line] = []
    for seed in args.seeds:
        lines += stages(work, seed, args.steps, args.settle)
        lines += [line for line in rerun(work, seed, args.steps) if line not in lines]
        lines += until(work, seed, args.thresholds, args.window)
    for cut, when in ((CUTS[0], PRICED_OUT), *((cut, "after") for cut in CUTS)):
        before, after = ([x for x in lines if x.label == f"{cut}: {w}"] for w in ("before", when))
        lines.append(difference(f"{cut}: {when} minus before", before, after))
    return lines


def notes_of(work: Work, lines: Sequence[Line], args: argparse.Namespace) -> tuple[str, ...]:
    """Return sentences that a reader must know."""
    count = len(args.seeds)
    found = [
        f"{count} seed{'s' if count > 1 else ''}; evaluations: {args.matches} matches against each of the "
        "three bots with equal seeds before and after, drawn actions.",
        f"Thresholds are over training matches, five windows of at least {args.window:,} decisions, counted "
        f"from the first of the stage, the {args.settle} updates at learning rate 0 with them.",
        "Decisions of earlier stages are not counted: a stage starts with what they learned.",
        "After minus before: interval over the matches of the two evaluations, as if these were independent.",
    ]
    found += [
        f"Seed {line.seed}, {line.label}: not reached in {line.value:g} k decisions."
        for line in lines
        if line.detail.get("reached") == 0.0
    ]
    for cut, number in zip(CUTS, (2, 3), strict=True):
        outline = work.outline(f"stage{number}-{args.seeds[0]}")
        before, after = msgspec.convert(outline["parameters"], tuple[int, int])
        found.append(f"{cut}: {before:,} to {after:,} parameters.")
    return tuple(found)


def record_of(work: Work, lines: Sequence[Line], args: argparse.Namespace) -> Record:
    """Return the stages as a published result."""
    count = len(args.seeds)
    initial, uniform = ([x for x in lines if x.label.startswith(kind)] for kind in (INITIAL, UNIFORM))
    rates = [x for x in lines if x.won is not None and x not in initial and x not in uniform]
    steps = [line for line in lines if "reached" in line.detail]
    points = [line for line in lines if line.value is not None and line not in steps]
    options = [
        *("--seeds", *map(str, args.seeds), "--steps", str(args.steps), "--matches", str(args.matches)),
        *("--settle", str(args.settle), "--window", str(args.window)),
        *("--thresholds", *(f"{t:g}" for t in args.thresholds)),
    ]
    return Record(
        schema=2,
        section="learning",
        title="Surgery: Extended MiniRTS through two cuts, and from scratch",
        figures=(
            *figures(rates, "%", count),
            *figures_of(points, "points", "line"),
            *figures(steps, "k decisions", count),
        ),
        floors=(*figures(initial, "%", count), *figures_of(uniform, "%", "wilson")),
        commands=(shlex.join(["python", "-m", "benchmarks.strength.surgery_stages", *options]),),
        commit=args.commit,
        date=utc_now()[:10],
        machine=args.machine,
        preset=PRESET,
        preset_sha256=preset_hash(PRESET),
        budget=f"{args.steps:,} decisions a stage, {len(STAGES) * args.steps:,} from scratch",
        reference="wanted: within 3 points at each cut; half of the decisions from scratch",
        notes=notes_of(work, lines, args),
    )


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_options(parser, matches=300)
    parser.add_argument("--steps", type=int, default=100_000, help="decisions of a stage")
    parser.add_argument("--settle", type=int, default=10, help="updates at learning rate 0 after each cut")
    parser.add_argument("--window", type=int, default=6_000, help="decisions of a window")
    parser.add_argument("--thresholds", nargs=3, type=float, default=[35.0, 55.0, 70.0], help="percent")
    return parser


def main() -> None:
    """Run the command line."""
    parser = parser_of()
    args = parsed(parser)
    try:
        with folder_of(args) as folder:
            work = Work(folder, args.matches)
            lines = measured(work, args)
            print_lines(lines)
            if args.record:
                write_record(args.record, record_of(work, lines, args), lines)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

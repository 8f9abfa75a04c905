"""Figure 4 of OpenAI Five in miniature: one run through two surgeries against a run from scratch.

    python -m benchmarks.strength.surgery_stages --steps 100000 --folder runs/stages
    python -m benchmarks.strength.surgery_stages --folder runs/stages \
        --record surgery-stages

Extended MiniRTS against its bots rush, swords and riders. Stage 1 has 14 types and 64 units a layer. Cut 1
adds a type, the pikeman (pikes.toml), which starts as a copy of the spearman; cut 2 doubles the hidden layer
and the memory. The rerun has the last rules and the last network from its first decision, and the decisions
of all three stages together.
A threshold is reached when five windows of training matches in a row have its share of wins.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.strength.evaluated import all_floors, weights_folder
from benchmarks.strength.surgery_runs import (
    PRESET,
    WIDER,
    Work,
    add_options,
    folder_of,
    parsed,
    reached,
    steps_of,
    windows,
)
from ludus.games.rulebook import read
from ludus.presets.file import load_preset
from tools.figures import figure_of, figures_of, floors_of
from tools.new_record import own_command, published
from tools.raw_lines import Line, Setting, sampled
from tools.records import Figure

RULES = {"game.params.rulebook": str(Path(__file__).with_name("pikes.toml"))}
PRESETS = (PRESET,)
LIKE = "pikeman=spearman"
STAGES: tuple[dict[str, str], ...] = ({}, RULES, {**RULES, **WIDER})
CUTS = "cut 1, a unit type more", "cut 2, hidden layer and memory doubled"
END, SCRATCH = "stage 3: end", "rerun from scratch: end"
SLACK = 50_000  # decisions that updates at learning rate 0 may have
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
            known = (f"after {CUTS[number - 2]}", run.name) in work.runs
            if not known and steps_of(run) > (number - 1) * steps + SLACK:
                raise ValueError(f"{run}: trained already; --folder: expected another one, or its kept.json")
            lines += work.judge(run, f"{CUTS[number - 2]}: after", cell=f"after {CUTS[number - 2]}")
            if number == 2:
                lines += priced_out(work, run)
        run = work.train(name, settings)
        last = number == len(STAGES)
        lines += work.judge(run, END if last else f"{CUTS[number - 1]}: before")
    return lines


def priced_out_rules(folder: Path) -> str:
    """Return the last rules with a price of the new type that no one can pay. A file goes to ``folder``."""
    file = folder / "priced_out.toml"
    file.write_text(Path(RULES["game.params.rulebook"]).read_text().replace("cost = 70", "cost = 30000"))
    return read(file)


def priced_out(work: Work, run: Path) -> list[Line]:
    """Return the matches after cut 1 under rules by which no one can pay for the new type.

    They differ from those before the cut only by what surgery did to the network.
    """
    label = f"{CUTS[0]}: {PRICED_OUT}"
    return work.judge(run, label, cell=f"after {CUTS[0]}", rules=priced_out_rules(work.folder))


def rerun(work: Work, seed: int, steps: int) -> list[Line]:
    """Train the run from scratch. Return its evaluation."""
    budget = {"run.seed": str(seed), "run.max_steps": str(len(STAGES) * steps)}
    run = work.train(f"rerun-{seed}", {**STAGES[-1], **budget})
    return work.judge(run, SCRATCH)


def until(work: Work, seed: int, thresholds: Sequence[float], window: int, steps: int) -> list[Line]:
    """Return how many decisions training took to each threshold, including earlier stages.

    The run from scratch has the same thresholds.
    """
    lines = []
    for number, threshold in enumerate(thresholds, start=1):
        before = (number - 1) * steps
        for name, run, cell, earlier in (
            (f"stage {number}", f"stage{number}-{seed}", "", before),
            ("scratch", f"rerun-{seed}", SCRATCH, 0),
        ):
            found = windows(work.run(run), window)
            taken = reached(found, threshold)
            value = earlier + (found[-1].steps if taken is None else taken)
            game = load_preset(str(work.run(run) / "config.toml")).preset.game
            setting = Setting(game.name, returned="decisions until a share of wins", measure="training")
            line = sampled(f"{name}, until {threshold:g}%", [round(value / 1000.0, 1)], setting=setting)
            detail: dict[str, str | float] = {"reached": float(taken is not None)}
            where = cell or (END if number == len(STAGES) else f"{CUTS[number - 1]}: before")
            kept = work.kept(work.run(run), where)
            lines.append(msgspec.structs.replace(line, seed=seed, run=kept.id, detail=detail))
    return lines


def measured(work: Work, args: argparse.Namespace) -> list[Line]:
    """Train and evaluate every seed. Return all lines."""
    lines: list[Line] = []
    for seed in args.seeds:
        lines += stages(work, seed, args.steps, args.settle)
        lines += rerun(work, seed, args.steps)
        lines += until(work, seed, args.thresholds, args.window, args.steps)
    return lines


def figures_of_stages(lines: Sequence[Line], args: argparse.Namespace) -> list[Figure]:
    """Return win rates, differences at the cuts over the seeds and seed by seed, and decisions."""
    costs = [line for line in lines if "reached" in line.detail]
    found = figures_of([line for line in lines if line not in costs], "%", "seeds")
    for cut, when in ((CUTS[0], PRICED_OUT), *((cut, "after") for cut in CUTS)):
        label, of = f"{cut}: {when} minus before", (f"{cut}: {when}", f"{cut}: before")
        for seed in (None, *(args.seeds if len(args.seeds) > 1 else ())):
            found.append(figure_of(lines, label, "points", "difference", seed, of))
    label = "stage 3 minus scratch, equal decisions"
    found.append(figure_of(lines, label, "points", "difference", of=(END, SCRATCH)))
    for label in dict.fromkeys(line.label for line in costs):
        seeds = len(args.seeds) > 1
        seed = None if seeds else args.seeds[0]
        found.append(figure_of(costs, label, "k decisions", "seeds" if seeds else "exact", seed))
    return found


def notes_of(work: Work, lines: Sequence[Line], args: argparse.Namespace) -> tuple[str, ...]:
    """Return sentences that a reader must know."""
    found = [
        f"Evaluations: {args.matches} matches against each of the three bots with equal seeds before and "
        "after, drawn actions.",
        f"Thresholds are over training matches, five windows of at least {args.window:,} decisions of the "
        f"stage, the {args.settle} updates at learning rate 0 with them: {5 * args.window:,} is the least.",
    ]
    found += [
        f"Seed {line.seed}, {line.label}: not reached in {line.samples[0]:g} k decisions."
        for line in lines
        if line.detail.get("reached") == 0.0
    ]
    for cut, number in zip(CUTS, (2, 3), strict=True):
        outline = work.outline(f"stage{number}-{args.seeds[0]}")
        before, after = msgspec.convert(outline["parameters"], tuple[int, int])
        found.append(f"{cut}: {before:,} to {after:,} parameters.")
    return tuple(found)


def publish(work: Work, lines: Sequence[Line], args: argparse.Namespace) -> None:
    """Print the stages, and write them as a record."""
    figures = figures_of_stages(lines, args)
    runs = list(work.runs.values())
    floor_lines, kinds = all_floors(lines, runs, figures, work.store, work.weights)
    floors = floors_of(floor_lines, figures, kinds)
    for figure in (*figures, *floors):
        print(figure.text())
    published(
        args,
        section="learning",
        title="Surgery: Extended MiniRTS through two cuts, and from scratch",
        lines=[*lines, *floor_lines],
        figures=figures,
        floors=floors,
        runs=runs,
        commands=[own_command("benchmarks.strength.surgery_stages")],
        budget=f"{args.steps:,} decisions a stage, {len(STAGES) * args.steps:,} from scratch",
        reference="wanted: within 3 points at each cut",
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
    command = own_command("benchmarks.strength.surgery_stages")
    try:
        with folder_of(args) as folder, weights_folder(args.record) as weights:
            work = Work(folder, args.matches, weights, command)
            publish(work, measured(work, args), args)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

"""Ladders that the versions of a Go run read right, from the record of `ludus go ladders`.

    ludus go ladders RUN --versions 4 --visits 64 -o ladders
    python -m benchmarks.strength.ladders ladders/ladders.json RUN \\
        --command "ludus train go9-small --run.seed S"

Nothing is played here. A position is won if the version runs exactly where the exact reader finds that it
pays. Half of the ladders pay, so a coin, always running and never running have 50%. The floors are the run's
initial weights and uniform play on the same ladders.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ludus.analyses.positions.ladders import LaddersAnalysis
from ludus.analyses.record import AnalysisRecord
from ludus.analyses.record import Line as Answer
from ludus.analyses.registry import read_checked
from ludus.evaluation.play import UNIFORM as UNIFORM_PLAYER
from tools.figures import figures_of, floor_label, floors_of
from tools.new_record import add_record_options, own_command, published
from tools.play_lines import run_of, setting_of
from tools.raw_lines import Line, Setting, counted
from tools.records import INITIAL, UNIFORM, Figure, Run

FIRST = 0  # version of the initial weights
NO_VERSION = -1
POLICY = "policy"  # how a version answers without a search
READER = "the exact reader"

Answers = dict[tuple[int, str, str], list[Answer]]  # of a version, a player's name and how it answered


def answers_of(record: AnalysisRecord) -> Answers:
    """Return the answers of a record by version, player and search, in their order."""
    found: Answers = {}
    for line in record.lines:
        key = int(line["version"] or 0), str(line["player"]), str(line["by"])
        found.setdefault(key, []).append(line)
    return found


def answered(label: str, record: AnalysisRecord, by: str, answers: Sequence[Answer]) -> Line:
    """Return the line of answers: won where an answer is right."""
    outcomes = "".join("w" if answer["right"] else "l" for answer in answers)
    return counted(label, outcomes, setting=setting(record, by, len(answers)), eval_seed=record.seed)


def setting(record: AnalysisRecord, by: str, count: int) -> Setting:
    """Return the setting of answers by the policy or a search."""
    search = "" if by == POLICY else f"+search:{by.split()[0]}"
    made = setting_of(record.game, dict(record.params), READER, "greedy", count, search=search)
    return msgspec.structs.replace(made, measure="positions")


def measured(record: AnalysisRecord, run: Run) -> Iterator[Line]:
    """Yield a line for each trained version and way to answer."""
    for (version, _, by), answers in answers_of(record).items():
        if version > FIRST:
            line = answered(f"version {version}, {by}", record, by, answers)
            yield msgspec.structs.replace(line, run=run.id, seed=run.seed, player=f"RUN@{version}")


def floors(record: AnalysisRecord, run: Run, figures: Sequence[Figure]) -> Iterator[Line]:
    """Yield the floors of figures: the initial weights, which answer in the same way, and uniform play."""
    found = answers_of(record)
    for figure in figures:
        by = figure.label.partition(", ")[2]
        first = next((a for key, a in found.items() if key[0] == FIRST and key[2] == by), None)
        uniform = next(a for key, a in found.items() if key[:2] == (NO_VERSION, UNIFORM_PLAYER))
        if first is None:
            raise ValueError(f"{figure.label}: the record has no answers of version {FIRST}")
        for kind, answers in ((INITIAL, first), (UNIFORM, uniform)):
            line = answered(floor_label(kind, figure.label), record, by, answers)
            if kind == INITIAL:
                yield msgspec.structs.replace(line, run=run.id, seed=run.seed, player=f"RUN@{FIRST}")
            else:
                yield msgspec.structs.replace(line, player=UNIFORM_PLAYER)


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("analysis", type=Path, help="record of `ludus go ladders`")
    parser.add_argument("run", type=Path, help="the run that it asked")
    parser.add_argument("--command", required=True, help="that trained the run")
    parser.add_argument("--budget", default="", help="of the training, in words")
    parser.add_argument("--note", action="append", default=[], help="what a reader must know; repeatable")
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    args = parser_of().parse_args()
    analysis, record = read_checked(args.analysis)
    if analysis is not LaddersAnalysis:
        raise SystemExit(f"{args.analysis}: the record of {analysis.name}, expected ladders")
    run = run_of(f"{args.run}@last", args.command)
    lines = list(measured(record, run))
    figures = figures_of(lines, "%", "matches")
    floor_lines = list(floors(record, run, figures))
    below = floors_of(floor_lines, figures, [INITIAL, UNIFORM])
    for figure in (*figures, *below):
        print(figure.text())
    size = record.params.get("size", "19")
    published(
        args,
        section="strength",
        title=f"Ladders on {size}x{size} that versions of a run read right, half of which pay",
        lines=[*lines, *floor_lines],
        figures=figures,
        floors=below,
        runs=[run],
        commands=[" ".join(record.command), own_command("benchmarks.strength.ladders")],
        budget=args.budget,
        reference="50% for a coin, for always and for never running; 100% for the exact reader",
        notes=[*record.notes, *args.note],
    )


if __name__ == "__main__":
    main()

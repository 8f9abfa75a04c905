"""Finished runs of one preset against bots as a record of ``benchmarks/results``.

    python -m benchmarks.strength.run_record moba-1v1 RUN-1 RUN-2 RUN-3 --against simple random push \
        --title TITLE --train "ludus train moba-1v1 --run.seed S ..." --commit SHA --machine TEXT

Nothing is trained here. The newest weights of each run (``RUN@last``) play each bot with drawn and with
greedy actions, as ``ludus eval`` plays them. The floors are those that the runs measured themselves: their
initial weights and uniform play. Where a bot has changed since, ``--floors`` names runs of the same seeds
that measured them against the present one. ``--lines FILE`` keeps finished evaluations: a second call plays
only the others.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.strength.run_floors import floor_figures, floor_lines
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.policies.weights import WeightsError, load_weights
from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory, resolve_weights, utc_now
from ludus.storage.errors import StorageError
from tools.raw_lines import Line, figures_of, line_of, read_lines, write_record
from tools.records import Record, preset_hash

PLAYS = ("drawn", "greedy")


def preset_of(run: Path) -> Preset:
    """Return the settings of the run. Raises ``ConfigError`` and ``StorageError``."""
    opened = RunDirectory.open(run)
    return parse_preset(opened.config_bytes(), str(opened.config)).preset


def decisions(run: Path) -> int:
    """Return the decisions that the newest weights have learned from, those before a surgery included."""
    return load_weights(resolve_weights(f"{run}@last")).meta.steps


def measured(args: argparse.Namespace) -> list[Line]:
    """Return a line for each seed, bot and way of play: of ``--lines`` where it is there, else played."""
    known = read_lines(args.lines) if args.lines and args.lines.is_file() else []
    found = {(line.label, line.seed): line for line in known}
    lines = []
    for against in args.against:
        for play in args.plays:
            for run in args.runs:
                seed, label = preset_of(run).run.seed, f"against {against}, {play}"
                line = found.get((label, seed))
                if line is None:
                    asked = MatchSettings(matches=args.matches, seed=args.seed, greedy=play == "greedy")
                    result = evaluate(f"{run}@last", against, asked)
                    line = line_of(result, label, seed=seed, play=play)
                    if args.lines:
                        with args.lines.open("ab") as file:
                            file.write(msgspec.json.encode(line) + b"\n")
                print(f"seed {seed}, {label}: {line.won} of {line.matches}", file=sys.stderr, flush=True)
                lines.append(line)
    return lines


def floors_of(runs: Sequence[Path], against: Sequence[str]) -> list[Line]:
    """Return the floors that the runs measured against these bots."""
    lines = [line for run in runs for line in floor_lines(run / "metrics.jsonl", preset_of(run).run.seed)]
    return [line for line in lines if line.against in against]


def own_command(args: argparse.Namespace) -> str:
    """Return this program's command, with the runs by the names of their folders."""
    words = ["python", "-m", "benchmarks.strength.run_record", args.name, *(run.name for run in args.runs)]
    words += ["--against", *args.against, "--plays", *args.plays]
    return shlex.join([*words, "--matches", str(args.matches), "--seed", str(args.seed)])


def record_of(args: argparse.Namespace, lines: Sequence[Line], floors: Sequence[Line]) -> Record:
    """Return the record of the lines; its figures are over the seeds, or those of the one seed's matches.

    Raises ``ValueError`` for two runs of one seed, which would count twice.
    """
    seeds = [preset_of(run).run.seed for run in args.runs]
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds {seeds}, expected runs with seeds of their own")
    steps = [f"{decisions(run):,}" for run in args.runs]
    return Record(
        schema=2,
        section="learning",
        title=args.title,
        figures=figures_of(lines, "%", "wilson" if len(seeds) == 1 else "seeds"),
        floors=floor_figures(floors),
        commands=(*args.train, own_command(args)),
        commit=args.commit,
        date=utc_now()[:10],
        machine=args.machine,
        preset=args.preset or args.name,
        preset_sha256=preset_hash(args.preset or args.name),
        budget=f"{', '.join(dict.fromkeys(steps))} decisions of a run",
        reference=args.reference,
        notes=tuple(args.note),
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("name", help="of the record")
    parser.add_argument("runs", nargs="+", type=Path, help="finished runs, each with a seed of its own")
    parser.add_argument("--against", nargs="+", required=True, help="bots of the game")
    parser.add_argument("--plays", nargs="+", choices=PLAYS, default=list(PLAYS))
    parser.add_argument("--matches", type=int, default=400, help="of an evaluation")
    parser.add_argument("--seed", type=int, default=1, help="of the matches")
    parser.add_argument("--title", required=True)
    parser.add_argument("--reference", default="")
    parser.add_argument("--train", action="append", required=True, help="a command that made the runs")
    parser.add_argument("--note", action="append", default=[])
    parser.add_argument("--preset", default="", help="of the runs, one of presets/ (default: NAME)")
    parser.add_argument("--floors", nargs="*", type=Path, default=[], help="runs with floors (default: RUNS)")
    parser.add_argument("--lines", type=Path, help="JSON lines, one an evaluation; read first if there")
    parser.add_argument("--commit", required=True)
    parser.add_argument("--machine", required=True)
    args = parser.parse_args()
    try:
        floors = floors_of(args.floors or args.runs, args.against)
        record = record_of(args, lines := measured(args), floors)
    except (OSError, ValueError, StorageError, WeightsError) as error:
        parser.error(str(error))
    write_record(args.name, record, [*lines, *floors])


if __name__ == "__main__":
    main()

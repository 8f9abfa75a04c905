"""Players of the zoo: add one from a finished run, and measure it.

    python -m tools.zoo add runs/connect-four@best --name connect-four --level 3 --play search:100 --greedy \\
        --title "Connect Four by AlphaZero" --strength "Rarely throws a won match away."
    python -m tools.zoo measure connect-four
    python -m tools.zoo sizes

`add` writes src/ludus/zoo/NAME.safetensors, in half precision where play does not change, and the card
NAME.toml. Command, version and length of the training come from the run. `measure` plays what
benchmarks/strength/zoo.toml asks of the player, writes the record benchmarks/results/zoo-NAME.json with its
raw lines, and fills the figures of the card. Then: python -m tools.results (the page of results),
python -m tools.gen_docs (the table of players), make check, and commit.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path

import msgspec

from ludus.evaluation.evaluate import decide_game
from ludus.mcts.text import SUFFIX, parse_search
from ludus.policies.weights import WeightsError
from ludus.presets.errors import ConfigError
from ludus.reporting.provenance import provenance_of_run
from ludus.storage import RunDirectory, zoo
from ludus.storage.errors import StorageError
from ludus.storage.zoo import Card
from tools.kept_weights import encoded, rounded
from tools.new_record import add_record_options
from tools.records import sha256_of
from tools.zoo_cards import record_of, write_card
from tools.zoo_faults import MAX_ALL

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def command_of(words: tuple[str, ...]) -> str:
    """Return the command of a run without its directory: ``ludus train minirts --run.max-minutes 8``."""
    kept, rest = ["ludus"], list(words[1:])
    while rest:
        word = rest.pop(0)
        if word == "--run-dir":
            rest = rest[1:]
        elif not word.startswith("--run-dir="):
            kept.append(word)
    return shlex.join(kept)


def trained_text(run: RunDirectory) -> str:
    """Return how long a run trained: ``10.6 M decisions, 8 minutes.``"""
    from ludus.cli.console import si
    from ludus.reporting.run_view import RunView

    updates = RunView.open(run.path).metrics().updates
    if not updates:
        raise ValueError(f"{run.path}: no updates in its log; expected a run that has trained")
    last = updates[-1]
    minutes = max(1, round(last.numbers.get("time/minutes", 0.0)))
    return f"{si(last.steps)} decisions in {minutes} minute{'s' * (minutes > 1)}."


def add(args: argparse.Namespace) -> None:
    """Write the weights and the card of a player."""
    from tools.zoo_weights import compare, recorded

    if not NAME.fullmatch(args.name):
        raise ValueError(f"--name {args.name}: expected small letters, digits and hyphens")
    if args.play:
        parse_search(f"weights{SUFFIX.removesuffix('search')}{args.play}")
    run = RunDirectory.open(Path(args.weights.rpartition("@")[0]))
    weights, seen = recorded(args.weights)
    weights.meta = msgspec.structs.replace(weights.meta, provenance=provenance_of_run(run))
    found = compare(weights, seen)
    half = found.holds(bool(args.play)) and not args.float32
    print(f"half precision: {found.text()}: {'taken' if half else 'not taken'}")
    content = encoded(rounded(weights) if half else weights)
    folder = zoo.FOLDER
    target = folder / f"{args.name}.safetensors"
    target.write_bytes(content)
    game, _ = decide_game([args.weights])
    card = Card(
        title=args.title,
        game=game,
        level=args.level,
        sha256=sha256_of(target),
        play=args.play,
        greedy=args.greedy,
        trained=args.trained or trained_text(run),
        command=args.command or command_of(run.info().command),
        version=weights.meta.version,
        strength=args.strength,
        record=record_of(args.name),
    )
    write_card(card, folder / f"{args.name}.toml")
    print(
        f"wrote {target} ({len(content):,} bytes) and its card; next: python -m tools.zoo measure {args.name}"
    )
    sizes()


def sizes() -> None:
    """Print the size of each file, and of all. Raises ``ValueError`` above the limit."""
    total = 0
    for name in zoo.names():
        size = (zoo.FOLDER / f"{name}.safetensors").stat().st_size
        total += size
        print(f"{name:<24} {size:>10,}")
    print(f"{'all':<24} {total:>10,} of at most {MAX_ALL:,}")
    if total > MAX_ALL:
        raise ValueError(f"{total:,} bytes of weights, expected at most {MAX_ALL:,}")


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parts = parser.add_subparsers(dest="what", required=True)
    one = parts.add_parser(
        "add", help="write weights and card of a player", description="A player of the zoo."
    )
    one.add_argument("weights", metavar="RUN@VERSION", help="weights of a finished run: RUN@best")
    one.add_argument("--name", required=True, help="as in zoo:NAME")
    one.add_argument("--title", required=True, help="a line: what plays")
    one.add_argument("--strength", required=True, help="how strong it is, one or two sentences for players")
    one.add_argument(
        "--level", type=int, required=True, choices=zoo.LEVELS, help="1 beginner, 2 casual, 3 strong"
    )
    one.add_argument("--play", default="", help="search behind the weights: search:100 (default: none)")
    one.add_argument("--greedy", action="store_true", help="the likeliest choice, the most visited move")
    one.add_argument("--trained", default="", help="a sentence (default: decisions and minutes of the run)")
    one.add_argument("--command", default="", help="that trained it (default: the run's)")
    one.add_argument("--float32", action="store_true", help="no half precision")
    two = parts.add_parser("measure", help="play the measures, write records, fill cards")
    two.add_argument("names", nargs="*", metavar="NAME", help="players (default: all)")
    two.add_argument("--run", default="", help="directory of the run (default: its command draws version 0)")
    two.add_argument("--lines", type=Path, help="JSON lines, one an evaluation; read first if there")
    two.add_argument("--jobs", type=int, default=2, help="matches against GNU Go at a time")
    two.add_argument("--dry-run", action="store_true", help="print the figures and write nothing")
    two.add_argument("--reference", default="", help="of the record")
    two.add_argument("--note", action="append", default=[], help="of the record; repeat it")
    add_record_options(two)
    parts.add_parser("sizes", help="print the sizes of all files")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command line."""
    parser = parser_of()
    args = parser.parse_args(argv)
    try:
        if args.what == "add":
            add(args)
        elif args.what == "sizes":
            sizes()
        else:
            from tools.zoo_measure import measure_player, names_or_all

            for name in names_or_all(args.names):
                measure_player(name, args)
    except (OSError, ValueError, ConfigError, StorageError, WeightsError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

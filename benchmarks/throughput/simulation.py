"""Ticks a second of compiled games, their bots against each other, one thread, the games by turns.

    python -m benchmarks.throughput.simulation minirts capture_the_flag tower_defense
    python -m benchmarks.throughput.simulation capture_the_flag moba,heroes=3 moba,heroes=1 \
        --in-parts-of capture_the_flag --record moba-simulation

The game's first bot holds every seat and decides at the default frame skip. A reading is the processor
time of one thread, so that other work on the machine counts little. With ``--in-parts-of GAME`` each round
gives a ratio too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence

from ludus.games.simulate import bench_sim
from tools.figures import figure_of
from tools.new_record import add_record_options, own_command, published
from tools.raw_lines import Line, sampled
from tools.records import Figure, Wanted

SPEED, RATIO = "M ticks/s", "x"


def parsed(text: str) -> tuple[str, dict[str, object]]:
    """Return game and parameters of ``moba,heroes=3``. Raises ``ValueError``."""
    game, *params = text.split(",")
    found: dict[str, object] = {}
    for param in params:
        name, equals, value = param.partition("=")
        if not equals:
            raise ValueError(f"{text}: {param!r}: expected NAME=VALUE")
        found[name] = value
    return game, found


def reading(game: str, params: Mapping[str, object], ticks: int) -> float:
    """Return millions of ticks in a second of processor time."""
    start = time.process_time()
    made = bench_sim(game, params, ticks=ticks).ticks
    return made / (time.process_time() - start) / 1e6


def measured(games: Sequence[str], rounds: int, ticks: int) -> list[Line]:
    """Return a line for each game: a reading a round, the games by turns."""
    asked = {text: parsed(text) for text in games}
    taken = [{text: reading(*game, ticks) for text, game in asked.items()} for _ in range(rounds)]
    return [sampled(text, [row[text] for row in taken]) for text in games]


def figures_of(lines: Sequence[Line], part_of: str) -> list[Figure]:
    """Return the speeds, and the ratios to ``part_of`` round by round."""
    speeds = [figure_of(lines, line.label, SPEED, "readings") for line in lines]
    others = [line.label for line in lines if part_of and line.label != part_of]
    ratios = [
        figure_of(lines, f"{label}, in parts of {part_of}", RATIO, "ratio", of=(label, part_of))
        for label in others
    ]
    return [*speeds, *ratios]


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("games", nargs="+", help="GAME or GAME,NAME=VALUE,...")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ticks", type=int, default=1_000_000, help="of each game in a round")
    parser.add_argument("--in-parts-of", default="", metavar="GAME", help="one of the games")
    parser.add_argument("--wanted", nargs=2, action="append", default=[], metavar=("GAME", "LEAST"))
    parser.add_argument("--title", default="Simulation, bots against bots, one thread", help="of the record")
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    parser = parser_of()
    args = parser.parse_args()
    if args.in_parts_of and args.in_parts_of not in args.games:
        parser.error(f"--in-parts-of {args.in_parts_of}: expected one of {', '.join(args.games)}")
    try:
        lines = measured(args.games, args.rounds, args.ticks)
    except ValueError as error:
        parser.error(str(error))
    figures = figures_of(lines, args.in_parts_of)
    for figure in figures:
        print(figure.text())
    published(
        args,
        section="throughput",
        title=args.title,
        lines=lines,
        figures=figures,
        commands=[own_command("benchmarks.throughput.simulation")],
        wanted=[Wanted(game, least=float(least)) for game, least in args.wanted],
        notes=["Median, least and greatest of the rounds; processor time, games by turns."],
    )


if __name__ == "__main__":
    main()

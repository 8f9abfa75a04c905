"""Ticks a second of MOBA and of Capture the Flag in one run, and their ratio.

    python -m benchmarks.throughput.moba
    python -m benchmarks.throughput.moba --record moba-simulation --commit 1a2b3c4 --machine "2 virtual cores"

The game's first bot holds every seat and decides at the default frame skip. A reading is the processor
time of one thread, so that other work on the machine counts little; the games take turns, round by round, and
each round has its own ratio.
"""

from __future__ import annotations

import argparse
import time

from ludus.games.simulate import bench_sim
from tools.figures import figure_of
from tools.new_record import add_record_options, own_command, published
from tools.raw_lines import Line, sampled
from tools.records import Figure, Wanted

FLAG, THREE, ONE = "Capture the Flag", "MOBA, 3 against 3", "MOBA, 1 against 1"
GAMES: dict[str, tuple[str, dict[str, object]]] = {
    FLAG: ("capture_the_flag", {}),
    THREE: ("moba", {"heroes": 3}),
    ONE: ("moba", {"heroes": 1}),
}
SPEED, RATIO = "M ticks/s", "x"


def reading(label: str, ticks: int) -> float:
    """Return millions of ticks in a second of processor time."""
    game, params = GAMES[label]
    start = time.process_time()
    made = bench_sim(game, params, ticks=ticks).ticks
    return made / (time.process_time() - start) / 1e6


def measured(rounds: int, ticks: int) -> list[Line]:
    """Return the lines of speeds: a reading a round, the games by turns."""
    taken = [{label: reading(label, ticks) for label in GAMES} for _ in range(rounds)]
    return [sampled(label, [of[label] for of in taken]) for label in GAMES]


def figures_of(lines: list[Line]) -> list[Figure]:
    """Return speeds, and those of MOBA in parts of Capture the Flag's, round by round."""
    speeds = [figure_of(lines, label, SPEED, "readings") for label in GAMES]
    ratios = [
        figure_of(lines, f"{label}, in parts of {FLAG}", RATIO, "ratio", of=(label, FLAG))
        for label in (THREE, ONE)
    ]
    return [*speeds, *ratios]


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ticks", type=int, default=1_000_000, help="of each game in a round")
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    args = parser_of().parse_args()
    lines = measured(args.rounds, args.ticks)
    figures = figures_of(lines)
    for figure in figures:
        print(figure.text())
    published(
        args,
        section="throughput",
        title="Simulation of MOBA beside Capture the Flag, bots against bots, one thread",
        lines=lines,
        figures=figures,
        commands=[own_command("benchmarks.throughput.moba")],
        wanted=[Wanted(THREE, least=1.0)],
        notes=("Median, least and greatest; processor time, games by turns.",),
    )


if __name__ == "__main__":
    main()

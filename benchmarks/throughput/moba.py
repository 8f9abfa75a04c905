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
from collections.abc import Sequence
from statistics import median

from ludus.games.simulate import bench_sim
from ludus.storage import utc_now
from tools.raw_lines import Line, figures_of, write_record
from tools.records import Record

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


def line_of(label: str, values: Sequence[float]) -> Line:
    """Return the raw line of a label's readings: their median, least and greatest."""
    texts: dict[str, str | float] = {"readings": " ".join(f"{value:.4f}" for value in values)}
    return Line(
        label, value=median(values), low=min(values), high=max(values), matches=len(values), detail=texts
    )


def measured(rounds: int, ticks: int) -> tuple[list[Line], list[Line]]:
    """Return the lines of speeds, and of MOBA's ratios to Capture the Flag."""
    taken = [{label: reading(label, ticks) for label in GAMES} for _ in range(rounds)]
    speeds = [line_of(label, [of[label] for of in taken]) for label in GAMES]
    ratios = [
        line_of(f"{label}, in parts of {FLAG}", [of[label] / of[FLAG] for of in taken])
        for label in (THREE, ONE)
    ]
    return speeds, ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ticks", type=int, default=1_000_000, help="of each game in a round")
    parser.add_argument("--record", default="", help="name of a record of benchmarks/results to write")
    parser.add_argument("--commit", default="", help="of the record")
    parser.add_argument("--machine", default="", help="of the record")
    args = parser.parse_args()
    speeds, ratios = measured(args.rounds, args.ticks)
    for line in (*speeds, *ratios):
        print(f"{line.label}: {line.value:.3f} [{line.low:.3f}, {line.high:.3f}]")
    if args.record:
        figures = (*figures_of(speeds, SPEED, "line"), *figures_of(ratios, RATIO, "line"))
        record = Record(
            schema=2,
            section="throughput",
            title="Simulation of MOBA beside Capture the Flag, bots against bots, one thread",
            figures=figures,
            commands=(f"python -m benchmarks.throughput.moba --rounds {args.rounds} --ticks {args.ticks}",),
            commit=args.commit,
            date=utc_now()[:10],
            machine=args.machine,
            reference="1 M ticks/s at 3 against 3",
            notes=("Median, least and greatest; processor time, games by turns.",),
        )
        write_record(args.record, record, [*speeds, *ratios])


if __name__ == "__main__":
    main()

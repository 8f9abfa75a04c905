"""How long the Connect Four solver takes for all moves of a position, by plies played.

    python benchmarks/throughput/connect_four_solver.py [--positions 100] [--mib 256] [--band 6 8]

Random matches broken off at a ply of the band before anyone has won (``random_positions``), the table emptied
before each. Processor time. ``kept_by_chance`` is the share of moves that keep the value when one is drawn
uniformly: what a player that knows nothing scores.
"""

from __future__ import annotations

import argparse
import statistics
import time

from ludus.games.connect_four import BANDS, FULL, Solver, random_positions


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--positions", type=int, default=100)
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--band", type=int, nargs=2, action="append")
    return parser


def main() -> None:
    args = parser_of().parse_args()
    for band in [tuple(b) for b in args.band] if args.band else BANDS:
        seconds, kept = [], []
        for columns in random_positions((band[0], band[1]), args.positions, seed=7):
            solver = Solver(args.mib)
            started = time.process_time()
            values = solver.values(columns)
            seconds.append(time.process_time() - started)
            legal = [v for v in values if v != FULL]
            kept.append(legal.count(max(legal)) / len(legal))
        print(
            f"plies {band[0]}-{band[1]}: all moves in {statistics.median(seconds):.4f} s, "
            f"at most {max(seconds):.3f} s; kept_by_chance {statistics.mean(kept):.3f}"
        )


if __name__ == "__main__":
    main()

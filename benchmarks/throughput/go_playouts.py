"""Random matches of Go a second on one core, with OpenSpiel's beside them in the same run.

    python benchmarks/throughput/go_playouts.py [--rounds 5] [--json]

Ours: from the empty board to two passes, uniformly among legal moves that fill no eye, simple ko, counted by
flood fill (``bench_rollouts``). OpenSpiel (``pip install open_spiel==2.0.2``): its MCTS bot with its
random-rollout evaluator, all in its own C++, one rollout a simulation from the empty board; it fills eyes,
so its matches are longer, and moves a second are given too (its mean length is measured in Python).
Processor time of this thread, rounds of both in turn; medians, and the best round of ours, which a busy
machine disturbs least.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable

from ludus.native import core

ROLLOUTS = {9: (30_000, 3_000), 19: (5_000, 200)}  # a round: ours, OpenSpiel's


def per_second(work: Callable[[], object], count: int) -> float:
    started = time.process_time()
    work()
    return count / (time.process_time() - started)


def open_spiel(size: int) -> tuple[Callable[[int], object], float]:
    """Return a function that runs so many rollouts, and the mean length of one."""
    import pyspiel

    game = pyspiel.load_game(f"go(board_size={size},komi=7.5)")
    rng = random.Random(1)
    lengths = []
    for _ in range(20):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
        lengths.append(state.move_number())
    evaluator = pyspiel.RandomRolloutEvaluator(1, 1)

    def run(count: int) -> object:
        bot = pyspiel.MCTSBot(game, evaluator, 1.4, count, 2000, False, 1, False)
        return bot.step(game.new_initial_state())

    return run, statistics.mean(lengths)


def measure(size: int, rounds: int) -> dict[str, float]:
    ours, theirs = ROLLOUTS[size]
    params = {"size": str(size)}
    report = json.loads(core.bench_rollouts("go", params, 1000, 7))
    peer, length = open_spiel(size)
    speeds: list[tuple[float, float]] = []
    for seed in range(rounds):
        mine = per_second(lambda s=seed: core.bench_rollouts("go", params, ours, s + 1), ours)  # type: ignore[misc]
        speeds.append((mine, per_second(lambda: peer(theirs), theirs)))
    mine, other = (statistics.median(column) for column in zip(*speeds, strict=True))
    return {
        "size": size,
        "playouts_per_s": round(mine),
        "best_playouts_per_s": round(max(s for s, _ in speeds)),
        "moves_per_playout": report["mean_turns"],
        "ns_per_move": round(1e9 / (mine * report["mean_turns"]), 1),
        "open_spiel_playouts_per_s": round(other),
        "open_spiel_moves_per_playout": length,
        "ratio_playouts": round(mine / other, 1),
        "ratio_moves": round(mine * report["mean_turns"] / (other * length), 1),
    }


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    return parser


def main() -> None:
    args = parser_of().parse_args()
    results = [measure(size, args.rounds) for size in ROLLOUTS]
    if args.json:
        print(json.dumps(results))
        return
    for r in results:
        print(f"{r.pop('size'):g}x: " + ", ".join(f"{k} {v:g}" for k, v in r.items()))


if __name__ == "__main__":
    main()

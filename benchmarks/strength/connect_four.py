"""How often a player's move keeps the game-theoretic value of Connect Four, band of plies by band.

    python -m benchmarks.strength.connect_four mcts:1000 --positions 500
    python -m benchmarks.strength.connect_four RUN@best+search:400 RUN@best+search:1

Positions are random matches broken off before anyone has won; ``chance`` is what a uniformly random move
scores; the solver gives the score of every move.
``kept``: the move's value (won, drawn, lost) is the best there is; ``optimal``: it also wins soonest or loses
latest. Wilson's 95% intervals.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from ludus.games import spec as game_spec
from ludus.games.connect_four import BANDS, FULL, Solver, random_positions
from ludus.ratings import wilson_interval
from ludus.search import SearchPlayer, SearchText, parse_search
from ludus.train.api import evaluator_of


def _chance(scores: list[int]) -> float:
    legal = [s for s in scores if s != FULL]
    return float(np.mean(np.sign(legal) == np.sign(max(legal))))


def player_of(text: str, slots: int, seed: int) -> SearchPlayer:
    weights, how = parse_search(text)
    spec = game_spec("connect_four")
    evaluator = evaluator_of(weights, spec)[0] if weights else "rollout"
    plain = SearchText(how.search, how.seconds, 0.0, 0, how.rollouts)
    return SearchPlayer("connect_four", {}, plain, evaluator, slots=slots, seed=seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("players", nargs="+")
    parser.add_argument("--positions", type=int, default=300, help="a band")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bands", default="24,16,12,9", help="first plies of the bands")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    solver = Solver(256)
    wanted = {int(b) for b in args.bands.split(",")}
    rows = []
    for band in (b for b in BANDS if b[0] in wanted):
        drawn = random_positions(band, args.positions, args.seed + band[0])
        cases = [(columns, solver.scores(columns)) for columns in drawn]
        chance = np.mean([_chance(scores) for _, scores in cases])
        if not args.json:
            print(f"{band[0]}-{band[1]}: {len(cases)} positions, chance keeps {chance:.3f}", flush=True)
        for text in args.players:
            begin = time.perf_counter()
            player = player_of(text, min(64, len(cases)), args.seed)
            kept = best = 0
            for start in range(0, len(cases), 64):
                part = cases[start : start + 64]
                for slot, (played, _) in enumerate(part):
                    player.trees.reset(slot, seed=1)
                    for column in played:
                        player.play(slot, column)
                for (_, scores), found in zip(part, player.decide(range(len(part))), strict=True):
                    score, top = scores[found.move], max(scores)
                    kept += int(np.sign(score) == np.sign(top))
                    best += int(score == top)
            interval = wilson_interval(kept, len(cases))
            row = {
                "player": text,
                "plies": f"{band[0]}-{band[1]}",
                "positions": len(cases),
                "kept": interval.rate,
                "kept_low": interval.low,
                "kept_high": interval.high,
                "optimal": best / len(cases),
                "chance": float(chance),
                "seconds": time.perf_counter() - begin,
            }
            rows.append(row)
            if not args.json:
                print(
                    f"{row['plies']:>6}  {text:<40} kept {interval.rate:.3f} "
                    f"[{interval.low:.3f}, {interval.high:.3f}]"
                    f"  optimal {best / len(cases):.3f}  of {len(cases)}  ({row['seconds']:.1f} s)",
                    flush=True,
                )
    if args.json:
        print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

"""From which starts of MiniRTS a player wins: matches grouped by what chance gave to each side.

    python benchmarks/learning/starts.py runs/x@best hit_and_run --matches 4000

A start draws workers, troops and barracks for each seat by itself. One JSON line a group: who begins with
barracks, and by how many troops one is ahead; the last line is all of them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict

import torch

from ludus.games import spec as game_spec
from ludus.games.match import Match
from ludus.ratings.interval import wilson_interval
from ludus.train.api import game_of_player, resolve_player
from ludus.train.evaluation import seat_of_plan
from ludus.train.evaluator import play_matches, scripted_player

BARRACKS = {(0, 0): "nobody", (1, 0): "player", (0, 1): "opponent", (1, 1): "both"}
TROOPS = ("melee_attacker", "range_attacker")


def start_of(game: str, params: dict[str, str], seed: int, match: int, seat: int) -> tuple[str, int]:
    """Who begins with barracks, and how many troops more ``seat`` has than the other."""
    view = Match(game, params, seed=seed, match=match).view()
    have = [Counter(u["type"] for u in view["units"] if u["seat"] == s) for s in (seat, 1 - seat)]
    troops = [sum(h[t] for t in TROOPS) for h in have]
    return BARRACKS[have[0]["barracks"], have[1]["barracks"]], troops[0] - troops[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("player", help="RUN@best, RUN@last or a weights file")
    parser.add_argument("against", help="a bot")
    parser.add_argument("--matches", type=int, default=4000)
    parser.add_argument("--against-frame-skip", type=int, default=50, help="ticks between a bot's decisions")
    parser.add_argument("--seed", type=int, default=99)
    args = parser.parse_args()
    torch.set_num_threads(1)
    found = game_of_player(args.player)
    if found is None:
        parser.error(f"{args.player} names no weights")
    game, params = found
    spec = game_spec(game, params)
    player = resolve_player(args.player, spec, seed=1)
    bot = scripted_player(args.against, spec, 7, args.against_frame_skip)
    groups: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    for r in play_matches(spec, params, player, bot, matches=args.matches, seed=args.seed):
        seat = seat_of_plan(r, 0)
        barracks, ahead = start_of(game, params, args.seed, r.match, seat)
        for key in ((barracks, ahead), ("all", 0)):
            groups[key][0] += r.outcome[seat] > 0
            groups[key][1] += 1
    for (barracks, ahead), (wins, matches) in sorted(groups.items(), key=lambda g: (g[0][0] == "all", g[0])):
        interval = wilson_interval(wins, matches)
        row = {"barracks": barracks, "troops_ahead": ahead, "share_of_starts": matches / args.matches}
        print(
            json.dumps(
                {
                    **row,
                    "won": wins / matches,
                    "ci_low": interval.low,
                    "ci_high": interval.high,
                    "matches": matches,
                }
            )
        )


if __name__ == "__main__":
    main()

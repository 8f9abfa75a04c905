"""Which matches could have been won: the same matches again and again, with choices drawn ever more freely.

    python benchmarks/learning/retries.py runs/x@last hit_and_run --matches 300

Every try plays the same start positions against the same bot; only the player's own draws differ. A match
that no try wins is, as far as this player can tell, lost from its start; the share that some try wins bounds
from above what any player of this kind could reach who does not know the future. One JSON line a temperature.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
import torch
from torch import nn

from ludus.games import spec as game_spec
from ludus.rollouts.network_actor import NetworkActor
from ludus.train.api import game_of_player, resolve_player
from ludus.train.evaluation import seat_of_plan
from ludus.train.evaluator import play_matches, scripted_player

TRIES = ((1.0, 8), (1.5, 12), (2.0, 16), (3.0, 24), (5.0, 16))  # temperature, tries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("player", help="RUN@best, RUN@last or a weights file")
    parser.add_argument("against", help="a bot")
    parser.add_argument("--matches", type=int, default=300)
    parser.add_argument("--seed", type=int, default=99)
    args = parser.parse_args()
    torch.set_num_threads(1)
    found = game_of_player(args.player)
    if found is None:
        parser.error(f"{args.player} names no weights")
    game, params = found
    spec = game_spec(game, params)
    ever = np.zeros(args.matches, dtype=bool)
    number = 0
    for temperature, tries in TRIES:
        wins = np.zeros((tries, args.matches), dtype=bool)
        for i in range(tries):
            number += 1
            player = resolve_player(args.player, spec, seed=1000 + number)
            assert isinstance(player.actor, NetworkActor)
            head = player.actor.network.policy_head
            if not isinstance(head, nn.Linear):
                parser.error("only for policies whose heads are independent")
            with torch.no_grad():
                head.weight /= temperature
                head.bias /= temperature
            bot = scripted_player(args.against, spec, 7, player.frame_skip)
            played = play_matches(spec, params, player, bot, matches=args.matches, seed=args.seed)
            wins[i] = [r.outcome[seat_of_plan(r, 0)] > 0 for r in played]
        ever |= wins.any(axis=0)
        row = {
            "temperature": temperature,
            "tries": tries,
            "won": wins.mean(),
            "won_by_some_try": wins.any(axis=0).mean(),
        }
        print(json.dumps({**row, "won_by_some_try_so_far": ever.mean()}), flush=True)


if __name__ == "__main__":
    main()

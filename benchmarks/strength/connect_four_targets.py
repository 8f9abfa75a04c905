"""Are a run's targets better than its network? Connect Four's solver says so for its own self-play.

    python -m benchmarks.strength.connect_four_targets RUN --positions 400

Of positions of the run's newest matches that were searched in full, by band of plies: how often the policy
target's first choice, the last weights alone and a search of ``--visits`` without noise keep the value of the
game; how much of the policy target lies on moves that do not; how often the outcome of the match is the value
of the position. Positions in which every move keeps the value are left out of the shares of moves.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.strength.connect_four import player_of
from ludus.games.connect_four import BANDS, FULL, Solver
from ludus.search import Games, SearchPlayer
from ludus.storage import RunDirectory
from ludus.storage.games import GameFiles
from ludus.train.alphazero_parts import build_alphazero, read_games
from ludus.train.preset_file import load_preset


class Case(NamedTuple):
    columns: list[int]  # played
    target: dict[int, float]  # share of each move
    outcome: int  # for the seat to move


def cases_of(games: Games) -> list[Case]:
    """Every position that was searched in full."""
    cases, ply, pair = [], 0, 0
    for length, outcome in zip(games.plies.tolist(), games.outcome.tolist(), strict=True):
        columns = games.action[ply : ply + length].astype(int).tolist()
        for i in range(length):
            count = int(games.targets[ply + i])
            if games.full[ply + i]:
                moves = games.target_move[pair : pair + count].astype(int).tolist()
                shares = games.target_share[pair : pair + count].astype(float)
                target = dict(zip(moves, (shares / shares.sum()).tolist(), strict=True))
                sign = 1 if games.seat[ply + i] == 0 else -1
                cases.append(Case(columns[:i], target, int(sign * outcome)))
            pair += count
        ply += length
    return cases


def choices(player: SearchPlayer, cases: list[Case]) -> list[int]:
    """The player's move in each position."""
    moves: list[int] = []
    for start in range(0, len(cases), 64):
        part = cases[start : start + 64]
        for slot, case in enumerate(part):
            player.trees.reset(slot, seed=1)
            for column in case.columns:
                player.play(slot, column)
        moves += [found.move for found in player.decide(range(len(part)))]
    return moves


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--positions", type=int, default=400, help="a band")
    parser.add_argument("--files", type=int, default=8, help="the newest files of matches")
    parser.add_argument("--visits", type=int, default=64)
    parser.add_argument("--bands", default="24,16,12", help="first plies of the bands")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    run = RunDirectory.open(args.run)
    parts = build_alphazero(load_preset(str(run.config)).preset)
    files = GameFiles(run.games, parts.games_meta())
    numbers = files.numbers()[-args.files :]
    cases = cases_of(Games.join([read_games(files, n, parts.spec) for n in numbers]))
    parts.close()
    random.Random(args.seed).shuffle(cases)
    solver = Solver(256)
    alone = player_of(f"{args.run}@last+search:1,solver=true", 64, args.seed)
    searched = player_of(f"{args.run}@last+search:{args.visits},solver=true,fpu_reduction=0.2", 64, args.seed)
    print(f"| plies | positions | target | off in the target | alone | {args.visits} visits | outcome |")
    print("|---|---|---|---|---|---|---|")
    wanted = {int(b) for b in args.bands.split(",")}
    for low, high in (b for b in reversed(BANDS) if b[0] in wanted):
        band = [c for c in cases if low <= len(c.columns) <= high][: args.positions]
        kept = np.zeros((4, 0))
        outcome = []
        for case, one, many in zip(band, choices(alone, band), choices(searched, band), strict=True):
            values = solver.values(case.columns)
            top = max(values)
            outcome.append(case.outcome == top)
            if all(v in (top, FULL) for v in values):
                continue
            first = max(case.target, key=lambda m: case.target[m])
            off = sum(share for move, share in case.target.items() if values[move] != top)
            row = [values[first] == top, off, values[one] == top, values[many] == top]
            kept = np.concatenate([kept, np.array(row, float)[:, None]], axis=1)
        target, off, by_network, by_search = (float(x) for x in kept.mean(axis=1))
        print(
            f"| {low}-{high} | {kept.shape[1]} of {len(band)} | {target:.1%} | {off:.1%} | "
            f"{by_network:.1%} | {by_search:.1%} | {np.mean(outcome):.1%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

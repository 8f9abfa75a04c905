"""Matches of Go between two GTP programs, colours in turn, with a third as referee, and the rate won.

    python benchmarks/strength/gtp_match.py "mcts:2000" --matches 20 --size 9 --komi 7
    python benchmarks/strength/gtp_match.py "runs/go9@best+search:400" --against "gnugo --mode gtp --level 10"

Matches come in pairs that begin with the same ``--opening`` stones, drawn anew for each pair inside the
second line, once with either colour: programs that answer alike would otherwise repeat matches (1 of 8
against GNU Go did). ``distinct`` counts the matches that differ.

A player without a space in it is one of ours (``ludus gtp PLAYER``), anything else a command. Opponent and
referee are GNU Go by default; it counts with its own idea of dead stones, so players had better play on
until nothing is left. All scheduled matches count. A program that breaks the protocol ends the run with exit
code 1. ``--sgf`` keeps the records.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import shutil
import sys
from pathlib import Path

from ludus.games import sgf
from ludus.gtp.driver import Played, Program, ProgramError, play_match
from ludus.ratings.interval import wilson_interval

GNU_GO = shutil.which("gnugo") or "/usr/games/gnugo"


def command(player: str) -> list[str]:
    if " " in player:
        return shlex.split(player)
    return [sys.executable, "-m", "ludus.cli", "gtp", player, "--quiet"]


def opening(size: int, plies: int, seed: int, pair: int) -> list[int]:
    """Different points inside the second line, as ``y * size + x``."""
    inner = [y * size + x for y in range(2, size - 2) for x in range(2, size - 2)]
    return random.Random(f"{seed} {pair}").sample(inner, min(plies, len(inner)))


def record(played: Played, size: int, komi: float, black: str, white: str) -> str:
    moves = [("BW"[s], None if p == size * size else (p % size, p // size)) for s, p in played.moves]
    info = {"PB": black, "PW": white, "RU": "Chinese"}
    return sgf.write(sgf.tree(sgf.Record(size, komi, moves=moves, result=played.result, info=info)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("player")
    parser.add_argument(
        "--against", default=f"{GNU_GO} --mode gtp --level 1 --chinese-rules --positional-superko"
    )
    parser.add_argument("--referee", default=f"{GNU_GO} --mode gtp --chinese-rules --positional-superko")
    parser.add_argument("--matches", type=int, default=10)
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--komi", type=float, default=7.5)
    parser.add_argument("--opening", type=int, default=4, help="stones drawn before a pair of matches begins")
    parser.add_argument("--seed", type=int, default=1, help="of the openings")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one answer")
    parser.add_argument("--sgf", type=Path)
    args = parser.parse_args()
    won = drawn = 0
    seconds = [0.0, 0.0]
    moves = 0
    seen: set[tuple[tuple[int, int], ...]] = set()
    try:
        with (
            Program(command(args.player), args.timeout) as ours,
            Program(args.against, args.timeout) as other,
            Program(args.referee, args.timeout) as referee,
        ):
            for number in range(args.matches):
                seat = number % 2
                black, white = (ours, other) if seat == 0 else (other, ours)
                played = play_match(
                    black,
                    white,
                    size=args.size,
                    komi=args.komi,
                    referee=referee,
                    opening=opening(args.size, args.opening, args.seed, number // 2),
                )
                seen.add(tuple(played.moves))
                won += played.winner == seat
                drawn += played.winner is None
                seconds = [s + played.seconds[k] for s, k in zip(seconds, (seat, 1 - seat), strict=True)]
                moves += len(played.moves)
                print(
                    f"match {number + 1}: {played.result}, we had {'BW'[seat]}, {played.by}", file=sys.stderr
                )
                if args.sgf:
                    args.sgf.mkdir(parents=True, exist_ok=True)
                    text = record(played, args.size, args.komi, black.name, white.name)
                    (args.sgf / f"match-{number + 1:04d}.sgf").write_text(text, encoding="utf-8")
    except ProgramError as error:
        print(f"protocol: {error}", file=sys.stderr)
        return 1
    interval = wilson_interval(won, args.matches)
    report = {"player": args.player, "against": args.against, "size": args.size, "komi": args.komi}
    report |= {"opening": args.opening, "seed": args.seed}
    report |= {
        "matches": args.matches,
        "distinct": len(seen),
        "won": won,
        "drawn": drawn,
        "rate": won / args.matches,
    }
    report |= {
        "ci_low": round(interval.low, 3),
        "ci_high": round(interval.high, 3),
        "mean_moves": moves / args.matches,
    }
    report |= {"seconds_per_move": [round(2 * s / max(moves, 1), 3) for s in seconds]}
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())

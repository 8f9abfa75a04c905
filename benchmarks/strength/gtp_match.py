"""Matches of Go between two GTP programs, colours in turn, with a third as referee, and the rate won.

    python benchmarks/strength/gtp_match.py "mcts:2000" --matches 20 --size 9 --komi 7
    python benchmarks/strength/gtp_match.py "runs/go9@best+search:400" --against "gnugo --mode gtp --level 10"
    python benchmarks/strength/gtp_match.py "runs/go9@best+search:400" --matches 100 --komi 7 --jobs 2

Matches come in pairs that start with the same ``--opening`` stones, drawn for each pair inside the
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ludus.games.records import go_record, go_record_text, sgf
from ludus.gtp.driver import GtpProgram, MatchRules, ProgramError, ProgramMatch, play_match
from ludus.ratings.interval import wilson_interval

GNU_GO = f"{shutil.which('gnugo') or '/usr/games/gnugo'} --mode gtp"
CHINESE = "--chinese-rules --positional-superko"
WEAKEST = f"{GNU_GO} --level 1 {CHINESE}"
REFEREE = f"{GNU_GO} {CHINESE}"


def command(player: str) -> list[str]:
    if " " in player:
        return shlex.split(player)
    return [sys.executable, "-m", "ludus.cli", "gtp", player, "--quiet"]


def opening(size: int, plies: int, seed: int, pair: int) -> list[int]:
    """Different points inside the second line, as ``y * size + x``."""
    inner = [y * size + x for y in range(2, size - 2) for x in range(2, size - 2)]
    return random.Random(f"{seed} {pair}").sample(inner, min(plies, len(inner)))


def record(played: ProgramMatch, size: int, komi: float, black: str, white: str) -> str:
    moves = [("BW"[s], None if p == size * size else (p % size, p // size)) for s, p in played.moves]
    info = {"PB": black, "PW": white, "RU": "Chinese"}
    return sgf.write(
        go_record_text.tree(go_record.GoRecord(size, komi, moves=moves, result=played.result, info=info))
    )


@dataclass(frozen=True, slots=True)
class Setting:
    """Rules and conditions of matches."""

    size: int = 9
    komi: float = 7.5
    opening: int = 4  # stones drawn before a pair of matches starts
    seed: int = 1  # of the openings
    referee: str = REFEREE
    timeout: float = 600.0  # seconds for one answer


def play_pairs(
    player: str, against: str, setting: Setting, numbers: list[int], sgf_folder: Path | None = None
) -> dict[int, ProgramMatch]:
    """Play the matches with these numbers in order; even ones with Black. Raises ``ProgramError``."""
    done = {}
    with (
        GtpProgram(command(player), setting.timeout) as ours,
        GtpProgram(command(against), setting.timeout) as other,
        GtpProgram(command(setting.referee), setting.timeout) as referee,
    ):
        for number in numbers:
            seat = number % 2
            black, white = (ours, other) if seat == 0 else (other, ours)
            played = play_match(
                black,
                white,
                MatchRules(setting.size, setting.komi),
                referee=referee,
                opening=opening(setting.size, setting.opening, setting.seed, number // 2),
            )
            done[number] = played
            print(f"match {number + 1}: {played.result}, we had {'BW'[seat]}, {played.by}", file=sys.stderr)
            if sgf_folder:
                sgf_folder.mkdir(parents=True, exist_ok=True)
                text = record(played, setting.size, setting.komi, black.name, white.name)
                (sgf_folder / f"match-{number + 1:04d}.sgf").write_text(text, encoding="utf-8")
    return done


def play_jobs(
    player: str, against: str, setting: Setting, matches: int, jobs: int = 1, sgf_folder: Path | None = None
) -> dict[int, ProgramMatch]:
    """Play all matches, ``jobs`` at a time, and return them by number. Raises ``ProgramError``."""
    shares = [[n for n in range(matches) if n // 2 % jobs == job] for job in range(jobs)]
    with ThreadPoolExecutor(jobs) as executor:
        parts = executor.map(lambda share: play_pairs(player, against, setting, share, sgf_folder), shares)
        return {number: one for part in parts for number, one in part.items()}


def play_all(
    player: str, against: str, setting: Setting, matches: int, jobs: int = 1, sgf_folder: Path | None = None
) -> dict[str, object]:
    """Return the counts of all matches. Raises ``ProgramError``."""
    played = play_jobs(player, against, setting, matches, jobs, sgf_folder)
    won = sum(one.winner == number % 2 for number, one in played.items())
    moves = sum(len(one.moves) for one in played.values())
    seconds = [sum(one.seconds[(number + k) % 2] for number, one in played.items()) for k in (0, 1)]
    interval = wilson_interval(won, matches)
    return {
        "player": player,
        "against": against,
        "size": setting.size,
        "komi": setting.komi,
        "opening": setting.opening,
        "seed": setting.seed,
        "matches": matches,
        "distinct": len({tuple(one.moves) for one in played.values()}),
        "won": won,
        "drawn": sum(one.winner is None for one in played.values()),
        "rate": won / matches,
        "ci_low": round(interval.low, 3),
        "ci_high": round(interval.high, 3),
        "mean_moves": moves / matches,
        "seconds_per_move": [round(2 * s / max(moves, 1), 3) for s in seconds],
    }


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("player")
    parser.add_argument("--against", default=WEAKEST)
    parser.add_argument("--referee", default=REFEREE)
    parser.add_argument("--matches", type=int, default=10)
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--komi", type=float, default=7.5)
    parser.add_argument("--opening", type=int, default=4, help="stones drawn before a pair of matches starts")
    parser.add_argument("--seed", type=int, default=1, help="of the openings")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one answer")
    parser.add_argument("--jobs", type=int, default=1, help="matches at a time, each with its own programs")
    parser.add_argument("--sgf", type=Path)
    return parser


def main() -> int:
    args = parser_of().parse_args()
    setting = Setting(args.size, args.komi, args.opening, args.seed, args.referee, args.timeout)
    try:
        report = play_all(args.player, args.against, setting, args.matches, args.jobs, args.sgf)
    except ProgramError as error:
        print(f"protocol: {error}", file=sys.stderr)
        return 1
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())

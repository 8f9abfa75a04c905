"""Matches of Go between two GTP programs, colours in turn, with a third as referee, and the rate won.

    python benchmarks/strength/gtp_match.py "mcts:2000" --matches 20 --size 9 --komi 7
    python benchmarks/strength/gtp_match.py "runs/go9@best+search:400" --against "gnugo --mode gtp --level 10"
    python benchmarks/strength/gtp_match.py "runs/go9@best+search:400" --matches 100 --komi 7 --jobs 2

:mod:`ludus.gtp.matches` plays the matches, as for ``ludus go match``, which also rates. Opponent and referee
are GNU Go by default; it counts with its own idea of dead stones, so players had better play on until nothing
is left. All scheduled matches count. A program that breaks the protocol ends the run with exit code 1.
``--sgf`` keeps the records.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ludus.gtp.matches import (
    CHINESE,
    GNU_GO,
    REFEREE,
    WEAKEST,
    Contest,
    MatchConditions,
    Pairing,
    PlayedFixture,
    command,
    record,
)
from ludus.gtp.program import ProgramError
from ludus.gtp.program_match import ProgramMatch
from ludus.ratings.interval import wilson_interval

__all__ = ["CHINESE", "GNU_GO", "REFEREE", "WEAKEST", "Setting", "command", "play_all", "play_jobs"]

Setting = MatchConditions


def play_jobs(
    player: str, against: str, setting: Setting, matches: int, jobs: int = 1, sgf_folder: Path | None = None
) -> dict[int, ProgramMatch]:
    """Play all matches, ``jobs`` at a time, and return them by number. Raises ``ProgramError``."""
    done: dict[int, ProgramMatch] = {}

    def on_played(played: PlayedFixture) -> None:
        if played.fault not in ("", "illegal"):
            raise ProgramError(played.text)
        number, match = played.fixture.number, played.match
        done[number] = match
        colour = "BW"[number % 2]
        print(f"match {number + 1}: {match.result}, we had {colour}, {match.by}", file=sys.stderr)
        if sgf_folder:
            sgf_folder.mkdir(parents=True, exist_ok=True)
            black, white = played.names[:: 1 - 2 * (number % 2)]
            text = record(match, setting.size, setting.komi, black, white)
            (sgf_folder / f"match-{number + 1:04d}.sgf").write_text(text, encoding="utf-8")

    Contest([Pairing(player, against)], setting, matches, jobs).play(on_played)
    return done


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

"""Random matches of Go, move by move against GNU Go (over GTP) or OpenSpiel.

    python benchmarks/cross_checks/go_rules.py gnugo --size 9 --matches 1000 [--program /usr/games/gnugo]
    python benchmarks/cross_checks/go_rules.py open_spiel --size 9 --matches 10000

After every move: the legal points of the seat to move, all stones and (GNU Go) the numbers of captured stones
must be the same. In three of four matches no move fills the mover's eye, so that they end in positions with
nothing left to play for, and are counted by both; the others play any legal move, so that whole
boards are taken and come back. GNU Go plays our three ko rules by turns, and simple ko with suicide (under
superko it does not ask whether a suicide brings an earlier board back, which ours does). OpenSpiel knows
simple ko only, ends a match at a repetition (ours is compared up to there), and gives the winner, not the
margin. Exit code 3 on the first disagreement, which is printed with its moves.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ludus.games import go
from ludus.games.match import Match
from ludus.gtp.driver import score_points
from ludus.gtp.program import GtpProgram

MOVES_PER_POINT = 3  # after which a match that fills eyes is broken off
VARIANTS = [(ko, "forbidden") for ko in ("positional", "situational", "simple")] + [("simple", "allowed")]


class Disagreement(Exception):
    """The results of both sides, with the moves that lead there."""


@dataclass
class Tally:
    """Number of comparisons made."""

    matches: int = 0
    moves: int = 0
    captures: int = 0
    counted: int = 0
    stopped_at_repetition: int = 0
    longest: int = 0
    variants: dict[str, int] = field(default_factory=dict)


class Other(Protocol):
    """Another implementation of the rules in the middle of a match."""

    def play(self, seat: int, point: int) -> bool:
        """Return False where the match does not continue."""
        ...

    def legal(self, seat: int) -> set[int]: ...
    def stones(self) -> tuple[set[int], set[int]]: ...
    def captured(self) -> tuple[int, int] | None: ...
    def check_count(self, points: float) -> str: ...


def most_moves(size: int) -> int:
    return min(1024, MOVES_PER_POINT * size * size)


def stones_of(match: Match) -> tuple[set[int], set[int]]:
    """Black's and White's, from the planes of what Black sees."""
    size = match.spec.observation[0].shape[1]
    bits = np.unpackbits(match.observe(0)["planes"], bitorder="little")
    planes: npt.NDArray[Any] = bits[: 2 * size * size].reshape(2, -1)
    return set(np.flatnonzero(planes[0]).tolist()), set(np.flatnonzero(planes[1]).tolist())


def eye(own: set[int], against: set[int], point: int, size: int) -> bool:
    """Return whether a point is an eye: neighbours all its own, at most one diagonal the opponent's."""
    x, y = point % size, point // size
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        if 0 <= x + dx < size and 0 <= y + dy < size and (y + dy) * size + x + dx not in own:
            return False
    bad = edge = 0
    for dx, dy in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
        if not (0 <= x + dx < size and 0 <= y + dy < size):
            edge = 1
        elif (y + dy) * size + x + dx in against:
            bad += 1
    return bad + edge < 2


def compare(match: Match, other: Other, rng: random.Random, sensible: bool, tally: Tally) -> None:
    """Plays one match in both. Raises :class:`Disagreement`."""
    size = match.spec.observation[0].shape[1]
    moves: list[str] = []

    def differ(what: str, ours: object, theirs: object) -> None:
        raise Disagreement(f"{what}: ours {ours}, theirs {theirs}; {match.params}; after {' '.join(moves)}")

    while not match.over:
        (seat,) = match.to_act
        legal = set(np.flatnonzero(match.legal(seat)[: size * size]).tolist())
        theirs = other.legal(seat)
        if legal != theirs:
            differ("legal points", names(legal - theirs, size), names(theirs - legal, size))
        stones = stones_of(match)
        if stones != other.stones():
            differ("stones", stones, other.stones())
        captured = other.captured()
        if captured is not None and tuple(match.view()["captured"]) != captured:
            differ("captured", match.view()["captured"], captured)
        good = sorted(legal)
        if sensible:
            good = [p for p in good if not eye(stones[seat], stones[1 - seat], p, size)]
        passes = not good or (not sensible and rng.random() < 0.01)
        point = size * size if passes else rng.choice(good)
        match.play(point)
        moves.append(go.vertex(point, size))
        tally.moves += 1
        if not other.play(seat, point):
            tally.stopped_at_repetition += 1
            break
    tally.matches += 1
    tally.longest = max(tally.longest, len(moves))
    tally.captures += sum(match.view()["captured"])
    if match.over and match.tick < most_moves(size) and sensible:
        wrong = other.check_count(go.margin(match))
        if wrong:
            differ("count", go.score_text(go.margin(match)), wrong)
        tally.counted += 1


def names(points: set[int], size: int) -> str:
    return " ".join(go.vertex(p, size) for p in sorted(points)) or "-"


class GnuGo:
    """GNU Go; asked for everything after a move in one go."""

    def __init__(self, program: GtpProgram, size: int, komi: float) -> None:
        self.program, self.size = program, size
        program.ask_all([f"boardsize {size}", "clear_board", f"komi {komi}"])
        self._ask([], go.BLACK)

    def _ask(self, before: list[str], seat: int) -> None:
        queries = [f"all_legal {'bw'[seat]}", "list_stones b", "list_stones w", "captures b", "captures w"]
        answers = self.program.ask_all([*before, *queries])[len(before) :]
        self._legal, *self._stones = ({self._point(w) for w in a.split()} for a in answers[:3])
        self._captured = int(answers[3]), int(answers[4])

    def _point(self, word: str) -> int:
        point = go.point_of(word, self.size)
        if point is None:
            raise Disagreement(f"GNU Go names a point {word!r}")
        return point

    def play(self, seat: int, point: int) -> bool:
        self._ask([f"play {'bw'[seat]} {go.vertex(point, self.size)}"], 1 - seat)
        return True

    def legal(self, seat: int) -> set[int]:
        return self._legal

    def stones(self) -> tuple[set[int], set[int]]:
        return self._stones[0], self._stones[1]

    def captured(self) -> tuple[int, int] | None:
        return self._captured

    def check_count(self, points: float) -> str:
        text = self.program.ask("final_score")
        return "" if abs(score_points(text) - points) < 0.01 else text


class OpenSpiel:
    """OpenSpiel's Go. Its points count from the lowest row."""

    def __init__(self, size: int, komi: float) -> None:
        import pyspiel

        self.size = size
        self.state = pyspiel.load_game(
            f"go(board_size={size},komi={komi},max_game_length=4096)"
        ).new_initial_state()

    def _turned(self, point: int) -> int:
        n = self.size
        return point if point == n * n else (n - 1 - point // n) * n + point % n

    def play(self, seat: int, point: int) -> bool:
        self.state.apply_action(self._turned(point))
        ended = self.state.is_terminal()
        self._over = ended
        return not ended or point == self.size**2

    def legal(self, seat: int) -> set[int]:
        return {self._turned(a) for a in self.state.legal_actions() if a != self.size**2}

    def stones(self) -> tuple[set[int], set[int]]:
        planes = np.asarray(self.state.observation_tensor(0)).reshape(4, self.size, self.size)[:2, ::-1]
        black, white = (set(np.flatnonzero(p.reshape(-1)).tolist()) for p in planes)
        return black, white

    def captured(self) -> tuple[int, int] | None:
        return None

    def check_count(self, points: float) -> str:
        black = self.state.returns()[0]
        return "" if np.sign(points) == np.sign(black) else f"Black {black:+g}"


def gnugo_matches(args: argparse.Namespace, rng: random.Random) -> Iterator[tuple[Match, Other, str]]:
    flags = {name: f"--{name}-superko" for name in ("positional", "situational")} | {"simple": "--simple-ko"}
    programs: dict[tuple[str, str], GtpProgram] = {}
    for number in range(args.matches):
        ko, suicide = variant = VARIANTS[number % len(VARIANTS)]
        if variant not in programs:
            command = [args.program, "--mode", "gtp", "--chinese-rules", "--level", "1", flags[ko]]
            command += ["--allow-all-suicide"] if suicide == "allowed" else ["--forbid-suicide"]
            programs[variant] = GtpProgram(command, timeout_s=300)
        komi = rng.choice([0.5, 5.5, 7.5])
        rules = {
            "size": args.size,
            "komi": komi,
            "ko": ko,
            "suicide": suicide,
            "max_moves": most_moves(args.size),
        }
        yield Match("go", rules), GnuGo(programs[variant], args.size, komi), f"{ko}, suicide {suicide}"


def open_spiel_matches(args: argparse.Namespace, rng: random.Random) -> Iterator[tuple[Match, Other, str]]:
    for _ in range(args.matches):
        komi = rng.choice([-30.5, -10.5, -3.5, 0.5, 3.5, 7.5, 12.5, 30.5])
        rules = {"size": args.size, "komi": komi, "ko": "simple", "max_moves": most_moves(args.size)}
        yield Match("go", rules), OpenSpiel(args.size, komi), "simple, suicide forbidden"


def run(args: argparse.Namespace) -> Tally:
    """All matches. Raises :class:`Disagreement`."""
    rng = random.Random(args.seed)
    tally = Tally()
    source: Callable[[argparse.Namespace, random.Random], Iterator[tuple[Match, Other, str]]] = (
        gnugo_matches if args.against == "gnugo" else open_spiel_matches
    )
    for number, (match, other, variant) in enumerate(source(args, rng)):
        compare(match, other, rng, number // len(VARIANTS) % 4 != 3, tally)
        tally.variants[variant] = tally.variants.get(variant, 0) + 1
    return tally


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("against", choices=("gnugo", "open_spiel"))
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--matches", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default=shutil.which("gnugo") or "/usr/games/gnugo")
    return parser


def main() -> int:
    args = parser_of().parse_args()
    started = time.process_time(), time.monotonic()
    try:
        tally = run(args)
    except Disagreement as error:
        print(f"DISAGREEMENT: {error}", file=sys.stderr)
        return 3
    report: dict[str, object] = {"against": args.against, "size": args.size, "seed": args.seed}
    report |= {"disagreements": 0, **vars(tally)}
    report["minutes"] = round((time.monotonic() - started[1]) / 60, 1)
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())

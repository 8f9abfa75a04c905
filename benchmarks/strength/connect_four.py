"""How often a player's move keeps the game-theoretic value of Connect Four, band of plies by band.

    python -m benchmarks.strength.connect_four mcts:1000 --positions 500
    python -m benchmarks.strength.connect_four RUN@best+search:400 RUN@best+search:1 --games 100

Positions are random matches broken off before anyone has won; ``chance`` is what a uniformly random move
scores; the solver gives the score of every move.
``kept``: the move's value (won, drawn, lost) is the best there is; ``optimal``: it also wins soonest or loses
latest. ``--games``: as first player from the empty board, always the most visited move, against the solver,
which draws among the moves that keep the value; in its first moves (``--chance`` of them) it draws among all
moves, since none of them is better than another against an opponent that makes no mistake.
``--cases FILE`` keeps the solved positions for the next time. Wilson's 95% intervals.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ludus.evaluation.players import evaluator_of, game_of_player
from ludus.games import spec as game_spec
from ludus.games.connect_four import BANDS, FULL, Solver, random_positions
from ludus.mcts import SearchPlayer, SearchText, parse_search
from ludus.ratings import wilson_interval


def _chance(scores: list[int]) -> float:
    legal = [s for s in scores if s != FULL]
    return float(np.mean(np.sign(legal) == np.sign(max(legal))))


def player_of(text: str, slots: int, seed: int) -> SearchPlayer:
    weights, how = parse_search(text)
    trained_on = game_of_player(weights) if weights else None
    params = trained_on[1] if trained_on else {}
    spec = game_spec("connect_four", params)
    evaluator = evaluator_of(weights, spec, symmetries=how.symmetries)[0] if weights else "rollout"
    plain = SearchText(how.search, how.seconds, 0.0, 0, how.rollouts)
    return SearchPlayer("connect_four", params, plain, evaluator, slots=slots, seed=seed)


Case = tuple[list[int], list[int]]  # columns played, score of each column


def cases_of(band: tuple[int, int], count: int, seed: int, file: Path | None, solver: Solver) -> list[Case]:
    """Positions and their solutions, from ``file`` where it has them; what is missing is solved and added."""
    known: dict[tuple[int, ...], list[int]] = {}
    if file is not None and file.is_file():
        for row in file.read_text(encoding="utf-8").splitlines():
            played, solved = row.split()
            known[tuple(int(c) for c in played)] = [int(s) for s in solved.split(",")]
    cases = []
    for columns in random_positions(band, count, seed + band[0]):
        scores = known.get(tuple(columns))
        if scores is None:
            scores = solver.scores(columns)
            if file is not None:
                with file.open("a", encoding="utf-8") as out:
                    out.write("".join(map(str, columns)) + " " + ",".join(map(str, scores)) + "\n")
        cases.append((columns, scores))
    return cases


def decide(text: str, cases: list[Case], seed: int) -> list[int]:
    """Return the score of the player's move in each case."""
    player = player_of(text, min(64, len(cases)), seed)
    chosen = []
    for start in range(0, len(cases), 64):
        part = cases[start : start + 64]
        for slot, (played, _) in enumerate(part):
            player.trees.reset(slot, seed=1)
            for column in played:
                player.play(slot, column)
        for (_, scores), found in zip(part, player.decide(range(len(part))), strict=True):
            chosen.append(scores[found.move])
    return chosen


def kept_and_best(cases: list[Case], chosen: list[int]) -> tuple[int, int]:
    """How many moves keep the value, and how many are the best by score too."""
    tops = [max(scores) for _, scores in cases]
    kept = sum(int(np.sign(s) == np.sign(t)) for s, t in zip(chosen, tops, strict=True))
    return kept, sum(int(s == t) for s, t in zip(chosen, tops, strict=True))


def mistakes(cases: list[Case], chosen: list[int]) -> str:
    """Where the value was not kept: the positions in which it could be lost, by how they end at best."""
    kinds = ["drawn", "won with 1 to 3 stones left", "with 4 to 9", "with more"]
    made, could = [0] * 4, [0] * 4
    for (_, scores), score in zip(cases, chosen, strict=True):
        top = max(scores)
        if all(np.sign(s) == np.sign(top) for s in scores if s != FULL):
            continue
        kind = 0 if top == 0 else 1 if top <= 3 else 2 if top <= 9 else 3
        could[kind] += 1
        made[kind] += int(np.sign(score) != np.sign(top))
    return ", ".join(f"{kind}: {m} of {c}" for kind, m, c in zip(kinds, made, could, strict=True))


class Perfect:
    """Draws among the moves that keep the value; among all of them in its first ``chance`` moves."""

    def __init__(self, solver: Solver, chance: int, seed: int) -> None:
        self._solver, self._chance, self._random = solver, chance, random.Random(seed)
        self._known: dict[tuple[int, ...], list[int]] = {}

    def reply(self, columns: Sequence[int]) -> int:
        key = tuple(columns)
        if len(columns) // 2 < self._chance:
            return self._random.choice([c for c in range(7) if columns.count(c) < 6])
        if key not in self._known:
            self._known[key] = self._solver.values(columns)
        values = self._known[key]
        return self._random.choice([c for c in range(7) if values[c] == max(values)])


def play_first(text: str, games: int, chance: int, seed: int, solver: Solver) -> tuple[int, int, int]:
    """Return the matches that the player won, drew and lost as first player against :class:`Perfect`."""
    player, perfect = player_of(text, games, seed), Perfect(solver, chance, seed)
    played: list[list[int]] = [[] for _ in range(games)]
    won = drawn = lost = 0
    for slot in range(games):
        player.trees.reset(slot, seed=1)
    open_games = list(range(games))
    while open_games:
        for slot, found in zip(open_games, player.decide(open_games), strict=True):
            player.play(slot, found.move)
            played[slot].append(found.move)
        for slot in open_games:
            if not player.trees.over(slot):
                reply = perfect.reply(played[slot])
                player.play(slot, reply)
                played[slot].append(reply)
        ended = [slot for slot in open_games if player.trees.over(slot)]
        outcomes = [player.trees.outcome(slot)[0] for slot in ended]
        won, drawn = won + sum(o > 0 for o in outcomes), drawn + sum(o == 0 for o in outcomes)
        lost += sum(o < 0 for o in outcomes)
        open_games = [slot for slot in open_games if slot not in ended]
    return won, drawn, lost


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("players", nargs="+")
    parser.add_argument("--positions", type=int, default=300, help="a band")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bands", default="24,16,12,9", help="first plies of the bands")
    parser.add_argument("--cases", type=Path, help="solved positions, read and added to")
    parser.add_argument("--games", type=int, default=0, help="as first player against the solver")
    parser.add_argument("--chance", type=int, default=3, help="first moves of the solver that are drawn")
    parser.add_argument("--mistakes", action="store_true", help="say where the value is not kept")
    parser.add_argument("--json", action="store_true")
    return parser


def main() -> None:
    args = parser_of().parse_args()
    solver = Solver(256)
    wanted = {int(b) for b in args.bands.split(",") if b}
    rows: list[dict[str, object]] = []

    def say(text: str) -> None:
        if not args.json:
            print(text, flush=True)

    for band in (b for b in reversed(BANDS) if b[0] in wanted):
        cases = cases_of(band, args.positions, args.seed, args.cases, solver)
        chance = float(np.mean([_chance(scores) for _, scores in cases]))
        say(f"{band[0]}-{band[1]}: {len(cases)} positions, chance keeps {chance:.3f}")
        for text in args.players:
            started = time.process_time()
            chosen = decide(text, cases, args.seed)
            kept, best = kept_and_best(cases, chosen)
            spent, interval = time.process_time() - started, wilson_interval(kept, len(cases))
            rows.append(
                {
                    "player": text,
                    "plies": f"{band[0]}-{band[1]}",
                    "positions": len(cases),
                    "kept": interval.rate,
                    "kept_low": interval.low,
                    "kept_high": interval.high,
                    "optimal": best / len(cases),
                    "chance": chance,
                    "processor_s": spent,
                }
            )
            say(
                f"{band[0]:>3}-{band[1]:<2}  {text:<40} kept {interval.rate:.3f} "
                f"[{interval.low:.3f}, {interval.high:.3f}]  optimal {best / len(cases):.3f}"
                f"  of {len(cases)}  ({spent:.1f} s)"
            )
            if args.mistakes:
                say(f"        mistakes  {mistakes(cases, chosen)}")
    for text in args.players if args.games > 0 else ():
        won, drawn, lost = play_first(text, args.games, args.chance, args.seed, solver)
        interval = wilson_interval(lost, args.games)
        rows.append({"player": text, "games": args.games, "won": won, "drawn": drawn, "lost": lost})
        say(
            f"first  {text:<40} won {won}, drawn {drawn}, lost {lost} of {args.games} "
            f"(lost at most {interval.high:.1%})"
        )
    if args.json:
        print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

"""Share of a player's moves that keep the game-theoretic value, in games that are solved here.

Connect Four has an exact solver, so positions are drawn; of tic-tac-toe every reachable position is solved.
A position is the list of moves that lead to it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ludus.evaluation.players import evaluator_of, resolve_player
from ludus.games import spec as game_spec
from ludus.games.connect_four import BANDS, FULL, Solver, random_positions
from ludus.games.match import Match
from ludus.mcts import SearchPlayer, parse_search
from ludus.mcts.text import is_search
from ludus.presets.errors import ConfigError
from ludus.rollouts.actor import ActInput
from ludus.storage import zoo

CONNECT_FOUR, TIC_TAC_TOE = "connect_four", "tic_tac_toe"
SOLVED = (CONNECT_FOUR, TIC_TAC_TOE)
AT_A_TIME = 64
SOLVER_MIB = 256

Moves = Sequence[int]


class SolvedPosition(NamedTuple):
    """A position and the moves that keep its value."""

    moves: tuple[int, ...]
    keeping: frozenset[int]


def solved_positions(
    game: str,
    count: int,
    seed: int,
    step: Callable[[int], None] = lambda more: None,
    bands: Sequence[tuple[int, int]] = BANDS,
) -> list[SolvedPosition]:
    """Return about ``count`` positions in which a move can lose the value, with their solutions.

    Of Connect Four as many random ones of each of the ``bands`` of plies; of tic-tac-toe ``count`` drawn
    from all reachable ones, and all of them if ``count`` is at least as many. ``step`` receives how many
    more are solved.

    Raises:
        ValueError: No solver of this game is here.
    """
    if game == CONNECT_FOUR:
        return _of_connect_four(count, seed, step, bands)
    if game == TIC_TAC_TOE:
        found = all_positions(game)
        step(len(found))
        return found if count >= len(found) else random.Random(seed).sample(found, count)
    raise ValueError(f"{game}: no solver, expected one of {', '.join(SOLVED)}")


def _of_connect_four(
    count: int, seed: int, step: Callable[[int], None], bands: Sequence[tuple[int, int]]
) -> list[SolvedPosition]:
    solver, found = Solver(SOLVER_MIB), []
    for band in bands:
        for columns in random_positions(band, max(1, count // len(bands)), seed + band[0]):
            values = solver.values(columns)
            best = max(values)
            keeping = frozenset(c for c, value in enumerate(values) if value == best and value != FULL)
            found.append(SolvedPosition(tuple(columns), keeping))
            step(1)
    return found


def all_positions(game: str) -> list[SolvedPosition]:
    """Return every position of a small game of perfect information that is not over, solved."""
    values: dict[int, float] = {}  # hash of a position -> outcome of seat 0 under best play
    found: dict[int, SolvedPosition] = {}

    def value_of(match: Match, moves: tuple[int, ...]) -> float:
        if match.over:
            return match.outcome[0]
        if match.hash in values:
            return values[match.hash]
        (seat,) = match.to_act
        sign, results = 1.0 if seat == 0 else -1.0, {}
        for move in np.flatnonzero(match.legal(seat)).tolist():
            child = match.clone()
            child.play(move)
            results[move] = sign * value_of(child, (*moves, move))
        best = max(results.values())
        values[match.hash] = sign * best
        found[match.hash] = SolvedPosition(moves, frozenset(m for m, r in results.items() if r == best))
        return sign * best

    value_of(Match(game), ())
    return sorted(found.values(), key=lambda position: (len(position.moves), position.moves))


def moves_of(
    player: str,
    game: str,
    params: Mapping[str, str],
    positions: Sequence[Moves],
    *,
    seed: int = 1,
    greedy: bool = True,
    step: Callable[[int], None] = lambda more: None,
) -> list[int]:
    """Return the move of ``player`` in each position, decided without the matches that led there.

    Args:
        player: Weights, weights with a search, ``uniform`` or a search with rollouts.
        game: The game, of one head, turn by turn.
        params: Its parameters.
        positions: The moves that lead to each position.
        seed: Seed of the player's random choices.
        greedy: The most probable choice of a network; a search always takes the most visited move.
        step: Receives how many more are decided.

    Raises:
        ConfigError: A bot, which decides in matches only, or no such player.
    """
    player, by_card = zoo.played(player)
    greedy = greedy or by_card
    decide = _searching if is_search(player) else _acting
    found: list[int] = []
    for start in range(0, len(positions), AT_A_TIME):
        part = positions[start : start + AT_A_TIME]
        found += decide(player, game, dict(params), part, seed + start, greedy)
        step(len(part))
    return found


def _searching(
    player: str, game: str, params: dict[str, str], positions: Sequence[Moves], seed: int, greedy: bool
) -> list[int]:
    weights, text = parse_search(player)
    if greedy:
        text = msgspec.structs.replace(text, plies=0)
    evaluator = (
        evaluator_of(weights, game_spec(game, params), symmetries=text.symmetries)[0]
        if weights
        else "rollout"
    )
    searching = SearchPlayer(game, params, text, evaluator, slots=len(positions), seed=seed)
    for slot, moves in enumerate(positions):
        searching.trees.reset(slot, seed=1)
        for move in moves:
            searching.play(slot, move)
    return [found.move for found in searching.decide(range(len(positions)))]


def _acting(
    player: str, game: str, params: dict[str, str], positions: Sequence[Moves], seed: int, greedy: bool
) -> list[int]:
    spec = game_spec(game, params)
    actor = resolve_player(player, spec, seed=seed, greedy=greedy, params=params).actor
    if actor is None or actor.memory_shape is not None:
        raise ConfigError(
            f"{player}: expected a network without memory or a search; a bot plays matches only"
        )
    seen, masks, start = [], [], Match(game, params)
    for moves in positions:
        match = start.clone()
        for move in moves:
            match.play(move)
        (seat,) = match.to_act
        seen.append(match.observe(seat))
        masks.append(match.legal(seat))
    obs = {t.name: np.stack([row[t.name] for row in seen]) for t in spec.observation}
    rows = np.arange(len(positions), dtype=np.int32)
    first = np.ones(len(positions), np.uint8)
    decided = actor.act(ActInput(obs, np.stack(masks), None, first, 0, rows))
    return [int(move) for move in decided.actions[:, 0]]


def outcomes_of(positions: Sequence[SolvedPosition], chosen: Sequence[int]) -> str:
    """Return ``w`` for each move that keeps the value and ``l`` for each that does not."""
    return "".join(
        "w" if move in position.keeping else "l" for position, move in zip(positions, chosen, strict=True)
    )

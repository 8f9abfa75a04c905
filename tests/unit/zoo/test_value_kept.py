"""Moves that keep the value of a game: solved positions, and players that decide in them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

pytest.importorskip("torch")

from ludus.evaluation.value_kept import (
    SolvedPosition,
    all_positions,
    moves_of,
    outcomes_of,
    solved_positions,
)
from ludus.games.connect_four import BANDS, FULL, Solver
from ludus.games.match import Match
from ludus.presets.errors import ConfigError
from ludus.storage import zoo

ALL = all_positions("tic_tac_toe")


def test_every_reachable_position_of_tic_tac_toe_is_solved() -> None:
    assert len(ALL) == 4520  # 5,478 positions, 958 of which are over
    assert ALL[0] == SolvedPosition((), frozenset(range(9)))
    known = {position.moves: position.keeping for position in ALL}
    corner = next(p for m, p in known.items() if len(m) == 1 and m[0] == 0)
    assert corner == {4}  # a corner is answered in the middle


def board(moves: Sequence[int]) -> tuple[frozenset[int], frozenset[int]]:
    """Return the cells of each seat."""
    return frozenset(moves[0::2]), frozenset(moves[1::2])


def empty(match: Match) -> set[int]:
    """Return the cells without a mark."""
    return {cell for cell in range(9) if match.legal(match.to_act[0])[cell]}


def test_the_perfect_bot_keeps_the_value() -> None:
    known = {board(position.moves): position.keeping for position in ALL}
    assert len(known) == len(ALL)
    checked = 0
    for number in range(6):
        match, moves = Match("tic_tac_toe", seed=5, match=number), list[int]()
        while True:
            (seat,) = match.to_act
            before = empty(match)
            match.bot(seat, "perfect" if seat == number % 2 else "random")
            match.advance()
            if match.over:
                break
            (move,) = before - empty(match)
            if seat == number % 2:
                assert move in known[board(moves)]
                checked += 1
            moves.append(move)
    assert checked > 8


def test_positions_of_connect_four_have_their_solution() -> None:
    found = solved_positions("connect_four", 8, 3, bands=BANDS[-2:])  # late: the solver is quick
    assert len(found) == 8
    late = max(found, key=lambda position: len(position.moves))
    values = Solver(8).values(late.moves)
    assert late.keeping == {c for c, v in enumerate(values) if v == max(values) and v != FULL}


def test_a_search_plays_better_than_chance() -> None:
    asked = solved_positions("tic_tac_toe", 300, 2)
    kept = {}
    for player in ("uniform", "mcts:200"):
        chosen = moves_of(player, "tic_tac_toe", {}, [p.moves for p in asked])
        for position, move in zip(asked, chosen, strict=True):
            assert move not in position.moves
        kept[player] = outcomes_of(asked, chosen).count("w") / len(asked)
    assert kept["uniform"] < 0.75
    assert kept["mcts:200"] > 0.95


def test_a_bot_and_another_game_are_refused() -> None:
    with pytest.raises(ConfigError, match="expected a network without memory or a search"):
        moves_of("perfect", "tic_tac_toe", {}, [()])
    with pytest.raises(ValueError, match="go: no solver"):
        solved_positions("go", 5, 1)


def test_a_player_of_the_zoo_decides_by_the_search_of_its_card(monkeypatch: pytest.MonkeyPatch) -> None:
    def played(text: str) -> tuple[str, bool]:
        return ("mcts:30", True) if text == "zoo:someone" else (text, False)

    monkeypatch.setattr(zoo, "played", played)
    asked = [position.moves for position in ALL[:40]]
    assert moves_of("zoo:someone", "tic_tac_toe", {}, asked) == moves_of("mcts:30", "tic_tac_toe", {}, asked)

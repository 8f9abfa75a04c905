"""Kuhn and Leduc poker agree with OpenSpiel: choices, information states and chips of random matches."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.games.match import Match

pyspiel = pytest.importorskip("pyspiel")


def bits(match: Match, seat: int, size: int) -> list[int]:
    packed = match.observe(seat)["information_state"].view(np.uint8)
    return [int(x) for x in np.unpackbits(packed, bitorder="little")[:size]]


@pytest.mark.parametrize(("game", "size"), [("kuhn_poker", 11), ("leduc_poker", 30)])
def test_random_matches_of_poker_agree_with_open_spiel(game: str, size: int) -> None:
    ends: set[str] = set()
    random = np.random.default_rng(1)
    for number in range(300):
        ours, theirs = Match(game, seed=9, match=number), pyspiel.load_game(game).new_initial_state()
        cards: list[int] = list(ours.view()["cards"])
        while not theirs.is_terminal():
            if theirs.is_chance_node():
                theirs.apply_action(cards.pop(0))
                continue
            seat = theirs.current_player()
            assert ours.to_act == (seat,)
            legal = np.flatnonzero(ours.legal(seat)).tolist()
            assert legal == theirs.legal_actions()
            for other in (0, 1):
                assert bits(ours, other, size) == [int(x) for x in theirs.information_state_tensor(other)]
            choice = int(random.choice(legal))
            theirs.apply_action(choice)
            ours.act(seat, choice)
            ours.advance()
        assert ours.over
        returns = theirs.returns()
        assert ours.outcome == tuple(float(np.sign(x)) for x in returns)
        ends.add(str(theirs.history_str()))
    assert len(ends) > (25 if game == "kuhn_poker" else 100)

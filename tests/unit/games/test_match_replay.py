"""Matches that record themselves: what they give is a replay that verifies."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.flow.masks import legal_choices
from ludus.games import replays
from ludus.games.match import GameError, Match, ParamError
from ludus.games.registry import BUILT_IN

#: Games with other heads, seats or secrets under other parameters.
VARIANTS: list[tuple[str, dict[str, object]]] = [
    *((game, {}) for game in BUILT_IN),
    ("minirts", {"commands": "units"}),
    ("pommerman", {"mode": "team"}),
    ("go", {"size": 5}),
]
TICKS = 1200


def _random_action(match: Match, seat: int, rng: np.random.Generator) -> list[int]:
    mask = match.legal(seat)[None]
    action = np.zeros((1, len(match.spec.heads)), np.int64)
    for k in range(len(match.spec.heads)):
        choices = np.flatnonzero(legal_choices(match.spec, mask, k, action)[0])
        action[0, k] = rng.choice(choices) if len(choices) else 0
    return [int(x) for x in action[0]]


def _decide(match: Match, rng: np.random.Generator) -> None:
    """Let every seat that is due decide: a bot, or random choices."""
    bots = [b.name for b in match.spec.bots]
    for seat in match.to_act:
        if match.tick % match.spec.default_frame_skip:
            continue
        if bots and rng.random() < 0.5:
            match.bot(seat, str(rng.choice(bots)))
        else:
            match.act(seat, *_random_action(match, seat, rng))


def _verified(match: Match) -> replays.ReplayInfo:
    data = match.replay(["someone"] * match.spec.seats)
    check, about = replays.verify(data), replays.info(data)
    assert check.same, check.difference
    assert check.ticks == check.last_same == about.ticks == match.tick
    assert (about.over, about.outcome) == (match.over, match.outcome)
    return about


@pytest.mark.parametrize(("game", "params"), VARIANTS, ids=lambda v: str(v))
def test_a_recorded_match_with_take_backs_verifies(game: str, params: dict[str, object]) -> None:
    rng = np.random.default_rng(7)
    for seed in (1, 2):
        match = Match(game, params, seed=seed, match=3, record=True)
        taken_back = 0
        kept: list[Match] = []
        while not match.over and match.tick < TICKS:
            kept.append(match.clone())
            _decide(match, rng)
            match.advance()
            if taken_back < 5 and len(kept) > 3 and rng.random() < 0.2:
                match = kept[-3].clone()  # two plies back; the same clone may serve again
                del kept[-2:]
                taken_back += 1
            kept = kept[-8:]
        about = _verified(match)
        assert about.final_hash == str(match.hash)
        assert about.params == {name: str(value) for name, value in params.items()}
        assert about.players == ("someone",) * match.spec.seats
        for earlier in kept:  # copies are independent of what was played on
            assert _verified(earlier).ticks < match.tick or earlier.tick == match.tick


@pytest.mark.parametrize("game", ["minirts", "pommerman", "leduc_poker", "connect_four"])
def test_a_match_can_be_saved_in_the_middle_of_a_tick(game: str) -> None:
    rng = np.random.default_rng(3)
    match = Match(game, record=True)
    while not match.over and match.tick < 150:
        before = match.hash
        _decide(match, rng)
        if match.tick % 7 == 0:  # decided, not played: the tick is left out
            about = _verified(match)
            assert (about.over, about.final_hash) == (False, str(before))
        match.advance()
    _verified(match)


def test_a_refused_decision_is_not_recorded() -> None:
    match = Match("tic_tac_toe", record=True)
    match.play(4)
    before = match.replay()
    for seat, cell in ((0, 1), (1, 4), (1, 9), (1, -1)):
        with pytest.raises(GameError):
            match.act(seat, cell)
    with pytest.raises(GameError):
        match.bot(0, "perfect")
    with pytest.raises(ParamError):
        match.bot(1, "nosuch")
    with pytest.raises(GameError):
        match.advance()
    assert match.replay() == before
    for cell in (0, 3, 1, 5):
        match.play(cell)
    assert match.over
    with pytest.raises(GameError, match="the match is over"):
        match.advance()
    assert len(replays.decisions(match.replay())) == 5


def test_a_seat_that_may_not_decide_is_refused() -> None:
    match = Match("minirts", record=True)
    assert match.to_act == ()  # not at the very start
    with pytest.raises(GameError, match="minirts: seat 0 is not to move"):
        match.bot(0, "simple")
    with pytest.raises(GameError, match="minirts: seat 1 is not to move"):
        match.act(1, 0)
    assert not replays.decisions(match.replay())


def test_recording_changes_nothing_in_the_match() -> None:
    plain, recorded = (Match("minirts", seed=4, record=record) for record in (False, True))
    for match in (plain, recorded):
        for _ in range(300):
            for seat in match.to_act if match.tick % 50 == 0 else ():
                match.bot(seat, ("simple", "hit_and_run")[seat])
            match.advance()
    assert plain.state == recorded.state
    with pytest.raises(ParamError, match="not made to be recorded"):
        plain.replay()
    with pytest.raises(ParamError, match="not made to be recorded"):
        plain.clone().replay()


def test_names_of_players_are_bounded_text() -> None:
    match = Match("tic_tac_toe", record=True)
    names = ("<b>\n", "é" * 2048)
    assert replays.info(match.replay(names)).players == names
    assert replays.info(match.replay()).players == ("", "")
    for bad in (("a",), ("a", "é" * 2049), ("a", "\udcff")):
        with pytest.raises(ParamError):
            match.replay(bad)


def test_a_game_of_python_says_that_it_cannot_be_such_a_match() -> None:
    with pytest.raises(ParamError, match="is written in Python; this works with compiled games alone"):
        Match("gymnasium/CartPole-v1", record=True)

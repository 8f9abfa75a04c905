"""Masks: the bytes of each head, and the reason why a decision is refused."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from ludus.flow.masks import head_spans, illegal_choice
from ludus.flow.spec import GameSpec
from ludus.games import spec as spec_of
from ludus.games.exports.match import random_decision
from ludus.games.match import GameError, Match

UNITS = spec_of("minirts", {"commands": "units"})


def test_spans_follow_each_other_and_cover_the_mask() -> None:
    spans = head_spans(UNITS)
    assert [span.start for span in spans] == [0, *(span.stop for span in spans[:-1])]
    assert spans[-1].stop == UNITS.mask_size


@pytest.mark.parametrize("game", ["connect_four", "go", "tic_tac_toe", "leduc_poker"])
def test_exactly_the_decisions_that_the_core_takes_are_legal(game: str) -> None:
    match = Match(game, {}, seed=3)
    rng = np.random.default_rng(1)
    refused = 0
    while not match.over and match.tick < 60:
        (seat,) = match.to_act
        mask = match.legal(seat)
        for choice in range(-1, match.spec.heads[0].size + 1):
            legal = illegal_choice(match.spec, mask, (choice,)) == ""
            assert _takes(match, seat, (choice,)) == legal
            refused += not legal
        match.play(*map(int, random_decision(match.spec, mask, rng)))
    assert refused > 2 * match.tick


@pytest.mark.parametrize("commands", ["strategic", "tactical", "units", "combined"])
def test_decisions_of_heads_that_depend_on_others_are_read_from_their_tables(commands: str) -> None:
    match = Match("minirts", {"commands": commands}, seed=3)
    rng = np.random.default_rng(1)
    found = {True: 0, False: 0}
    while match.tick < 1_000 and not match.over:
        match.advance()
        if 0 not in match.to_act or match.tick % 10:
            continue
        mask = match.legal(0)
        drawn = tuple(map(int, random_decision(match.spec, mask, rng)))
        assert illegal_choice(match.spec, mask, drawn) == ""
        any_choice = tuple(int(rng.integers(head.size)) for head in match.spec.heads)
        legal = _by_hand(match.spec, mask, any_choice)
        assert (illegal_choice(match.spec, mask, any_choice) == "") == legal
        found[legal] += 1
        match.act(0, *drawn)
    assert found[False] >= 10


def _by_hand(spec: GameSpec, mask: npt.NDArray[np.uint8], action: tuple[int, ...]) -> bool:
    """Read the tables of a mask as :class:`ludus.flow.spec.HeadSpec` describes them, byte by byte."""
    at = 0
    for head, choice in zip(spec.heads, action, strict=True):
        allowed = [True] * head.size
        for sizes, row in [(spec.heads[d].size, action[d]) for d in head.depends_on] or [(1, 0)]:
            table = mask[at : at + sizes * head.size].tolist()
            allowed = [a and bool(table[row * head.size + k]) for k, a in enumerate(allowed)]
            at += sizes * head.size
        if not (allowed[choice] if any(allowed) else choice == 0):
            return False
    return True


def _takes(match: Match, seat: int, action: tuple[int, ...]) -> bool:
    try:
        match.clone().act(seat, *action)
    except GameError:
        return False
    return True


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ((), "0 numbers, expected 1: one per head"),
        ((1, 2), "2 numbers, expected 1: one per head"),
        ((7,), "column 7, expected 0 to 6"),
        ((-1,), "column -1, expected 0 to 6"),
        ((3,), "column d is not legal now"),
        ((2,), ""),
    ],
)
def test_a_refusal_names_the_choice(action: tuple[int, ...], why: str) -> None:
    match = Match("connect_four", {})
    for _ in range(6):
        match.play(3)
    assert illegal_choice(match.spec, match.legal(match.to_act[0]), action) == why

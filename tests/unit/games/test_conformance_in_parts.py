"""The contract of a compiled game is checked match by match, with the findings of one call."""

from __future__ import annotations

import pytest

from ludus.flow.inputs.decode import from_json
from ludus.games import Finding, check_game
from ludus.games.checks.conformance import merged
from ludus.native import core


@pytest.mark.parametrize("game", ["tic_tac_toe", "leduc_poker"])
def test_matches_are_counted_and_found_as_in_one_call(game: str) -> None:
    said: list[str] = []
    report = check_game(game, matches=4, seed=3, report=said.append)
    whole = from_json(core.conformance(game, {}, 3, 4), list[Finding])
    assert list(report.findings[: len(whole)]) == whole
    assert said[:4] == [f"the rules: match {m} of 4 by random decisions" for m in (1, 2, 3, 4)]


def test_a_match_is_the_same_in_any_part() -> None:
    assert core.conformance("tic_tac_toe", {}, 3, 0, 0, 5) != core.conformance("tic_tac_toe", {}, 3, 1, 0, 5)


def test_a_check_keeps_its_place_and_its_first_mistake() -> None:
    good, late = Finding("reset", True), Finding("mask", True)
    first, second = Finding("ticks", False, "tick 3: first"), Finding("ticks", False, "tick 1: second")
    found = merged([good, Finding("ticks", True)], [good, first, late])
    assert found == [good, first, late]
    assert merged(found, [good, second, Finding("mask", False, "none legal")]) == [
        *(good, first, Finding("mask", False, "none legal")),
    ]

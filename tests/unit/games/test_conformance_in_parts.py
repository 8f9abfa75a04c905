"""The contract of a compiled game is checked match by match, with the findings of one call."""

from __future__ import annotations

from typing import cast

import pytest

from ludus.flow.inputs.decode import from_json
from ludus.games import Finding, check_game
from ludus.games.checks.conformance import merged
from ludus.games.registry import GameRef
from ludus.native import NativeGames, core


@pytest.mark.parametrize("game", ["tic_tac_toe", "leduc_poker"])
def test_matches_are_counted_and_found_as_in_one_call(game: str) -> None:
    said: list[str] = []
    report = check_game(game, matches=4, seed=3, report=said.append)
    whole = from_json(core.conformance(game, {}, 3, 4), list[Finding])
    assert list(report.findings[: len(whole)]) == whole
    assert said[:4] == [f"the rules: match {m} of 4 by random decisions" for m in (1, 2, 3, 4)]


def test_every_match_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[tuple[int, int]] = []

    class Core:
        def conformance(
            self, game: str, params: object, seed: int, matches: int, most: int, first: int
        ) -> str:
            played.append((first, matches))
            return core.conformance(game, {}, seed, matches, most, first)

        def __getattr__(self, name: str) -> object:
            return getattr(core, name)

    game = GameRef("tic_tac_toe", cast(NativeGames, Core()))
    monkeypatch.setattr("ludus.games.checks.conformance.find", lambda reference: game)
    check_game("tic_tac_toe", matches=3)
    assert played == [(0, 1), (1, 1), (2, 1)]


def test_a_check_keeps_its_place_and_its_first_mistake() -> None:
    good, late = Finding("reset", True), Finding("mask", True)
    first, second = Finding("ticks", False, "tick 3: first"), Finding("ticks", False, "tick 1: second")
    found = merged([good, Finding("ticks", True)], [good, first, late])
    assert found == [good, first, late]
    assert merged(found, [good, second, Finding("mask", False, "none legal")]) == [
        *(good, first, Finding("mask", False, "none legal")),
    ]

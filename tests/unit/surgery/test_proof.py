"""Matches of the old network and of the new one, each under its own game, against the same opponent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from ludus.evaluation.results import EvalResult
from ludus.games import rulebook
from ludus.presets.config import Preset
from ludus.presets.file import load_preset
from ludus.surgery.plan import SurgeryError
from ludus.training.surgery import proof
from ludus.training.surgery.conversion import Pair
from ludus.training.surgery.proof import Strength, prove


def presets() -> tuple[Preset, Preset]:
    """Return a preset of MiniRTS, and one of another rulebook with the same bots."""
    old = load_preset("extended", {}).preset
    params = {"rulebook": "\n".join(f"{k}={v}" for k, v in rulebook.keys("extended").items())}
    return old, msgspec.structs.replace(old, game=msgspec.structs.replace(old.game, params=params))


def pair(before: Preset | None, after: Preset) -> Any:  # noqa: ANN401
    plan = SimpleNamespace(old_spec="a", new_spec="b", exact=True)
    weights = SimpleNamespace(meta=SimpleNamespace(version=3))
    return Pair(SimpleNamespace(plan=plan), weights, weights, after, before)  # type: ignore[arg-type]


Played = list[tuple[str, str, int, dict[str, str]]]


def play(monkeypatch: pytest.MonkeyPatch, shares: dict[str, float]) -> Played:
    """Let matches end with the given shares of a player, 0.05 around each, and return what was played."""
    played: Played = []

    def result(*of: Any) -> tuple[EvalResult, list[Any]]:  # noqa: ANN401
        spec, params, player, against, settings = of
        played.append((player.name, against.name, settings.seed, params))
        share = shares[player.name]
        low, high = share - 0.05, share + 0.05
        numbers: dict[str, Any] = {"wins": 1, "draws": 0, "losses": 1, "score": share, "errors": 0, "seed": 0}
        numbers |= {"mean_ticks": 1.0, "mean_return": 0.0, "game": spec.name}
        names = {"player": player.name, "against": against.name, "matches": settings.matches}
        return EvalResult(win_rate=share, ci_low=low, ci_high=high, **names, **numbers), []

    monkeypatch.setattr(proof, "play_evaluation", result)
    monkeypatch.setattr(
        proof, "network_of", lambda *_: SimpleNamespace(config=SimpleNamespace(output="policy"))
    )
    monkeypatch.setattr(proof, "gives_q_values", lambda _: False)
    monkeypatch.setattr(proof, "NetworkActor", lambda *_: None)
    return played


def test_both_meet_one_bot_under_their_own_games_with_equal_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = presets()
    played = play(monkeypatch, {"old": 0.50, "new": 0.58})
    found = prove(pair(old, new), verify=False, matches=40)
    assert not found.failure
    assert [p[:3] for p in played] == [("old", "rush", old.run.seed), ("new", "rush", old.run.seed)]
    assert played[0][3] != played[1][3]
    assert found.apart[0] == Strength("old", "rush", 40, 0.5, (0.45, 0.55))
    assert "new won 58.0% (53.0 to 63.0%) of 40 against rush" in found.lines()


def test_shares_whose_intervals_have_nothing_in_common_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = presets()
    play(monkeypatch, {"old": 0.50, "new": 0.30})
    found = prove(pair(old, new), verify=False, matches=40)
    assert found.failure.startswith("verification failed: old won 50.0%")
    assert len(found.apart) == 2


def test_a_file_without_a_run_has_no_game_to_play(monkeypatch: pytest.MonkeyPatch) -> None:
    played = play(monkeypatch, {})
    with pytest.raises(SurgeryError, match="a weights file does not name the game's parameters"):
        prove(pair(None, presets()[1]), verify=False, matches=40)
    assert not played

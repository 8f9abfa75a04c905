"""Matches of the old network and of the new one, each under its own game, against the same opponent."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from ludus.evaluation.progress import MatchProgress
from ludus.flow import MatchResult
from ludus.games import rulebook
from ludus.presets.config import Preset
from ludus.presets.file import load_preset
from ludus.surgery.plan import SurgeryError
from ludus.training.surgery import proof
from ludus.training.surgery.conversion import Pair
from ludus.training.surgery.proof import prove


def presets() -> tuple[Preset, Preset]:
    """Return a preset of MiniRTS, and one of another rulebook with the same bots."""
    old = load_preset("extended", {}).preset
    params = {"rulebook": "\n".join(f"{k}={v}" for k, v in rulebook.keys("extended").items())}
    return old, msgspec.structs.replace(old, game=msgspec.structs.replace(old.game, params=params))


def pair(before: Preset | None, after: Preset) -> Any:  # noqa: ANN401
    plan = SimpleNamespace(old_spec="a", new_spec="b", exact=True)
    weights = SimpleNamespace(meta=SimpleNamespace(version=3))
    return Pair(SimpleNamespace(plan=plan), weights, weights, after, before)  # type: ignore[arg-type]


class Matches:
    """Stand-in for matches: a side's outcomes by name, match by match, and a record of the calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **outcomes: Callable[[int], float]) -> None:
        self.outcomes = outcomes
        self.asked: list[tuple[str, str, int, int]] = []
        self.params: list[dict[str, str]] = []
        self.match = dict.fromkeys(outcomes, 0)
        monkeypatch.setattr(proof, "play_matches", self.play)
        network = SimpleNamespace(config=SimpleNamespace(output="policy"))
        monkeypatch.setattr(proof, "network_of", lambda *_: network)
        monkeypatch.setattr(proof, "gives_q_values", lambda _: False)
        monkeypatch.setattr(proof, "NetworkActor", lambda *given: given[1])  # its seed

    def play(self, *of: Any) -> list[MatchResult]:  # noqa: ANN401
        _, params, player, against, settings, hooks = of
        self.asked.append((player.name, against.name, settings.matches, settings.seed))
        self.params.append(params)
        results = []
        for m in range(settings.matches):
            number, self.match[player.name] = self.match[player.name], self.match[player.name] + 1
            score = self.outcomes[player.name](number)
            seats = (m % 2, 1 - m % 2)
            outcome = (score, -score) if seats[0] == 0 else (-score, score)
            results.append(MatchResult(m, 0, m, 7, 7, outcome, outcome, ("a", "b"), seats))
        hooks.played(7 * settings.matches)
        hooks.finished(results)
        return results


def share(better: float, worse: float) -> Callable[[int], float]:
    """Return outcomes that are evenly mixed, with these shares of won and lost matches in 100."""

    def score(m: int) -> float:
        place = m * 37 % 100
        return 1.0 if place < round(100 * better) else -1.0 if place < round(100 * (better + worse)) else 0.0

    return score


def same_rules(preset: Preset) -> Any:  # noqa: ANN401
    plan = SimpleNamespace(old_spec="a", new_spec="a", exact=True)
    return pair(None, preset)._replace(conversion=SimpleNamespace(plan=plan))


def test_both_meet_one_bot_under_their_own_games_with_equal_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = presets()
    played = Matches(monkeypatch, old=share(0.5, 0.5), new=share(0.55, 0.45))
    found = prove(pair(old, new), verify=False, matches=100)
    assert not found.failure
    assert [a[:3] for a in played.asked] == [("old", "rush", 24), ("new", "rush", 24)] * 3 + [
        ("old", "rush", 28),
        ("new", "rush", 28),
    ]
    seeds = [a[3] for a in played.asked]
    assert seeds[0] == new.run.seed
    assert seeds[::2] == seeds[1::2]
    assert len(set(seeds)) == 4  # new matches at each look
    assert played.params[0] != played.params[1]
    assert [(s.player, s.against, s.matches, s.share) for s in found.apart] == [
        ("old", "rush", 100, 0.5),
        ("new", "rush", 100, 0.55),
    ]
    assert (found.decided, found.won, found.verdict) == (5, 5, "undecided")
    assert found.lines()[1].startswith("new won 55.0% (45.2 to 64.4%) of 100 against rush")
    assert found.lines()[2].startswith("new was better in 5 of 100 matches, worse in 0 (")


def test_equal_results_on_both_sides_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = presets()
    Matches(monkeypatch, old=share(0.3, 0.5), new=share(0.3, 0.5))
    found = prove(pair(old, new), verify=False, matches=20)
    assert (found.verdict, found.repeat, found.failure) == ("equal", 0, "")
    assert found.lines()[-1] == "the same result in all 20 matches: equal"


def test_a_network_that_lost_strength_fails_at_an_early_look(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = presets()
    played = Matches(monkeypatch, old=share(0.9, 0.1), new=share(0.1, 0.9))
    found = prove(pair(old, new), verify=False, matches=200)
    assert found.failure.startswith("verification failed: old won 90.0% (")
    assert "new was better in 0 of 50 matches, worse in 40 (" in found.failure
    assert "equal networks differ so far in fewer than 1 of 1,000 tests" in found.failure
    assert len(played.asked) == 2


@pytest.mark.parametrize(
    ("better", "worse", "matches", "verdict", "line"),
    [
        # 16 of 20 was refused, by an interval that leaves out a half for one of 20 pairs of equal networks
        (
            0.8,
            0.2,
            20,
            "undecided",
            "new won 16 of 20 decided matches (58.4 to 91.9%): undecided, a difference of",
        ),
        (
            0.5,
            0.5,
            600,
            "equal",
            "new won 300 of 600 decided matches (46.0 to 54.0%): equal within 10 points",
        ),
        (0.0, 0.0, 40, "equal", "no winner in all 40 matches: equal"),
        (0.2, 0.2, 40, "undecided", "new won "),
        (0.4, 0.6, 600, "differ", "new won "),
        (0.6, 0.4, 600, "differ", "new won "),
    ],
)
def test_matches_of_both_have_one_of_three_outcomes(
    monkeypatch: pytest.MonkeyPatch, better: float, worse: float, matches: int, verdict: str, line: str
) -> None:
    played = Matches(monkeypatch, new=share(better, worse))
    seen: list[MatchProgress] = []
    found = prove(same_rules(presets()[1]), verify=False, matches=matches, watch=seen.append)
    assert found.verdict == verdict
    assert found.lines()[-1].startswith(line)
    assert bool(found.failure) == (verdict == "differ")
    assert (found.repeat > matches) == (verdict == "undecided")
    assert verdict != "undecided" or found.lines()[-1].endswith(f"repeat with {found.repeat} matches")
    assert {a[:2] for a in played.asked} == {("new", "old")}
    (progress,) = seen
    assert progress.text().startswith(f"{found.matches:,} of {matches:,} matches are over, ")


def test_a_repetition_with_as_many_matches_as_are_named_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    for better in (0.42, 0.47, 0.5, 0.56):
        Matches(monkeypatch, new=share(better, 0.9 - better))
        pair_ = same_rules(presets()[1])
        first = prove(pair_, verify=False, matches=100)
        assert first.verdict == "undecided"
        Matches(monkeypatch, new=share(better, 0.9 - better))
        again = -(-first.repeat // 100) * 100  # by hundreds the share stays
        assert prove(pair_, verify=False, matches=again).verdict != "undecided", better


def test_a_file_without_a_run_has_no_game_to_play(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Matches(monkeypatch)
    with pytest.raises(SurgeryError, match="a weights file does not name the game's parameters"):
        prove(pair(None, presets()[1]), verify=False, matches=40)
    assert not played.asked

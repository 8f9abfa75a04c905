"""Runs of games with one seat: returns take the place of win rates, from training to report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ludus.cli.commands.evaluate import document, show
from ludus.cli.update_texts import interval_text
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.results import ALONE, EvalResult, summarise
from ludus.evaluation.settings import MatchSettings
from ludus.flow import MatchResult
from ludus.flow.inputs.decode import from_json, to_json
from ludus.games.names import typed
from ludus.presets.errors import ConfigError, RunFailed
from ludus.presets.file import load_preset
from ludus.ratings import mean_interval
from ludus.reporting.metrics import EvaluationMetrics
from ludus.training.actor_learner.rollout_summary import RolloutSummary, running_return, summarise_rollout
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

GAME = typed(str(Path(__file__).parents[1] / "pool" / "hosted_games.py"))
PRESET = """
[game]
name = "{game}"
params = {{ {params} }}
[pool]
slots = 8
rollout_length = 16
timeout_s = 20.0
on_error = "{on_error}"
[policy]
dense = []
hidden = [8]
[evaluation]
every_steps = 400
matches = 10
final_matches = 12
[run]
max_steps = 900
threads = 2
target = {target}
"""


def preset(folder: Path, params: str = "", on_error: str = "continue", target: float = 0.0) -> Path:
    path = folder / "walk.toml"
    path.write_text(PRESET.format(game=GAME, params=params, on_error=on_error, target=target))
    return path


def result(total: float, ticks: int = 5, error: str = "") -> MatchResult:
    return MatchResult(0, 0, 1, ticks, ticks, (0.0,), (total,), ("policy:0",), (0,), error=error)


NO_RATES = dict.fromkeys(("win_rate", "ci_low", "ci_high", "wins", "draws", "losses", "score"))


def test_a_game_without_winners_has_no_win_rate() -> None:
    """Results in Python, in JSON and in text have none."""
    rated = summarise([result(1.0), result(3.0)], player="me", against=ALONE, game="walk", seed=1)
    assert {name: getattr(rated, name) for name in NO_RATES} == NO_RATES
    assert (rated.win_rate_by_seat, rated.measure, rated.counts) == ((), 2.0, (0, 0, 0))
    written = from_json(to_json(rated), dict[str, object])
    assert {name: written[name] for name in NO_RATES} == NO_RATES
    assert from_json(to_json(rated), EvalResult) == rated
    assert "%" not in interval_text(rated)
    shown = document(rated)
    assert not (set(NO_RATES) | {"win_rate_by_seat"}) & set(shown)
    numbers = EvaluationMetrics(1, 1, 0.0, False, (rated,)).numbers
    assert not any("win" in name or "ci_" in name for name in numbers)


def test_a_game_of_one_seat_with_winners_has_win_rates() -> None:
    won = MatchResult(0, 0, 1, 5, 5, (1.0,), (3.0,), ("policy:0",), (0,))
    rated = summarise([won, result(1.0)], player="me", against=ALONE, game="walk", seed=1)
    assert (rated.win_rate, rated.counts) == (0.5, (1, 1, 0))
    assert "won 50.0%" in interval_text(rated)


@pytest.mark.parametrize("against", [ALONE, "random"])
def test_without_a_match_there_is_no_result(against: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An error of the game ends every match."""
    lost = [result(0.0, error="step: no")] * 3
    rated = summarise(lost, player="me", against=against, game="walk", seed=1)
    assert (rated.errors, rated.matches, rated.win_rate, rated.score) == (3, 0, None, None)
    shown = document(rated)
    assert shown["mean_return"] is None
    assert shown.get("win_rate") is None
    show(rated, [])
    assert capsys.readouterr().out == "me at walk: no match was played to its end\n"


def test_the_interval_of_a_mean_covers_it_95_times_in_100() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        values = rng.normal(3.0, 2.0, 8)
        got = mean_interval(values)
        inside += got.low <= 3.0 <= got.high
    assert 365 <= inside <= 395  # 95 % of 400 is 380
    assert mean_interval([]) == type(mean_interval([]))(0.0, 0.0, 0.0, 0.0)
    assert mean_interval([2.0]).low == 2.0
    wide = mean_interval(np.arange(2000) % 2)
    assert wide.high - wide.mean == pytest.approx(1.96 * wide.deviation / 2000**0.5, rel=1e-3)


def test_summaries_hold_the_mean_return() -> None:
    some = [result(1.0), result(2.0), result(6.0), result(9.0, error="step: no")]
    rated = summarise(some, player="me", against=ALONE, game="walk", seed=1)
    assert (rated.alone, rated.mean_return, rated.matches, rated.errors) == (True, 3.0, 3, 1)
    assert rated.measure_low < 3.0 == rated.measure < rated.measure_high
    summary = summarise_rollout(some, 10, 10, {})
    assert (summary.outcomes, summary.matches, summary.errors) == ({}, 3, 1)
    assert summary.first_error == "slot 0, match 0, seed 1, tick 5: step: no"
    assert running_return(None, summary) == 3.0
    assert running_return(5.0, RolloutSummary()) == 5.0
    assert 4.9 < (running_return(5.0, summary) or 0.0) < 5.0


def test_a_run_reports_mean_returns_in_place_of_win_rates(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = start_run(load_preset(str(preset(tmp_path))).preset, run)
    (final,) = done.final
    assert (final.alone, final.against, final.matches, final.errors) == (True, ALONE, 12, 0)
    assert 0 < final.return_low <= final.mean_return <= final.return_high <= 30
    report = (run / "report.md").read_text()
    assert "## Mean return while training" in report
    assert "| 12 | " in report
    assert "Win rate" not in report
    again = evaluate(f"{run}@best", settings=MatchSettings(matches=12))
    assert again.alone
    with pytest.raises(ConfigError, match="has one seat, expected no opponent"):
        evaluate(f"{run}@best", "random", MatchSettings(matches=2))
    assert evaluate("random", settings=MatchSettings(matches=4), game=GAME).mean_return > 0

    more = resume_run(
        run, more=lambda p: load_preset(str(run / "config.toml"), {"run.max-steps": "1500"}).preset
    )
    assert more.steps >= 1500


@pytest.mark.slow
def test_a_mean_return_above_the_target_ends_the_run(tmp_path: Path) -> None:
    done = start_run(load_preset(str(preset(tmp_path, target=0.5))).preset, tmp_path / "run")
    assert done.reason.startswith("target = 0.5 reached (lower bound ")
    assert done.steps < 900


def test_a_failed_match_stops_the_run_only_if_the_preset_asks(tmp_path: Path) -> None:
    broken = 'trouble = "step-raise", at = 4, seed = -1'
    with pytest.raises(
        RunFailed, match=r"walk: match \d+ \(slot \d, seed \d+\) failed at tick 4: step: ValueError"
    ):
        start_run(load_preset(str(preset(tmp_path, broken, "stop"))).preset, tmp_path / "stops")
    with pytest.raises(RunFailed, match=r"no match was played to its end any more: slot .* the rules broke"):
        start_run(load_preset(str(preset(tmp_path, broken))).preset, tmp_path / "goes")
    log = (tmp_path / "goes" / "log.txt").read_text()
    assert "matches ended by an error of the game (version 1); the first: slot" in log

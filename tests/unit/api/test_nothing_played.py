"""Evaluations in which no match was played to its end, and results besides the winner."""

from __future__ import annotations

import json

import pytest

import ludus
from ludus.cli.__main__ import main
from ludus.cli.update_texts import interval_text
from ludus.evaluation import evaluate as module
from ludus.evaluation.results import EvalResult, summarise
from ludus.evaluation.settings import MatchSettings
from ludus.evaluation.tournament import tournament
from ludus.flow import MatchResult
from ludus.presets.errors import ConfigError, RunFailed
from ludus.reporting.metrics import EvaluationMetrics
from ludus.reporting.report import _result_table

TOLD = "no match was played to its end: match 0, tick 7: step: RuntimeError: boom 0"


def match(number: int, *returns: float, error: str = "") -> MatchResult:
    seats = max(1, len(returns))
    signs = [0.0 if error else float((r > 0) - (r < 0)) for r in returns]
    return MatchResult(
        match=number,
        slot=0,
        seed=1,
        ticks=7,
        decisions=3,
        outcome=tuple(signs) if seats > 1 else (0.0,),
        returns=returns or (0.0,),
        players=("a",) * seats,
        plan_of_seat=tuple(range(seats)),
        error=error,
    )


def result(matches: list[MatchResult], against: str = "random", game: str = "tic_tac_toe") -> EvalResult:
    return summarise(matches, player="random", against=against, game=game, seed=1)


@pytest.fixture(params=["tic_tac_toe", "tower_defense"])
def failing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the command of an evaluation in which every match fails, in a game of two seats and of one."""
    alone = request.param == "tower_defense"
    found = [
        match(m, *([0.0] * (1 if alone else 2)), error=f"step: RuntimeError: boom {m}") for m in (2, 0, 1)
    ]
    whole = result(found, "alone" if alone else "random", request.param)
    monkeypatch.setattr(module, "play_evaluation", lambda *args, **options: (whole, found))
    return ["random", *([] if alone else ["--against", "random"]), "--game", request.param, "--matches", "3"]


def test_the_document_has_null_for_missing_numbers(
    failing: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", *failing, "--json"]) == 1
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["matches"], document["errors"]) == (0, 3)
    assert document["mean_return"] is document["return_low"] is document["mean_ticks"] is None
    assert document.get("win_rate") is document.get("score") is document.get("ci_high") is None
    assert document["first_error"] == "match 0, tick 7: step: RuntimeError: boom 0"
    assert err == f"{TOLD}\n"


def test_the_text_is_only_the_error(failing: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", *failing]) == 1
    assert capsys.readouterr() == ("", f"{TOLD}\n")


def test_python_raises_the_error(failing: list[str]) -> None:
    against = "random" if "--against" in failing else ""
    with pytest.raises(RunFailed, match=TOLD):
        ludus.evaluate("random", against, game=failing[-3], matches=3)
    if against:
        with pytest.raises(ConfigError, match="uniform: 3 matches failed; the first: match 0"):
            tournament(["random", "uniform"], MatchSettings(matches=3), game=failing[-3])


def test_reports_and_lines_of_a_run_show_the_error(failing: list[str]) -> None:
    found, _ = module.play_evaluation()  # type: ignore[attr-defined, call-arg]
    assert interval_text(found) == TOLD
    assert TOLD in "\n".join(_result_table([found]))
    assert EvaluationMetrics(1, 1, 0.0, False, (found,)).numbers == {}


def test_one_failed_match_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [match(0, 1.0, -1.0), match(1, 0.0, 0.0, error="step: no")]
    monkeypatch.setattr(module, "play_evaluation", lambda *args, **options: (result(found), found))
    assert main(["eval", "random", "--against", "random", "--game", "tic_tac_toe", "--matches", "2"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("random against random at tic_tac_toe: won 100.0% of 1 matches")
    assert err.startswith("1 matches ended by an error of the game")
    assert ludus.evaluate("random", "random", game="tic_tac_toe", matches=2).errors == 1


def test_draws_and_chips_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [match(0, 13.0, -13.0), match(1, -1.0, 1.0), match(2, 0.0, 0.0), match(3, -1.0, 1.0)]
    monkeypatch.setattr(module, "play_evaluation", lambda *args, **options: (result(found), found))
    assert main(["eval", "random", "--against", "random", "--game", "leduc_poker", "--matches", "4"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "won 25.0% of 4 matches" in shown
    assert "score 37.5%, a draw is half a win" in shown
    assert "mean return 2.75 (95% interval -8.15 to 13.65)" in shown
    plain = [match(0, 1.0, -1.0), match(1, -1.0, 1.0)]
    monkeypatch.setattr(module, "play_evaluation", lambda *args, **options: (result(plain), plain))
    assert main(["eval", "random", "--against", "random", "--game", "tic_tac_toe", "--matches", "2"]) == 0
    shown = capsys.readouterr().out
    assert "return" not in shown
    assert "half" not in shown


def test_one_match_has_no_interval_of_its_return(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [match(0, 7.5)]
    whole = result(found, "alone", "tower_defense")
    monkeypatch.setattr(module, "play_evaluation", lambda *args, **options: (whole, found))
    assert main(["eval", "random", "--game", "tower_defense", "--matches", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["mean_return"] == 7.5
    assert document["return_low"] is document["return_high"] is document["return_deviation"] is None
    assert main(["eval", "random", "--game", "tower_defense", "--matches", "1"]) == 0
    first, *rows = capsys.readouterr().out.splitlines()
    assert first.endswith("mean return 7.50 over 1 matches")
    assert not any("deviation" in row for row in rows)

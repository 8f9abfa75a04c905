"""Named scores of a run: its metrics, the lines of its matches, its report and the words of its display."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ludus.cli.update_texts import interval_text
from ludus.evaluation.results import ALONE, EvalResult, summarise
from ludus.evaluation.scores import named_scores
from ludus.flow import MatchResult
from ludus.games.names import typed
from ludus.presets.checks.game import check_game
from ludus.presets.file import PresetError, load_preset, parse_preset
from ludus.reporting.measures import measures_of, point_of
from ludus.reporting.metrics import EvaluationMetrics, metrics_of, metrics_row
from ludus.reporting.report import _score_curve, _score_table
from ludus.reporting.series import series_of
from ludus.storage import read_jsonl
from ludus.training.candidates import score_of
from ludus.training.run_evaluator import match_row
from ludus.training.runs import start_run

ARENA = typed(str(Path(__file__).parents[2] / "scored_games.py"))
NAMES = ("frags", "best_bot")
PRESET = """
[game]
name = "{game}"
params = {{ players = {players}, bots = 2, ticks = 6 }}
{opponents}
[pool]
slots = 4
groups = 1
threads = 1
rollout_length = 8
[policy]
dense = [8]
hidden = [8]
[evaluation]
{against}
every_steps = 100
matches = 4
final_matches = 6
[run]
max_steps = 200
threads = 1
"""


def played() -> list[MatchResult]:
    return [
        MatchResult(m, 0, 1, 9, 9, (0.0,), (0.5,), ("a",), (0,), scores=((float(m), 7.0),)) for m in range(5)
    ]


def result(against: str = ALONE) -> EvalResult:
    known = summarise(played(), player="a", against=against, game="arena", seed=1)
    return msgspec.structs.replace(known, named_scores=named_scores(played(), NAMES, (0,)))


def test_a_metrics_row_has_each_score_with_its_bounds() -> None:
    row = metrics_row(EvaluationMetrics(3, 10, 0.5, True, (result("./x/score"),)))
    assert row["eval/./x/score/score/frags"] == 2.0
    frags = result().named_scores[0]
    assert row["eval/./x/score/score_low/frags"] == pytest.approx(frags.low)
    assert row["eval/./x/score/score_high/best_bot"] == pytest.approx(7 + 1 - 0.05 ** (1 / 5))
    found = metrics_of(msgspec.json.decode(msgspec.json.encode(row)))
    assert isinstance(found, EvaluationMetrics)
    assert found.results[0].named_scores == result().named_scores


def test_scores_are_curves_and_no_measures() -> None:
    evaluation = EvaluationMetrics(3, 10, 0.5, True, (result(),))
    (measure,) = measures_of([point_of(evaluation)])
    assert measure.kind == "return"
    against = EvaluationMetrics(3, 10, 0.5, True, (result("simple"),))
    titles = {s.name: s.title for s in series_of(against.numbers)}
    assert titles["eval/simple/score/best_bot"] == "Best bot against simple, evaluations"
    assert not any("score_low" in name or "score_high" in name for name in titles)


def test_older_results_without_scores_are_read() -> None:
    row = metrics_row(EvaluationMetrics(3, 10, 0.5, True, (result(),)))
    old = msgspec.json.decode(msgspec.json.encode(row))
    for name in ("named_scores", "seats", "own_plans"):
        del old["results"][0][name]
    found = metrics_of(old)
    assert isinstance(found, EvaluationMetrics)
    assert (found.results[0].named_scores, found.results[0].own_plans) == ((), (0,))


def test_a_line_of_a_match_has_each_score_of_each_seat() -> None:
    one = msgspec.structs.replace(played()[3], scores=((3.0, 7.0), (1.0, 7.0)))
    assert match_row(one, 0, 1, NAMES)["scores"] == {"frags": [3.0, 1.0], "best_bot": [7.0, 7.0]}
    assert "scores" not in match_row(msgspec.structs.replace(one, scores=()), 0, 1, NAMES)


def test_the_report_and_the_display_have_means_with_intervals() -> None:
    assert _score_table([msgspec.structs.replace(result(), named_scores=())]) == []
    lines = _score_table([result()])
    assert lines[2] == "| alone | frags | 2.00 | 0.04 to 3.96 | 1.58 |"
    assert interval_text(result()).endswith(", frags 2.0 [0.0, 4.0]")


@pytest.mark.slow
@pytest.mark.parametrize("players", [1, 3])
def test_a_run_keeps_the_scores_of_its_evaluations(players: int, tmp_path: Path) -> None:
    several = players > 1
    opponents = '[[opponents]]\nname = "latest"' if several else ""
    against = 'against = ["random"]' if several else ""
    text = PRESET.format(game=ARENA, players=players, opponents=opponents, against=against)
    start_run(parse_preset(text.encode(), "arena").preset, tmp_path / "run")
    name = "random" if several else "alone"
    rows = [r for r in read_jsonl(tmp_path / "run" / "metrics.jsonl") if r.get("kind") == "evaluation"]
    assert len(rows) > 2
    assert all(
        f"eval/{name}/score/frags" in r or f"final/{name}/score/frags" in r for r in rows if not r["playoff"]
    )
    matches = list(read_jsonl(tmp_path / "run" / "matches.jsonl"))
    assert matches
    for m in matches:
        scores = m["scores"]
        assert isinstance(scores, dict)
        assert list(scores) == ["frags", "place", "best_bot"]
        assert all(len(of_seats) == players for of_seats in scores.values())
    report = (tmp_path / "run" / "report.md").read_text()
    assert f"| {name} | frags | " in report


def test_versions_are_compared_by_a_named_score() -> None:
    results = [result("simple"), msgspec.structs.replace(result("rush"), named_scores=())]
    frags = result().named_scores[0]
    assert score_of(results[:1], "frags") == pytest.approx(frags.low)
    assert score_of(results, "frags") == pytest.approx(frags.low / 2)  # a result without matches counts as 0
    assert score_of(results[:1]) == results[0].measure_low != frags.low


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("frag", r"unknown score frag of arena \(did you mean frags\?\)"),
        ("place", 'evaluation.score = "place": expected a score that is better the higher it is'),
    ],
)
def test_a_wrong_score_is_refused(name: str, text: str, tmp_path: Path) -> None:
    preset = PRESET.format(game=ARENA, players=1, opponents="", against=f'score = "{name}"')
    (tmp_path / "arena.toml").write_text(preset)
    with pytest.raises(PresetError, match=text):
        check_game(load_preset(str(tmp_path / "arena.toml")))


def test_a_score_of_a_game_without_scores_is_refused() -> None:
    with pytest.raises(PresetError, match="tic_tac_toe names no scores"):
        check_game(load_preset("tic_tac_toe", {"evaluation.score": "frags"}))


def test_the_report_has_scores_over_steps() -> None:
    evaluations = [EvaluationMetrics(v, 10 * v, 0.5, True, (result(),)) for v in range(3)]
    lines = _score_curve(evaluations)
    assert lines[2] == "| steps | version | frags | best_bot |"
    assert lines[6] == "| 20 | 2 | 2.0 (0.0 to 4.0) | 7.0 (6.5 to 7.5) |"
    assert _score_curve([msgspec.structs.replace(evaluations[0], results=())]) == []

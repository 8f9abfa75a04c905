"""Strength of a run among plain searches: in its log, its lines, its report, its result and its page."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ludus.cli.commands.train import show_ending
from ludus.cli.line_view import LineView
from ludus.evaluation import ladder
from ludus.evaluation.results import EvalResult
from ludus.ratings.ladder import LadderRating
from ludus.reporting.measures import measures_of, point_of
from ludus.reporting.metrics import EvaluationMetrics, metrics_of, metrics_row
from ludus.reporting.run_view import RunView
from ludus.storage import read_jsonl
from ludus.training.runs import start_run

from .runs import resume_run, small_preset


def result(against: str, wins: int, draws: int = 0, matches: int = 100) -> EvalResult:
    return EvalResult(
        player="RUN@7",
        against=against,
        game="go",
        matches=matches,
        win_rate=wins / matches,
        ci_low=0.0,
        ci_high=1.0,
        wins=wins,
        draws=draws,
        losses=matches - wins - draws,
        score=(wins + 0.5 * draws) / matches,
        mean_ticks=30.0,
        mean_return=0.0,
        errors=0,
        seed=1,
    )


def rated(*results: EvalResult) -> LadderRating:
    found = ladder.rate([results])
    assert found is not None
    return found


def evaluation(*results: EvalResult, steps: int = 500) -> EvaluationMetrics:
    return EvaluationMetrics(7, steps, 0.4, False, results, ladder=ladder.rate([results]))


def test_only_plain_searches_are_rungs() -> None:
    named = ("mcts:400", "mcts:1", "mcts:0", "mcts:400,c_puct=2", "mcts", "mcts:4e2", "RUN@7+search:400")
    assert [ladder.visits_of(name) for name in named] == [400, 1, None, None, None, None, None]
    assert ladder.rate([[result("random", 90), result("mcts:40,rollouts=2", 10)]]) is None
    assert rated(result("random", 90), result("mcts:40", 10)).rungs == (40,)
    failed = msgspec.structs.replace(result("mcts:40", 0), matches=0, errors=4, win_rate=None, score=None)
    assert ladder.rate([[failed]]) is None


@pytest.mark.parametrize(
    ("results", "words"),
    [
        (
            (result("mcts:100", 75), result("mcts:400", 25)),
            "plays about as mcts:200 (95% interval: mcts:150 to mcts:270)",
        ),
        (
            (result("mcts:50", 100), result("mcts:400", 55)),
            "plays about as mcts:400 (95% interval: at least mcts:360)",
        ),
        (
            (result("mcts:50", 45), result("mcts:400", 2)),
            "plays about as mcts:50 (95% interval: at most mcts:58)",
        ),
        ((result("mcts:400", 50),), "plays about as mcts:400"),
        ((result("mcts:400", 0, draws=100),), "plays about as mcts:400"),
        ((result("mcts:50", 100), result("mcts:400", 90)), "plays above mcts:400"),
        ((result("mcts:50", 2), result("mcts:400", 0)), "plays below mcts:50"),
        ((result("mcts:50", 2, matches=4), result("mcts:400", 1, matches=4)), ""),
    ],
)
def test_strength_in_words(results: tuple[EvalResult, ...], words: str) -> None:
    made = rated(*results)
    assert ladder.in_words(made) == words
    assert words.startswith(ladder.brief(made))
    assert ladder.in_words(None) == ""


def test_it_stands_in_the_row_and_its_numbers() -> None:
    made = evaluation(result("random", 99), result("mcts:100", 75), result("mcts:400", 25))
    row = metrics_row(made)
    assert row["eval/mcts/visits"] == 200.0
    assert row["eval/mcts:100/elo_low"] < row["eval/mcts:100/elo"] < row["eval/mcts:100/elo_high"]  # type: ignore[operator]
    assert "eval/mcts:400/elo" not in row
    assert metrics_of(msgspec.json.decode(msgspec.json.encode(row), type=dict[str, object])) == made
    assert "ladder" not in metrics_row(evaluation(result("random", 99)))


def test_a_plot_of_elo_stands_beside_that_of_win_rates() -> None:
    both = [evaluation(result("mcts:100", wins), steps=steps) for steps, wins in ((0, 10), (900, 60))]
    rates, elo = measures_of(map(point_of, both), [])
    assert (rates.title, rates.kind) == ("Win rate against mcts:100, evaluations", "rate")
    assert (elo.title, elo.kind, elo.axis) == ("Elo against mcts:100, evaluations", "elo", "Elo, evaluations")
    first, last = elo.lines[0].values
    assert first.value < 0 < last.value


def test_lines_without_a_terminal_say_it(capsys: pytest.CaptureFixture[str]) -> None:
    LineView().evaluation(evaluation(result("mcts:100", 75), result("mcts:400", 25)))
    assert "of 100; plays about as mcts:200 (95% interval: mcts:150 to mcts:270)\n" in capsys.readouterr().err


def test_a_run_reports_it_and_a_resumed_run_knows_what_was_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings: dict[str, object] = {
        "run__max_steps": 300,
        "run__lag": "sync",
        "evaluation__against": "mcts:2,mcts:8",
        "evaluation__every_steps": 100,
        "evaluation__matches": 6,
        "evaluation__final_matches": 8,
    }
    run = tmp_path / "run"
    start_run(small_preset(**settings), run)

    def more(preset: object) -> object:
        return small_preset(**settings | {"run__max_steps": 500})

    resumed = resume_run(run, more=more)  # type: ignore[arg-type]
    rows = RunView.open(run).metrics().evaluations
    assert all(e.ladder is not None and e.ladder.rungs == (2, 8) for e in rows)
    for place, row in enumerate(rows):  # each is rated with all before it, also those of the first process
        assert row.ladder == ladder.rate([e.results for e in rows[: place + 1]])
    assert rows[-1].final
    assert resumed.ladder == rows[-1].ladder
    report = (run / "report.md").read_text()
    assert "| steps | version | mcts:2 | mcts:8 | strength |" in report
    assert ladder.elo_in_words(rows[-1].ladder) in report  # type: ignore[arg-type]
    show_ending(resumed, "tic_tac_toe", as_json=False)
    out = capsys.readouterr().out
    assert (ladder.in_words(resumed.ladder) or "next steps") in out
    assert any("eval/mcts:2/elo" in row for row in read_jsonl(run / "metrics.jsonl"))

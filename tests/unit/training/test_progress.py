"""Descriptions of a run's current work, for every method and before its first update."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ludus.evaluation.play import play_evaluation
from ludus.presets.config import Preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.reporting.sinks import RunStart
from ludus.training.runs import start_run

from .league.test_league_runs import league_preset
from .runs import Recorder, small_preset
from .test_alphazero import preset as alphazero_preset
from .test_dqn_runs import preset_of as dqn_preset

PLAYING = r"matches are being played: [\d,]+ time steps of [\d,]+ matches at a time"
RATING = (
    r"(evaluation of (the initial weights|version \d+)|play-off|uniform play|final matches): "
    r"[\d,]+ of [\d,]+ matches are over, [\d,]+ (moves|ticks)(, (about|at most) \d+:\d\d min left)?"
)
SHORT = {"run__max_steps": 300, "evaluation__matches": 4, "evaluation__final_matches": 4}
METHODS: dict[str, tuple[Callable[[], Preset], str]] = {
    "appo": (lambda: small_preset(**SHORT), PLAYING),
    "async": (lambda: small_preset(run__lag="async", **SHORT), PLAYING),
    "dqn": (lambda: dqn_preset(**SHORT), PLAYING),
    "one_to_one": (
        lambda: small_preset(algorithm__name="a2c", run__topology="one_to_one", run__pools=2, **SHORT),
        PLAYING,
    ),
    "alphazero": (
        lambda: alphazero_preset(**{"run.max_steps": "60"}),
        r"self-play: \d+ of \d+ positions( and \d+ of \d+ matches)? until the (first|next) update.*|"
        r"learning: \d+ minibatches .*",
    ),
    "league": (lambda: league_preset(steps=600), rf"(main|exploiter): {PLAYING}"),
}


class Asking(Recorder):
    """Sink that reads the description of the run's work at every report."""

    def start(self, run: RunStart) -> None:
        self.doing = run.doing
        self.lines = [run.doing()]

    def update(self, metrics: UpdateMetrics) -> None:
        self.lines.append(self.doing())


@pytest.mark.parametrize("method", METHODS)
def test_every_method_describes_its_present_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    made, words = METHODS[method]
    sink, rated = Asking(), list[str]()

    def ended(*given: object, **more: object) -> object:
        results = play(*given, **more)
        rated.append(sink.doing())
        return results

    play: Callable[..., object] = play_evaluation
    monkeypatch.setattr("ludus.training.run_evaluator.play_evaluation", ended)
    start_run(made(), tmp_path / "run", sinks=[sink])
    assert len(sink.lines) > 1  # before the first update, and at each
    assert all(re.fullmatch(words, line) for line in sink.lines), sink.lines
    assert all(re.fullmatch(RATING, line) for line in rated), rated
    assert method in ("alphazero", "league") or any("of the initial weights: 4 of" in line for line in rated)

"""The choice of the ``best`` weights, whose figure is no maximum of several evaluations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from ludus.evaluation.play import MatchPlayer
from ludus.evaluation.results import EvalResult
from ludus.presets.config import Preset
from ludus.reporting.metrics import EvaluationMetrics, metrics_of
from ludus.storage import RunDirectory, read_jsonl
from ludus.training.candidates import best_candidates
from ludus.training.run_evaluator import FINAL, PLAYOFF, RunEvaluator
from ludus.training.run_state import Candidate
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import Recorder, small_preset


def test_the_three_best_versions_are_kept_each_once() -> None:
    kept: list[Candidate] = []
    for version, score in ((1, 0.5), (2, 0.9), (3, 0.4), (4, 0.6), (2, 0.45), (5, 0.5)):
        kept = best_candidates(kept, Candidate(version, score))
    # Version 2's newest evaluation counts, not its luckiest; of equal ones the later version.
    assert kept == [Candidate(4, 0.6), Candidate(5, 0.5), Candidate(1, 0.5)]


def run_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate_of: Callable[[int, int], float]
) -> tuple[Path, Recorder, list[tuple[int, int, int]]]:
    """Run with evaluations of rate ``rate_of(version, number)``; return them by version and kind."""
    asked: list[tuple[int, int, int]] = []
    rate = RunEvaluator.rate

    def rigged(
        self: RunEvaluator,
        player_of: Callable[[int], MatchPlayer],
        version: int | None,
        number: int,
        matches: int,
        record: int = 0,
    ) -> tuple[EvalResult, ...] | None:
        results = rate(self, player_of, version, number, matches, record)
        if version is None:  # uniform play, which no choice depends on
            return results
        asked.append((number, version, matches))
        assert results is not None
        wanted = rate_of(version, number)
        return tuple(msgspec.structs.replace(r, win_rate=wanted, ci_low=wanted - 0.01) for r in results)

    monkeypatch.setattr(RunEvaluator, "rate", rigged)
    recorder = Recorder()
    start_run(preset(), tmp_path / "run", sinks=[recorder])
    return tmp_path / "run", recorder, asked


def preset() -> Preset:
    return small_preset(run__lag="sync", run__keep_checkpoints=1, evaluation__every_steps=250)


def test_the_luckiest_evaluation_does_not_choose_the_best_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier versions have higher rates during training; in the play-off the latest candidate wins."""
    run, recorder, asked = run_with(
        tmp_path,
        monkeypatch,
        lambda version, number: 0.9 - version / 1000 if number < PLAYOFF - 1 else 0.1 + version / 1000,
    )
    inside = [e.version for e in recorder.evaluations if in_training(e)]
    assert len(inside) >= 5
    candidates = sorted(inside)[:3]
    assert [(v, m) for n, v, m in asked if n == PLAYOFF] == [(v, 15) for v in candidates]
    assert [(v, m) for n, v, m in asked if n == FINAL] == [(candidates[-1], 30)]
    store = RunDirectory.open(run).checkpoints
    best = store.pointer("best")
    assert best is not None
    assert best.version == candidates[-1] != inside[0]
    assert best.score == pytest.approx(0.1 + candidates[-1] / 1000 - 0.01)
    # One checkpoint is kept for resuming, three for their weights.
    assert store.versions() == [*candidates, inside[-1]]
    report = (run / "report.md").read_text()
    assert f"## Final matches of version {candidates[-1]}" in report
    assert f"| version {candidates[0]} | 15 |" in report
    assert len([line for line in report.splitlines() if line.startswith("| version ")]) == 3


def test_the_final_matches_are_new_and_do_not_choose_the_best(tmp_path: Path) -> None:
    run = tmp_path / "run"
    recorder = Recorder()
    result = start_run(preset(), run, sinks=[recorder])
    playoff = {e.version: e.score for e in recorder.evaluations if e.playoff}
    assert len(playoff) == 3
    assert result.best_version == max(playoff, key=lambda v: (playoff[v], v))
    seeds: dict[object, set[tuple[object, ...]]] = {}
    rows = list(read_jsonl(run / "matches.jsonl"))
    for row in rows:
        seeds.setdefault(row["evaluation"], set()).add((row["seed"], row["match"]))
    # Candidates meet the same matches; every other evaluation has its own.
    assert len(seeds["playoff"]) == 15
    assert sum(row["evaluation"] == "playoff" for row in rows) == 45
    assert len(seeds) >= 7
    drawn = {name: {seed for seed, _ in found} for name, found in seeds.items()}
    assert len(set().union(*drawn.values())) == sum(map(len, drawn.values()))


def test_a_run_of_one_candidate_plays_no_play_off(tmp_path: Path) -> None:
    recorder = Recorder()
    start_run(small_preset(evaluation__every_steps=0, run__max_steps=300), tmp_path / "run", sinks=[recorder])
    made = [(e.initial, e.playoff, e.final) for e in recorder.evaluations]
    assert made == [(True, False, False), (False, False, False), (False, False, True)]


def test_candidates_survive_a_resume(tmp_path: Path) -> None:
    """Weights from before the resume stay on disk and in the play-off."""
    run = tmp_path / "run"
    start_run(preset(), run)
    store = RunDirectory.open(run).checkpoints
    before = {e["version"] for e in read_jsonl(run / "metrics.jsonl") if e.get("playoff")}
    recorder = Recorder()
    resume_run(
        run,
        sinks=[recorder],
        more=lambda p: msgspec.structs.replace(p, run=msgspec.structs.replace(p.run, max_steps=2000)),
    )
    scores = {e.version: e.score for e in all_evaluations(run) if in_training(e)}
    expected = sorted(scores, key=lambda v: (scores[v], v))[-3:]
    assert sorted(expected) == sorted(e.version for e in recorder.evaluations if e.playoff)
    assert set(expected) <= set(store.versions())
    assert before <= scores.keys()


def in_training(evaluation: EvaluationMetrics) -> bool:
    return not (evaluation.final or evaluation.playoff or evaluation.initial)


def all_evaluations(run: Path) -> list[EvaluationMetrics]:
    rows = [r for r in read_jsonl(run / "metrics.jsonl") if r["kind"] == "evaluation"]
    found = [metrics_of(r) for r in rows]
    return [e for e in found if isinstance(e, EvaluationMetrics)]


def test_weights_that_cannot_be_read_are_no_candidates(tmp_path: Path) -> None:
    run = tmp_path / "run"

    class Spoil(Recorder):
        spoilt = -1

        def evaluation(self, evaluation: EvaluationMetrics) -> None:
            super().evaluation(evaluation)
            if self.spoilt < 0 and any(m.startswith("training ends") for m in self.messages):
                scores = {e.version: (e.score, e.version) for e in self.evaluations if in_training(e)}
                self.spoilt = max(scores, key=lambda v: scores[v] if v != evaluation.version else (-1.0, 0))
                path = RunDirectory.open(run).checkpoints.path(self.spoilt) / "weights.safetensors"
                path.write_bytes(path.read_bytes()[:-1])

    recorder = Spoil()
    start_run(preset(), run, sinks=[recorder])
    assert any(f"version {recorder.spoilt} cannot be read" in m for m in recorder.messages)
    rated = [e.version for e in recorder.evaluations if e.playoff]
    assert len(rated) == 2
    assert recorder.spoilt not in rated

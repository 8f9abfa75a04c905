"""Floors of a run's results: what the weights that it begins with reach before any training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ludus.evaluation.play import Player
from ludus.evaluation.results import EvalResult
from ludus.presets.config import Preset
from ludus.presets.errors import EndlessMatch, Interrupted
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory, read_jsonl
from ludus.train.api import resume_run, start_run
from ludus.train.reporting.metrics import EvaluationMetrics, read_metrics
from ludus.train.run_context import Interrupt
from ludus.train.run_evaluator import INITIAL, RunEvaluator

from .league.test_league_runs import LEAGUE
from .runs import Recorder, reproducible_rows, small_preset
from .test_alphazero import preset as alphazero_preset
from .test_dqn_runs import preset_of as dqn_preset
from .test_runs import last_weights, same_weights

SHORT: dict[str, object] = {"run__max_steps": 300, "evaluation__matches": 6, "evaluation__final_matches": 6}


def short(**changes: object) -> Preset:
    return small_preset(**{**SHORT, **changes})


def initial_rows(run: Path) -> list[EvaluationMetrics]:
    return [e for e in read_metrics(RunDirectory.open(run))[1] if e.initial]


def test_a_run_evaluates_its_initial_weights_first(tmp_path: Path) -> None:
    recorder = Recorder()
    run = tmp_path / "run"
    preset = short(evaluation__every_steps=100, evaluation__against="perfect,random")
    start_run(preset, run, sinks=[recorder])
    rows = list(read_jsonl(run / "metrics.jsonl"))
    assert rows[0]["kind"] == "evaluation", "before the first update"
    (first,) = initial_rows(run)
    later = next(e for e in recorder.evaluations if not e.initial)
    assert recorder.evaluations[0] == first
    assert (first.version, first.steps, first.best, first.begins_with) == (0, 0, False, "")
    assert [(r.against, r.matches) for r in first.results] == [("perfect", 6), ("random", 6)]
    assert [(r.against, r.matches) for r in later.results] == [("perfect", 6), ("random", 6)]
    assert {r.seed for r in first.results}.isdisjoint(r.seed for r in later.results)
    assert rows[0]["eval/random/win_rate"] == first.results[1].win_rate
    assert "| 0 | 0, initial weights |" in (run / "report.md").read_text()
    matches = [m for m in read_jsonl(run / "matches.jsonl") if m["evaluation"] == "initial"]
    assert len(matches) == 12
    assert {m["version"] for m in matches} == {0}


def test_training_is_the_same_without_it(tmp_path: Path) -> None:
    """Weights, later evaluations and the choice of the best do not depend on it, whatever it gave."""
    with_it, without = tmp_path / "with" / "run", tmp_path / "without" / "run"
    changes: dict[str, object] = {"evaluation__every_steps": 100, "run__lag": "sync"}
    start_run(short(**changes), with_it)
    start_run(short(**changes, evaluation__initial="false"), without)
    rows = reproducible_rows(with_it / "metrics.jsonl")
    assert rows[0]["initial"] is True
    assert rows[1:] == reproducible_rows(without / "metrics.jsonl")
    assert same_weights(last_weights(with_it), last_weights(without))


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({"evaluation__every_steps": 0}, 6),
        ({"evaluation__matches": 0}, 0),
        ({"evaluation__matches": 0, "evaluation__floor_matches": 4}, 4),
        ({"evaluation__floor_matches": 4}, 4),
        ({"evaluation__floor_matches": 4, "evaluation__initial": "false"}, 0),
    ],
)
def test_how_many_matches_it_has(changes: dict[str, object], count: int, tmp_path: Path) -> None:
    start_run(short(**changes, run__max_steps=128), tmp_path / "run")
    assert sum(r.matches for e in initial_rows(tmp_path / "run") for r in e.results) == count


def rigged(monkeypatch: pytest.MonkeyPatch, initial: Callable[[], tuple[EvalResult, ...] | None]) -> None:
    """The initial evaluation does ``initial`` instead."""
    rate = RunEvaluator.rate

    def other(
        self: RunEvaluator,
        player_of: Callable[[int], Player],
        version: int,
        number: int,
        matches: int,
        record: int = 0,
    ) -> tuple[EvalResult, ...] | None:
        if number == INITIAL:
            return initial()
        return rate(self, player_of, version, number, matches, record)

    monkeypatch.setattr(RunEvaluator, "rate", other)


def test_a_resumed_run_does_not_repeat_it(tmp_path: Path) -> None:
    class Stop(Recorder):
        def update(self, metrics: object) -> None:
            raise KeyboardInterrupt

    run = tmp_path / "run"
    preset = short(run__max_steps=600, evaluation__every_steps=100)
    with pytest.raises(KeyboardInterrupt):
        start_run(preset, run, sinks=[Stop()])
    assert len(initial_rows(run)) == 1
    recorder = Recorder()
    resume_run(run, sinks=[recorder])
    assert len(initial_rows(run)) == 1


def test_an_interrupted_one_is_made_when_the_run_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: list[Interrupt] = []
    made = Interrupt.__init__

    def remembered(self: Interrupt) -> None:
        made(self)
        stops.append(self)

    def interrupted() -> None:
        stops[-1].came = True

    monkeypatch.setattr(Interrupt, "__init__", remembered)
    for name, preset in (("appo", short()), ("alphazero", alphazero_preset(**{"evaluation.matches": "2"}))):
        run = tmp_path / name
        with monkeypatch.context() as patch:
            rigged(patch, interrupted)  # type: ignore[arg-type]
            with pytest.raises(Interrupted):
                start_run(preset, run)
        assert not initial_rows(run)
        resume_run(run)
        assert [e.version for e in initial_rows(run)] == [0]
        assert not read_metrics(RunDirectory.open(run))[1][0].final


def test_untrained_play_without_end_ends_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless() -> None:
        raise EndlessMatch("tic_tac_toe", 10, 1, 1)

    rigged(monkeypatch, endless)  # type: ignore[arg-type]
    recorder = Recorder()
    result = start_run(short(), tmp_path / "run", sinks=[recorder])
    assert result.steps >= 300
    assert any("the initial weights were not evaluated" in m for m in recorder.messages)


def test_a_target_that_the_initial_weights_reach_ends_no_run(tmp_path: Path) -> None:
    changes: dict[str, object] = {"run__target": 0.001, "evaluation__every_steps": 0}
    result = start_run(short(**changes, evaluation__matches=40), tmp_path / "run")
    assert initial_rows(tmp_path / "run")[0].score > 0.001
    assert result.steps >= 300


def test_weights_of_another_run_are_named(tmp_path: Path) -> None:
    start_run(short(), tmp_path / "first")
    given = f"{tmp_path / 'first'}@last"
    start_run(short(run__start=given), tmp_path / "run")
    (first,) = initial_rows(tmp_path / "run")
    assert (first.version, first.begins_with) == (0, given)
    assert first.whose == f"the initial weights ({given})"
    assert f"began with the weights `{given}`" in (tmp_path / "run" / "report.md").read_text()


def test_every_trainer_has_it(tmp_path: Path) -> None:
    """The seed of a league's first main is what its evaluations begin with."""
    settings = {"evaluation.matches": "4", "run.checkpoint_every_minutes": "1"}
    league = LEAGUE.format(game="matrix", lag="sync", steps=200)
    presets = {
        "league": parse_preset(league.encode(), "league", overrides=settings).preset,
        "alphazero": alphazero_preset(**{"evaluation.matches": "2", "evaluation.against": "perfect"}),
        "one_to_one": short(run__topology="one_to_one", run__pools=2),
        "async": short(run__lag="async"),
        "dqn": dqn_preset(run__max_steps=300, evaluation__matches=4, evaluation__final_matches=2),
    }
    for name, preset in presets.items():
        start_run(preset, tmp_path / name)
        (first,) = initial_rows(tmp_path / name)
        assert (first.version, first.steps, first.begins_with) == (0, 0, ""), name
    weights = RunDirectory.open(tmp_path / "league").frozen.path("main", 0)
    seed = tmp_path / "seed.safetensors"
    seed.write_bytes(weights.read_bytes())
    seeded = league.replace('role = "pfsp"', f'role = "pfsp"\nseed = "{seed}"')
    start_run(parse_preset(seeded.encode(), "league", overrides=settings).preset, tmp_path / "seeded")
    (first,) = initial_rows(tmp_path / "seeded")
    assert (first.player, first.begins_with) == ("main", str(seed))

"""OpenAI Five's knobs of data quality: an exact queue, sample reuse, a horizon that moves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ludus.algorithms.config import AppoConfig, with_horizon
from ludus.algorithms.updates.minibatch import minibatches_of, passes
from ludus.cli.words import said
from ludus.presets.checks.game import check_game
from ludus.presets.errors import ConfigError, Interrupted
from ludus.presets.file import PresetError, load_preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import Recorder, reproducible_rows, small_preset
from .test_runs import InterruptAt, last_weights, same_weights, start_and_kill

QUIET: dict[str, object] = {
    "evaluation__every_steps": 0,
    "evaluation__matches": 0,
    "evaluation__final_matches": 0,
}


def updates(folder: Path, **overrides: object) -> list[UpdateMetrics]:
    recorder = Recorder()
    start_run(small_preset(**{**QUIET, **overrides}), folder, sinks=[recorder])
    return recorder.updates


@pytest.mark.parametrize(("lag", "queue", "expected"), [("sync", 3, 3), ("pipelined", 2, 3)])
def test_every_slab_waits_behind_a_full_queue(tmp_path: Path, lag: str, queue: int, expected: int) -> None:
    done = updates(tmp_path / "run", run__lag=lag, run__queue=queue)
    assert len(done) > 8
    assert [list(u.lag) for u in done] == [[min(i, expected)] for i in range(len(done))]
    assert done[0].received - done[0].steps == pytest.approx(expected * done[0].steps, rel=0.2)


@pytest.mark.parametrize(
    ("lag", "memory"), [("sync", "none"), pytest.param("pipelined", "gru", marks=pytest.mark.slow)]
)
def test_a_killed_run_resumes_with_its_queue_bit_by_bit(tmp_path: Path, lag: str, memory: str) -> None:
    preset = small_preset(
        evaluation__every_steps=250,
        evaluation__final_matches=0,
        policy__memory=memory,
        policy__memory_size=8,
        run__lag=lag,
        run__queue=3,
        run__max_steps=900,
        algorithm__sample_reuse=1.5,
        algorithm__horizon=10,
        algorithm__horizon_final=50,
    )
    start_run(preset, tmp_path / "whole" / "run")
    if lag == "sync":
        with pytest.raises(Interrupted):
            start_run(preset, tmp_path / "killed" / "run", sinks=[InterruptAt(7)])
    else:
        start_and_kill(preset, tmp_path / "killed" / "run", update=7)
    recorder = Recorder()
    resume_run(tmp_path / "killed" / "run", sinks=[recorder])
    assert 0 < recorder.updates[0].version <= 8
    assert same_weights(last_weights(tmp_path / "killed" / "run"), last_weights(tmp_path / "whole" / "run"))
    rows = reproducible_rows(tmp_path / "whole" / "run" / "metrics.jsonl")
    assert reproducible_rows(tmp_path / "killed" / "run" / "metrics.jsonl") == rows


def test_passes_are_whole_epochs_or_a_number_on_average() -> None:
    assert passes(AppoConfig(epochs=3)) == [1.0, 1.0, 1.0]
    assert passes(AppoConfig(epochs=3, sample_reuse=2.0)) == [1.0, 1.0]
    assert passes(AppoConfig(sample_reuse=0.5)) == [0.5]
    assert passes(AppoConfig(sample_reuse=2.25)) == [1.0, 1.0, 0.25]


@pytest.mark.parametrize(("share", "sizes"), [(1.0, [25] * 4), (0.5, [25, 25]), (0.3, [30]), (0.001, [1])])
def test_a_partial_pass_has_minibatches_of_the_same_size(share: float, sizes: list[int]) -> None:
    cut = minibatches_of(np.arange(100), share, 4)
    assert [len(m) for m in cut] == sizes
    assert np.concatenate(cut).tolist() == list(range(sum(sizes)))


@pytest.mark.parametrize("reuse", [0.5, 1.5, 2.0])
def test_decisions_are_differentiated_as_often_as_configured(tmp_path: Path, reuse: float) -> None:
    done = updates(tmp_path / "run", algorithm__sample_reuse=reuse)
    steps = sum(u.numbers["learner/samples"] for u in done) / min(reuse, 1.0)
    assert done[-1].numbers["learner/learned"] == pytest.approx(reuse * steps, rel=0.03)
    assert done[-1].numbers["learner/gradient_steps"] == len(done) * 2 * reuse
    assert done[-1].numbers["time/cpu_minutes"] > 0.0


def test_a_whole_number_of_reuse_equals_epochs_and_a_half_does_not(tmp_path: Path) -> None:
    for name, settings in (
        ("epochs", {"algorithm__epochs": 2}),
        ("reuse", {"algorithm__sample_reuse": 2, "algorithm__epochs": 5}),
        ("half", {"algorithm__sample_reuse": 0.5}),
    ):
        start_run(small_preset(**QUIET, **settings, run__max_steps=400), tmp_path / name)
    assert same_weights(last_weights(tmp_path / "epochs"), last_weights(tmp_path / "reuse"))
    assert not same_weights(last_weights(tmp_path / "epochs"), last_weights(tmp_path / "half"))


def test_the_discount_follows_the_horizon(tmp_path: Path) -> None:
    config = AppoConfig(horizon=1350.0, horizon_final=2700.0)
    found = [with_horizon(config, 1, p).discount for p in (0.0, 0.5, 1.0)]
    assert found == pytest.approx([0.99926, 0.99951, 0.99963], abs=1e-5)  # the paper: 180 s and 360 s
    assert with_horizon(AppoConfig(horizon=100.0), 4, 0.7).discount == pytest.approx(0.96)
    assert with_horizon(AppoConfig(), 4, 0.7) == AppoConfig()
    done = updates(tmp_path / "run", algorithm__horizon=4, algorithm__horizon_final=20)
    seen = [u.numbers["learner/discount"] for u in done]
    assert seen == sorted(seen)
    assert seen[0] == pytest.approx(0.75)
    assert 0.93 < seen[-1] <= 0.95


@pytest.mark.parametrize(
    ("preset", "settings", "expected"),
    [
        ("minirts", {"run.queue": "300"}, "--run.queue: run.queue = 300: expected an integer from 0 to 256"),
        (
            "minirts",
            {"run.queue": "2", "run.lag": "async"},
            '--run.queue: run.queue = 2: expected 0 where run.lag = "async": run.max_lag bounds its lag',
        ),
        (
            "go5",
            {"run.queue": "2"},
            'run.queue = 2: expected 0 where algorithm.name = "alphazero"',
        ),
        (
            "minirts-league",
            {"run.queue": "2"},
            "run.queue = 2: expected 0 where there is a league",
        ),
        (
            "minirts",
            {"algorithm.horizon": "7"},
            "algorithm.horizon = 7: expected 0 or at least 50, the ticks of one decision",
        ),
        (
            "minirts",
            {"algorithm.horizon_final": "100"},
            "algorithm.horizon_final = 100: expected 0 where algorithm.horizon = 0",
        ),
        ("minirts", {"algorithm.sample_reuse": "-1"}, "algorithm.sample_reuse = -1"),
        ("minirts", {"algorithm.sample_reuse": "65"}, "algorithm.sample_reuse = 65"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_one_line(
    preset: str, settings: dict[str, str], expected: str
) -> None:
    with pytest.raises(PresetError) as error:
        check_game(load_preset(preset, settings))
    (problem,) = error.value.problems
    assert expected in said(problem)


def test_a_preset_from_python_is_refused_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"run\.queue = 2: expected 0"):
        start_run(small_preset(run__queue=2, run__lag="async"), tmp_path / "run")
    assert not (tmp_path / "run").exists()

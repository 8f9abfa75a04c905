"""Whole runs of tic-tac-toe: their files, reproducibility and resuming."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.games.replays import info as replay_info
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.errors import ConfigError, Interrupted
from ludus.reporting.metrics import UpdateMetrics
from ludus.storage import RunDirectory, RunExists, read_jsonl, read_weights
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import Recorder, reproducible_rows, small_preset


def same_weights(a: Path, b: Path) -> bool:
    """Whether two files have the same bits and belong to one version, whatever settings their runs had."""
    first, second = read_weights(a), read_weights(b)
    metas = [msgspec.structs.replace(w.meta, provenance=msgspec.UNSET) for w in (first, second)]
    return metas[0] == metas[1] and all(
        first.tensors[n].tobytes() == second.tensors[n].tobytes() for n in first.tensors
    )


def last_weights(run: Path) -> Path:
    return RunDirectory.open(run).checkpoints.weights_path("last")


@pytest.mark.parametrize("lag", ["sync", pytest.param("pipelined", marks=pytest.mark.slow)])
def test_a_run_writes_all_its_files_and_repeats(tmp_path: Path, lag: str) -> None:
    preset = small_preset(run__lag=lag)
    recorder = Recorder()
    result = start_run(preset, tmp_path / "a" / "run", sinks=[recorder])
    start_run(preset, tmp_path / "b" / "run")

    assert result.reason == "max_steps = 1600 reached"
    assert result.steps >= 1600
    run = RunDirectory.open(tmp_path / "a" / "run")
    names = {p.name for p in run.path.iterdir()}
    assert names >= {
        "config.toml", "run.json", "metrics.jsonl", "events.jsonl", "matches.jsonl", "log.txt", "checkpoints",
        "snapshots", "replays", "report.md", "report.html",
    }  # fmt: skip
    assert [m.version for m in recorder.updates] == list(range(1, result.version + 1))
    lags = {lag for m in recorder.updates for lag in m.lag}
    assert lags == ({0} if lag == "sync" else {0, 1})
    assert recorder.updates[-1].numbers["lag/mean"] == (0.0 if lag == "sync" else 1.0)
    assert [e.final for e in recorder.evaluations] == [False] * (len(recorder.evaluations) - 1) + [True]
    assert len(recorder.evaluations) >= 4
    final = recorder.evaluations[-1].results[0]
    assert final.matches == 30 == sum(final.counts)
    assert final.against == "random"
    assert result.best_version == recorder.evaluations[-1].version
    text = run.report.read_text()
    assert "Final matches" in text
    assert "seed 1" in text
    assert "(report.svg)" in text
    assert run.curve.read_text().startswith("<svg")
    replays = list(run.replays.glob("final-random-*.ludus"))
    assert replays
    players = replay_info(replays[0].read_bytes()).players
    assert run.reference(result.best_version) in players, players  # viewers see which player learned

    assert reproducible_rows(run.metrics_path) == reproducible_rows(tmp_path / "b" / "run" / "metrics.jsonl")
    assert same_weights(last_weights(run.path), last_weights(tmp_path / "b" / "run"))


def test_threads_do_not_change_the_result(tmp_path: Path) -> None:
    for threads in (1, 3):
        preset = small_preset(run__threads=threads, evaluation__every_steps=0)
        start_run(preset, tmp_path / str(threads))
    assert same_weights(last_weights(tmp_path / "1"), last_weights(tmp_path / "3"))


class KillAt(Recorder):
    """Sink that kills the process, right after a checkpoint or between two."""

    def __init__(self, update: int) -> None:
        super().__init__()
        self.at = update

    def update(self, metrics: UpdateMetrics) -> None:
        if metrics.version == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from tests.unit.training.test_runs import KillAt
from ludus.training.machines import JoinedMachines, LocalMachines
from ludus.training.runs import start_run
from ludus.presets.file import parse_preset
preset = parse_preset(Path({preset!r}).read_bytes(), "killed").preset
start_run(preset, Path({run!r}), sinks=[KillAt({update})], machines={machines})
"""


def start_and_kill(preset: Preset, run: Path, update: int, machines: str = "LocalMachines()") -> None:
    """Start a run in a process that is killed (SIGKILL) at ``update``."""
    run.parent.mkdir()
    config = run.parent / "killed.toml"
    config.write_text(to_toml(preset))
    root = Path(__file__).parents[3]
    script = CHILD.format(tests=str(root), preset=str(config), run=str(run), update=update, machines=machines)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize(
    ("lag", "memory", "opponent"),
    [
        ("sync", "none", "random"),
        pytest.param("pipelined", "none", "past", marks=pytest.mark.slow),
        pytest.param("pipelined", "gru", "random", marks=pytest.mark.slow),
        pytest.param("pipelined", "lstm", "simple", marks=pytest.mark.slow),  # MiniRTS, with its curriculum
    ],
)
def test_resume_after_kill_is_bit_equal(tmp_path: Path, lag: str, memory: str, opponent: str) -> None:
    overrides: dict[str, object] = {"run__lag": lag, "policy__memory": memory, "policy__memory_size": 8}
    overrides |= {"opponents__0__name": opponent, "run__max_steps": 900, "evaluation__every_steps": 250}
    if opponent == "simple":
        overrides |= {"game__name": "minirts", "curriculum__bot": "simple", "policy__inputs": "globals,units"}
        overrides |= {"evaluation__matches": 4, "evaluation__final_matches": 4}
    if opponent == "past":
        overrides |= {"opponents__0__past_every": 3}
    preset = small_preset(**overrides)
    start_run(preset, tmp_path / "whole" / "run")

    start_and_kill(preset, tmp_path / "killed" / "run", update=7)
    recorder = Recorder()
    resume_run(tmp_path / "killed" / "run", sinks=[recorder])
    assert any("resuming from version" in m for m in recorder.messages)
    assert 0 < recorder.updates[0].version <= 7

    assert reproducible_rows(tmp_path / "killed" / "run" / "metrics.jsonl") == reproducible_rows(
        tmp_path / "whole" / "run" / "metrics.jsonl"
    )
    assert same_weights(last_weights(tmp_path / "killed" / "run"), last_weights(tmp_path / "whole" / "run"))
    whole = list(read_jsonl(tmp_path / "whole" / "run" / "matches.jsonl"))
    assert list(read_jsonl(tmp_path / "killed" / "run" / "matches.jsonl")) == whole
    events = [e["event"] for e in read_jsonl(tmp_path / "killed" / "run" / "events.jsonl")]
    assert events[0] == "started"
    assert "resumed" in events
    assert events[-1] == "finished"


class InterruptAt(Recorder):
    def __init__(self, update: int) -> None:
        super().__init__()
        self.at = update

    def update(self, metrics: UpdateMetrics) -> None:
        super().update(metrics)
        if metrics.version == self.at:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)


def test_an_interrupt_saves_the_run_and_prints_how_to_resume(tmp_path: Path) -> None:
    preset = small_preset(run__lag="sync", evaluation__every_steps=0)
    start_run(preset, tmp_path / "whole")
    run = tmp_path / "run"
    with pytest.raises(Interrupted, match="ludus resume") as caught:
        start_run(preset, run, sinks=[InterruptAt(5)])
    assert caught.value.version == 5
    assert RunDirectory.open(run).checkpoints.versions() == [5]
    resume_run(run)
    assert same_weights(last_weights(run), last_weights(tmp_path / "whole"))


def test_an_existing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunExists):
        start_run(small_preset(), tmp_path)


def test_self_play_trains_both_seats(tmp_path: Path) -> None:
    recorder = Recorder()
    preset = small_preset(opponents__0__name="latest", evaluation__every_steps=0)
    result = start_run(preset, tmp_path / "run", sinks=[recorder])
    assert result.steps >= 1600
    assert set(recorder.updates[-1].under("rollout/win_rate")) == {"latest"}
    assert np.isfinite(recorder.updates[-1].numbers["loss/policy"])


def test_a_target_ends_a_run_early(tmp_path: Path) -> None:
    preset = small_preset(run__target=0.1, run__max_steps=1_000_000)
    result = start_run(preset, tmp_path / "run")
    assert result.reason.startswith("target = 0.1 reached")


def test_weights_and_bots_are_evaluated(tmp_path: Path) -> None:
    start_run(small_preset(run__max_steps=200), tmp_path / "run")
    result = evaluate(f"{tmp_path}/run@last", "random", MatchSettings(matches=50))
    assert result.matches == 50
    assert result.won[1] <= result.won[0] <= result.won[2]
    assert evaluate(f"{tmp_path}/run@last", "random", MatchSettings(matches=50)) == result
    bots = evaluate("perfect", "random", MatchSettings(matches=60), game="tic_tac_toe")
    assert bots.losses == 0
    assert bots.counts[0] > 40
    with pytest.raises(ConfigError, match="did you mean random"):
        evaluate("randon", "perfect", game="tic_tac_toe")
    with pytest.raises(ConfigError, match="name one"):
        evaluate("random", "perfect")


@pytest.mark.parametrize(("max_lag", "over_lag"), [(0, "wait"), (2, "wait"), (0, "drop"), (1, "drop")])
def test_an_async_run_keeps_its_bound_of_lag(tmp_path: Path, max_lag: int, over_lag: str) -> None:
    recorder = Recorder()
    preset = small_preset(
        run__lag="async",
        run__max_lag=max_lag,
        run__over_lag=over_lag,
        run__max_steps=1200,
        evaluation__every_steps=0,
    )
    result = start_run(preset, tmp_path / "run", sinks=[recorder])
    assert result.steps >= 1200
    assert max(m.numbers["lag/max"] for m in recorder.updates) <= max_lag
    last = recorder.updates[-1]
    assert last.numbers["rollout/dropped"] == 0 or over_lag == "drop"
    assert last.received >= last.steps + last.numbers["rollout/dropped"]
    assert last.numbers["learner/sample_reuse"] <= 1.0


def test_an_async_run_resumes_after_an_interrupt(tmp_path: Path) -> None:
    preset = small_preset(run__lag="async", opponents__0__name="past", opponents__0__past_every=2)
    with pytest.raises(Interrupted):
        start_run(preset, tmp_path / "run", sinks=[InterruptAt(4)])
    recorder = Recorder()
    result = resume_run(tmp_path / "run", sinks=[recorder])
    assert recorder.updates[0].version >= 5
    assert result.steps >= 1600


def test_an_impossible_preset_creates_no_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="policy"):
        start_run(small_preset(policy__inputs="nothing"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_without_a_checkpoint_starts_again_and_repeats(tmp_path: Path) -> None:
    """Rows from before the first checkpoint are replaced, not repeated."""
    preset = small_preset(evaluation__every_steps=0, run__max_steps=600)
    start_run(preset, tmp_path / "run")
    run = RunDirectory.open(tmp_path / "run")
    rows, matches = reproducible_rows(run.metrics_path), list(read_jsonl(run.matches))
    shutil.rmtree(run.checkpoints.directory)
    recorder = Recorder()
    resume_run(run.path, sinks=[recorder])
    assert any("starting from the beginning" in m for m in recorder.messages)
    assert reproducible_rows(run.metrics_path) == rows
    assert list(read_jsonl(run.matches)) == matches

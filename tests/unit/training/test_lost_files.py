"""Runs whose files are refused or lost, and processes that are killed before they save."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.flow.slab import Array
from ludus.games import spec as game_spec
from ludus.league.matchmaker import PastWindow
from ludus.mcts import Matches
from ludus.presets.config import Preset
from ludus.presets.errors import Interrupted
from ludus.presets.file import parse_preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.storage import CorruptFile, RunDirectory, read_jsonl
from ludus.storage.matches import MatchFiles
from ludus.storage.tensors import decode_file, encode_tensors
from ludus.training.alphazero.checkpoint import AlphaZeroState
from ludus.training.alphazero.components import (
    SESSION_SHIFT,
    SESSIONS,
    build_alphazero,
    last_session,
    read_matches,
)
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import Recorder, small_preset
from .test_alphazero import TOML

ROUNDS = {
    "algorithm.round_positions": "60",
    "algorithm.window_matches_min": "5",
    "algorithm.window_share": "1.0",
    "evaluation.final_matches": "2",
    "evaluation.against": "random",
    "evaluation.visits": "1",
    "run.checkpoint_every_minutes": "0",
    "run.max_steps": "600",
}


EVERY_ROUND = "0.0000001"  # minutes: six microseconds, which no round takes less than

# Rounds are counted below: they must not be longer on a busy machine.
pytestmark = pytest.mark.usefixtures("stepped_self_play")


def preset(**changes: str) -> Preset:
    return parse_preset(TOML.encode(), "test", overrides=ROUNDS | changes).preset


class Killed(BaseException):
    """SIGKILL in place of an exception: nothing is saved on the way out."""


class At(Recorder):
    """Sink that calls a function at one update."""

    def __init__(self, update: int, act: Callable[[], None]) -> None:
        super().__init__()
        self.at, self.act = update, act

    def update(self, metrics: UpdateMetrics) -> None:
        super().update(metrics)
        if len(self.updates) == self.at:
            self.act()


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def kill() -> None:
    raise Killed


def match_numbers(run: Path) -> list[int]:
    files = sorted((run / "self_play").glob("*.safetensors"))
    return [int(n) for f in files for n in decode_file(f)[0]["match"]]


def interrupted_run(run: Path, wanted: Preset, updates: int = 3) -> None:
    """Return a run with one checkpoint, made after ``updates`` rounds."""
    with pytest.raises(Interrupted):
        start_run(wanted, run, sinks=[At(updates, interrupt)])


# ---- sessions ------------------------------------------------------------------------------------


def test_processes_that_are_killed_play_no_match_twice(tmp_path: Path) -> None:
    """Two processes die after one checkpoint; matches of the first are learned once."""
    run = tmp_path / "run"
    interrupted_run(run, preset(**{"run.max_steps": "1200"}))
    for _ in range(2):
        before = len(match_numbers(run))
        with pytest.raises(Killed):
            resume_run(run, sinks=[At(2, kill)])
        assert len(match_numbers(run)) > before
    resume_run(run)
    numbers = match_numbers(run)
    assert len(set(numbers)) == len(numbers)
    assert {n >> SESSION_SHIFT for n in numbers} >= {0, 1, 2}


def test_a_process_that_is_killed_before_the_first_checkpoint_loses_no_match(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(Killed):
        start_run(preset(), run, sinks=[At(2, kill)])
    played = set(match_numbers(run))
    assert played
    recorder = At(1, lambda: None)
    resume_run(run, sinks=[recorder])
    numbers = match_numbers(run)
    assert len(set(numbers)) == len(numbers)
    assert played < set(numbers)
    assert recorder.updates[0].matches > len(played)
    state = msgspec.json.decode(RunDirectory.open(run).checkpoints.load_last()[0].state, type=AlphaZeroState)
    assert state.matches == len(numbers)


def test_sessions_are_counted_without_a_match_on_disk(tmp_path: Path) -> None:
    run = tmp_path / "run"
    interrupted_run(run, preset())
    played = set(match_numbers(run))
    for file in (run / "self_play").iterdir():
        file.unlink()
    resume_run(run)
    assert played.isdisjoint(match_numbers(run))


def test_a_match_of_an_impossible_session_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    interrupted_run(run, preset())
    path = min((run / "self_play").iterdir())
    columns, header = decode_file(path)
    columns["match"] = columns["match"].copy()
    columns["match"][0] = np.uint64(SESSIONS) << np.uint64(SESSION_SHIFT)
    path.write_bytes(encode_tensors(columns, header))
    with pytest.raises(CorruptFile, match=f"{path.name}: a match of session {SESSIONS}"):
        resume_run(run)
    assert last_session(Matches.empty()) == -1


# ---- files that the disk refuses -------------------------------------------------------------------


def test_no_checkpoint_refers_to_matches_that_are_not_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    write = MatchFiles.write
    full = {"now": False}

    def refusing(self: MatchFiles, number: int, columns: dict[str, Array]) -> None:
        if full["now"]:
            raise OSError(28, "No space left on device")
        write(self, number, columns)

    monkeypatch.setattr(MatchFiles, "write", refusing)

    missing: set[int] = set()

    class Watch(Recorder):
        def update(self, metrics: UpdateMetrics) -> None:
            super().update(metrics)
            full["now"] = 2 <= len(self.updates) < 5

        def checkpoint(self, path: Path, version: int) -> None:
            super().checkpoint(path, version)
            state = msgspec.json.decode(
                RunDirectory.open(run).checkpoints.load_state(version), type=AlphaZeroState
            )
            files = {int(f.stem) for f in (run / "self_play").glob("*.safetensors")}
            missing.update(set(state.chunks) - files)

    watch = Watch()
    start_run(preset(**{"run.checkpoint_every_minutes": EVERY_ROUND}), run, sinks=[watch])
    assert not missing
    refused = [m for m in watch.messages if "checkpoint of version" in m and "it needs" in m]
    assert len(refused) >= 2
    assert all("the one before it stands, the run continues" in m for m in refused)
    assert len(watch.checkpoints) >= 3
    spec = game_spec("tic_tac_toe")
    components = build_alphazero(preset())
    files = MatchFiles(run / "self_play", components.matches_meta())
    assert sum(len(read_matches(files, n, spec)) for n in files.numbers()) == watch.updates[-1].matches
    components.close()


# ---- files that are lost -------------------------------------------------------------------------------


def test_lost_matches_are_left_out_of_a_resumed_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    interrupted_run(run, preset(), updates=4)
    lost = sorted((run / "self_play").iterdir())[1]
    lost.unlink()
    recorder = Recorder()
    result = resume_run(run, sinks=[recorder])
    assert result.steps >= 600
    assert any(
        f"{lost.name} missing; the run continues without these matches" in m for m in recorder.messages
    )
    kept = {int(f.stem) for f in (run / "self_play").iterdir()}
    state = msgspec.json.decode(RunDirectory.open(run).checkpoints.load_last()[0].state, type=AlphaZeroState)
    assert set(state.chunks) == kept
    resume_run(run, sinks=[(again := Recorder())])
    assert not any("missing" in m for m in again.messages)


@pytest.mark.slow
def test_lost_weights_behind_a_gate_are_replaced_by_the_newest(tmp_path: Path) -> None:
    run = tmp_path / "run"
    gate = {"algorithm.gate": "true", "algorithm.gate_matches": "2", "algorithm.gate_score": "1.0"}
    interrupted_run(run, preset(**gate))
    (lost,) = (run / "snapshots").iterdir()
    lost.unlink()
    recorder = Recorder()
    assert resume_run(run, sinks=[recorder]).steps >= 600
    assert any(lost.name in m and "plays in place of" in m for m in recorder.messages)


@pytest.mark.parametrize("which", [pytest.param("one", marks=pytest.mark.slow), "all"])
def test_lost_past_opponents_are_left_out_of_a_resumed_run(tmp_path: Path, which: str) -> None:
    run = tmp_path / "run"
    wanted = small_preset(
        opponents__0__name="past",
        opponents__0__past_every=2,
        evaluation__every_steps=0,
        run__lag="sync",
        run__checkpoint_every_minutes=0,
    )
    with pytest.raises(Interrupted):
        start_run(wanted, run, sinks=[At(8, interrupt)])
    files = sorted((run / "snapshots").iterdir())
    assert len(files) >= 3
    lost = files if which == "all" else files[1:2]
    for file in lost:
        file.unlink()
    recorder = Recorder()
    assert resume_run(run, sinks=[recorder]).steps >= 1600
    for file in lost:
        version = int(file.stem)
        assert any(f"past opponents continue without version {version}" in m for m in recorder.messages)
    events = [e["event"] for e in read_jsonl(run / "events.jsonl")]
    assert events[-1] == "finished"
    assert len(list((run / "snapshots").iterdir())) >= 2


def test_a_window_leaves_out_lost_versions() -> None:
    window = PastWindow(versions=[2, 4, 6], playing=[2, 4])
    window.forget(4, newest=7)
    assert (window.versions, window.playing) == ([2, 6], [2, 6])
    window.forget(2, newest=7)
    window.forget(6, newest=7)
    assert (window.versions, window.playing) == ([7], [7, 7])

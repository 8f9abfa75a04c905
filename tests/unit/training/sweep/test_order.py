"""The processes of a sweep: their number at a time, their order, the results that a search gets."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from ludus.presets.config import Preset
from ludus.storage.rundir import RunDirectory
from ludus.sweep import loop as module
from ludus.sweep.config import SweepConfig, parse_sweep
from ludus.sweep.directory import SweepDirectory
from ludus.sweep.loop import Outcome, SweepLoop
from ludus.sweep.plan import PlannedRun
from ludus.sweep.processes import ProcessCommand, ProcessEnd


class Still:
    """View that counts the active runs."""

    def __init__(self) -> None:
        self.most = 0

    def show(self, loop: SweepLoop) -> None:
        self.most = max(self.most, len(loop.active))

    def ended(self, loop: SweepLoop, outcome: Outcome) -> None:
        """Not shown."""


class Stage:
    """Fake processes: each ends at its second poll, with the code of its run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.codes: dict[str, int] = {}
        self.held: dict[str, int] = {}  # how often a run's lock is found taken
        self.left: dict[str, list[str]] = {}  # commands of a run that are still to do
        self.started: list[tuple[str, str]] = []
        self.stops: list[str] = []
        self.when_polled: Callable[[], None] | None = None
        monkeypatch.setattr(module, "next_command", self.next_command)
        monkeypatch.setattr(module, "launch", self.launch)
        monkeypatch.setattr(module, "POLL_S", 0.001)

    def next_command(
        self, run: PlannedRun, directory: SweepDirectory, preset: Preset, greedy: bool
    ) -> ProcessCommand | None:
        kinds = ["train", "greedy"] if greedy else ["train"]
        left = self.left.setdefault(run.name, kinds)
        return ProcessCommand(left[0], (run.name,)) if left else None  # type: ignore[arg-type]

    def launch(self, command: ProcessCommand, lock: Path, log: Path) -> object | None:
        name = command.words[0]
        if self.held.get(name, 0):
            self.held[name] -= 1
            return None
        self.started.append((name, command.what))
        return FakeProcess(self, name, command)


class FakeProcess:
    def __init__(self, stage: Stage, name: str, command: ProcessCommand) -> None:
        self.stage, self.name, self.command, self.polls = stage, name, command, 0
        self.code = stage.codes.get(name, 0)

    def poll(self) -> ProcessEnd | None:
        self.polls += 1
        if self.stage.when_polled:
            self.stage.when_polled()
        if self.polls < 2:
            return None
        if self.code == 0:
            self.stage.left[self.name].pop(0)
        return ProcessEnd(self.code, 1.0, 2.0, "it broke" if self.code else "")

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.code = 130
        self.stage.stops.append(self.name)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def made(folder: Path, workers: int, **keys: object) -> tuple[SweepLoop, Still]:
    path = folder / "s.toml"
    path.touch()
    config: SweepConfig = parse_sweep({"preset": "tic_tac_toe", "seeds": 3, **keys}, str(path))
    view = Still()
    return SweepLoop(config, SweepDirectory.open(folder / "out", config, {}), workers, view), view


def states(outcomes: list[Outcome]) -> dict[str, str]:
    return {o.run.name: o.state for o in outcomes}


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_there_are_as_many_runs_at_a_time_as_workers(tmp_path: Path, stage: Stage, workers: int) -> None:
    loop, view = made(tmp_path, workers)
    outcomes = loop.run()
    assert view.most == min(workers, 3)
    assert [o.state for o in outcomes] == ["finished"] * 3
    assert stage.started == [(f"all,seed={s}", "train") for s in (1, 2, 3)]
    assert (loop.total, loop.directory.processes.read_text().count("\n")) == (3, 3)


def test_a_failed_run_does_not_stop_the_others(tmp_path: Path, stage: Stage) -> None:
    stage.codes["all,seed=1"] = 1
    outcomes = made(tmp_path, 1)[0].run()
    assert states(outcomes) == {
        "all,seed=1": "failed",
        "all,seed=2": "finished",
        "all,seed=3": "finished",
    }
    assert outcomes[0].message == "it broke"
    assert '"message":"it broke"' in (tmp_path / "out" / "processes.jsonl").read_text()


def test_greedy_matches_follow_their_training(tmp_path: Path, stage: Stage) -> None:
    made(tmp_path, 1, seeds=2, greedy=True)[0].run()
    assert stage.started == [
        ("all,seed=1", "train"),
        ("all,seed=1", "greedy"),
        ("all,seed=2", "train"),
        ("all,seed=2", "greedy"),
    ]


def test_a_process_of_an_earlier_sweep_is_waited_for(tmp_path: Path, stage: Stage) -> None:
    stage.held["all,seed=1"] = 4
    loop, view = made(tmp_path, 1, seeds=[1, 2])
    assert set(states(loop.run()).values()) == {"finished"}
    assert [name for name, _ in stage.started] == ["all,seed=1", "all,seed=2"]
    assert view.most == 1


def test_a_run_without_progress_is_given_up(tmp_path: Path, stage: Stage) -> None:
    loop, _ = made(tmp_path, 1, seeds=1)
    stage.left["all,seed=1"] = ["train", "train", "train"]
    (outcome,) = loop.run()
    assert outcome.state == "failed"
    assert "the run is not finished" in outcome.message


def test_a_signal_ends_every_run_and_starts_no_other(tmp_path: Path, stage: Stage) -> None:
    def once() -> None:
        stage.when_polled = None
        os.kill(os.getpid(), signal.SIGTERM)

    stage.when_polled = once
    loop, _ = made(tmp_path, 2)
    outcomes = loop.run()
    assert loop.stopping
    assert states(outcomes) == {"all,seed=1": "interrupted", "all,seed=2": "interrupted"}
    assert stage.stops == ["all,seed=1", "all,seed=2"]


TPE = {
    "search": "tpe",
    "count": 4,
    "seeds": 2,
    "random": {"algorithm.discount": {"uniform": [0.9, 0.99]}},
}


@pytest.mark.parametrize("failed", [["1"], ["2"], ["1", "2"]])
def test_a_search_avoids_the_point_of_a_failed_run(
    tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch, failed: list[str]
) -> None:
    """The result of the point is NaN, whichever seed failed."""
    asked_with: list[list[float | None]] = []

    def ask(space: object, tried: list[tuple[object, float | None]], seed: int) -> dict[str, float]:
        asked_with.append([result for _, result in tried])
        return {"algorithm.discount": 0.9 + len(tried) / 100}

    monkeypatch.setattr(module, "ask", ask)
    monkeypatch.setattr(module, "score_of_run", lambda run: 0.8)
    for seed in failed:
        stage.codes[f"point=0,seed={seed}"] = 1
    made(tmp_path, 1, **{**TPE, "count": 3})[0].run()
    assert [len(results) for results in asked_with] == [0, 1, 2]
    assert all(results[0] is not None and math.isnan(results[0]) for results in asked_with[1:])
    assert asked_with[2][1] == 0.8


def test_a_search_gets_the_mean_of_the_seeds_and_survives_a_stop(
    tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[float | None]] = []

    def ask(space: object, tried: list[tuple[object, float | None]], seed: int) -> dict[str, float]:
        asked.append([result for _, result in tried])
        assert seed == 7
        return {"algorithm.discount": 0.9 + len(tried) / 100}

    def score(run: RunDirectory) -> float:
        return {"1": 0.5, "2": 0.7}[run.path.name[-1]]

    monkeypatch.setattr(module, "ask", ask)
    monkeypatch.setattr(module, "score_of_run", score)
    stage.codes["point=1,seed=2"] = 1
    loop, _ = made(tmp_path, 1, search_seed=7, **TPE)
    assert loop.total == 8
    outcomes = loop.run()
    assert len(outcomes) == 8
    assert asked[:2] == [[], [0.6]]
    assert asked[2][1] != asked[2][1]  # NaN: a seed of the second point failed
    assert len(asked) == 4
    again, _ = made(tmp_path, 1, search_seed=7, **TPE)
    assert [p["algorithm.discount"] for p in again.points] == [0.9, 0.91, 0.92, 0.93]
    assert len(again.pending) == 8
    stage.started.clear()
    again.run()
    assert stage.started == [("point=1,seed=2", "train")]
    assert len(asked) == 4
    more, _ = made(tmp_path, 1, search_seed=7, **{**TPE, "count": 5})
    more.run()
    assert len(asked) == 5

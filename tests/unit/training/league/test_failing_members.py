"""Leagues that continue without a member that failed: turns, processes, resumes."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import pytest

from ludus.flow.league import Tally
from ludus.games.names import typed
from ludus.pool import PoolError
from ludus.presets.config import Preset
from ludus.presets.errors import RunFailed
from ludus.presets.file import parse_preset
from ludus.storage import CorruptFile, RunDirectory
from ludus.training.actor_learner.sync_loop import Round
from ludus.training.league.member import LeagueMember
from ludus.training.league.remote.board import WeightsBoard
from ludus.training.league.remote.messages import LiveWeights
from ludus.training.learner_processes.memory import Field
from ludus.training.resumed import resumed_settings
from ludus.training.run_evaluator import RunEvaluator
from ludus.training.runs import resume_run, start_run
from tests.unit.training.league.test_league_runs import LEAGUE, assert_equal_runs, journal_rows, league_preset
from tests.unit.training.runs import Recorder

GAME = typed(str(Path(__file__).parent / "breaking.py"))
RULE = """
[league]
on_failure = "{on_failure}"
processes = {processes}
[league.population]
rule = "ftw"
every = 100_000
[[league.players]]
name = "p"
count = 3
role = "population"
meet = [{{rule = "elo", weight = 0.5}}, {{rule = "latest", weight = 0.5}}]
freeze = {{rule = "period", steps = 300}}
"""
RATES = """[league.players.tune."algorithm.learning_rate"]
low = 1e-4
high = 1e36
start = [1e-2, 1e36, 1e-2]
"""
BROKEN = """[league.players.tune."game.params.broken"]
low = 0.0
high = 1.0
start = [0.0, 1.0, 0.0]
"""

LAST_ONLY = {"run.checkpoint_every_minutes": "0"}  # what stays of a member is not a matter of time then


def population(
    game: str = "matrix",
    tune: str = RATES,
    on_failure: str = "continue",
    processes: int = 0,
    lag: str = "sync",
    steps: int = 2000,
    changes: Mapping[str, str] | None = None,
) -> Preset:
    """Return a league of ``p0``, ``p1``, who fails, and ``p2``."""
    head, _, _ = LEAGUE.format(game=game, lag=lag, steps=steps).partition("[league]")
    if tune == BROKEN:
        head = head.replace("[pool]", "[game.params]\nbroken = 0.0\n[pool]")
    text = head + RULE.format(on_failure=on_failure, processes=processes) + tune
    return parse_preset(text.encode(), "population", overrides=changes or {}).preset


def rounds(run: Path) -> list[str]:
    """Return the members in the order of their rounds."""
    return [str(row[2]) for row in journal_rows(run) if row[1] == "results"]


def withdrawn(run: Path) -> list[int]:
    """Return the places of the events that withdraw p1; no other member is."""
    rows = [row for row in journal_rows(run) if row[1] == "withdrawn"]
    assert {row[2] for row in rows} == {"p1"}
    return [int(str(row[0])) for row in rows]


def problems(recorder: Recorder) -> list[str]:
    """Return the reported problems, but for those of single matches."""
    single = "matches ended by an error of the game"
    return [text for text in recorder.messages if text.startswith("problem") and single not in text]


def check_goes_on(run: Path, recorder: Recorder, why: str) -> None:
    """p1 is withdrawn once and said to be; the others play on, and not against it."""
    (place,) = withdrawn(run)
    (problem,) = problems(recorder)
    assert problem.startswith("problem: member p1 failed: ")
    assert why in problem
    assert problem.endswith("; the others continue")
    after = [row for row in journal_rows(run) if int(str(row[0])) > place]
    assert {row[2] for row in after if row[1] == "results"} == {"p0", "p2"}
    assert {"frozen"} <= {str(row[1]) for row in after}


@pytest.mark.parametrize(("lag", "ahead"), [("sync", "0"), ("pipelined", "2")])
def test_a_member_whose_weights_diverge_is_withdrawn(lag: str, ahead: str, tmp_path: Path) -> None:
    recorder = Recorder()
    result = start_run(
        population(lag=lag, changes={"cluster.ahead": ahead}), tmp_path / "run", sinks=[recorder]
    )
    assert result.steps >= 2000
    check_goes_on(tmp_path / "run", recorder, "finite")
    run = RunDirectory.open(tmp_path / "run")
    assert set(run.checkpoints.members(run.checkpoints.versions()[-1])) == {"p0", "p1", "p2"}


def test_without_the_setting_the_run_ends(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="finite"):
        start_run(population(on_failure="stop"), tmp_path / "run")
    assert "withdrawn" not in {row[1] for row in journal_rows(tmp_path / "run")}


def test_a_run_ends_when_no_main_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = LeagueMember.play

    def play(self: LeagueMember, progress: float, evaluate: Callable[[], None] | None) -> Round:
        if self.name == "main" and self.version == 3:
            raise PoolError("the table broke")
        return played(self, progress, evaluate)

    monkeypatch.setattr(LeagueMember, "play", play)
    preset = league_preset(steps=2000)
    assert preset.league is not None
    league = msgspec.structs.replace(preset.league, on_failure="continue")
    with pytest.raises(RunFailed, match="member main failed: the table broke; no main is left; the newest"):
        start_run(msgspec.structs.replace(preset, league=league), tmp_path / "run")
    assert "withdrawn" not in {row[1] for row in journal_rows(tmp_path / "run")}


def test_an_exploiter_that_fails_leaves_its_frozen_players(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = LeagueMember.play

    def play(self: LeagueMember, progress: float, evaluate: Callable[[], None] | None) -> Round:
        if self.name == "exploiter" and self.version == 8:
            raise PoolError("the table broke")
        return played(self, progress, evaluate)

    monkeypatch.setattr(LeagueMember, "play", play)
    preset = league_preset(steps=3000)
    assert preset.league is not None
    league = msgspec.structs.replace(preset.league, on_failure="continue")
    recorder = Recorder()
    start_run(msgspec.structs.replace(preset, league=league), tmp_path / "run", sinks=[recorder])
    assert problems(recorder) == ["problem: member exploiter failed: the table broke; the others continue"]
    (gone,) = [int(str(r[0])) for r in journal_rows(tmp_path / "run") if r[1] == "withdrawn"]
    met = {
        tally.opponent
        for number, kind, _, _, tallies in journal_rows(tmp_path / "run")
        if kind == "results" and int(str(number)) > gone
        for tally in cast("tuple[Tally, ...]", tallies)
        if tally.player == "main"
    }
    assert {name for name in met if name.startswith("exploiter:")}


def test_a_failed_evaluation_is_blamed_on_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rate(*given: object, **named: object) -> None:
        raise PoolError("the evaluation broke")

    monkeypatch.setattr(RunEvaluator, "rate", rate)
    rated = {"evaluation.every_steps": "500", "evaluation.matches": "2", "evaluation.initial": "false"}
    preset = population(tune="", changes=rated)
    with pytest.raises(RunFailed, match=r"^the evaluation broke;"):
        start_run(preset, tmp_path / "run")
    assert "withdrawn" not in {row[1] for row in journal_rows(tmp_path / "run")}


def parted(preset: Preset, run: Path, steps: tuple[int, ...]) -> Recorder:
    """Train a run in parts, and return the reports of the last."""
    settings = msgspec.structs.replace(preset.run, max_steps=steps[0])
    start_run(msgspec.structs.replace(preset, run=settings), run)
    for end in steps[1:]:
        recorder = Recorder()
        resume_run(resumed_settings(run, {"run.max_steps": str(end)}), sinks=[recorder])
    return recorder


@pytest.mark.slow
def test_a_resumed_run_goes_on_without_it(tmp_path: Path) -> None:
    start_run(population(changes=LAST_ONLY), tmp_path / "whole")
    recorder = parted(population(changes=LAST_ONLY), tmp_path / "parted", (1200, 2000))
    assert not problems(recorder)
    assert [text for text in recorder.messages if text.startswith("p1 stays withdrawn: version ")]
    assert_equal_runs(tmp_path / "whole", tmp_path / "parted")


@pytest.mark.slow
@pytest.mark.parametrize("on_error", ["stop", "continue"])
def test_turns_and_processes_go_on_alike_without_a_member_whose_game_fails(
    on_error: str, tmp_path: Path
) -> None:
    for name, processes in (("here", 0), ("there", 2)):
        changes = {"pool.on_error": on_error, "cluster.ahead": "2"} | LAST_ONLY
        preset = population(GAME, BROKEN, "continue", processes, "pipelined", 4500, changes)
        recorder = Recorder()
        start_run(preset, tmp_path / name, sinks=[recorder])
        check_goes_on(tmp_path / name, recorder, "the table broke")
    if on_error == "continue":  # a failed slab is known when it is counted, here and there
        assert_equal_runs(tmp_path / "here", tmp_path / "there")


@pytest.mark.slow
@pytest.mark.parametrize("lag", ["sync", "pipelined", "async"])
def test_processes_go_on_without_a_member_whose_weights_diverge(lag: str, tmp_path: Path) -> None:
    recorder = Recorder()
    start_run(population(processes=2, lag=lag), tmp_path / "run", sinks=[recorder])
    check_goes_on(tmp_path / "run", recorder, "finite")
    resumed = Recorder()
    changes = {"run.max_steps": "3000", "league.on_failure": "stop"}
    assert resume_run(resumed_settings(tmp_path / "run", changes), sinks=[resumed]).steps >= 3000
    assert {u.player for u in resumed.updates} == {"p0", "p2"}
    assert not problems(resumed)


@pytest.mark.slow
def test_the_first_member_may_fail(tmp_path: Path) -> None:
    """Its version stays the run's until another member has as many updates."""
    tune = RATES.replace("[1e-2, 1e36, 1e-2]", "[1e36, 1e-2, 1e-2]")
    rated = {"evaluation.every_steps": "500", "evaluation.matches": "4"}
    preset = population(tune=tune, lag="pipelined", changes=rated)
    recorder = parted(preset, tmp_path / "run", (900, 1300, 2000))
    assert {u.player for u in recorder.updates} == {"p1", "p2"}
    run = RunDirectory.open(tmp_path / "run")
    newest = run.checkpoints.versions()[-1]
    versions = {name: int(path.name.split(".")[1]) for name, path in run.checkpoints.members(newest).items()}
    assert versions["p1"] == newest > versions["p0"]


def test_who_waits_for_weights_of_a_failed_member_gets_its_newest_ones() -> None:
    board = WeightsBoard(("a", "b"), (Field("w", (2,), "float32"),), 3)
    board.put("a", 1, 4, {"w": np.full(2, 4.0, np.float32)})
    board.put("b", 0, 5, {"w": np.full(2, 9.0, np.float32)})
    board.fail("a")
    version, arrays = board.wait(LiveWeights("a", 2, 5))
    assert (version, arrays["w"].tolist()) == (4, [4.0, 4.0])
    assert board.wait(LiveWeights("b", 0, 5))[0] == 5
    board.close()


@pytest.mark.slow
def test_a_journal_that_withdraws_another_member_is_refused(tmp_path: Path) -> None:
    start_run(population(steps=1200), tmp_path / "run")
    with contextlib.closing(sqlite3.connect(tmp_path / "run" / "league.sqlite")) as file, file:
        body = """CAST(replace(CAST(body AS TEXT), '"p1"', '"p2"') AS BLOB)"""
        changed = file.execute(f"UPDATE events SET member = 'p2', body = {body} WHERE kind = 'withdrawn'")
        assert changed.rowcount == 1
    with pytest.raises(CorruptFile, match="other members are withdrawn in the journal"):
        resume_run(resumed_settings(tmp_path / "run", {"run.max_steps": "2000"}))

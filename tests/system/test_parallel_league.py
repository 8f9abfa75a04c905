"""Members of a league in processes against members that take turns: equal journals, weights and matches."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from ludus.presets.checks.game import resolve_spec
from ludus.presets.checks.league import league_problems
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.errors import ConfigError
from ludus.presets.file import load_preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.training.league import components
from ludus.training.league.remote.processes import ProcessHosts
from ludus.training.league.remote.starting import started_hosts
from ludus.training.resumed import resumed_settings
from ludus.training.runs import resume_run, start_run
from tests.unit.training.league.test_league_runs import (
    assert_equal_runs,
    journal_rows,
    league_preset,
    written,
)
from tests.unit.training.league.test_populations import population
from tests.unit.training.runs import TIMED, Recorder

SMALL = {
    "evaluation.every_steps": "0",
    "evaluation.matches": "0",
    "evaluation.final_matches": "0",
    "run.threads": "2",
    "run.precision": "float32",
    "run.checkpoint_every_minutes": "0.001",
}


def in_processes(preset: Preset, processes: int, ahead: int | None = None) -> Preset:
    """Return ``preset`` with its members in a number of processes."""
    assert preset.league is not None
    league = msgspec.structs.replace(preset.league, processes=processes)
    cluster = msgspec.structs.replace(preset.cluster, ahead=ahead)
    return msgspec.structs.replace(preset, league=league, cluster=cluster)


def alphastar(lag: str = "sync", steps: int = 6000) -> Preset:
    """Return the three roles of the preset ``alphastar`` on small pools, with short periods."""
    periods = {f"league.players.{k}.freeze.min_steps": "400" for k in range(3)}
    periods |= {f"league.players.{k}.freeze.max_steps": "800" for k in range(3)}
    sizes = {"pool.slots": "8", "pool.rollout_length": "16", "policy.dense": "[8]", "policy.hidden": "[8]"}
    sizes |= {"algorithm.minibatches": "2", "run.lag": lag, "run.max_steps": str(steps)}
    sizes |= {"algorithm.entropy_coefficient_final": "0.006"}  # whatever the budget
    return load_preset("alphastar", SMALL | sizes | periods).preset


def pbt(steps: int = 6000) -> Preset:
    """Return the four members of the preset ``pbt`` on small pools, with short periods."""
    sizes = {"pool.slots": "8", "pool.rollout_length": "16", "run.max_steps": str(steps)}
    return load_preset("pbt", SMALL | sizes | {"league.population.every": "700"}).preset


def four(steps: int = 3000) -> Preset:
    """Return a population of four in a compiled game, whose matches a checkpoint holds."""
    preset = population(steps=steps)
    assert preset.league is not None
    entry = msgspec.structs.replace(preset.league.players[0], name="p", count=4)
    league = msgspec.structs.replace(preset.league, players=(entry,))
    return msgspec.structs.replace(preset, league=league)


def kinds(run: Path) -> list[str]:
    """Return the kinds of the events in the journal."""
    return [str(row[1]) for row in journal_rows(run)]


def rows_of(recorder: Recorder) -> list[tuple[object, ...]]:
    """Return the reports of updates without times, in their order."""
    return [
        (
            u.player,
            u.version,
            u.steps,
            u.received,
            u.matches,
            {n: x for n, x in u.numbers.items() if n.partition("/")[0] not in TIMED},
            u.outcomes,
        )
        for u in recorder.updates
    ]


def both(preset: Preset, tmp_path: Path) -> None:
    """Train in turns and in two processes, and compare everything."""
    assert preset.league is not None
    here, there = Recorder(), Recorder()
    ahead = len(preset.league.members) - 1
    start_run(in_processes(preset, 0, ahead), tmp_path / "here", sinks=[here])
    start_run(in_processes(preset, 2), tmp_path / "there", sinks=[there])
    assert kinds(tmp_path / "here").count("results") >= 20
    assert_equal_runs(tmp_path / "here", tmp_path / "there")
    assert rows_of(here) == rows_of(there)
    assert not [text for text in there.messages if text.startswith("problem")]


@pytest.mark.slow
@pytest.mark.parametrize("lag", ["sync", "pipelined"])
def test_three_roles_in_processes_learn_as_those_that_take_turns(lag: str, tmp_path: Path) -> None:
    both(alphastar(lag), tmp_path)
    assert {"frozen", "reset"} <= set(kinds(tmp_path / "there"))


@pytest.mark.slow
def test_a_population_of_four_in_processes_learns_as_one_that_takes_turns(tmp_path: Path) -> None:
    both(pbt(), tmp_path)
    assert kinds(tmp_path / "there").count("copied") >= 2


def test_members_in_processes_learn_as_those_that_take_turns(tmp_path: Path) -> None:
    both(league_preset(lag="pipelined", steps=2700), tmp_path)


@pytest.mark.slow
def test_pools_in_processes_are_built_again_for_other_game_parameters(tmp_path: Path) -> None:
    preset = population(steps=1300)
    start_run(in_processes(preset, 0, 1), tmp_path / "here")
    start_run(in_processes(preset, 2), tmp_path / "there")
    assert kinds(tmp_path / "here").count("copied") >= 1
    assert_equal_runs(tmp_path / "here", tmp_path / "there")


@pytest.mark.slow
def test_a_run_resumes_with_another_number_of_processes(tmp_path: Path) -> None:
    start_run(in_processes(alphastar(), 0, 2), tmp_path / "whole")
    start_run(in_processes(alphastar(steps=1500), 2), tmp_path / "parted")
    for steps, processes in ((3000, 1), (4500, 0), (6000, 2)):
        changes = {"run.max_steps": str(steps), "league.processes": str(processes)}
        resume_run(resumed_settings(tmp_path / "parted", changes))
    assert_equal_runs(tmp_path / "whole", tmp_path / "parted")


# ---- losses -----------------------------------------------------------------------------------------


class Hurt(Recorder):
    """Sends signals to processes of members when updates are reported."""

    def __init__(self, hosts: list[ProcessHosts], blows: dict[int, Callable[[ProcessHosts], None]]) -> None:
        super().__init__()
        self._hosts, self._blows = hosts, dict(blows)

    def update(self, update: UpdateMetrics) -> None:
        super().update(update)
        if (blow := self._blows.pop(len(self.updates), None)) is not None:
            blow(self._hosts[-1])


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> list[ProcessHosts]:
    """The processes of each start of a run; a stopped one is lost after a second."""
    made: list[ProcessHosts] = []

    def start(preset: Preset, ahead: int) -> ProcessHosts:
        made.append(started_hosts(preset, ahead))
        made[-1].stopped_s = 1.0
        return made[-1]

    monkeypatch.setattr(components, "started_hosts", start)
    return made


def sent(signal_number: int, process: int) -> Callable[[ProcessHosts], None]:
    """Return a function that sends a signal to a process of members."""
    return lambda of: os.kill(of.pids[process], signal_number)


@pytest.mark.slow
def test_a_process_that_is_killed_or_stopped_loses_nothing(tmp_path: Path, hosts: list[ProcessHosts]) -> None:
    start_run(in_processes(alphastar(), 0, 2), tmp_path / "whole")
    blows = {9: sent(signal.SIGKILL, 1), 17: sent(signal.SIGSTOP, 0), 31: sent(signal.SIGKILL, 0)}
    recorder = Hurt(hosts, blows)
    start_run(in_processes(alphastar(), 2), tmp_path / "hurt", sinks=[recorder])
    assert len(hosts) == 4
    text = "\n".join(recorder.messages)
    assert "league process 2 (main-exploiter, league-exploiter) was ended by SIGKILL" in text
    assert "league process 1 (main) was stopped for longer than 1 s" in text
    assert_equal_runs(tmp_path / "whole", tmp_path / "hurt")


@pytest.mark.slow
def test_a_run_killed_at_any_time_ends_as_one_that_never_was(tmp_path: Path) -> None:
    """The run's process is killed; its members end with it, and it resumes with other processes."""
    start_run(in_processes(four(), 0, 3), tmp_path / "whole")
    (tmp_path / "four.toml").write_text(to_toml(in_processes(four(), 2)))
    run, generator = tmp_path / "killed", random.Random(7)
    words = ["train", str(tmp_path / "four.toml"), "--run-dir", str(run)]
    rows = written(tmp_path / "whole")
    for processes, target in ((1, rows // 4), (2, rows // 2), (2, 10 * rows)):
        process = subprocess.Popen(
            [sys.executable, "-m", "ludus", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        while process.poll() is None and written(run) < target:
            time.sleep(0.01)
        if target > rows:
            assert process.wait(120) == 0
        else:
            time.sleep(generator.random() / 10)
            process.kill()
        process.communicate()
        words = ["resume", str(run), "--league.processes", str(processes)]
    assert_equal_runs(tmp_path / "whole", run)


# ---- async ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_members_in_processes_need_no_order(tmp_path: Path) -> None:
    recorder = Recorder()
    start_run(in_processes(alphastar("async"), 2), tmp_path / "run", sinks=[recorder])
    assert {u.player for u in recorder.updates} == {"main", "main-exploiter", "league-exploiter"}
    assert max(lag for u in recorder.updates for lag in u.lag) <= 2  # rounds ahead
    changes = {"run.max_steps": "7000"}
    assert resume_run(resumed_settings(tmp_path / "run", changes)).steps >= 7000


# ---- bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"league.processes": "3"}, "league.processes = 3: expected at most 2, the members of the league"),
        ({"run.lag": "async"}, "members of a league take turns"),
    ],
)
def test_settings_that_do_not_fit_are_named(changes: dict[str, str], expected: str, tmp_path: Path) -> None:
    (tmp_path / "league.toml").write_text(to_toml(league_preset()))
    preset = load_preset(str(tmp_path / "league.toml"), changes).preset
    with pytest.raises(ConfigError) as caught:
        start_run(preset, tmp_path / "run")
    assert expected in str(caught.value)


def test_members_in_processes_play_on_no_rollouts() -> None:
    preset = in_processes(league_preset(), 1)
    preset = msgspec.structs.replace(preset, cluster=msgspec.structs.replace(preset.cluster, rollouts=1))
    spec, _ = resolve_spec(preset)
    found = [str(problem) for problem in league_problems(preset, spec)]
    assert any("cluster.rollouts = 1: expected 0 where league.processes = 1" in text for text in found)


def test_too_few_processors_are_refused_with_both_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ludus.presets.checks.league.available_processors", lambda: 1)
    with pytest.raises(ConfigError, match=r"processes = 2: expected at most 1, the processors"):
        start_run(in_processes(league_preset(), 2), tmp_path / "run")

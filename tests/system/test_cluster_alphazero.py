"""AlphaZero's self-play on rollouts by Ray: the matches of one process, none twice, whatever dies.

One cluster serves the module: starting one takes seconds.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.cli.rollout_rows import rollout_table, rollouts_of
from ludus.mcts import Matches
from ludus.mcts.network import NetworkEvaluator
from ludus.pool import PoolError
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.file import parse_preset
from ludus.reporting.run_view import RunView
from ludus.storage import RunDirectory
from ludus.storage.matches import MatchFiles
from ludus.training.alphazero.components import SESSION_SHIFT, build_alphazero, read_matches
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run
from tests.unit.training.test_alphazero import TOML

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

from ludus.cluster.machines import RayMachines
from ludus.cluster.processes.actors import RolloutActor
from ludus.cluster.processes.starting import start_one
from ludus.cluster.remote_workers import RemoteWorkers
from ludus.cluster.self_play import INCARNATION_SHIFT

pytestmark = pytest.mark.random_order(disabled=True)  # the tests share a cluster and its rollouts

#: Settings that differ from the method's own tests.
CHANGES = {
    "run.max_steps": "900",
    "run.threads": "1",
    "evaluation.against": "random",
}


@pytest.fixture(scope="module")
def machines() -> Iterator[RayMachines]:
    """Two rollouts on a cluster of this machine. Runs of one play on the first."""
    made = RayMachines(preset(2), lambda text: None)
    made.reserve(preset(2))
    yield made
    made.close()


def preset(rollouts: int, **changes: str) -> Preset:
    """Return settings of a short run; keys have ``__`` in place of dots."""
    given = {name.replace("__", "."): text for name, text in changes.items()}
    return parse_preset(
        TOML.encode(), "test", overrides=CHANGES | {"cluster.rollouts": str(rollouts)} | given
    ).preset


def matches_of(run: Path) -> Matches:
    """Return the matches of a run in the order of its files."""
    components = build_alphazero(preset(0))
    try:
        files = MatchFiles(RunDirectory.open(run).self_play, components.matches_meta())
        return Matches.join([read_matches(files, n, components.spec) for n in files.numbers()])
    finally:
        components.close()


@contextmanager
def self_play(machines: RayMachines, preset: Preset) -> Iterator[RemoteWorkers]:
    """Self-play of the rollouts of ``preset`` with initial weights."""
    components = build_alphazero(preset)
    evaluator = NetworkEvaluator(components.learner.playing)
    workers = machines.workers(preset, components, 0, evaluator)
    assert isinstance(workers, RemoteWorkers)
    try:
        workers.set_weights(evaluator, 0, 1)
        yield workers
    finally:
        workers.close()
        components.close()


def incarnations(matches: Matches) -> set[int]:
    """Return the incarnations of the rollouts that played ``matches``."""
    of_session = matches.match & np.uint64((1 << SESSION_SHIFT) - 1)
    return {int(n) for n in of_session >> np.uint64(INCARNATION_SHIFT)}


def assert_each_once(matches: Matches) -> None:
    """Check that there are matches, and none has the number of another."""
    assert len(matches) > 0
    assert len(np.unique(matches.match)) == len(matches)


def assert_row_for_each(run: Path, rollouts: int) -> None:
    """Check that every update has the numbers of each rollout, and the live view a row for each."""
    updates, _ = RunView(RunDirectory(run)).metrics()
    names = [str(number) for number in range(rollouts)]
    for update in updates:
        numbers = update.under("cluster")
        assert (numbers["rollouts"], numbers["deaths"], numbers["slabs_dropped"]) == (rollouts, 0.0, 0.0)
        assert 0.0 < numbers["wait_s"] <= update.numbers["time/update_s"]
        for name in names:
            assert numbers[f"lag/{name}"] == 0.0
            assert 0.0 <= numbers[f"idle/{name}"] < 1.0
            assert numbers[f"matches_per_s/{name}"] > 0.0
    assert len(updates) > 1
    assert rollouts_of(updates[-1]) == names
    assert rollout_table(updates[-1], rows=9).row_count == rollouts


@pytest.mark.usefixtures("stepped_self_play")
def test_one_rollout_plays_the_matches_of_one_process(tmp_path: Path, machines: RayMachines) -> None:
    start_run(preset(0), tmp_path / "here")
    start_run(preset(1), tmp_path / "there", machines=machines)
    here, there = matches_of(tmp_path / "here"), matches_of(tmp_path / "there")
    assert here.version.max() >= 2
    assert_each_once(there)
    for name, column in here.columns().items():
        np.testing.assert_array_equal(there.columns()[name], column, name)
    weights = [RunDirectory.open(tmp_path / run).checkpoints.load_last()[0] for run in ("here", "there")]
    assert weights[0].weights.tensors.keys() == weights[1].weights.tensors.keys()
    for name, tensor in weights[0].weights.tensors.items():
        np.testing.assert_array_equal(weights[1].weights.tensors[name], tensor, name)


def test_runs_of_several_rollouts_play_no_match_twice_and_resume_with_another_number(
    tmp_path: Path, machines: RayMachines
) -> None:
    run = tmp_path / "run"
    start_run(preset(2), run, machines=machines)
    matches = matches_of(run)
    assert_each_once(matches)
    assert {int(n) % 2 for n in matches.match} == {0, 1}
    assert_row_for_each(run, rollouts=2)

    def more(p: Preset) -> Preset:
        cluster = msgspec.structs.replace(p.cluster, rollouts=1)
        return msgspec.structs.replace(p, run=msgspec.structs.replace(p.run, max_steps=1200), cluster=cluster)

    resume_run(run, more=more, machines=machines)
    after = matches_of(run)
    assert_each_once(after)
    assert set(matches.match) < set(after.match)
    assert {int(n) >> SESSION_SHIFT for n in after.match} == {0, 1}


def test_async_self_play_continues_while_the_learner_works(tmp_path: Path, machines: RayMachines) -> None:
    result = start_run(preset(2, run__lag="async"), tmp_path / "run", machines=machines)
    assert result.steps >= 900
    matches = matches_of(tmp_path / "run")
    assert_each_once(matches)
    assert matches.version.max() <= result.version


def test_a_killed_rollout_is_replaced_and_no_match_comes_twice(machines: RayMachines) -> None:
    with self_play(machines, preset(2)) as workers:
        workers.play_until(400, lambda: False)
        workers.pause()
        parts = [workers.take_matches()]
        victims = workers.pids()[-1:]

        def kill_once() -> bool:
            if victims:
                os.kill(victims.pop(), signal.SIGKILL)
            return False

        workers.play_until(3000, kill_once)
        workers.pause()
        parts.append(workers.take_matches())
        assert workers.moves() >= 3000
        numbers = workers.numbers()
        assert (numbers["cluster/deaths"], numbers["cluster/slabs_dropped"]) == (1.0, 1.0)
        matches = Matches.join(parts)
        assert_each_once(matches)
        assert incarnations(matches) == {0, 1}


def test_a_rollout_that_plays_other_weights_than_were_sent_ends_the_run(
    machines: RayMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ludus.cluster.remote_workers.DIGEST_EVERY", 2)
    with self_play(machines, preset(1)) as workers:
        for moves in (50, 100, 150):
            workers.play_until(moves, lambda: False)
        other = build_alphazero(preset(1, run__seed="2"))
        workers.set_weights(NetworkEvaluator(other.learner.playing), 7, 1)
        other.close()
        workers.rollouts[0].has = workers._set  # so that they are not sent
        workers.play_until(200, lambda: False)
        with pytest.raises(PoolError, match="rollout 0: its acting weights differ from version 7"):
            workers.play_until(250, lambda: False)


@pytest.mark.slow
def test_a_rollout_that_stops_answering_is_replaced(
    machines: RayMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ludus.cluster.processes.actors.PATIENCE_S", 1.0)
    with self_play(machines, preset(1)) as workers:
        workers.play_until(100, lambda: False)
        os.kill(workers.pids()[0], signal.SIGSTOP)
        workers.play_until(400, lambda: False)
        assert workers.deaths == 1
        assert_each_once(workers.take_matches())


def test_a_rollout_stops_at_a_pause_and_after_the_moves_of_a_round(machines: RayMachines) -> None:
    with self_play(machines, preset(1)) as workers:
        workers.play_until(10**9, lambda: True)
        workers.pause()
        paused = workers.moves()
        assert paused < 10**9
        workers.start()
        workers.play_until(paused + 1, lambda: False)
        assert paused + 150 <= workers.moves() < paused + 300
        assert_each_once(workers.take_matches())


def test_a_rollout_that_dies_again_and_again_ends_the_run(
    machines: RayMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dead(preset: Preset) -> RolloutActor:
        actor = start_one(preset)
        actor.kill()
        return actor

    with self_play(machines, preset(1)) as workers:
        monkeypatch.setattr("ludus.cluster.elastic.roster.start_one", dead)
        os.kill(workers.pids()[0], signal.SIGKILL)
        with pytest.raises(
            PoolError, match="the rollout of part 0 died 5 times without a slab: ActorDiedError"
        ):
            workers.play_until(100, lambda: False)


def test_missing_processors_are_refused_before_the_run_has_a_directory(
    tmp_path: Path, machines: RayMachines
) -> None:
    machines.end_rollouts()
    with pytest.raises(ConfigError, match=r"cluster.rollouts = 2: 2000 CPUs asked, \d+ free"):
        start_run(preset(2, cluster__cpus="1000"), tmp_path / "run", machines=machines)
    assert not (tmp_path / "run").exists()

"""Rollouts by Ray against one process, bit for bit, and what happens when they die.

One cluster and two rollouts serve the module: starting them takes seconds.
"""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from ludus.algorithms.learner import Learner
from ludus.flow import MatchResult, Orders, Slab, joined
from ludus.games import spec
from ludus.pool import PoolError
from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.errors import ConfigError, Interrupted
from ludus.presets.file import load_preset
from ludus.rollouts.commands import LoadWeights, SeatPlayers
from ludus.rollouts.exchange import Sampler
from ludus.training.actor_learner.build import Components, LocalWeights, build_learner
from ludus.training.actor_learner.sampler import build_sampler
from ludus.training.actor_learner.trainer import make_rounds, slabs_of
from ludus.training.machines import JoinedMachines
from ludus.training.runs import start_run
from tests.unit.training.runs import Recorder, resume_run, small_preset
from tests.unit.training.test_runs import InterruptAt, last_weights, same_weights
from tests.unit.training.test_team_spirit import MOVING, SQUADS, START, squads

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

from ludus.cluster.fleet import Fleet
from ludus.cluster.machines import RayMachines
from ludus.cluster.processes.actors import RolloutActor
from ludus.cluster.processes.crew import Crew
from ludus.cluster.processes.starting import check_store, start_one
from ludus.cluster.remote_sampler import RemoteSampler
from ludus.cluster.session import connect, disconnect

pytestmark = pytest.mark.random_order(disabled=True)  # the tests share a cluster and its rollouts


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """A cluster of this machine."""
    connect(ClusterConfig())
    yield
    _crew.close()
    disconnect()


class SharedCrew:
    """Two rollouts on which the tests play; others take their place when one has died."""

    def __init__(self) -> None:
        self._crew: Crew | None = None

    def crew(self, successors: bool = False) -> Crew:
        """Return rollouts. With ``successors`` some may have predecessors, and play other matches."""
        if self._crew is None or (self._crew.deaths and not successors):
            self.close()
            self._crew = Crew(preset_of("tic_tac_toe", rollouts=2))
        return self._crew

    def close(self) -> None:
        """End the rollouts. Idempotent."""
        if self._crew is not None:
            self._crew.close()
            self._crew = None


_crew = SharedCrew()


def preset_of(
    name: str, lag: str = "sync", rollouts: int = 0, more: Mapping[str, str] | None = None
) -> Preset:
    """Return a preset with small slabs."""
    settings = {
        "run.threads": "1",
        "run.lag": lag,
        "pool.slots": "8",
        "pool.rollout_length": "8",
        "cluster.rollouts": str(rollouts),
    }
    return load_preset(name, settings | dict(more or {})).preset


@dataclass
class Trained:
    """Result of a training."""

    weights: str
    results: list[MatchResult]


def remote(preset: Preset) -> Sampler:
    """Return a sampler over the rollouts of ``preset``."""
    fleet = Fleet(preset, crew=_crew.crew())
    return RemoteSampler(fleet, slabs_of(preset.run), joined=preset.run.lag != "async")


def successors(preset: Preset) -> Sampler:
    """Return a sampler like :func:`remote`'s, on rollouts of which some may have predecessors."""
    return RemoteSampler(Fleet(preset, crew=_crew.crew(successors=True)), slabs_of(preset.run))


def local(preset: Preset) -> Sampler:
    """Return the sampler of one process."""
    return build_sampler(preset, slabs=slabs_of(preset.run))


def trained(
    preset: Preset, make: Callable[[Preset], Sampler], updates: int, each: Callable[[Sampler, int], None]
) -> Trained:
    """Train from scratch with a sampler that ``make`` returns. ``each`` is called after each round."""
    sampler, learner = make(preset), build_learner(preset)
    (policy,) = sampler.facts.actors
    components = Components(sampler, learner, policy, threads=1)
    threads, rounds = None, None
    results: list[MatchResult] = []
    try:
        sampler.send(LoadWeights({policy: LocalWeights(learner)}))
        sampler.send(SeatPlayers(Orders()))
        threads, rounds = make_rounds(components, preset)
        while learner.version < updates:
            results += rounds.run(0.0, lambda: assert_asked(sampler, preset)).results
            each(sampler, learner.version)
    finally:
        if rounds is not None and threads is not None:
            rounds.close()
            threads.close()
        components.close()
    return Trained(digest(learner), results)


def assert_asked(sampler: Sampler, preset: Preset) -> None:
    """Check that rollouts play the next slab while something else is done, as an evaluation."""
    if isinstance(sampler, RemoteSampler) and preset.run.lag != "async":
        assert sampler.fleet.asked == 1


def nothing(sampler: Sampler, version: int) -> None:
    """Do nothing after a round."""


def digest(learner: Learner) -> str:
    """Return a digest of all parameters and buffers."""
    total = hashlib.sha256()
    for name, tensor in learner.network.state_dict().items():
        total.update(name.encode() + tensor.detach().cpu().float().numpy().tobytes())
    return total.hexdigest()


@pytest.mark.parametrize(
    ("name", "lag", "updates", "more"),
    [
        pytest.param("minirts", "sync", 20, {}, marks=pytest.mark.slow),
        pytest.param("minirts", "pipelined", 20, {}, marks=pytest.mark.slow),
        ("minirts-dqn", "sync", 4, {"algorithm.learning_starts": "64"}),
        ("minirts-imitation", "pipelined", 4, {}),
        ("minirts-units", "sync", 3, {}),
        ("minirts", "pipelined", 4, {"policy.memory": "gru"}),
    ],
)
def test_one_rollout_gives_the_bits_of_one_process(
    name: str, lag: str, updates: int, more: dict[str, str]
) -> None:
    here = trained(preset_of(name, lag, more=more), local, updates, nothing)
    there = trained(preset_of(name, lag, 1, more), remote, updates, nothing)
    assert there == here


def test_two_rollouts_give_the_bits_of_two_joined_samplers() -> None:
    preset = preset_of("minirts")
    samplers = [build_sampler(preset, index, slabs=1) for index in (0, 1)]
    learner = build_learner(preset)
    try:
        for sampler in samplers:
            sampler.send(SeatPlayers(Orders()))
        for _ in range(4):
            slabs: list[Slab] = []
            for sampler in samplers:
                sampler.send(LoadWeights({policy: LocalWeights(learner) for policy in sampler.facts.actors}))
                sampler.play(sampler.facts.slabs[0])
                slabs.append(sampler.facts.slabs[0])
            learner.start(joined(slabs), 0.0).help(0)
            learner.finish()
    finally:
        for sampler in samplers:
            sampler.close()
    there = trained(preset_of("minirts", rollouts=2), remote, 4, nothing)
    assert there.weights == digest(learner)


def assert_each_once(results: list[MatchResult]) -> None:
    """Check that no match is among ``results`` twice: its pool's seed and its number name it."""
    names = [(result.seed, result.match) for result in results]
    assert len(set(names)) == len(names)


def test_a_rollout_that_is_killed_is_replaced_and_no_match_counts_twice() -> None:
    killed: list[int] = []

    def kill_once(sampler: Sampler, version: int) -> None:
        assert isinstance(sampler, RemoteSampler)
        if version == 10 and not killed:
            killed.append(sampler.fleet.pids()[1])
            os.kill(killed[0], signal.SIGKILL)

    preset = preset_of("tic_tac_toe", rollouts=2)
    after = trained(preset, remote, 20, kill_once)
    assert len(killed) == 1
    assert len(after.results) > 20
    assert_each_once(after.results)


@pytest.mark.slow
def test_a_rollout_that_stops_answering_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ludus.cluster.processes.actors.PATIENCE_S", 1.0)
    stopped: list[int] = []

    def stop_once(sampler: Sampler, version: int) -> None:
        assert isinstance(sampler, RemoteSampler)
        if version == 2 and not stopped:
            stopped.append(sampler.fleet.pids()[0])
            os.kill(stopped[0], signal.SIGSTOP)

    after = trained(preset_of("tic_tac_toe", rollouts=1), successors, 4, stop_once)
    assert len(stopped) == 1
    assert len(after.results) > 0
    assert_each_once(after.results)


def test_a_rollout_that_dies_again_and_again_ends_the_run_with_its_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def dead(preset: Preset) -> RolloutActor:
        actor = start_one(preset)
        actor.kill()
        return actor

    def kill(sampler: Sampler, version: int) -> None:
        assert isinstance(sampler, RemoteSampler)
        monkeypatch.setattr("ludus.cluster.elastic.roster.start_one", dead)
        os.kill(sampler.fleet.pids()[0], signal.SIGKILL)

    with pytest.raises(PoolError, match="the rollout of part 0 died 5 times without a slab: ActorDiedError"):
        trained(preset_of("tic_tac_toe", rollouts=1), successors, 3, kill)


class Machines(RayMachines):
    """The module's rollouts, which stay."""

    def __init__(self) -> None:
        self._report, self._crew = print, _crew.crew()

    def close(self) -> None:
        """Do nothing: the next test plays on the same rollouts."""


def past(**changes: object) -> Preset:
    """Return a run of twelve updates against past weights."""
    more = {"run__max_steps": 1200, "run__lag": "pipelined", "evaluation__every_steps": 0}
    ends = {"evaluation__matches": 0, "evaluation__final_matches": 0}
    opponents = {"opponents__0__name": "past", "opponents__0__past_every": 2}
    return small_preset(**(more | ends | opponents | changes))


def test_a_run_on_two_rollouts_is_one_of_two_joined_samplers_and_resumes_bit_equal(tmp_path: Path) -> None:
    start_run(past(), tmp_path / "joined", machines=JoinedMachines(2))
    with closing(Machines()) as machines, pytest.raises(Interrupted):
        start_run(past(cluster__rollouts=2), tmp_path / "run", sinks=[InterruptAt(4)], machines=machines)
    recorder = Recorder()
    with closing(Machines()) as machines:
        resume_run(tmp_path / "run", sinks=[recorder], machines=machines)
    assert not [text for text in recorder.messages if "matches restart" in text]
    assert same_weights(last_weights(tmp_path / "run"), last_weights(tmp_path / "joined"))


@pytest.mark.parametrize("lag", ["sync", "async"])
def test_rollouts_share_rewards_by_the_spirit_of_their_request(lag: str, tmp_path: Path) -> None:
    """A spirit that moves, by rollouts that play when they are asked and as they come."""
    moving = {**SQUADS, **MOVING, "run__lag": lag}
    recorder = Recorder()
    with closing(Machines()) as machines:
        many = small_preset(**moving, cluster__rollouts=2)
        start_run(many, tmp_path / "run", sinks=[recorder], machines=machines)
    assert recorder.updates[-1].numbers["team/spirit"] == pytest.approx(1.0)
    if lag == "sync":  # the others do not repeat
        start_run(small_preset(**moving), tmp_path / "joined", machines=JoinedMachines(2))
        start_run(squads(run__lag=lag, **START), tmp_path / "still", machines=JoinedMachines(2))
        assert same_weights(last_weights(tmp_path / "run"), last_weights(tmp_path / "joined"))
        assert not same_weights(last_weights(tmp_path / "run"), last_weights(tmp_path / "still"))


def test_a_run_that_resumes_with_another_number_of_rollouts_restarts_its_matches(tmp_path: Path) -> None:
    with closing(Machines()) as machines, pytest.raises(Interrupted):
        start_run(past(cluster__rollouts=2), tmp_path / "run", sinks=[InterruptAt(4)], machines=machines)

    def one(preset: Preset) -> Preset:
        return msgspec.structs.replace(preset, cluster=ClusterConfig(rollouts=1))

    recorder = Recorder()
    with closing(Machines()) as machines:
        resume_run(tmp_path / "run", sinks=[recorder], machines=machines, more=one)
    (text,) = [text for text in recorder.messages if "matches restart" in text]
    assert "it has the matches of 2, now 1 play" in text


def test_async_takes_slabs_of_single_rollouts_as_they_come() -> None:
    sizes: set[int] = set()

    def look(sampler: Sampler, version: int) -> None:
        sizes.update(slab.rows for slab in sampler.facts.slabs)

    preset = preset_of("tic_tac_toe", "async", rollouts=2)
    after = trained(preset, remote, 10, look)
    assert len(sizes) == 1
    slots = {result.slot for result in after.results}
    assert max(slots) >= preset.pool.slots > min(slots)


def test_async_learns_from_no_slab_that_is_older_than_allowed_and_counts_what_it_drops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "ludus.cluster.processes.actors.PATIENCE_S", 300.0
    )  # a stopped rollout is slow here, not lost
    preset = preset_of("tic_tac_toe", "async", 2, {"run.max_lag": "1"})
    sampler, learner = remote(preset), build_learner(preset)
    (policy,) = sampler.facts.actors
    assert isinstance(sampler, RemoteSampler)
    components = Components(sampler, learner, policy, threads=1)
    sampler.send(LoadWeights({policy: LocalWeights(learner)}))
    sampler.send(SeatPlayers(Orders()))
    slow = sampler.fleet.pids()[1]
    threads, rounds = make_rounds(components, preset)
    dropped, received, lags = 0, 0, []
    try:
        for number in range(60):
            if number % 10 == 0:
                os.kill(slow, signal.SIGSTOP)
            if number % 10 == 8:
                os.kill(slow, signal.SIGCONT)
            done = rounds.run(0.0)
            received += done.received
            dropped += done.dropped
            lags += [] if done.update is None else list(done.update.lag)
    finally:
        os.kill(slow, signal.SIGCONT)
        rounds.close()
        threads.close()
        components.close()
    assert max(lags) <= 1
    assert 0 < dropped < received


def test_slabs_larger_than_half_of_the_object_store_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ludus.cluster.processes.starting.store_bytes", lambda: 2 << 20)
    with pytest.raises(ConfigError, match=r"slabs take .* MB, expected at most half .* 2\.0 MB"):
        remote(preset_of("minirts", rollouts=1, more={"pool.slots": "64", "pool.rollout_length": "64"}))


def test_slabs_of_rounds_ahead_count_among_those_of_the_object_store(monkeypatch: pytest.MonkeyPatch) -> None:
    game, preset = spec("tic_tac_toe"), preset_of("tic_tac_toe", rollouts=1)
    inputs = [tensor.name for tensor in game.observation]
    ahead = msgspec.structs.replace(preset, cluster=ClusterConfig(rollouts=1, ahead=9))
    slab = Slab(game, preset.pool.rollout_length, 16)
    size = sum(array.nbytes for array in slab.learned_fields(inputs).values())
    monkeypatch.setattr("ludus.cluster.processes.starting.store_bytes", lambda: 2 * 10 * size)
    check_store(game, 16, ahead, inputs)
    monkeypatch.setattr("ludus.cluster.processes.starting.store_bytes", lambda: 2 * 10 * size - 1)
    check_store(game, 16, preset, inputs)
    with pytest.raises(ConfigError, match=r"^cluster\.rollouts = 1, cluster\.ahead = 9: their slabs take"):
        check_store(game, 16, ahead, inputs)


def test_more_processors_than_the_machine_has_are_refused_with_both_numbers() -> None:
    with pytest.raises(ConfigError, match=r"cluster.rollouts = 2: 2000 CPUs asked, \d+ free"):
        Crew(preset_of("tic_tac_toe", rollouts=2, more={"cluster.cpus": "1000"}))


def test_more_gpus_than_the_machine_has_are_refused_with_both_numbers() -> None:
    with pytest.raises(ConfigError, match=r"cluster.rollouts = 1: 1000 GPUs asked, \d+ free"):
        Crew(preset_of("tic_tac_toe", rollouts=1, more={"cluster.gpus": "1000"}))


def test_an_address_without_an_answer_is_refused() -> None:
    with pytest.raises(ConfigError, match="no Ray cluster answers there"):
        connect(ClusterConfig(rollouts=1, address="127.0.0.1:1"))

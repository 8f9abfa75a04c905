"""Several samplers as one: their rows make one slab, and runs with them train, stop and resume."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ludus.algorithms.learner import Learner
from ludus.flow import Orders, RolloutStats, Slab, Terms
from ludus.mcts.network import NetworkEvaluator
from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.rollouts.alternating_sampler import PREFIXES, AlternatingSampler, TurnOrder
from ludus.rollouts.commands import (
    BindLanes,
    LoadWeights,
    PlayAhead,
    Seated,
    SeatPlayers,
    TakeSnapshot,
    lane_of,
    part_of,
)
from ludus.rollouts.exchange import TIME_STEP, Sampler, SamplerState
from ludus.rollouts.joined_sampler import JoinedSampler
from ludus.storage import CorruptFile, RunDirectory
from ludus.training.actor_learner.build import LocalWeights, build_learner
from ludus.training.actor_learner.sampler import build_sampler, pool_seed, sampler_parts
from ludus.training.alphazero.components import AlphaZeroComponents
from ludus.training.alphazero.workers import SelfPlayWorkers
from ludus.training.machines import JoinedMachines, LocalMachines
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .league.test_league_runs import LEAGUE, assert_equal_runs
from .runs import Recorder, reproducible_rows, small_preset
from .test_runs import last_weights, same_weights, start_and_kill
from .test_weight_hashes import ALPHAZERO

SHORT: dict[str, object] = {
    "run__max_steps": 900,
    "run__checkpoint_every_minutes": 0.0000001,
    "evaluation__every_steps": 0,
    "evaluation__matches": 0,
    "evaluation__final_matches": 0,
}


def league() -> Preset:
    text = LEAGUE.format(game="matrix", lag="pipelined", steps=1500)
    return parse_preset(text.encode(), "league").preset


def past(**changes: object) -> Preset:
    return small_preset(**(SHORT | {"opponents__0__name": "past", "opponents__0__past_every": 2} | changes))


class Copies:
    """Sink that copies what it is given."""

    def __init__(self) -> None:
        self.slabs: list[dict[str, np.ndarray]] = []
        self.stats: list[RolloutStats] = []

    def put(self, slab: Slab, stats: RolloutStats) -> None:
        self.slabs.append({name: array.copy() for name, array in slab.fields().items()})
        self.stats.append(stats)


def learn(learner: Learner, slab: Slab) -> None:
    learner.start(slab, 0.0).help(0)
    assert learner.finish().samples > 0


def test_learning_from_joined_samplers_is_learning_from_their_rows_side_by_side() -> None:
    preset = small_preset(policy__memory="gru", policy__memory_size=8, opponents__0__name="latest")
    first, second = build_learner(preset), build_learner(preset)
    whole: Sampler = JoinedMachines(2).sampler(preset)
    parts = [build_sampler(preset, index, slabs=1) for index in range(2)]
    for _ in range(2):
        whole.send(LoadWeights({0: LocalWeights(first)}))
        kept = Copies()
        kept.put(whole.facts.slabs[1], whole.play(whole.facts.slabs[1]))
        learn(first, whole.facts.slabs[1])
        apart = Copies()
        for part in parts:
            part.send(LoadWeights({0: LocalWeights(second)}))
            apart.put(part.facts.slabs[0], part.play(part.facts.slabs[0]))
        fields = {
            name: np.concatenate([f[name] for f in apart.slabs], 0 if name == "memory.0" else 1)
            for name in apart.slabs[0]
        }
        assert all(np.array_equal(kept.slabs[0][name], array) for name, array in fields.items())
        assert kept.stats[0].steps == sum(stats.steps for stats in apart.stats)
        seeds = [result.seed for stats in apart.stats for result in stats.results]
        assert [result.seed for result in kept.stats[0].results] == seeds
        slab = Slab(whole.facts.spec, 8, whole.facts.slabs[0].rows)
        slab.memory = {0: np.empty_like(fields["memory.0"])}
        for name, array in slab.fields().items():
            array[...] = fields[name]
        learn(second, slab)
    tensors = second.weights().tensors
    assert all(np.array_equal(array, tensors[name]) for name, array in first.weights().tensors.items())
    for sampler in (whole, *parts):
        sampler.close()


@pytest.mark.slow
def test_a_joined_sampler_of_one_is_that_sampler(tmp_path: Path) -> None:
    start_run(past(), tmp_path / "plain")
    start_run(past(), tmp_path / "joined", machines=JoinedMachines(1))
    assert same_weights(last_weights(tmp_path / "plain"), last_weights(tmp_path / "joined"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"run__lag": "pipelined", "policy__memory": "gru", "policy__memory_size": 8},
        {"run__lag": "sync", "run__queue": 1},
    ],
)
def test_a_killed_run_of_joined_samplers_resumes_bit_equal(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    preset, machines = past(**changes, run__max_steps=1200), JoinedMachines(2)
    whole, killed = tmp_path / "whole" / "run", tmp_path / "killed" / "run"
    start_run(preset, whole, machines=machines)
    start_and_kill(preset, killed, update=3, machines="JoinedMachines(2)")
    with pytest.raises(CorruptFile, match="matches of 2 samplers, expected 3"):
        resume_run(killed, machines=JoinedMachines(3))
    recorder = Recorder()
    resume_run(killed, sinks=[recorder], machines=machines)
    assert 0 < recorder.updates[0].version <= 3
    assert reproducible_rows(killed / "metrics.jsonl") == reproducible_rows(whole / "metrics.jsonl")
    assert same_weights(last_weights(killed), last_weights(whole))


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm__name": "imitation", "algorithm__teacher": "perfect", "policy__memory": "gru"},
        pytest.param(
            {"algorithm__name": "trpo", "policy__critic": "own", "run__lag": "async"}, marks=pytest.mark.slow
        ),
        {"algorithm__name": "a2c", "run__topology": "one_to_one", "run__pools": 2},
    ],
)
def test_methods_learn_from_joined_samplers(tmp_path: Path, changes: dict[str, object]) -> None:
    settings = SHORT | {"policy__memory_size": 8} | changes
    preset = small_preset(**settings, algorithm__minibatches=1)
    result = start_run(preset, tmp_path / "run", machines=JoinedMachines(2))
    assert result.version >= 2
    assert result.steps >= 900


@pytest.mark.slow
def test_a_killed_league_of_joined_samplers_resumes_bit_equal(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole" / "run", tmp_path / "killed" / "run"
    start_run(league(), whole, machines=JoinedMachines(2))
    start_and_kill(league(), killed, update=3, machines="JoinedMachines(2)")
    resume_run(killed, machines=JoinedMachines(2))
    assert_equal_runs(whole, killed)


def test_lanes_of_parts_have_numbers_and_names_of_their_own(tmp_path: Path) -> None:
    start_run(past(), tmp_path / "run", machines=JoinedMachines(2))
    checkpoint = RunDirectory.open(tmp_path / "run").checkpoints.load_last()[0]
    lanes = msgspec.json.decode(checkpoint.state)["lanes"]
    assert {part_of(int(lane))[0] for lane in lanes} == {0, 1}
    assert checkpoint.rollout[TIME_STEP] == checkpoint.rollout[f"sampler1.{TIME_STEP}"]
    sampler, kept = JoinedMachines(2).sampler(past()), Copies()
    assert isinstance(sampler, JoinedSampler)
    learner = build_learner(past())
    sampler.send(LoadWeights({0: LocalWeights(learner)}))
    kept.put(sampler.facts.slabs[0], sampler.play(sampler.facts.slabs[0]))
    results = kept.stats[0].results
    slots = sampler.facts.slots
    players = {name for result in results if result.slot >= slots for name in result.players}
    assert {result.slot // slots for result in results} == {0, 1}
    assert players == {"policy:0", f"policy:{lane_of(1, 1)}"}
    assert {sampler.facts.labels[name] for name in players} == {"latest", "past"}
    with pytest.raises(ValueError, match="of sampler 2, expected one of 2 samplers"):
        sampler.send(BindLanes({lane_of(2, 1): "main:0"}))
    sampler.close()


def test_parts_of_a_sampler_need_no_matches() -> None:
    for preset in (
        past(),
        small_preset(algorithm__name="imitation", algorithm__teacher="perfect"),
    ):
        parts, sampler = sampler_parts(preset, 1), build_sampler(preset, 1)
        facts = sampler.facts
        assert (parts.spec, parts.params, parts.labels) == (facts.spec, facts.params, facts.labels)
        assert parts.learned == facts.learned
        assert parts.actors.keys() == facts.actors.keys()
        assert parts.actors[0].seed == facts.actors[0].seed
        sampler.close()


def test_a_sampler_of_another_incarnation_plays_other_matches() -> None:
    counts = [(restarts, incarnation) for restarts in range(3) for incarnation in range(3)]
    assert len({pool_seed(5, *count) for count in counts}) == len(counts)
    preset = small_preset()
    learner, seeds = build_learner(preset), []
    for incarnation in (0, 0, 1):
        sampler, kept = build_sampler(preset, incarnation=incarnation), Copies()
        sampler.send(LoadWeights({0: LocalWeights(learner)}))
        kept.put(sampler.facts.slabs[0], sampler.play(sampler.facts.slabs[0]))
        sampler.close()
        seeds.append({result.seed for result in kept.stats[0].results})
    assert seeds[0] == seeds[1]
    assert seeds[0].isdisjoint(seeds[2])


class Asked(LocalMachines):
    """Machines that count the workers of self-play that they were asked for."""

    def __init__(self) -> None:
        self.sessions: list[int] = []

    def workers(
        self, preset: Preset, components: AlphaZeroComponents, session: int, evaluator: NetworkEvaluator
    ) -> SelfPlayWorkers:
        self.sessions.append(session)
        return super().workers(preset, components, session, evaluator)


def test_self_play_is_asked_of_the_machines(tmp_path: Path) -> None:
    machines = Asked()
    start_run(parse_preset(ALPHAZERO.encode(), "alphazero").preset, tmp_path / "run", machines=machines)
    resume_run(tmp_path / "run", machines=machines)
    assert machines.sessions == [0, 1]


class Part:
    """A part of a sampler, of which only its state and its answers are read."""

    def __init__(self, played: bool, settles: bool = True) -> None:
        self.state, self._settles = SamplerState(5, played, {}), settles
        self.received: list[object] = []

    def send(self, command: object) -> object:
        self.received.append(command)
        if isinstance(command, SeatPlayers):
            return Seated(self._settles, {1: "main:3"})
        if isinstance(command, TakeSnapshot):
            matches = {"pool": np.array([1, 2], np.uint8)} if self.state.played else {}
            return {TIME_STEP: np.array([5])} | matches
        return self._settles


def of_parts(kind: type[Any], *parts: Part) -> Any:  # noqa: ANN401
    """Return a sampler of a kind with these parts."""
    made = object.__new__(kind)
    made.parts = list(parts)
    return made


@pytest.mark.parametrize("played", [(True, True), (True, False), (False, True), (False, False)])
def test_a_joined_sampler_has_matches_to_store_once_all_of_its_parts_have_played(
    played: tuple[bool, bool],
) -> None:
    assert of_parts(JoinedSampler, *map(Part, played)).state.played == all(played)


@pytest.mark.parametrize("played", [(True, True), (True, False), (False, True), (False, False)])
def test_alternating_samplers_store_the_matches_of_the_parts_that_have_played(
    played: tuple[bool, bool],
) -> None:
    sampler = of_parts(AlternatingSampler, *map(Part, played))
    sampler._turns, sampler._not_counted = TurnOrder(), 0
    assert sampler.state.played == any(played)
    stored = sampler.send(TakeSnapshot())
    whole = [f"{prefix}pool" in stored for prefix in PREFIXES]
    assert whole == list(played)
    assert all(f"{prefix}{TIME_STEP}" in stored for prefix in PREFIXES)


@pytest.mark.parametrize("bind", [True, False])
@pytest.mark.parametrize("settles", [(True, True), (True, False), (False, True), (False, False)])
def test_orders_are_settled_when_they_are_in_every_part_and_all_parts_get_them(
    settles: tuple[bool, bool], bind: bool
) -> None:
    parts = [Part(True, value) for value in settles]
    command = SeatPlayers(Orders(), bind)
    answer = of_parts(JoinedSampler, *parts).send(command)
    assert answer == Seated(all(settles), {1: "main:3", lane_of(1, 1): "main:3"})
    assert [part.received for part in parts] == [[command], [command]]


@pytest.mark.parametrize("plays", [(True, True), (True, False), (False, True), (False, False)])
def test_slabs_are_played_ahead_when_every_part_plays_ahead(plays: tuple[bool, bool]) -> None:
    parts = [Part(True, value) for value in plays]
    assert of_parts(JoinedSampler, *parts).send(PlayAhead()) == all(plays)
    assert [part.received for part in parts] == [[PlayAhead()], [PlayAhead()]]


def test_terms_reach_every_part_as_they_are() -> None:
    parts, terms = [Part(True), Part(True)], Terms(spirit=0.5)
    of_parts(JoinedSampler, *parts).send(terms)
    assert [part.received for part in parts] == [[terms], [terms]]

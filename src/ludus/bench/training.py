"""Speed of training, against the limits of its components on the same processors in the same minutes.

Three things are timed in turn, several times over, so that other load on the machine affects all of them
alike:

training     rounds as in a run, without files and evaluations;
simulation   only the pool, with as many threads as training has, playing the very moves that training's
             policy has just chosen (a game in processes, which cannot be reset: random legal ones);
network      only the rollout's inference and the learner's updates, on training's data.

Per decision, simulation and network cost ``1/S`` and ``1/N`` seconds of the whole machine; together no
arrangement of the same work can exceed ``1 / (1/S + 1/N)`` decisions a second: the combined limit. A GPU
works beside the simulation; there the slowest of simulation, inference and learning is the limit.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import numpy as np

from ludus.algorithms.learner import SlabLearner
from ludus.flow import PoolOptions, PoolStats, Slab
from ludus.flow.inputs.shown import shown
from ludus.flow.seeds import SEED_POOL, derive_seed
from ludus.policies.accelerator import kind_of
from ludus.pool import Pool
from ludus.pool.factory import make_pool
from ludus.pool.native import NativePool
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.hardware import device_title, pool_thread_count, thread_count
from ludus.presets.parts import larger_parts, with_parts
from ludus.rollouts.actor import ActInput
from ludus.rollouts.collector import as_index
from ludus.rollouts.commands import AddPlayer, SeatPlayers
from ludus.training.actor_learner.build import Components, build
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.sampler import local_sampler
from ludus.training.actor_learner.sync_loop import Round, Rounds
from ludus.training.actor_learner.trainer import make_rounds, slabs_of
from ludus.training.opponents import build_matchmaker
from ludus.training.teacher import data_of
from ludus.version import __version__

TURNS = 4
WARM_ROUNDS = 3


class BenchTrainResult(msgspec.Struct, frozen=True):
    """Rates per second of wall time; shares in 0..1 (a little above 1 is noise of the machine).

    ``share_of_pure_simulation``: ticks against only the pool. ``share_of_learner_limit``: decisions against
    only the network. ``share_of_combined_limit``: decisions against both together. ``ludus``: version of the
    package. ``device``: a GPU with its name, driver and CUDA. ``slab_decisions``: of the last slab;
    ``slab_bytes``: what a learner reads of a slab.
    """

    preset: str
    game: str
    lag: str
    threads: int
    precision: str
    parameters: int
    matches: int
    seconds: float
    frames_per_s: float
    steps_per_s: float
    pure_frames_per_s: float
    pure_steps_per_s: float
    inference_steps_per_s: float
    learning_steps_per_s: float
    network_steps_per_s: float
    combined_limit_steps_per_s: float
    share_of_pure_simulation: float
    share_of_learner_limit: float
    share_of_combined_limit: float
    lag_versions: float
    sample_reuse: float
    sampler_wait_share: float
    learner_wait_share: float
    ludus: str
    device: str
    slab_decisions: int
    slab_bytes: int
    advice: str


@dataclass(slots=True)
class _Tally:
    """Work done and seconds taken, over all turns."""

    seconds: float = 0.0
    steps: int = 0
    ticks: int = 0
    lag: float = 0.0  # versions times decisions
    learned: int = 0
    received: int = 0
    sampler_wait_s: float = 0.0
    learner_wait_s: float = 0.0
    learner_s: float = 0.0

    @property
    def steps_per_s(self) -> float:
        return self.steps / max(self.seconds, 1e-9)

    @property
    def ticks_per_s(self) -> float:
        return self.ticks / max(self.seconds, 1e-9)


def bench_train(preset: Preset, seconds: float = 20.0, *, name: str = "") -> BenchTrainResult:
    """Time the training of ``preset`` under its new rules for about ``seconds``. Write no files.

    Raises:
        ConfigError: The preset cannot be built, or ``seconds`` is not positive.
    """
    if seconds <= 0:
        raise ConfigError(f"seconds = {seconds}: expected more than 0")
    if data := data_of(preset):
        raise ConfigError(
            f'algorithm.data = "{shown(data)}": no match is played; expected a preset that plays'
        )
    preset = msgspec.structs.replace(preset, game=msgspec.structs.replace(preset.game, before=None))
    preset = with_parts(preset, thread_count(preset.run))
    beside = preset.run.lag == "async"
    components = build(preset, slabs_of(preset.run))
    sampler = components.sampler
    seat_first(components, preset)
    own = 2 if beside else 1
    learner_threads, rounds = make_rounds(components, preset)
    alone = _PoolAlone(preset, components)
    training, simulation, inference, learning = _Tally(), _Tally(), _Tally(), _Tally()
    try:
        for _ in range(WARM_ROUNDS):
            rounds.run(0.0)
        turn = seconds / TURNS
        for _ in range(TURNS):
            _repeat(turn * 0.5, lambda: _train(rounds, preset, training))
            started = time.perf_counter()
            with rounds.paused():  # a separate sampler finishes its slab first: training's time
                training.seconds += time.perf_counter() - started
                alone.record()
                _repeat(turn * 0.2, lambda: alone.play(simulation))
                slab = rounds.waiting[0].slab if rounds.waiting else sampler.facts.slabs[0]
                _repeat(turn * 0.1, functools.partial(_infer, components, slab, inference))
                _repeat(
                    turn * 0.2, functools.partial(_learn, components, learner_threads, slab, learning, own)
                )
    finally:
        rounds.close()
        learner_threads.close()
        components.close()
        alone.close()
    return _result(preset, name, components, training, simulation, inference, learning)


def seat_first(components: Components, preset: Preset) -> None:
    """Seat the players of a run's first matches."""
    sampler = components.sampler
    orders = build_matchmaker(sampler.facts.spec, preset).next_orders(sampler.facts.slots)
    for player in orders.kept:
        sampler.send(AddPlayer(player, components.learner.weights()))
    sampler.send(SeatPlayers(orders))


def _repeat(seconds: float, work: Callable[[], None]) -> None:
    """Run ``work`` at least once, and again until the time is over."""
    end = time.perf_counter() + seconds
    work()
    while time.perf_counter() < end:
        work()


class _PoolAlone:
    """A copy of training's pool, which replays slabs without a network.

    A policy's choices differ from random ones: matches are longer or shorter, armies larger, and ticks cost
    accordingly. So the moves are recorded from training itself, and replayed from the same states.
    """

    def __init__(self, preset: Preset, components: Components) -> None:
        self._components, self._sampler = components, local_sampler(components.sampler)
        self._pool: Pool = make_pool(
            preset.game.name,
            components.params,
            self._sampler.lineup,
            PoolOptions(
                slots=self._sampler.pool.slots,
                groups=preset.pool.groups,
                threads=components.threads if components.threads > 1 else 0,
                seed=derive_seed(preset.run.seed, SEED_POOL),
                inputs=preset.policy.inputs,
                on_error="truncate",
            ),
        )
        self._slab = self._pool.slab(preset.pool.rollout_length)
        self._moves: Slab | None = None
        self._start = b""
        if isinstance(self._pool, NativePool):
            self._moves = self._sampler.pool.slab(preset.pool.rollout_length)

    def record(self) -> None:
        """Play one more slab with training's sampler, untimed; the learner does not use it."""
        if self._moves is not None:
            self._start = self._sampler.pool.snapshot()
            self._sampler.collector.collect(self._moves)

    def play(self, tally: _Tally) -> None:
        """Play one slab; resetting the pool to the start of the slab is not timed."""
        pool, slab, moves = self._pool, self._slab, self._moves
        if moves is not None:
            pool.restore(self._start)
        before: PoolStats = pool.stats()
        started = time.perf_counter()
        groups = range(pool.groups)
        for group in groups:
            pool.attach(group, slab)
        for t in range(slab.steps):
            for group in groups:
                pool.recv(group)
                if moves is None:
                    pool.random_actions(group, 1)
                else:
                    span = pool.group_rows(group)
                    slab.actions[t, span] = moves.actions[t, span]
                pool.send(group)
        for group in groups:
            pool.recv(group)
        tally.seconds += time.perf_counter() - started
        after = pool.stats()
        tally.ticks += after.ticks - before.ticks
        tally.steps += int(((slab.active[:-1] != 0) & (slab.policy[:-1] == self._components.policy)).sum())

    def close(self) -> None:
        self._pool.close()


def _train(rounds: Rounds, preset: Preset, tally: _Tally) -> None:
    started = time.perf_counter()
    done: Round = rounds.run(0.0)
    tally.seconds += time.perf_counter() - started
    tally.received += done.received
    if done.update is None or done.learned is None:
        return
    tally.steps += done.learned.steps
    tally.ticks += done.learned.ticks
    tally.learned += done.update.learned
    tally.lag += float(sum(lag * n for lag, n in done.update.lag.items()))
    times = done.times
    tally.sampler_wait_s += times.help_wait_s
    if times.threads:
        tally.learner_s += times.total_s * times.threads
        tally.learner_wait_s += times.total_s * times.threads - (times.learn_s - times.learn_wait_s)


def _infer(components: Components, slab: Slab, tally: _Tally) -> None:
    """Decides for every moment of a slab again, in the batches that a rollout makes."""
    started = time.perf_counter()
    memory = slab.memory.get(components.policy)
    pool = local_sampler(components.sampler).pool
    for t in range(slab.steps):
        for group in range(pool.groups):
            span = pool.group_rows(group)
            ours = np.flatnonzero((slab.active[t, span] != 0) & (slab.policy[t, span] == components.policy))
            if not len(ours):
                continue
            rows = (ours + span.start).astype(np.int32)
            index = as_index(rows)
            components.actor.act(
                ActInput(
                    {name: a[t, index] for name, a in slab.obs.items()},
                    slab.mask[t, index],
                    None if memory is None else memory[index],
                    slab.is_first[t, index],
                    t,
                    rows,
                )
            )
            tally.steps += len(rows)
    tally.seconds += time.perf_counter() - started


def _learn(
    components: Components, learner_threads: LearnerThreads, slab: Slab, tally: _Tally, own: int
) -> None:
    """Run one update with every thread of the run, then restore the learner, untimed.

    So training continues unchanged, and each of these updates costs as much as training's.
    """
    arrays, counters = components.learner.state()
    started = time.perf_counter()
    plan = components.learner.start(slab, 0.0)
    learner_threads.start(plan)
    plan.help(own - 1)
    update = components.learner.finish()
    learner_threads.settle()
    tally.seconds += time.perf_counter() - started
    tally.steps += update.samples
    components.learner.load_state(arrays, counters)
    if isinstance(components.learner, SlabLearner):
        components.learner.prepare()


def _result(
    preset: Preset,
    name: str,
    components: Components,
    training: _Tally,
    simulation: _Tally,
    inference: _Tally,
    learning: _Tally,
) -> BenchTrainResult:
    device = kind_of(components.learner.network.device)
    shared = device == "cpu"
    # Inference is timed on one thread; every thread could do as much, but for a GPU.
    infer = inference.steps_per_s * (components.threads if shared else 1)
    learn, pure = learning.steps_per_s, simulation.steps_per_s
    network = limit_of(infer, learn, shared=shared)
    combined = limit_of(pure, network, shared=shared)
    sampler_wait = training.sampler_wait_s / max(training.seconds, 1e-9)
    learner_wait = max(0.0, training.learner_wait_s) / max(training.learner_s, 1e-9)
    slab = components.sampler.facts.slabs[0]
    inputs = [tensor.name for tensor in components.learner.network.inputs]
    return BenchTrainResult(
        preset=name or preset.title,
        game=components.spec.name,
        lag=preset.run.lag,
        threads=components.threads,
        precision=components.learner.network.precision,
        parameters=sum(p.numel() for p in components.learner.network.parameters()),
        matches=preset.pool.slots,
        seconds=training.seconds,
        frames_per_s=training.ticks_per_s,
        steps_per_s=training.steps_per_s,
        pure_frames_per_s=simulation.ticks_per_s,
        pure_steps_per_s=pure,
        inference_steps_per_s=infer,
        learning_steps_per_s=learn,
        network_steps_per_s=network,
        combined_limit_steps_per_s=combined,
        share_of_pure_simulation=training.ticks_per_s / max(simulation.ticks_per_s, 1e-9),
        share_of_learner_limit=training.steps_per_s / network,
        share_of_combined_limit=training.steps_per_s / combined,
        lag_versions=training.lag / max(1, training.steps),
        sample_reuse=training.learned / max(1, training.received),
        sampler_wait_share=min(1.0, sampler_wait),
        learner_wait_share=min(1.0, learner_wait),
        ludus=__version__,
        device=device_title(device),
        slab_decisions=int(((slab.active[:-1] != 0) & (slab.policy[:-1] == components.policy)).sum()),
        slab_bytes=sum(a.nbytes for a in slab.learned_fields(inputs).values()),
        advice=_advice(
            pure,
            infer,
            learn,
            few_pool_threads=pool_thread_count(preset) < components.threads,
            parts=larger_parts(preset, components.threads),
        ),
    )


def limit_of(*rates: float, shared: bool) -> float:
    """Return the highest rate of work that passes several stages.

    Args:
        rates: Rate of each stage run by itself.
        shared: The stages share processors, so that their times add; else they run at once, and the slowest
            decides, as on a GPU beside a simulation.
    """
    if not shared:
        return min(rates)
    return 1.0 / sum(1.0 / max(rate, 1e-9) for rate in rates)


def _advice(pure: float, infer: float, learn: float, *, few_pool_threads: bool, parts: int = 0) -> str:
    """Return one line: which stage costs most, and what to change.

    Args:
        pure: Decisions a second of the pool by itself.
        infer: Decisions a second of inference by itself.
        learn: Decisions a second of the learner by itself.
        few_pool_threads: Whether the pool has fewer threads than the run.
        parts: Value of ``algorithm.parts`` that would give more processes work; 0 = none.
    """
    cost = {"simulation": 1.0 / max(pure, 1e-9), "inference": 1.0 / max(infer, 1e-9), "learning": 1.0 / learn}
    total = sum(cost.values())
    stage = max(cost, key=lambda k: cost[k])
    hint = {
        "simulation": "a larger policy, more epochs or a larger frame skip would cost little",
        "inference": "more matches a group make larger batches",
        "learning": "a smaller policy, fewer epochs or another micro_batch would help",
    }[stage]
    idle = ""
    if stage == "simulation" and few_pool_threads:
        idle = "; the pool has fewer threads than the run (pool.threads, 0 = as many)"
    if stage == "learning" and parts:
        idle = f"; algorithm.parts = {parts} lets {parts} processes learn from each minibatch at once"
    return f"{stage} takes {cost[stage] / total:.0%} of the work: {hint}{idle}"

"""Machines, bytes and lag of a run that is to make so many decisions a second."""

from __future__ import annotations

import math

import msgspec

from ludus.algorithms.registry import method_of
from ludus.cluster.plan.measured import Measured
from ludus.cluster.plan.simulation import Loop, SimulatedOutcome, simulate
from ludus.flow.problem import Argument, Setting
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError

BUSY = 0.9  # share of its time that a machine works, as planned
CALLS_PER_S = 500.0  # of the controller: half of the measured rate
MAX_ROLLOUTS = 100_000
MAX_LEARNERS = 4096
LEAST_EFFICIENCY = 0.5  # of learners: more of them would exchange gradients most of their time
SIMULATED = 1000  # rollouts; more of them are simulated in groups
SIMULATED_SLABS = 100_000


class Wanted(msgspec.Struct, frozen=True):
    """The user's part of a plan.

    ``decisions_per_s``: decisions to learn from. ``gbit_per_s``: network of each machine. ``core_price``,
    ``learner_price``: hourly price of a rollout's processor and of a learner's machine; 0 = unknown.
    """

    decisions_per_s: float
    gbit_per_s: float = 10.0
    core_price: float = 0.0
    learner_price: float = 0.0


class Plan(msgspec.Struct, frozen=True):
    """A plan. Shares are 0 to 1 of the time, lag is in versions, ``MB`` are 10^6 bytes.

    Attributes:
        rollouts: Processes that play, each with ``cluster.cpus`` processors.
        cores: Processors of all rollouts.
        inference_gpus: GPUs of all rollouts.
        learners: Machines that learn, like the measured one.
        learner_efficiency: Share of their time without the exchange of gradients.
        batch_decisions: Decisions of an update.
        slab_s: Time of a slab of one rollout.
        update_s: Time of an update.
        slab_mb_per_s: Slabs on their way to the controller.
        weights_mb_per_s: Weights on their way to the rollouts.
        calls_per_s: Calls of the controller.
        store_mb: Object store that the slabs take at once.
        lag_mean: Expected.
        lag_max: In the simulation.
        dropped: Share of the slabs.
        rollout_idle: Expected.
        learner_idle: Expected.
        decisions_per_s: Learned from, as simulated.
        cost_per_hour: 0 = no prices were given.
        uses: Part of the run -> share of its capacity that the wanted decisions take. Waiting for each
            other: wanted over simulated decisions.
        limit: The part with the largest share.
    """

    rollouts: int
    cores: int
    inference_gpus: int
    learners: int
    learner_efficiency: float
    batch_decisions: int
    slab_s: float
    update_s: float
    slab_mb_per_s: float
    weights_mb_per_s: float
    calls_per_s: float
    store_mb: float
    lag_mean: float
    lag_max: int
    dropped: float
    rollout_idle: float
    learner_idle: float
    decisions_per_s: float
    cost_per_hour: float
    uses: dict[str, float]
    limit: str


def make_plan(preset: Preset, rollout: Measured, learner: Measured, wanted: Wanted) -> Plan:
    """Return a plan.

    Args:
        preset: Settings; ``cluster.rollouts`` = 0: as many as are needed.
        rollout: Rates of a machine that plays.
        learner: Rates of a machine that learns.
        wanted: The user's part.

    Raises:
        ConfigError: The method has no slabs, or the preset's lag does not allow so many rollouts.
    """
    if not method_of(preset.algorithm).learns_from_slabs:
        raise ConfigError(
            f'algorithm.name = "{method_of(preset.algorithm).name}": expected a method with slabs'
        )
    cluster, rate = preset.cluster, wanted.decisions_per_s
    on_gpu = rollout.device != "cpu"
    core_s = rollout.threads / rollout.pure_steps_per_s
    core_s += 0.0 if on_gpu else rollout.threads / rollout.inference_steps_per_s
    rollouts = cluster.rollouts or math.ceil(rate * core_s / BUSY / cluster.cpus)
    if rollouts > MAX_ROLLOUTS:
        raise ConfigError(
            f"{rollouts:,} rollouts, expected at most {MAX_ROLLOUTS:,}",
            where=Argument("decisions_per_s", f"{rate:g}", command="plan"),
        )
    _check_async(preset, rollouts)
    joined = 1 if preset.run.lag == "async" else rollouts
    batch = joined * rollout.slab_decisions
    learners, efficiency = _learners(preset, learner, wanted, batch)
    learned_per_s = learners * learner.learning_steps_per_s * efficiency
    slab_s = rollout.slab_decisions * core_s / cluster.cpus
    loop = _loop(preset, rollouts, joined, slab_s, batch / learned_per_s)
    outcome, group = _simulated(loop)
    simulated = outcome.slabs_per_s * group * (1 - outcome.dropped) * rollout.slab_decisions
    updates_per_s = rate / batch
    slab_mb = rate * rollout.decision_bytes / 1e6
    weights_mb = updates_per_s * rollout.weights_bytes * rollouts / 1e6
    calls = rate / rollout.slab_decisions + updates_per_s * (2 * learners + 1)
    uses = {
        "rollouts": rate * core_s / (rollouts * cluster.cpus * BUSY),
        "learners": rate / (learned_per_s * BUSY),
        "network of the controller": max(slab_mb, weights_mb) / (125 * wanted.gbit_per_s),
        "calls of the controller": calls / CALLS_PER_S,
        "waiting for each other": rate / simulated,
    }
    gpus = math.ceil(rate / (rollout.inference_steps_per_s * BUSY)) if on_gpu else 0
    cores = rollouts * cluster.cpus
    return Plan(
        rollouts=rollouts,
        cores=cores,
        inference_gpus=gpus,
        learners=learners,
        learner_efficiency=efficiency,
        batch_decisions=batch,
        slab_s=slab_s,
        update_s=loop.update_s,
        slab_mb_per_s=slab_mb,
        weights_mb_per_s=weights_mb,
        calls_per_s=calls,
        store_mb=loop.bound * rollout.slab_bytes / 1e6,
        lag_mean=outcome.lag_mean,
        lag_max=outcome.lag_max,
        dropped=outcome.dropped,
        rollout_idle=outcome.rollout_idle,
        learner_idle=outcome.learner_idle,
        decisions_per_s=simulated,
        cost_per_hour=cores * wanted.core_price + (learners + gpus) * wanted.learner_price,
        uses=uses,
        limit=max(uses, key=lambda part: uses[part]),
    )


def _check_async(preset: Preset, rollouts: int) -> None:
    most = preset.run.max_lag + 1
    if preset.run.lag == "async" and rollouts > most:
        raise ConfigError(
            f'run.lag = "async": {rollouts:,} rollouts, expected at most run.max_lag + 1 = {most}; '
            "more cluster.cpus or ",
            Setting("run.lag", "pipelined"),
        )


def _learners(preset: Preset, learner: Measured, wanted: Wanted, batch: int) -> tuple[int, float]:
    """Return the number of learners and the share of their time without the exchange of gradients.

    ``cluster.learners`` if it is above 1; otherwise as many as needed, within bounds.
    """
    config = preset.algorithm
    steps = int(getattr(config, "epochs", 1)) * int(getattr(config, "minibatches", 1))
    wire_s = learner.weights_bytes / (125e6 * wanted.gbit_per_s)

    def efficiency(count: int) -> float:
        step_s = batch / (count * learner.learning_steps_per_s * steps)
        return step_s / (step_s + 2 * (count - 1) / count * wire_s)

    given = int(getattr(preset.cluster, "learners", 1))
    if given > 1:
        return given, efficiency(given)
    best = 1
    for count in range(1, MAX_LEARNERS + 1):
        if count > 1 and efficiency(count) < LEAST_EFFICIENCY:
            break
        best = count
        if best * efficiency(best) * learner.learning_steps_per_s * BUSY >= wanted.decisions_per_s:
            break
    return best, efficiency(best)


def _loop(preset: Preset, rollouts: int, joined: int, slab_s: float, update_s: float) -> Loop:
    run = preset.run
    bound = run.max_lag + 1 if run.lag == "async" else rollouts * (1 + run.queue)
    return Loop(
        rollouts,
        slab_s,
        joined,
        update_s,
        bound,
        max_lag=run.max_lag if run.lag == "async" else None,
        waits=run.lag == "sync" and run.queue == 0,
    )


def _simulated(loop: Loop) -> tuple[SimulatedOutcome, int]:
    """Simulate a loop; return the outcome and how many rollouts count as one."""
    group = math.ceil(loop.rollouts / SIMULATED)
    slabs = max(1, loop.slabs_an_update // group)
    smaller = msgspec.structs.replace(
        loop,
        rollouts=max(1, loop.rollouts // group),
        slabs_an_update=slabs,
        bound=max(slabs, loop.bound // group),
        versions=min(400, max(20, SIMULATED_SLABS // slabs)),
    )
    return simulate(smaller), group

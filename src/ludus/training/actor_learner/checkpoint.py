"""Checkpoints of a run with one learner, and how the run returns to one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import numpy as np

from ludus.flow import Slab
from ludus.flow.inputs.decode import from_json
from ludus.flow.inputs.shown import visible
from ludus.flow.slab import Array
from ludus.rollouts.commands import RestoreMatches, StartAt, TakeSnapshot
from ludus.rollouts.exchange import INCARNATION, TIME_STEP
from ludus.storage import Checkpoint, CorruptFile
from ludus.training.actor_learner.build import Components
from ludus.training.actor_learner.state import NewMatches, TrainerState, decode_state

#: Start of an array's name where several samplers are joined; of a league, after the member's name.
SAMPLER = re.compile(r"(?:[^/]*/)?(sampler[0-9]+)\.")
MAX_TIME_STEP = 1 << 62


def make_checkpoint(components: Components, state: TrainerState, waiting: Sequence[Slab]) -> Checkpoint:
    """Return the run between two rounds: no update and no rollout is under way.

    ``waiting``: slabs that have been collected and not yet learned from, oldest first, and those that were
    played ahead.
    """
    arrays, counters = components.learner.state()
    state.learner = counters
    sampler = components.sampler
    rollout: dict[str, Array] = {TIME_STEP: np.array([sampler.state.time_step], np.int64)}
    if sampler.state.played:
        rollout = sampler.send(TakeSnapshot())
    for i, slab in enumerate(waiting):
        rollout |= {_slab_name(i, name): a for name, a in _learned_fields(components, slab).items()}
    return Checkpoint(components.learner.weights(), arrays, rollout, msgspec.json.encode(state))


def count_restarts(checkpoint: Checkpoint) -> int:
    """Count how often the run's matches have started again, this resume included. Raises ``CorruptFile``.

    Matches that start again have a pool with a seed of its own, so that they are not the run's first ones.
    """
    return max(0, decode_state(checkpoint.state).restarts) + bool(checkpoint.restart)


def check_matches(checkpoint: Checkpoint) -> None:
    """Let the matches of a checkpoint start again if surgery asks for it.

    Raises ``CorruptFile``.
    """
    try:
        asked = from_json(checkpoint.state, NewMatches)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptFile(f"state of a checkpoint: {error}") from error
    if asked.new_matches:
        checkpoint.restart = visible(asked.new_matches)


def check_samplers(checkpoint: Checkpoint, rollouts: int) -> None:
    """Let the matches of a checkpoint start again if other samplers than the run's played them.

    Args:
        checkpoint: Its field ``restart`` is set then.
        rollouts: Number of rollouts, 0 for one process.
    """
    expected = max(1, rollouts)
    samplers = {found.group(1) for name in checkpoint.rollout if (found := SAMPLER.match(name))}
    if (count := max(1, len(samplers))) != expected:
        checkpoint.restart = f"it has the matches of {count}, now {expected} play"
    elif not rollouts and any(name.rpartition("/")[2] == INCARNATION for name in checkpoint.rollout):
        checkpoint.restart = "it has the matches of a rollout that replaced another"


def restore_components(components: Components, checkpoint: Checkpoint, state: TrainerState) -> None:
    """Set what :func:`make_checkpoint` returned. Raises ``CorruptFile`` where it does not fit.

    Slabs that waited are then the sampler's first ones.

    From a checkpoint with ``restart`` only the learner is restored: bytes of unknown origin must not become
    memory of the core. Matches, rows' memory and the slab in flight start again.
    """
    where = f"checkpoint of version {checkpoint.version}"
    try:
        components.learner.load_state(checkpoint.optimizer, state.learner)
        components.learner.lineage = checkpoint.weights.meta.lineage
        if checkpoint.restart or checkpoint.rollout.keys() == {TIME_STEP}:  # it has no matches
            components.sampler.send(StartAt(_time_step(checkpoint)))
            return
        components.sampler.send(RestoreMatches(checkpoint.rollout))
    except ValueError as error:
        raise CorruptFile(f"{where}: {error}") from error
    slabs, stored = components.sampler.facts.slabs, len(state.waiting) + len(state.arrived)
    if stored > len(slabs):
        raise CorruptFile(f"{where}: {stored} slabs wait, expected at most {len(slabs)}")
    for i in range(stored):
        _restore_slab(components, checkpoint, i, where)


def _restore_slab(components: Components, checkpoint: Checkpoint, number: int, where: str) -> None:
    slab = components.sampler.facts.slabs[number]
    shape = components.learner.network.memory_shape
    if shape is not None and components.policy in components.sampler.facts.learned:
        slab.memory = {components.policy: np.zeros((slab.rows, *shape), np.float32)}
    for field, target in _learned_fields(components, slab).items():
        name = _slab_name(number, field)
        stored = _array(checkpoint, name, where)
        if stored.shape != target.shape or stored.dtype != target.dtype:
            raise CorruptFile(
                f"{where}: {name} is {stored.dtype}{stored.shape}, expected {target.dtype}{target.shape}"
            )
        target[...] = stored


def _slab_name(number: int, field: str) -> str:
    """Name an array of a waiting slab; the oldest has number 0."""
    return f"slab{number or ''}.{field}"


def _learned_fields(components: Components, slab: Slab) -> dict[str, Array]:
    return slab.learned_fields([t.name for t in components.learner.network.inputs])


def _time_step(checkpoint: Checkpoint) -> int:
    """Return the time step of a checkpoint without its matches, so that no draw repeats; 0 if invalid."""
    stored = checkpoint.rollout.get(TIME_STEP)
    if stored is None or stored.shape != (1,) or stored.dtype != np.int64:
        return 0
    step = int(stored[0])
    return step if 0 <= step < MAX_TIME_STEP else 0


def _array(checkpoint: Checkpoint, name: str, where: str) -> Array:
    stored = checkpoint.rollout.get(name)
    if stored is None:
        raise CorruptFile(f"{where}: no array {name}")
    return stored

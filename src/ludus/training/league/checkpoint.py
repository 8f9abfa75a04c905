"""Checkpoints of a league: those of a run, with every member's arrays under its name."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from ludus.flow import Weights
from ludus.flow.inputs.decode import from_json
from ludus.flow.slab import Array
from ludus.league.config import LeagueConfig
from ludus.rollouts.exchange import TIME_STEP
from ludus.storage import Checkpoint, CheckpointStore, CorruptFile, RunNotFound, read_weights
from ludus.training.actor_learner.checkpoint import (
    SCHEMA,
    TrainerState,
    restore_components,
)
from ludus.training.league.member import Member
from ludus.training.league.member_parts import MemberState


class LeagueState(TrainerState):
    """Counters of all members together, and of each member.

    ``journal``: the number of the last event that is part of it. ``league``: the settings that the run
    started with, and ``ahead`` its ``cluster.ahead``. ``scheduled``: with ``ahead``, members of the rounds to
    come, whose slabs were asked for.
    """

    members: dict[str, MemberState] = msgspec.field(default_factory=dict)
    journal: int = 0
    league: LeagueConfig = msgspec.field(default_factory=LeagueConfig)
    ahead: int = 0
    scheduled: list[str] = msgspec.field(default_factory=list)


def league_checkpoint(members: Mapping[str, Member], first: Member, state: LeagueState) -> Checkpoint:
    """Return the run between two rounds. ``first``: the member whose weights the checkpoint is known by."""
    arrays: dict[str, Array] = {}
    rollout: dict[str, Array] = {}
    for name, member in members.items():
        member.store()
        learned, played = _arrays(member)
        arrays |= {f"{name}/{n}": a for n, a in learned.items()}
        rollout |= {f"{name}/{n}": a for n, a in played.items()}
    state.members = {name: member.state for name, member in members.items()}
    weights = {name: member.weights() for name, member in members.items()}
    return Checkpoint(
        weights[first.name],
        arrays,
        rollout,
        msgspec.json.encode(state),
        members=weights,
        player=first.name,
    )


def saved_weights(store: CheckpointStore, member: str, version: int) -> Weights:
    """Read a member's weights from its checkpoint. Raises ``RunNotFound`` or ``CorruptFile``."""
    path = store.member_path(version, member)
    if path is None:
        raise RunNotFound(f"{store.directory}: no checkpoint has version {version} of {member}")
    return read_weights(path)


def _arrays(member: Member) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the arrays of the learner, and those of matches and data in flight."""
    if member.state.played:
        part = member.rounds.checkpoint(member.state.counts)
        return part.optimizer, part.rollout
    arrays, counters = member.components.learner.state()  # its pool has no matches yet
    member.state.counts.learner = counters
    return arrays, {TIME_STEP: np.array([member.components.sampler.state.time_step], np.int64)}


def decode_league_state(data: bytes) -> LeagueState:
    """Decode the state of a checkpoint from JSON. Raises ``CorruptFile`` on anything else."""
    try:
        state = from_json(data, LeagueState)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptFile(f"state of a league's checkpoint: {error}") from error
    if state.schema != SCHEMA:
        raise CorruptFile(f"state of a league's checkpoint: schema {state.schema}, expected {SCHEMA}")
    return state


def restore_member(member: Member, checkpoint: Checkpoint) -> None:
    """Set what :func:`league_checkpoint` took of one member; its state is there already.

    Its lanes play again after ``member.seating.resume()``. Raises ``CorruptFile`` where something does not
    fit.
    """
    prefix = f"{member.name}/"
    part = Checkpoint(
        checkpoint.weights,
        _under(prefix, checkpoint.optimizer),
        _under(prefix, checkpoint.rollout),
        b"{}",
        checkpoint.restart or ("" if member.state.played else "its pool has no matches yet"),
    )
    counts = member.state.counts
    restore_components(member.components, part, counts)
    member.rounds.resume(counts)
    try:
        member.seating.load(counts, restarted=bool(checkpoint.restart))
    except ValueError as error:
        raise CorruptFile(f"checkpoint of version {checkpoint.version}: {error}") from error


def _under(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}

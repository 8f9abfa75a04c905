"""Checkpoints of a league: those of a run, with every member's arrays under its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import msgspec

from ludus.flow import Weights
from ludus.flow.slab import Array
from ludus.league.config import LeagueConfig
from ludus.storage import Checkpoint, CheckpointStore, RunNotFound, read_weights
from ludus.training.actor_learner.state import TrainerState
from ludus.training.league.member import LeagueMember
from ludus.training.league.member_parts import MemberState
from ludus.training.league.withdrawal import KeptMember
from ludus.training.run_state import decode_as


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


def league_checkpoint(
    members: Mapping[str, LeagueMember],
    kept: Mapping[str, KeptMember],
    first: str,
    state: LeagueState,
    blaming: Callable[[str], AbstractContextManager[None]],
) -> Checkpoint:
    """Return the run between two rounds.

    Args:
        members: Those that play.
        kept: Parts of those that were withdrawn.
        first: The member whose weights the checkpoint is known by.
        state: Of the run.
        blaming: Returns the context in which a member's part is made.
    """
    weights: dict[str, Weights] = {}
    arrays: dict[str, Array] = {}
    rollout: dict[str, Array] = {}
    for name, member in members.items():
        with blaming(name):
            part = member.checkpoint()
        weights[name] = part.weights
        arrays |= {f"{name}/{n}": a for n, a in part.optimizer.items()}
        rollout |= {f"{name}/{n}": a for n, a in part.rollout.items()}
    for name, old in kept.items():
        weights[name] = old.weights
        arrays |= {f"{name}/{n}": a for n, a in old.optimizer.items()}
    state.members |= {name: member.state for name, member in members.items()}
    data = msgspec.json.encode(state)
    return Checkpoint(weights[first], arrays, rollout, data, members=weights, player=first)


def saved_weights(store: CheckpointStore, member: str, version: int) -> Weights:
    """Read a member's weights from its checkpoint. Raises ``RunNotFound`` or ``CorruptFile``."""
    path = store.member_path(version, member)
    if path is None:
        raise RunNotFound(f"{store.directory}: no checkpoint has version {version} of {member}")
    return read_weights(path)


def decode_league_state(data: bytes) -> LeagueState:
    """Decode the state of a checkpoint from JSON. Raises ``CorruptFile`` on anything else."""
    return decode_as(LeagueState, data, "state of a league's checkpoint")

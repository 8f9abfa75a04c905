"""What the checkpoint of a league holds: a run's, with every member's arrays under its name."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ludus.flow import Weights
from ludus.flow.decode import from_json
from ludus.flow.slab import Array
from ludus.league.config import LeagueConfig
from ludus.storage import Checkpoint, CheckpointStore, CorruptFile, RunNotFound, read_weights
from ludus.training.actor_learner.checkpoint import (
    POOL,
    SCHEMA,
    TrainerState,
    make_checkpoint,
    restore_components,
)
from ludus.training.league.member import Member, MemberState


class LeagueState(TrainerState):
    """The counters of all members together, and each member's.

    ``journal``: the number of the last event that is part of it. ``league``: the settings that the run began
    with.
    """

    members: dict[str, MemberState] = msgspec.field(default_factory=dict)
    journal: int = 0
    league: LeagueConfig = msgspec.field(default_factory=LeagueConfig)


def league_checkpoint(members: Mapping[str, Member], first: Member, state: LeagueState) -> Checkpoint:
    """Between two rounds. ``first``: the member whose weights the checkpoint is known by."""
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
    """Weights of a member that a checkpoint has. Raises ``RunNotFound`` or ``CorruptFile``."""
    path = store.member_path(version, member)
    if path is None:
        raise RunNotFound(f"{store.directory}: no checkpoint has version {version} of {member}")
    return read_weights(path)


def _arrays(member: Member) -> tuple[dict[str, Array], dict[str, Array]]:
    """Those of the learner, and those of matches and data in flight."""
    if member.state.played:
        waiting = [w.slab for w in member.driver.waiting]
        part = make_checkpoint(member.components, member.state.counts, waiting, member.restored)
        return part.optimizer, part.rollout
    arrays, counters = member.components.learner.state()  # its pool has no matches yet
    member.state.counts.learner = counters
    time_step = member.components.sampler.collector.state()["time_step"]
    return arrays, {"collector.time_step": time_step}


def decode_league_state(data: bytes) -> LeagueState:
    """The state in a checkpoint's JSON text. Raises ``CorruptFile`` on anything else."""
    try:
        state = from_json(data, LeagueState)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptFile(f"state of a league's checkpoint: {error}") from error
    if state.schema != SCHEMA:
        raise CorruptFile(f"state of a league's checkpoint: schema {state.schema}, expected {SCHEMA}")
    return state


def restore_member(member: Member, checkpoint: Checkpoint) -> None:
    """Puts back what :func:`league_checkpoint` took of one member; its state is there already.

    Raises ``CorruptFile`` where it does not fit.
    """
    prefix = f"{member.name}/"
    part = Checkpoint(
        checkpoint.weights, _under(prefix, checkpoint.optimizer), _under(prefix, checkpoint.rollout), b"{}"
    )
    part.signed = checkpoint.signed and member.state.played
    counts = member.state.counts
    restore_components(member.components, part, counts)
    member.driver.resume(counts.waiting)
    if part.signed:
        member.restored = part.rollout[POOL].tobytes()
    if member.state.first >= 0:
        member.stand()


def _under(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}

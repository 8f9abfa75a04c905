"""A member that failed while the others continue: who failed and why, and its part in checkpoints.

Its matches and its updates have ended. Weights and optimiser of its newest checkpoint stay in those to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ludus.algorithms.updates.optimiser import under
from ludus.algorithms.updates.tasks import LearnerProcessError
from ludus.flow import Weights
from ludus.flow.errors import RunFailed
from ludus.flow.inputs.shown import visible
from ludus.flow.slab import Array
from ludus.league.events import MAX_WHY
from ludus.pool import MatchError, PoolError
from ludus.presets.errors import GroupLost
from ludus.storage import CheckpointStore, CorruptFile, StorageError, read_weights
from ludus.training.league.member import LeagueMember
from ludus.training.league.remote.link import LearningFailed, PlayFailed

FAILURES = (MatchError, PoolError, RunFailed)


class MemberFailed(RunFailed):
    """The matches or updates of ``member`` failed. ``why``: on one line."""

    def __init__(self, member: str, why: str) -> None:
        """Describe the failure."""
        super().__init__(f"member {member} failed: {why}")
        self.member, self.why = member, visible(why)[:MAX_WHY]


class OtherFailure(Exception):
    """A failure that is no member's, on its way through what a member does."""

    def __init__(self, error: Exception) -> None:
        """Carry ``error``."""
        super().__init__(str(error))
        self.error = error


@contextmanager
def blamed(member: str) -> Iterator[None]:
    """Let a failure of the body be that of a member.

    Args:
        member: Whose matches and updates the body is about. Empty: only failures that name a member count.

    Raises:
        MemberFailed: It failed.
    """
    try:
        yield
    except (MemberFailed, GroupLost, LearnerProcessError):
        raise
    except LearningFailed as error:
        raise MemberFailed(error.member, error.why) from error
    except PlayFailed as error:
        raise MemberFailed(error.member, str(error)) from error
    except FAILURES as error:
        if not member:
            raise
        raise MemberFailed(member, str(error)) from error


def no_members(evaluate: Callable[[], None]) -> Callable[[], None]:
    """Return ``evaluate`` with failures that are blamed on no member. Raises :class:`OtherFailure`."""

    def guarded() -> None:
        try:
            evaluate()
        except FAILURES as error:
            raise OtherFailure(error) from error

    return guarded


@dataclass(frozen=True, slots=True)
class KeptMember:
    """Part of a withdrawn member in checkpoints.

    ``optimizer``: arrays of its learner.
    """

    weights: Weights
    optimizer: dict[str, Array]


def first_part(member: LeagueMember) -> KeptMember:
    """Return the part of a member that no checkpoint has yet: its first weights.

    The learner's counters in the member's state are set to match.
    """
    learner = member.first_learner()
    arrays, member.counts.learner = learner.state()
    return KeptMember(learner.weights(), arrays)


def newest_part(store: CheckpointStore, member: str) -> KeptMember | None:
    """Return the part of ``member`` in the newest checkpoint that can be read; None where there is none."""
    for version in reversed(store.versions()):
        try:
            return part_of(store, version, member)
        except (StorageError, OSError):
            continue
    return None


def part_of(store: CheckpointStore, version: int, member: str) -> KeptMember:
    """Return the part of ``member`` in a checkpoint. Raises ``StorageError``."""
    path = store.members(version).get(member)
    if path is None:
        raise CorruptFile(f"{store.path(version)}: no weights of {member}")
    return KeptMember(read_weights(path), under(f"{member}/", store.load(version).optimizer))

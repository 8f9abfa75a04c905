"""Messages between the manager of a league and the processes of its members.

A process carries out requests in the order in which they were sent. Arrays travel beside a message. A member
depends only on requests that were sent before, so equal requests give equal bits whatever their timing.
"""

from __future__ import annotations

import msgspec

from ludus.algorithms.learner import UpdateStats
from ludus.flow import Orders, RolloutStats, Terms, WeightsMeta
from ludus.flow.weights import Lineage
from ludus.training.actor_learner.sync_loop import RoundTimes

NEWEST = -1  # in the place of a version: whatever a live player has by then


class MemberRequest(msgspec.Struct, frozen=True, tag=True):
    """A request to one member. Those of a kind that :data:`ANSWERED` lists are answered."""


class BeginMember(MemberRequest, frozen=True):
    """Build the learner.

    Args:
        settings: The run's preset as JSON.
        index: The member's place in the league.
        hyper: Its settings by path.
        seeded: Whether it starts from the weights that its settings name.
        typed: References that the user gave, whose code may be loaded.
        method: File of the learning method, "" without one.
        method_sha256: Hash of that file's bytes.
        slot: Slot of the board for its first weights.
    """

    settings: bytes
    index: int
    slot: int
    hyper: dict[str, float] = {}
    seeded: bool = True
    typed: tuple[str, ...] = ()
    method: str = ""
    method_sha256: str = ""


class MakeMatches(MemberRequest, frozen=True):
    """Build a sampler in the place of the last one, with the settings ``hyper``.

    Args:
        hyper: The member's settings by path.
        restarts: How often its matches started again.
    """

    hyper: dict[str, float] = {}
    restarts: int = 0


class SetMember(MemberRequest, frozen=True):
    """Learn by the settings ``hyper`` from the next update on."""

    hyper: dict[str, float] = {}


class PutPlayer(MemberRequest, frozen=True):
    """Keep the weights of a frozen player, which are the arrays beside.

    Args:
        player: The player.
        meta: Metadata of the weights.
        keep: Players whose weights they must not push out.
        replace: Whether they play the player's lane from now on.
    """

    player: str
    meta: WeightsMeta
    keep: tuple[str, ...] = ()
    replace: bool = False


class SeatOrders(MemberRequest, frozen=True):
    """See :class:`ludus.rollouts.commands.SeatPlayers`."""

    orders: Orders
    bind: bool = True


class BindPlayers(MemberRequest, frozen=True):
    """See :class:`ludus.rollouts.commands.BindLanes`."""

    lanes: dict[int, str]


class CountFrom(MemberRequest, frozen=True):
    """See :class:`ludus.rollouts.commands.StartAt`."""

    time_step: int


class LiveWeights(msgspec.Struct, frozen=True, array_like=True):
    """Place of a live player's weights: its member, the slot on the board, and the version.

    :data:`NEWEST` as version is the newest that the member has published, wherever it is.
    """

    member: str
    slot: int
    version: int


class TakeLive(MemberRequest, frozen=True):
    """Play lanes of live players with weights from the board, waiting until they are there."""

    lanes: dict[int, LiveWeights]


class AskSlab(MemberRequest, frozen=True):
    """Play a slab for a round to come."""

    terms: Terms = Terms()


class LearnSlab(MemberRequest, frozen=True):
    """Take the oldest slab played, and make the update of its round.

    Args:
        progress: Spent share of the run's budget.
        value_only: Whether only parameters exclusive to the value move.
        slot: Slot of the board for the new weights; -1 where the round makes no update.
    """

    progress: float
    value_only: bool = False
    slot: int = -1


class DropSlabs(MemberRequest, frozen=True):
    """Discard all slabs that were played and not learned from."""


class LoadLearner(MemberRequest, frozen=True):
    """Load the learner's state: the arrays beside and ``counters``. ``slot``: see :class:`LearnSlab`."""

    counters: dict[str, int]
    slot: int = 0


class GiveWeights(MemberRequest, frozen=True):
    """Return the learner's weights."""


class GiveLearner(MemberRequest, frozen=True):
    """Return the learner's state."""


class GiveCheckpoint(MemberRequest, frozen=True):
    """Return everything of the member that a checkpoint holds."""


class RestoreMember(MemberRequest, frozen=True):
    """Return to a checkpoint, whose arrays are beside.

    Args:
        version: Version of its weights.
        state: Counters as JSON.
        restart: Why its matches start again, "" if they continue.
        lineage: Lineage of its weights.
        slot: See :class:`LearnSlab`.
    """

    version: int
    state: bytes
    restart: str = ""
    lineage: Lineage | msgspec.UnsetType = msgspec.UNSET
    slot: int = 0


Request = (
    BeginMember | MakeMatches | SetMember | PutPlayer | SeatOrders | BindPlayers | CountFrom | TakeLive
    | AskSlab | LearnSlab | DropSlabs | LoadLearner
    | GiveWeights | GiveLearner | GiveCheckpoint | RestoreMember
)  # fmt: skip
#: Requests that put weights on the board, in their slot if they have one.
PUBLISHING = BeginMember, LearnSlab, LoadLearner, RestoreMember
#: Requests with an answer.
ANSWERED = (
    BeginMember, MakeMatches, AskSlab, LearnSlab, GiveWeights, GiveLearner, GiveCheckpoint, RestoreMember,
)  # fmt: skip


class MemberAnswer(msgspec.Struct, frozen=True, tag=True):
    """An answer to a request."""


class MemberBegun(MemberAnswer, frozen=True):
    """The learner is there, with weights of ``version``."""

    version: int


class MatchesMade(MemberAnswer, frozen=True):
    """Measures of a sampler.

    Args:
        slots: Matches at a time in one process that plays.
        rows: Rows of its slabs.
        parts: Number of processes that play.
    """

    slots: int
    rows: int
    parts: int = 1


class AfterSlab(msgspec.Struct, frozen=True):
    """The matches of a sampler after its last slab.

    Args:
        time_step: Time steps since the start of the run.
        played: Whether the matches have filled a slab.
        tags: Number of matches by the tag of their order.
        lanes: Lanes that decide in a match in play.
        bound: Players by the lane that plays them.
    """

    time_step: int = 0
    played: bool = False
    tags: dict[int, int] = {}
    lanes: tuple[int, ...] = ()
    bound: dict[int, str] = {}


class SlabAnswer(MemberAnswer, frozen=True):
    """A slab was played. Its arrays stay where it was played."""

    stats: RolloutStats
    after: AfterSlab


class UpdateAnswer(MemberAnswer, frozen=True):
    """A round's update, None if it made none, and the times of the round there."""

    update: UpdateStats | None
    times: RoundTimes


class WeightsGiven(MemberAnswer, frozen=True):
    """Metadata of the weights beside."""

    meta: WeightsMeta


class LearnerGiven(MemberAnswer, frozen=True):
    """Counters of the learner's state beside."""

    counters: dict[str, int]


class CheckpointGiven(MemberAnswer, frozen=True):
    """A member's part of a checkpoint; the names of arrays beside start with :data:`PARTS`."""

    meta: WeightsMeta
    counters: dict[str, int]


class MemberRestored(MemberAnswer, frozen=True):
    """The member has returned to a checkpoint."""

    version: int
    after: AfterSlab


class RequestFailed(MemberAnswer, frozen=True):
    """A request failed.

    ``kind``: ``play``, ``settings``, ``file`` or ``other``; ``lost``: a process of the member's is gone.
    """

    kind: str
    text: str


Answer = (
    MemberBegun | MatchesMade | SlabAnswer | UpdateAnswer | WeightsGiven | LearnerGiven | CheckpointGiven
    | MemberRestored | RequestFailed
)  # fmt: skip
PARTS = WEIGHTS, OPTIMISER, MATCHES = "weights/", "optimizer/", "rollout/"

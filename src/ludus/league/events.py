"""Events: facts that a league takes in. Effects: requests that it makes. Nothing here decides anything.

The trainer calls ``League.apply(event)`` and carries out the effects that come back; once an effect is
carried out, that is another event::

    Results(main, round 7)  -> Freeze(main, version 400)       a rule asks for it
    Frozen(main, 400)       -> ResetTo(main, source "seed")    weights are stored; continue from the seed
    Reset(main, "seed")     -> nothing                         weights are loaded

    Results(p2, round 9)    -> Copy(p2, source p0, hyper)      population based training
    Copied(p2, p0, hyper)   -> nothing                         weights, optimiser and settings are copied

A rule of one's own (``league.rules``) is asked between two rounds. Its answers are events, so that a journal
is applied without the rule::

    Answered(main, "freeze", "yes") -> Freeze(main, version 400)

Between an effect and its event a process may be killed: then the effect comes again, because the journal
holds events only. Effects are therefore safe to carry out twice.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.flow.league import JournalRow, Tally

Kind = Literal["learner", "frozen", "bot"]
Reason = Literal["period", "beats", "timeout", "updates", "asked", "rule"]
Method = Literal["freeze", "origin"]

SEED = "seed"  #: source of :class:`ResetTo`: first weights, of the member's seed or of a new network
YES, NO = "yes", "no"  #: answers of ``freeze`` (:class:`Answered`)
MAX_WHY = 500  #: characters of :attr:`Withdrawn.why`
ITSELF = "itself"  #: source of :class:`ResetTo`: load no weights


class Event(msgspec.Struct, frozen=True, tag_field="event"):
    """Something that happened. Applied twice, the second is ignored and counted."""


class Joined(Event, frozen=True, tag="joined"):
    """A player that matches can be played against: a member's live weights, or a bot of the game.

    ``role`` names one of ``roles.ROLES``, empty for a bot. ``hyper``: the member's tunable settings.
    """

    player: str
    kind: Literal["learner", "bot"]
    role: str = ""
    hyper: dict[str, float] = {}


class Results(Event, frozen=True, tag="results"):
    """Results of one round of one member. ``round`` counts the member's rounds from 0.

    ``steps``, ``updates`` and ``version`` are the member's totals after the round; ``episodes`` matches gave
    ``returns`` in sum to the member. Matches between frozen players (tag ``rating``) are among the tallies.
    """

    member: str
    round: int
    steps: int
    updates: int
    version: int
    tallies: tuple[Tally, ...] = ()
    episodes: int = 0
    returns: float = 0.0


class Ordered(Event, frozen=True, tag="ordered", omit_defaults=True):
    """``count`` orders were drawn for a member: its random stream moves on by as many.

    ``weights``: shares of opponents by name, by which a rule of one's own had them drawn; empty without such
    a rule, or where it was not asked.
    """

    member: str
    count: int
    weights: dict[str, float] = {}


class Ruled(Event, frozen=True, tag="ruled"):
    """The rule of one's own ``rule`` decides for the member in all events that follow.

    ``sha256``: hash of the file with its code.
    """

    member: str
    rule: str
    sha256: str = ""


class Answered(Event, frozen=True, tag="answered"):
    """A rule of one's own was asked for a decision; opponents are in :class:`Ordered`.

    ``answer``: ``yes`` or ``no``, for the origin ``itself``, ``seed`` or a frozen player.
    """

    member: str
    method: Method
    answer: str


class Frozen(Event, frozen=True, tag="frozen"):
    """The member's weights of ``version`` are stored: creates the player ``member:version``."""

    member: str
    version: int
    reason: Reason = "asked"


class Reset(Event, frozen=True, tag="reset"):
    """The member continues from ``source``: ``seed`` or the name of a frozen player."""

    member: str
    source: str


class Copied(Event, frozen=True, tag="copied"):
    """The member continues with weights and optimiser of the member ``source``, with settings ``hyper``."""

    member: str
    source: str
    hyper: dict[str, float]


class Mutated(Event, frozen=True, tag="mutated"):
    """The member continues with settings ``hyper``."""

    member: str
    hyper: dict[str, float]


class Withdrawn(Event, frozen=True, tag="withdrawn"):
    """The member failed: it plays no round and is met live no more. Its frozen players and results stay."""

    member: str
    why: Annotated[str, msgspec.Meta(max_length=MAX_WHY)]


class Retired(Event, frozen=True, tag="retired"):
    """The player is met no more: its file is gone. Its results stay."""

    player: str


AnyEvent = (
    Joined | Results | Ordered | Frozen | Reset | Copied | Mutated | Retired | Ruled | Answered | Withdrawn
)


class Effect(msgspec.Struct, frozen=True, tag_field="effect"):
    """A request of the league."""


class Freeze(Effect, frozen=True, tag="freeze"):
    """Store the member's weights of ``version``, then apply :class:`Frozen`."""

    member: str
    version: int
    reason: Reason


class ResetTo(Effect, frozen=True, tag="reset_to"):
    """Load ``source`` (``seed`` or a frozen player) into the member, then apply :class:`Reset`.

    The optimiser continues from ``source``'s, or starts from scratch with the seed; the member keeps
    its version counter and drops the slab that waits.
    """

    member: str
    source: str


class Copy(Effect, frozen=True, tag="copy"):
    """Copy weights, optimiser and settings of ``source`` to the member, then apply :class:`Copied`.

    The member keeps its version counter, drops the slab that waits and keeps its matches; changed game
    parameters build its pool again.
    """

    member: str
    source: str
    hyper: dict[str, float]


class Mutate(Effect, frozen=True, tag="mutate"):
    """Give the member the settings ``hyper``, then apply :class:`Mutated`."""

    member: str
    hyper: dict[str, float]


class Ignored(Effect, frozen=True, tag="ignored"):
    """The event, or ``rows`` results of it, were not counted; ``why`` for the log."""

    why: str
    rows: int = 0


Request = Freeze | ResetTo | Copy | Mutate
AnyEffect = Request | Ignored

_ENCODER = msgspec.json.Encoder()


def member_of(event: AnyEvent) -> str:
    """Return the member that ``event`` is about, or the player that joined or retired."""
    return event.player if isinstance(event, (Joined, Retired)) else event.member


def to_row(event: AnyEvent, number: int, time: float = 0.0) -> JournalRow:
    """Return the journal's row of ``event``. Results of one pair, seat and tag are added up."""
    tallies: tuple[Tally, ...] = ()
    body = event
    if isinstance(event, Results):
        tallies = merge(event.tallies)
        body = msgspec.structs.replace(event, tallies=())
    kind = str(type(event).__struct_config__.tag)
    return JournalRow(number, kind, member_of(event), _ENCODER.encode(body), tallies, time)


def from_row(row: JournalRow) -> AnyEvent:
    """Return the event of a journal's row. Raises ``ValueError`` for a row that holds none."""
    try:
        event: AnyEvent = from_json(row.body, AnyEvent)
    except msgspec.DecodeError as error:
        raise ValueError(f"event {row.number}: not an event of a league ({error})") from error
    if isinstance(event, Results):
        return msgspec.structs.replace(event, tallies=row.tallies)
    if row.tallies:
        raise ValueError(f"event {row.number}: results in an event of another kind")
    return event


def merge(tallies: tuple[Tally, ...]) -> tuple[Tally, ...]:
    """One tally for each pair, seat and tag, in the order of their names."""
    counts: dict[tuple[str, str, int, str], list[int]] = {}
    for t in tallies:
        sums = counts.setdefault((t.player, t.opponent, t.seat, t.tag), [0, 0, 0])
        sums[0] += t.wins
        sums[1] += t.draws
        sums[2] += t.losses
    return tuple(Tally(*key, *sums) for key, sums in sorted(counts.items()))

"""Messages between a live match and its page: JSON objects with the tag ``type``, one per WebSocket message.

The server sends ``hello`` first, then a ``moment`` after every change. Another ``hello`` starts another match
on the same socket, when one is watched. A message of the page that has unknown fields, wrong types or comes
too late is answered by ``refused``; one over :data:`MAX_BYTES`, or more than :data:`PER_SECOND` in a second,
closes the socket.

Both sides give signs of life: the server sends ``alive`` every ``Hello.beat_s`` seconds, and the page answers
it. After the time of :data:`MISSING` of them without any message, each side counts the other as lost. A page
that connects again with its name (``?page=``) takes the place of its former socket, whose messages have no
effect from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from ludus.flow.inputs.decode import from_json, to_json
from ludus.games.guides.guide import Guide

MAX_BYTES = 64 << 10  #: of a message from the page
PER_SECOND = 50  #: messages from one page
CLOSE_LARGE, CLOSE_FLOOD = 1009, 4429  #: codes of the socket's end for a page that sends too much
CLOSE_FORBIDDEN, CLOSE_UNKNOWN, CLOSE_FULL = 4403, 4404, 4430  #: wrong token or key, no such match, no room
CLOSE_SILENT = 4408  #: no sign of life of the page
BEAT_S = 2.0  #: between two signs of life
MISSING = 3  #: of them after which the other side is lost

MAX_LINK = 2000  #: characters of parameters in the address of a page
MAX_ACTION = 4096  # heads of a decision
MOST_MOVES = 400  #: decisions that a page lists
Natural = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]
Choice = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]
Seat = Annotated[int, msgspec.Meta(ge=0, le=255)]
SeatKind = Literal["person", "bot", "network", "search", "plan"]


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """Base of all messages."""


class Alive(_Message, frozen=True, tag="alive"):
    """Sign of life, of either side. Nothing else happens."""


# From the page.


class Act(_Message, frozen=True, tag="act"):
    """A decision of a seat: one number per head. ``echo`` comes back in the answer.

    ``tick``: tick of the moment that the page shows. In games with turns, a decision for an earlier tick is
    refused.
    """

    echo: Natural
    tick: Natural
    seat: Seat
    action: Annotated[tuple[Choice, ...], msgspec.Meta(max_length=MAX_ACTION)]


class Pause(_Message, frozen=True, tag="pause"):
    """Stop the clock."""


class ResumeClock(_Message, frozen=True, tag="resume"):
    """Start the clock again."""


class SetRate(_Message, frozen=True, tag="rate"):
    """Play at ``value`` times the game's own speed. Real-time games only."""

    value: Annotated[float, msgspec.Meta(ge=0.05, le=20)]


class TakeBack(_Message, frozen=True, tag="take_back"):
    """Return to the last decision of the page's own seat."""


class Resign(_Message, frozen=True, tag="resign"):
    """End the match as lost for the page's seats."""


class Hints(_Message, frozen=True, tag="hints"):
    """Turn thoughts on or off. Refused while a person plays."""

    on: bool


class Hint(_Message, frozen=True, tag="hint"):
    """Ask for one hint for an own seat that may decide now; ``value_only``: for its value, no choices."""

    seat: Seat
    value_only: bool = False


FromPage = Alive | Act | Pause | ResumeClock | SetRate | TakeBack | Resign | Hints | Hint


# From the server.


class HeadView(msgspec.Struct, frozen=True):
    """One factor of a decision.

    ``labels``: the names of its choices, or empty. ``cells``: how its choices are cells of the map, ``rows``
    (row by row) or ``columns``; empty where they are none.
    """

    name: str
    size: int
    labels: tuple[str, ...]
    cells: str = ""


class SeatName(msgspec.Struct, frozen=True):
    """Player of a seat, as people read it.

    ``side``: how the page shows the seat, a colour. ``short``: the name without date and hash of a run.
    """

    name: str
    kind: SeatKind
    side: str = ""
    short: str = ""


class Drawing(msgspec.Struct, frozen=True):
    """Presentation of the game: see :class:`ludus.games.views.View`.

    ``keys``: pairs of a KeyboardEvent's ``key`` and a choice of head 0. ``labels``: names of cards, or of
    the choices in a table.
    """

    input: str
    keys: tuple[tuple[str, int], ...] = ()
    lines: str = "cells"
    coordinates: str = ""
    labels: tuple[str, ...] = ()
    turned: bool = False


class MomentView(_Message, frozen=True, tag="moment"):
    """State of the match as the page may see it.

    Args:
        tick: Ticks that were played.
        view: View document, cut for the page; None where the page may see none.
        to_act: Seats that may decide now.
        legal: Own seats that may decide -> a list per head of 0 or 1 for each choice. A head that depends on
            others has the tables of :class:`ludus.flow.spec.HeadSpec`, concatenated.
        left_s: Seat to move -> seconds that its clock has left; empty without a clock.
        echo: ``echo`` of the last decision that was played; 0 at the start.
        last: Pairs of a seat and the text of its decision since the last moment.
        paused: Whether the clock is stopped.
        can_take_back: Whether ``take_back`` is accepted now.
        waits: Whether the match has not started: it waits for the first decision of a person, or for
            ``resume``. ``paused`` is true too.
        out: Own seats that are out of a match that continues -> why, a sentence.
    """

    tick: int
    view: dict[str, Any] | None
    to_act: tuple[int, ...]
    legal: dict[str, list[list[int]]] = {}
    left_s: dict[str, float] = {}
    echo: int = 0
    last: tuple[tuple[int, str], ...] = ()
    paused: bool = False
    can_take_back: bool = False
    waits: bool = False
    out: dict[str, str] = {}


class Hello(_Message, frozen=True, tag="hello"):
    """The match, for a page that has just connected.

    Args:
        game: Name of the game.
        title: Its title.
        renderer: One of :data:`ludus.games.views.RENDERERS`.
        view: How a click or key becomes a decision.
        heads: Heads of a decision.
        seats: Player of each seat.
        you: Seats of the page; empty for a spectator.
        turn_based: Whether the game waits for decisions.
        ticks_per_s: Ticks a second at rate 1.
        rate: Present speed, in times of ``ticks_per_s``.
        clock_s: Seconds a move; 0 = no clock.
        confirm_default: Whether the page should ask before it sends a move.
        hidden: Whether the page sees less than the whole state.
        match: Id of the match.
        key: Key with which a page that lost its socket connects again.
        first: Present state.
        advisor: Who gives hints to this page, or empty.
        params: Parameters of the game, for a link to the next match; empty where they are too long for one.
        moves: Decisions so far that no moment will name, the newest :data:`MOST_MOVES`: the tick after which
            each was played, its seat and its text.
        beat_s: Seconds between two signs of life of the server.
        teams: Team of each seat; empty where every seat plays for itself.
        guide: Explanation of the game under its parameters; None without one.
        again: Whether the page may ask for a rematch.
    """

    game: str
    title: str
    renderer: str
    view: Drawing
    heads: tuple[HeadView, ...]
    seats: tuple[SeatName, ...]
    you: tuple[int, ...]
    turn_based: bool
    ticks_per_s: float
    rate: float
    clock_s: float
    confirm_default: bool
    hidden: bool
    match: str
    key: str
    first: MomentView
    advisor: str = ""
    params: dict[str, str] = {}
    moves: tuple[tuple[int, int, str], ...] = ()
    beat_s: float = BEAT_S
    teams: tuple[int, ...] = ()
    guide: Guide | None = None
    again: bool = False


class ThoughtView(_Message, frozen=True, tag="thought"):
    """Opinion of a player about its decision, for spectators and after the match.

    Args:
        seat: Its seat.
        tick: Tick of the decision.
        value: Expected result; None where the player has none.
        heads: A list per head of pairs of a label and a probability, the most probable first.
        visits: Pairs of a label and the visits of a search.
        line: Labels of the principal variation.
    """

    seat: int
    tick: int
    value: float | None = None
    heads: tuple[tuple[tuple[str, float], ...], ...] = ()
    visits: tuple[tuple[str, int], ...] = ()
    line: tuple[str, ...] = ()


class HintChoice(msgspec.Struct, frozen=True):
    """A choice of a head: its number and name; probability and value, None without one; visits."""

    choice: int
    label: str
    p: float | None = None
    q: float | None = None
    visits: int = 0


class HintView(_Message, frozen=True, tag="hint"):
    """A hint, for the page that asked.

    Args:
        seat: The seat.
        tick: Tick that it is about.
        by: Name of the player that gives it.
        value: Value for the seat; None where there is none that depends on this seat only.
        wins: Whether the value is from -1 (lost) to +1 (won); otherwise it is an expected return.
        value_only: Whether the page asked for the value, not for choices.
        heads: Choices of each head, the most preferred first.
        line: Labels of the expected moves.
    """

    seat: int
    tick: int
    by: str
    value: float | None
    wins: bool
    value_only: bool = False
    heads: tuple[tuple[HintChoice, ...], ...] = ()
    line: tuple[str, ...] = ()


class Refused(_Message, frozen=True, tag="refused"):
    """A message of the page had no effect. ``echo``: the decision's, or 0."""

    echo: int
    why: str


class Paused(_Message, frozen=True, tag="paused"):
    """The clock has stopped."""

    why: str


class ClockResumed(_Message, frozen=True, tag="resumed"):
    """The clock runs again."""


class Over(_Message, frozen=True, tag="over"):
    """The match has ended.

    Args:
        outcome: +1, 0 or -1 a seat; empty where the match was cut off.
        reason: Why it ended, a sentence.
        replay: Id of the recorded match; None if it could not be saved.
        url: Page of the recorded match, "" without one.
    """

    outcome: tuple[float, ...]
    reason: str
    replay: str | None
    url: str


class Failed(_Message, frozen=True, tag="failed"):
    """The match cannot continue. One sentence."""

    why: str


FromServer = (
    Alive | Hello | MomentView | ThoughtView | HintView | Refused | Paused | ClockResumed | Over | Failed
)


class Unreadable(ValueError):
    """A message of a page that is none of :data:`FromPage`. The text has the reason."""


def read(data: bytes | str) -> FromPage:
    """Return a message of the page. Raises :class:`Unreadable`."""
    try:
        message: FromPage = from_json(data, FromPage)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Unreadable(str(error)) from None
    return message


def linked(params: Mapping[str, str]) -> dict[str, str]:
    """Return parameters of a game for the address of a page; empty if they are too long for one."""
    found = dict(params)
    return found if sum(map(len, (*found, *found.values()))) <= MAX_LINK else {}


def write(message: FromServer) -> str:
    """Return a message of the server as JSON text."""
    return to_json(message).decode()

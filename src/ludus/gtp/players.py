"""Players of the GTP engine: bots, networks and searches behind one interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ludus.games.match import Match

RESIGN = -1


@dataclass(frozen=True, slots=True)
class Candidate:
    """A move with its statistics. ``value`` in [-1, 1] and ``prior`` in [0, 1] are the mover's.

    ``line`` is the most visited continuation, the move included; ``line_visits`` the visits of each of its
    moves.
    """

    move: int
    visits: int
    value: float
    prior: float
    line: tuple[int, ...] = ()
    line_visits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """``move`` is a point, the pass, or ``RESIGN``. ``value`` as in a candidate, or None."""

    move: int
    value: float | None = None
    candidates: tuple[Candidate, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Restriction:
    """Moves that ``seat`` does not play at fewer than ``depth`` moves below the root."""

    seat: int
    barred: tuple[int, ...]
    depth: int


@dataclass(frozen=True, slots=True)
class Report:
    """A search so far: every legal move, the most visited first. ``value`` is the mover's, in [-1, 1]."""

    visits: int
    value: float
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected final score and ownership of a position, from Black's perspective.

    Args:
        lead: Black's points less White's and komi.
        deviation: One standard deviation of ``lead``, in points.
        ownership: One number per point, row by row: +1 Black's .. -1 White's.
        sampled: Whether it comes from random continuations. Their score is that of random play.
    """

    lead: float
    deviation: float
    ownership: tuple[float, ...]
    sampled: bool = False


@dataclass(frozen=True, slots=True)
class RawNetwork:
    """A network's outputs for one position.

    ``policy``: a probability for each point and the pass. ``value`` in [-1, 1] is the mover's.
    ``expected`` is None if the network has no ownership and score heads.
    """

    policy: tuple[float, ...]
    value: float
    expected: Expected | None


class Player(Protocol):
    """One player of Go. Called by one thread."""

    name: str
    #: Parameters of the game that the player requires (``features``, a network's ``size``).
    needs: Mapping[str, str]

    def prepare(self, params: Mapping[str, str]) -> None:
        """A new match under these parameters. Raises ``ValueError`` if it cannot play them."""
        ...

    def choose(self, match: Match, seconds: float | None) -> Choice:
        """Chooses a move for the seat to move.

        Args:
            match: The position. The player may play the chosen move on it; the match then continues with
                this object.
            seconds: Time limit; None = none.
        """
        ...


class Analyst(Player, Protocol):
    """A player that searches and reports statistics."""

    def analyse(
        self, match: Match, interval: float, restrictions: Sequence[Restriction] = ()
    ) -> Iterator[Report]:
        """A report about every ``interval`` seconds, until the caller stops asking."""
        ...

    def deliberate(
        self,
        match: Match,
        seconds: float | None,
        interval: float,
        restrictions: Sequence[Restriction] = (),
    ) -> Iterator[Report]:
        """:meth:`Player.choose` with a report about every ``interval`` seconds and at its end."""
        ...

    def decide(self, match: Match) -> Choice:
        """The choice after :meth:`deliberate` has ended."""
        ...

    def expect(self, matches: Sequence[Match]) -> list[Expected]:
        """Expected final score and ownership of positions."""
        ...


class Reader(Player, Protocol):
    """A player with a network."""

    def read(self, match: Match, symmetry: int) -> RawNetwork:
        """The network's outputs for the position under one of the eight symmetries of the board.

        Raises ``ValueError`` if the network does not support the symmetry.
        """
        ...


class BotPlayer:
    """A bot of the game."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.needs: Mapping[str, str] = {}

    def prepare(self, params: Mapping[str, str]) -> None:
        """Does nothing: bots play under all parameters."""

    def choose(self, match: Match, seconds: float | None) -> Choice:
        """See :class:`Player`."""
        (seat,) = match.to_act
        match.bot(seat, self.name)
        match.advance()
        return Choice(int(match.view()["last"]))

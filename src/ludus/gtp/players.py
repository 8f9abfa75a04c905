"""Players of the GTP engine: bots, networks and searches behind one interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ludus.games.match import Match

RESIGN = -1


@dataclass(frozen=True, slots=True)
class MoveCandidate:
    """A move with its statistics.

    Attributes:
        move: A point, or the pass.
        visits: Visits of the search.
        value: Mean value for the mover, in [-1, 1].
        prior: Probability by the policy, in [0, 1].
        line: The most visited continuation, the move included.
        line_visits: Visits of each move of ``line``.
    """

    move: int
    visits: int
    value: float
    prior: float
    line: tuple[int, ...] = ()
    line_visits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MoveChoice:
    """A chosen move: a point, the pass, or ``RESIGN``, with its value for the mover in [-1, 1], or None."""

    move: int
    value: float | None = None
    candidates: tuple[MoveCandidate, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Restriction:
    """Moves that ``seat`` does not play at fewer than ``depth`` moves below the root."""

    seat: int
    barred: tuple[int, ...]
    depth: int


@dataclass(frozen=True, slots=True)
class SearchReport:
    """State of a search: every legal move, the most visited first. ``value`` is the mover's, in [-1, 1]."""

    visits: int
    value: float
    candidates: tuple[MoveCandidate, ...]


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expected final score and ownership of a position, from Black's perspective.

    Attributes:
        lead: Black's points less White's and komi.
        deviation: One standard deviation of ``lead``, in points.
        ownership: One number per point, row by row: +1 Black's .. -1 White's.
        sampled: Whether it comes from random continuations. Their score is the score of random play.
    """

    lead: float
    deviation: float
    ownership: tuple[float, ...]
    sampled: bool = False


@dataclass(frozen=True, slots=True)
class RawNetwork:
    """A network's outputs for one position.

    Attributes:
        policy: A probability for each point and the pass.
        value: Value for the mover, in [-1, 1].
        expected: Expected score and ownership; None if the network has no heads for them.
    """

    policy: tuple[float, ...]
    value: float
    expected: Expectation | None


class GoPlayer(Protocol):
    """A player of Go. Called by one thread."""

    name: str
    #: Parameters of the game that the player requires (``features``, a network's ``size``).
    needs: Mapping[str, str]

    def prepare(self, params: Mapping[str, str]) -> None:
        """Prepare for a new match under these parameters. Raise ``ValueError`` if it cannot play them."""
        ...

    def choose(self, match: Match, seconds: float | None) -> MoveChoice:
        """Choose a move for the seat to move.

        Args:
            match: The position. The player may play the chosen move on it; the match then continues with
                this object.
            seconds: Time limit; None = none.
        """
        ...


class Analyst(GoPlayer, Protocol):
    """A player that searches and reports statistics."""

    def analyse(
        self, match: Match, interval: float, restrictions: Sequence[Restriction] = ()
    ) -> Iterator[SearchReport]:
        """Yield a report about every ``interval`` seconds, until the caller stops iterating."""
        ...

    def deliberate(
        self,
        match: Match,
        seconds: float | None,
        interval: float,
        restrictions: Sequence[Restriction] = (),
    ) -> Iterator[SearchReport]:
        """Search as :meth:`GoPlayer.choose`; report about every ``interval`` seconds and at the end."""
        ...

    def decide(self, match: Match) -> MoveChoice:
        """Return the choice after :meth:`deliberate` has ended."""
        ...

    def expect(self, matches: Sequence[Match]) -> list[Expectation]:
        """Return the expected final score and ownership of positions."""
        ...


class PositionReader(GoPlayer, Protocol):
    """A player with a network."""

    def read(self, match: Match, symmetry: int) -> RawNetwork:
        """Return the network's outputs for the position under one of the eight symmetries of the board.

        Raises:
            ValueError: The network does not support the symmetry.
        """
        ...


class BotPlayer:
    """A bot of the game."""

    def __init__(self, name: str) -> None:
        """Play as the bot ``name`` of the game ``go``."""
        self.name = name
        self.needs: Mapping[str, str] = {}

    def prepare(self, params: Mapping[str, str]) -> None:
        """Do nothing: bots play under all parameters."""

    def choose(self, match: Match, seconds: float | None) -> MoveChoice:
        """Choose a move, as :class:`GoPlayer`."""
        (seat,) = match.to_act
        match.bot(seat, self.name)
        match.advance()
        return MoveChoice(int(match.view()["last"]))

"""Who chooses the moves. A searched policy, a network and a bot look the same to the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ludus.games.match import Match

RESIGN = -1


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a player thinks of a move. ``value`` in [-1, 1] and ``prior`` in [0, 1] are the mover's.

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
    """``move`` is a point, the pass, or ``RESIGN``. ``value`` as of a candidate, None where it has none."""

    move: int
    value: float | None = None
    candidates: tuple[Candidate, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Restriction:
    """Moves that ``seat`` does not play fewer than ``depth`` moves below the position that is searched."""

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
    """How a position is expected to end, seen by Black.

    Args:
        lead: Black's points less White's and komi.
        deviation: One standard deviation of ``lead``, in points.
        ownership: A point of the board, row by row: +1 Black's .. -1 White's.
    """

    lead: float
    deviation: float
    ownership: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RawNetwork:
    """What a network says of one position. ``policy``: a probability for each point and the pass;
    ``value`` in [-1, 1] is the mover's; ``expected`` is None where the network has no such heads."""

    policy: tuple[float, ...]
    value: float
    expected: Expected | None


class Player(Protocol):
    """One player of Go. Called by one thread."""

    name: str
    #: Parameters of the game that the player cannot do without (``features``, a network's ``size``).
    needs: Mapping[str, str]

    def prepare(self, params: Mapping[str, str]) -> None:
        """A new match under these parameters. Raises ``ValueError`` if it cannot play them."""
        ...

    def choose(self, match: Match, seconds: float | None) -> Choice:
        """For the seat whose turn it is. ``seconds``: None without a limit.

        ``match`` may be played on by exactly the move that is chosen, and is what goes on then.
        """
        ...


class Analyst(Player, Protocol):
    """A player that searches, and says what it found."""

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
        """What :meth:`Player.choose` does, with a report about every ``interval`` seconds and at its end."""
        ...

    def decide(self, match: Match) -> Choice:
        """The choice after :meth:`deliberate` has ended."""
        ...

    def expect(self, matches: Sequence[Match]) -> list[Expected]:
        """How positions are expected to end."""
        ...


class Reader(Player, Protocol):
    """A player with a network."""

    def read(self, match: Match, symmetry: int) -> RawNetwork:
        """What the network says of the position under one of the eight symmetries of the board.

        Raises ``ValueError`` where the network does not know the symmetry.
        """
        ...


class BotPlayer:
    """A bot of the game."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.needs: Mapping[str, str] = {}

    def prepare(self, params: Mapping[str, str]) -> None:
        """Plays any."""

    def choose(self, match: Match, seconds: float | None) -> Choice:
        """See :class:`Player`."""
        (seat,) = match.to_act
        match.bot(seat, self.name)
        match.advance()
        return Choice(int(match.view()["last"]))

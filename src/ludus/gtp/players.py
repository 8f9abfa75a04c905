"""Who chooses the moves. A searched policy, a network and a bot look the same to the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ludus.games.match import Match

RESIGN = -1


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a player thinks of a move. ``value`` in [-1, 1] and ``prior`` in [0, 1] are the mover's."""

    move: int
    visits: int
    value: float
    prior: float
    line: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """``move`` is a point, the pass, or ``RESIGN``. ``value`` as of a candidate, None where it has none."""

    move: int
    value: float | None = None
    candidates: tuple[Candidate, ...] = field(default=())


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

    def analyse(self, match: Match, seconds: float) -> Iterator[tuple[Candidate, ...]] | None:
        """What it thinks, best first, about every ``seconds``; None if it cannot say. Ends when told to."""
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

    def analyse(self, match: Match, seconds: float) -> Iterator[tuple[Candidate, ...]] | None:
        """It does not think."""
        return None

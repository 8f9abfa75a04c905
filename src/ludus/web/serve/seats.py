"""Seats of a live match: a person, a bot, a network, a search or a plan, each with an answer or none.

All run in the thread that owns the match (:mod:`ludus.web.serve.session`).
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple, Protocol

import numpy as np

from ludus.flow.masks import illegal_choice
from ludus.games.exports.match import random_decision
from ludus.games.match import Match
from ludus.mcts.planner import Planner
from ludus.mcts.player import SearchPlayer, SearchResult
from ludus.rollouts.actor import ActInput, Actor
from ludus.web.serve.messages import SeatKind

QUEUE = 8  # decisions of a person that wait for their turn
LONGEST_S = 30.0  # of one decision of a search without a time limit


class Choice(NamedTuple):
    """A decision: one number per head, or the name of a bot of the core that decides."""

    action: tuple[int, ...] | None
    bot: str = ""


class Seat(Protocol):
    """Player of one seat.

    ``name``: as people and replays read it. ``skip``: ticks between two decisions; 1 where the game waits.
    ``state`` and ``restore`` are for moves that are taken back.
    """

    name: str
    kind: SeatKind
    skip: int

    def decide(self, match: Match, seat: int) -> Choice | None:
        """Return the decision; None: nothing now, which a game with turns waits for."""
        ...

    def state(self) -> Any:  # noqa: ANN401
        """Return the seat's memory of the match."""
        ...

    def restore(self, state: Any) -> None:  # noqa: ANN401
        """Return to a memory from :meth:`state`."""
        ...


class Offer(NamedTuple):
    """A decision that a page has sent. ``sender``: the connection that receives a refusal."""

    sender: object
    echo: int
    action: tuple[int, ...]


class Person:
    """A person at a page: the newest legal decision that was sent wins, older ones are forgotten."""

    kind: SeatKind = "person"

    def __init__(self, name: str = "person") -> None:
        """Wait for decisions."""
        self.name, self.skip = name, 1
        self.echo = 0  # of the last decision that was played
        self.refused: list[tuple[Offer, str]] = []  # to be reported and emptied by the caller
        self._offers: deque[Offer] = deque(maxlen=QUEUE)

    @property
    def waiting(self) -> bool:
        """Whether a decision has been sent and not yet played."""
        return bool(self._offers)

    def offer(self, offer: Offer) -> None:
        """Take a decision for the next moment at which the seat may decide."""
        self._offers.append(offer)

    def decide(self, match: Match, seat: int) -> Choice | None:
        """Return the newest legal offer; the others are gone."""
        mask = match.legal(seat) if self._offers else None
        while self._offers and mask is not None:
            offer = self._offers.pop()
            why = illegal_choice(match.spec, mask, offer.action)
            if not why:
                self._offers.clear()
                self.echo = offer.echo
                return Choice(offer.action)
            self.refused.append((offer, why))
        return None

    def state(self) -> None:
        """Stateless."""

    def restore(self, state: None) -> None:
        """Forget what was sent."""
        self._offers.clear()


class BotSeat:
    """A bot of the core, at multiples of ``skip`` ticks."""

    kind: SeatKind = "bot"

    def __init__(self, name: str, skip: int) -> None:
        """Play the bot ``name``."""
        self.name, self.skip = name, max(1, skip)

    def decide(self, match: Match, seat: int) -> Choice | None:
        """Name the bot."""
        return None if match.tick % self.skip else Choice(None, self.name)

    def state(self) -> None:
        """Stateless here."""

    def restore(self, state: None) -> None:
        """Do nothing: the match has been restored."""


class UniformSeat:
    """Uniform play over the legal choices, without torch."""

    kind: SeatKind = "bot"

    def __init__(self, name: str, skip: int, seed: int) -> None:
        """Draw with ``seed``."""
        self.name, self.skip, self._rng = name, max(1, skip), np.random.default_rng(seed)

    def decide(self, match: Match, seat: int) -> Choice | None:
        """Draw a decision."""
        if match.tick % self.skip:
            return None
        return Choice(tuple(map(int, random_decision(match.spec, match.legal(seat), self._rng))))

    def state(self) -> Any:  # noqa: ANN401
        """Return the state of the generator."""
        return self._rng.bit_generator.state

    def restore(self, state: Any) -> None:  # noqa: ANN401
        """Restore the state of the generator."""
        self._rng.bit_generator.state = state


class _Memory(NamedTuple):
    row: Any  # float32[1, *memory_shape], or None
    fresh: bool
    step: int


class ActorSeat:
    """A network, or a bot in Python, with its memory, at multiples of its frame skip."""

    def __init__(
        self, name: str, kind: SeatKind, actor: Actor, skip: int, weights: str = "", device: str = "auto"
    ) -> None:
        """Play ``actor``, which no other thread may use; ``weights``: name of its weights, or empty."""
        self.name, self.kind, self.weights, self.device = name, kind, weights, device
        self.actor = actor
        self.skip = max(1, skip)
        self._memory = self._start(0)

    def _start(self, step: int) -> _Memory:
        shape = self.actor.memory_shape
        return _Memory(None if shape is None else np.zeros((1, *shape), np.float32), True, step)

    def decide(self, match: Match, seat: int) -> Choice | None:
        """Ask the actor, with the seat's observation."""
        if match.tick % self.skip:
            return None
        row, fresh, step = self._memory
        obs = {name: array[None].copy() for name, array in match.observe(seat).items()}
        mask = match.legal(seat)[None].copy()
        first = np.array([fresh], np.bool_)
        decision = self.actor.act(ActInput(obs, mask, row, first, step, np.array([seat], np.int32)))
        self._memory = _Memory(decision.memory, False, step + 1)
        return Choice(tuple(map(int, decision.actions[0])))

    def state(self) -> _Memory:
        """Return a copy of the memory."""
        row, fresh, step = self._memory
        return _Memory(None if row is None else row.copy(), fresh, step)

    def restore(self, state: _Memory) -> None:
        """Return to a memory."""
        self._memory = state


class SearchSeat:
    """A tree search with one tree, kept from move to move."""

    kind: SeatKind = "search"

    def __init__(self, name: str, player: SearchPlayer) -> None:
        """Play ``player``, which has one slot."""
        self.name, self.skip, self._player = name, 1, player
        self._decisions = 0
        self.found: SearchResult | None = None  # of the last decision
        self._hurried = False

    def decide(self, match: Match, seat: int) -> Choice | None:
        """Search the match's state."""
        seconds = self._player.text.seconds or LONGEST_S
        self._decisions += 1
        self.found = self._player.decide(
            [0], [match.state], plies=[match.tick], seconds=seconds, until=self._ends
        )[0]
        return Choice((self.found.move,))

    def hurry(self) -> None:
        """Decide at once, with what was found, until the end of the match. For any thread."""
        self._hurried = True

    def _ends(self) -> bool:
        return self._hurried

    def state(self) -> int:
        """Return the number of decisions, on which later draws depend."""
        return self._decisions

    def restore(self, state: int) -> None:
        """Return to a number of decisions, with an empty tree."""
        self._decisions = state
        self._player.restart(state)


class PlanSeat:
    """Root-parallel search for one seat among bots, at multiples of ``skip`` ticks."""

    kind: SeatKind = "plan"

    def __init__(self, name: str, planner: Planner, skip: int, seed: int) -> None:
        """Play ``planner``, whose decisions depend on ``seed`` and the tick."""
        self.name, self._planner, self.skip, self._seed = name, planner, max(1, skip), seed

    def decide(self, match: Match, seat: int) -> Choice | None:
        """Plan from the match's state."""
        if match.tick % self.skip:
            return None
        seed = (self._seed * 1_000_003 + match.tick * 65_537 + seat) % 2**63
        return Choice((self._planner.plan(match.state, seat, seed).choice,))

    def state(self) -> None:
        """Stateless."""

    def restore(self, state: None) -> None:
        """Do nothing."""

"""Matchmakers: they decide who plays in the seats that a learner's own policy does not take.

Decisions only: no tensors, no files, no pool. A seating reports results and new weights, asks for orders
between two slabs, and carries them out. Draws depend on seeds and on what was reported, so a resumed run
draws the same.

A run with one learner has a :class:`FixedMixture`; each member of a league has a
:class:`ludus.league.league_matchmaker.LeagueMatchmaker`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np

from ludus.flow import Controller, MatchResult, Orders
from ludus.flow.inputs.decode import from_json
from ludus.flow.override import override
from ludus.flow.seeds import COUNTER_PAST
from ludus.league.players import member_and_version, player_of

LATEST = "latest"
PAST = "past"
LEARNER = "main"  # the player that a run with one learner trains
NO_STATE = b"{}"


class Matchmaker(Protocol):
    """Interface of matchmakers. One thread calls it, between two slabs."""

    def next_orders(self, slots: int) -> Orders:
        """Return the orders for the matches that start next in a pool of ``slots`` slots.

        They are active until the next ones come. Until :meth:`on_seated` they are a proposal.
        """
        ...

    def on_seated(self, orders: Orders) -> None:
        """Take note that ``orders``, the newest ones, are active in the pool."""
        ...

    def on_results(self, results: Sequence[MatchResult]) -> None:
        """Take in the matches that have ended since the last call."""
        ...

    def on_weights(self, version: int) -> None:
        """Take note that the learner has weights of ``version``. The next orders may keep them."""
        ...

    def on_lost(self, player: str, newest: int) -> None:
        """Order no more matches with ``player``, whose weights cannot be read.

        ``newest`` is the learner's version, whose weights can be kept in their place.
        """
        ...

    def on_replaced(self, player: str) -> None:
        """Count no match in play with ``player``: other weights play it to its end."""
        ...

    def on_restart(self) -> None:
        """Take note that all matches are gone and no orders are active."""
        ...

    def label(self, player: str) -> str:
        """Return the name of ``player``, who plays a lane, in statistics."""
        ...

    def state(self) -> bytes:
        """Return as JSON everything that decides the next orders."""
        ...

    def load_state(self, state: bytes) -> None:
        """Set what :meth:`state` returned. Raises ``ValueError`` on anything else."""
        ...


class FixedOpponent:
    """Base of opponents with a fixed share of the matches. This one has no state and decides nothing.

    ``controllers``: everything that can decide for an opponent's seat, with the weights by which a pool
    draws. ``labels``: policy id -> the opponent's name in statistics.
    """

    def __init__(self, controllers: tuple[Controller, ...], labels: Mapping[int, str]) -> None:
        """Fix controllers and labels."""
        self.controllers, self.labels = controllers, labels

    def next_orders(self, slots: int) -> Orders:
        """Return no orders: the pool draws by the weights of its lineup."""
        return Orders()

    def on_seated(self, orders: Orders) -> None:
        """See :meth:`Matchmaker.on_seated`."""

    def on_results(self, results: Sequence[MatchResult]) -> None:
        """See :meth:`Matchmaker.on_results`."""

    def on_weights(self, version: int) -> None:
        """See :meth:`Matchmaker.on_weights`."""

    def on_lost(self, player: str, newest: int) -> None:
        """See :meth:`Matchmaker.on_lost`."""

    def on_replaced(self, player: str) -> None:
        """See :meth:`Matchmaker.on_replaced`."""

    def on_restart(self) -> None:
        """See :meth:`Matchmaker.on_restart`."""

    def label(self, player: str) -> str:
        """See :meth:`Matchmaker.label`."""
        return PAST

    def state(self) -> bytes:
        """See :meth:`Matchmaker.state`."""
        return NO_STATE

    def load_state(self, state: bytes) -> None:
        """See :meth:`Matchmaker.load_state`."""
        if state != NO_STATE:
            raise ValueError(f"state of a matchmaker without one: {state[:40]!r}")


class BotOpponent(FixedOpponent):
    """A bot of the game."""

    def __init__(self, name: str, weight: float = 1.0) -> None:
        """Take the bot ``name``, drawn by ``weight``."""
        super().__init__((Controller(bot=name, weight=weight),), {})


class PolicyOpponent(FixedOpponent):
    """A trained player that stays as it is, by a separate policy id."""

    def __init__(self, name: str, policy: int, weight: float = 1.0) -> None:
        """Take the player ``name`` at the policy id ``policy``, drawn by ``weight``."""
        super().__init__((Controller(policy=policy, weight=weight),), {policy: name})


class LatestOpponent(FixedOpponent):
    """Self-play: the policy ``policy`` that the learner trains, whose rows are trained on as well."""

    def __init__(self, policy: int, weight: float = 1.0) -> None:
        """Take the policy id ``policy``, drawn by ``weight``."""
        super().__init__((Controller(policy=policy, weight=weight),), {policy: LATEST})


class PastWindow(msgspec.Struct):
    """Kept versions of past weights, and the versions that play now."""

    versions: list[int]
    playing: list[int]

    def forget(self, missing: int, newest: int) -> None:
        """Leave out the lost version ``missing``.

        The newest remaining version plays in its place, or version ``newest``.
        """
        self.versions = [v for v in self.versions if v != missing] or [newest]
        self.playing = [self.versions[-1] if v == missing else v for v in self.playing]

    def needed(self) -> set[int]:
        """Return the versions whose weights must stay on disk."""
        return {*self.versions, *self.playing}


class PastOpponents(FixedOpponent):
    """Fictitious self-play over a window: every ``every`` versions the weights are frozen.

    The last ``window`` of them are kept, and ``playing`` of these are drawn at each freeze, one of them more
    than once perhaps. Before the first freeze version 0 plays. ``lanes``: policy ids.
    """

    def __init__(
        self,
        lanes: Sequence[int],
        *,
        window: int,
        every: int,
        seed: int,
        playing: int = 2,
        weight: float = 1.0,
    ) -> None:
        """Start with version 0; ``weight`` is shared by those that play."""
        self.window, self.every, self.seed, self.weight = window, every, seed, weight
        # Until the first orders; a pool wants a non-empty mixture.
        first = min(lanes)
        super().__init__(
            tuple(Controller(policy=n, weight=weight if n == first else 0.0) for n in lanes),
            dict.fromkeys(lanes, PAST),
        )
        self.past = PastWindow([0], [0] * playing)

    @override
    def next_orders(self, slots: int) -> Orders:
        share = self.weight / len(self.past.playing)
        mixture = {player_of(LEARNER, v): share * n for v, n in sorted(Counter(self.past.playing).items())}
        return Orders(mixture, tuple(player_of(LEARNER, v) for v in sorted(self.past.needed())))

    def on_weights(self, version: int) -> None:
        """Freeze ``version`` if it is due. The draw depends only on (seed, version)."""
        past = self.past
        if version <= past.versions[-1] or version % self.every:
            return
        past.versions = [*past.versions, version][-self.window :]
        rng = np.random.Generator(np.random.Philox(key=self.seed, counter=[COUNTER_PAST, version, 0, 0]))
        past.playing = [past.versions[int(i)] for i in rng.integers(0, len(past.versions), len(past.playing))]

    @override
    def on_lost(self, player: str, newest: int) -> None:
        self.past.forget(member_and_version(player)[1], newest)

    @override
    def state(self) -> bytes:
        return msgspec.json.encode(self.past)

    @override
    def load_state(self, state: bytes) -> None:
        try:
            past = from_json(state, PastWindow)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"past opponents: {error}") from error
        if len(past.playing) != len(self.past.playing):
            raise ValueError(f"past opponents: {len(past.playing)} play, expected {len(self.past.playing)}")
        if not past.versions or min(past.needed()) < 0:
            raise ValueError("past opponents: expected versions from 0 on")
        self.past = past


class FixedMixture(FixedOpponent):
    """Several opponents, one draw for each match: the pool draws among all their controllers by weight."""

    def __init__(self, parts: Mapping[str, FixedOpponent]) -> None:
        """Join ``parts``, opponents by name."""
        self.parts = dict(parts)
        super().__init__(
            tuple(c for part in self.parts.values() for c in part.controllers),
            {policy: name for part in self.parts.values() for policy, name in part.labels.items()},
        )

    @override
    def next_orders(self, slots: int) -> Orders:
        orders = [part.next_orders(slots) for part in self.parts.values()]
        mixture = {player: weight for o in orders for player, weight in o.mixture.items()}
        return Orders(mixture, tuple(dict.fromkeys(player for o in orders for player in o.kept)))

    @override
    def on_weights(self, version: int) -> None:
        for part in self.parts.values():
            part.on_weights(version)

    @override
    def on_lost(self, player: str, newest: int) -> None:
        for part in self.parts.values():
            part.on_lost(player, newest)

    def state(self) -> bytes:
        """Return a JSON object of the parts' states by name; a part without a state is left out."""
        states = {name: part.state() for name, part in self.parts.items()}
        return msgspec.json.encode({n: msgspec.Raw(s) for n, s in states.items() if s != NO_STATE})

    @override
    def load_state(self, state: bytes) -> None:
        try:
            states = from_json(state, dict[str, msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"matchmaker: {error}") from error
        if unknown := states.keys() - self.parts.keys():
            raise ValueError(f"matchmaker: state of {sorted(unknown)}, expected of {sorted(self.parts)}")
        for name, part in self.parts.items():
            part.load_state(bytes(states.get(name, NO_STATE)))

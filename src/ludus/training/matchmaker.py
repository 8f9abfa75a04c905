"""Matchmakers: who decides for the seats that a run's learner does not take.

Decisions only: no tensors, no files, no pool. The trainer reports results and new weights, asks for orders
between two slabs, and carries them out. Draws depend on (seed, version) alone, so a resumed run draws
the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np

from ludus.flow import Controller, MatchResult, Orders
from ludus.flow.decode import from_json
from ludus.flow.seeds import COUNTER_PAST

LATEST = "latest"
PAST = "past"
MEMBER = "main"  # the player that a run with one learner trains
NO_STATE = b"{}"


def player_of(version: int) -> str:
    """``main:1200``: the frozen player of a run with one learner."""
    return f"{MEMBER}:{version}"


def version_of(player: str) -> int:
    """The inverse of :func:`player_of`."""
    return int(player.partition(":")[2])


class Matchmaker(Protocol):
    """One thread calls it, between two slabs."""

    @property
    def controllers(self) -> tuple[Controller, ...]:
        """Everything that can decide for an opponent's seat, with the weights by which a pool draws."""
        ...

    @property
    def labels(self) -> Mapping[int, str]:
        """Policy id -> the opponent's name in statistics."""
        ...

    def next_orders(self, slots: int) -> Orders:
        """Orders for the matches that begin in the pool's ``slots`` from now on.

        They stand until others come.
        """
        ...

    def on_results(self, results: Sequence[MatchResult]) -> None:
        """Matches that have ended since the last call."""
        ...

    def on_weights(self, version: int) -> None:
        """The learner has weights of ``version``. The next orders may keep them."""
        ...

    def forget(self, lost: set[int], newest: int) -> None:
        """The kept weights of the versions ``lost`` cannot be read; version ``newest`` is there."""
        ...

    def state(self) -> bytes:
        """JSON: everything that decides the next orders."""
        ...

    def load_state(self, state: bytes) -> None:
        """The inverse of :meth:`state`. Raises ``ValueError`` on anything else."""
        ...


class Bot:
    """A bot of the game."""

    def __init__(self, name: str, weight: float = 1.0) -> None:
        self.controllers: tuple[Controller, ...] = (Controller(bot=name, weight=weight),)
        self.labels: Mapping[int, str] = {}

    def next_orders(self, slots: int) -> Orders:
        """None: the pool draws."""
        return Orders()

    def on_results(self, results: Sequence[MatchResult]) -> None:
        """Results decide nothing."""

    def on_weights(self, version: int) -> None:
        """Weights decide nothing."""

    def forget(self, lost: set[int], newest: int) -> None:
        """No weights are kept."""

    def state(self) -> bytes:
        """See :meth:`Matchmaker.state`."""
        return NO_STATE

    def load_state(self, state: bytes) -> None:
        """See :meth:`Matchmaker.load_state`."""
        if state != NO_STATE:
            raise ValueError(f"state of a matchmaker without one: {state[:40]!r}")


class Latest(Bot):
    """Self-play: the policy ``policy`` that the learner trains, whose rows are trained on as well."""

    def __init__(self, policy: int, weight: float = 1.0) -> None:
        self.controllers = (Controller(policy=policy, weight=weight),)
        self.labels = {policy: LATEST}


class PastWindow(msgspec.Struct):
    """Versions of past weights that are kept, and those that play now."""

    versions: list[int]
    playing: list[int]

    def forget(self, missing: set[int], newest: int) -> None:
        """Goes on without weights that are lost: the newest that are left play in their place, those of
        version ``newest`` where none are.
        """
        self.versions = [v for v in self.versions if v not in missing] or [newest]
        self.playing = [self.versions[-1] if v in missing else v for v in self.playing]

    def needed(self) -> set[int]:
        """Versions whose weights must stay on disk."""
        return {*self.versions, *self.playing}


class Past:
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
        self.window, self.every, self.seed, self.weight = window, every, seed, weight
        # Until the first orders; a pool wants a mixture that is not empty.
        first = min(lanes)
        self.controllers = tuple(Controller(policy=n, weight=weight if n == first else 0.0) for n in lanes)
        self.labels = dict.fromkeys(lanes, PAST)
        self.past = PastWindow([0], [0] * playing)

    def next_orders(self, slots: int) -> Orders:
        """See :meth:`Matchmaker.next_orders`."""
        share = self.weight / len(self.past.playing)
        playing = {v: share * n for v, n in sorted(Counter(self.past.playing).items())}
        return Orders(playing, tuple(sorted(self.past.needed())))

    def on_results(self, results: Sequence[MatchResult]) -> None:
        """Results decide nothing."""

    def on_weights(self, version: int) -> None:
        """Freezes ``version`` where it is due. The draw depends on (seed, version) alone."""
        past = self.past
        if version <= past.versions[-1] or version % self.every:
            return
        past.versions = [*past.versions, version][-self.window :]
        rng = np.random.Generator(np.random.Philox(key=self.seed, counter=[COUNTER_PAST, version, 0, 0]))
        past.playing = [past.versions[int(i)] for i in rng.integers(0, len(past.versions), len(past.playing))]

    def forget(self, lost: set[int], newest: int) -> None:
        """See :meth:`Matchmaker.forget`."""
        self.past.forget(lost, newest)

    def state(self) -> bytes:
        """See :meth:`Matchmaker.state`."""
        return msgspec.json.encode(self.past)

    def load_state(self, state: bytes) -> None:
        """See :meth:`Matchmaker.load_state`."""
        try:
            past = from_json(state, PastWindow)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"past opponents: {error}") from error
        if len(past.playing) != len(self.past.playing):
            raise ValueError(f"past opponents: {len(past.playing)} play, expected {len(self.past.playing)}")
        if not past.versions or min(past.needed()) < 0:
            raise ValueError("past opponents: expected versions from 0 on")
        self.past = past


class FixedMixture:
    """Several matchmakers, one draw for each match: the pool draws among all their controllers by weight."""

    def __init__(self, parts: Mapping[str, Matchmaker]) -> None:
        self.parts = dict(parts)
        self.controllers = tuple(c for part in self.parts.values() for c in part.controllers)
        self.labels: Mapping[int, str] = {
            p: n for part in self.parts.values() for p, n in part.labels.items()
        }

    def next_orders(self, slots: int) -> Orders:
        """See :meth:`Matchmaker.next_orders`."""
        orders = [part.next_orders(slots) for part in self.parts.values()]
        playing = {version: weight for o in orders for version, weight in o.playing.items()}
        return Orders(playing, tuple(sorted({version for o in orders for version in o.kept})))

    def on_results(self, results: Sequence[MatchResult]) -> None:
        """See :meth:`Matchmaker.on_results`."""
        for part in self.parts.values():
            part.on_results(results)

    def on_weights(self, version: int) -> None:
        """See :meth:`Matchmaker.on_weights`."""
        for part in self.parts.values():
            part.on_weights(version)

    def forget(self, lost: set[int], newest: int) -> None:
        """See :meth:`Matchmaker.forget`."""
        for part in self.parts.values():
            part.forget(lost, newest)

    def state(self) -> bytes:
        """A JSON object of the parts' states by name; a part without a state is left out."""
        states = {name: part.state() for name, part in self.parts.items()}
        return msgspec.json.encode({n: msgspec.Raw(s) for n, s in states.items() if s != NO_STATE})

    def load_state(self, state: bytes) -> None:
        """See :meth:`Matchmaker.load_state`."""
        try:
            states = from_json(state, dict[str, msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"matchmaker: {error}") from error
        if unknown := states.keys() - self.parts.keys():
            raise ValueError(f"matchmaker: state of {sorted(unknown)}, expected of {sorted(self.parts)}")
        for name, part in self.parts.items():
            part.load_state(bytes(states.get(name, NO_STATE)))

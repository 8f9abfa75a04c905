"""Quotas: how many matches each drawn order is owed, so that matches follow the draws.

A pool cannot play orders one by one. A matchup (the players of an order, and why they were drawn) gets
some slots until the next batch, and is played there as often as its matches are short. So matches are
counted: each order drawn adds to the remaining quota of its matchup and its rules, each match that
starts takes one off. Draws add as many matches as were started, and the next batch gives slots to the largest
quotas. A matchup that was played too often in one batch is played less in the next ones: the share of
a rule or a matchup depends only on its draws, not on the lengths of batches or of matches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ludus.flow import Order

DRAWS = 512  # orders drawn at once, at most: each is a match in pools that start fewer in a batch
PATIENCE = 1024  # a matchup that was not among so many draws is forgotten; what its rules are owed is not

Key = tuple[tuple[str, ...], tuple[str, ...]]


class Matchup(msgspec.Struct):
    """``owed``: matches, below 0 where too many were played. ``drawn``: number of its newest order."""

    players: tuple[str, ...]
    tags: tuple[str, ...]
    owed: int = 0
    drawn: int = 0


class QuotaState(msgspec.Struct):
    """State in a checkpoint. ``owed``: matches by the tags of orders, a space between two.

    ``open``: matches that were owed and had not started after the last draw.
    """

    matchups: list[Matchup] = []
    owed: dict[str, int] = {}
    open: int = 0


class Placed(NamedTuple):
    """A matchup in ``slots`` slots."""

    matchup: Matchup
    slots: int


class Quotas:
    """Quotas of one member. ``in_play`` counts the matches that have started and not ended, by matchup."""

    def __init__(self, state: QuotaState) -> None:
        """Continue from ``state``."""
        self._owed = dict(state.owed)
        self._open = state.open
        self._matchups: dict[Key, Matchup] = {
            (m.players, m.tags): msgspec.structs.replace(m) for m in state.matchups
        }

    def state(self) -> QuotaState:
        """Return the state for a checkpoint."""
        matchups = [msgspec.structs.replace(m) for m in self._matchups.values()]
        return QuotaState(matchups, dict(self._owed), self._open)

    def missing(self, slots: int, in_play: Mapping[Key, int]) -> int:
        """Return how many matches the next draws add.

        As many stay open as start in a batch, one a slot at least.

        The number depends on what was drawn and played before, never on the orders to be drawn.
        """
        now = sum(self._owed.values()) - sum(in_play.values())
        return max(0, max(slots, self._open - now) - now)

    def enter(self, orders: Sequence[Order], matches: int, in_play: Mapping[Key, int]) -> None:
        """Add ``matches`` to the quotas of ``orders`` evenly."""
        for k, order in enumerate(orders):
            quota = (k + 1) * matches // len(orders) - k * matches // len(orders)
            key = (order.players, order.tags)
            matchup = self._matchups.setdefault(key, Matchup(*key))
            matchup.owed += quota
            matchup.drawn = order.number
            tags = _name(order.tags)
            self._owed[tags] = self._owed.get(tags, 0) + quota
        self._open = sum(self._owed.values()) - sum(in_play.values())
        if orders:
            self._forget(orders[-1].number - PATIENCE)

    def played(self, order: Order, matches: int) -> None:
        """Take off ``matches`` of ``order`` that have ended."""
        tags = _name(order.tags)
        self._owed[tags] = self._owed.get(tags, 0) - matches
        matchup = self._matchups.get((order.players, order.tags))
        if matchup is not None:
            matchup.owed -= matches

    def lose(self, player: str) -> None:
        """Drop the matchups of ``player``, a past opponent: their quotas are drawn again."""
        self._matchups = {key: m for key, m in self._matchups.items() if player not in m.players}
        known = {_name(m.tags) for m in self._matchups.values()}
        self._owed = {tags: owed for tags, owed in self._owed.items() if tags in known}

    def next_batch(
        self, slots: int, most: int, in_play: Mapping[Key, int], fits: Callable[[Sequence[Matchup]], bool]
    ) -> list[Placed]:
        """Return the next active matchups, at most ``most``, and in how many of ``slots`` each.

        ``fits``: whether matchups can be active together. Rules come by remaining quota, and so do the
        matchups of a rule. One without a place waits.
        """
        owed = Counter(self._owed)
        for (_, tags), matches in in_play.items():
            owed[_name(tags)] -= matches
        waiting = self._by_rule(in_play)
        rules = sorted((t for t in waiting if owed[t] > 0), key=lambda t: (-owed[t], t))
        chosen: dict[str, list[Matchup]] = {}
        taken: list[Matchup] = []
        added = True
        while added:
            added = False
            for rule in rules:
                for matchup in waiting[rule] if len(taken) < most else ():
                    if not taken or fits([*taken, matchup]):
                        taken.append(matchup)
                        chosen.setdefault(rule, []).append(matchup)
                        added = True
                        break
        placed: list[Placed] = []
        for rule, share in zip(chosen, _split(slots, [owed[t] for t in chosen]), strict=True):
            matchups = chosen[rule]
            weights = [max(m.owed - in_play.get((m.players, m.tags), 0), 1) for m in matchups]
            placed += [Placed(m, n) for m, n in zip(matchups, _split(share, weights), strict=True) if n]
        return placed

    def _by_rule(self, in_play: Mapping[Key, int]) -> dict[str, Iterator[Matchup]]:
        """Return matchups by tag, largest quota first: all with a quota, and the first in any case."""
        found: dict[str, list[tuple[int, int, Matchup]]] = {}
        for key, matchup in self._matchups.items():
            owed = matchup.owed - in_play.get(key, 0)
            found.setdefault(_name(matchup.tags), []).append((-owed, -matchup.drawn, matchup))
        waiting: dict[str, Iterator[Matchup]] = {}
        for tags, matchups in found.items():
            ranked = sorted(matchups, key=lambda entry: (*entry[:2], entry[2].players))
            waiting[tags] = iter([m for n, (owed, _, m) in enumerate(ranked) if n == 0 or owed < 0])
        return waiting

    def _forget(self, before: int) -> None:
        """Matchups whose newest order has a lower number, but for the newest one of its rules."""
        newest: dict[tuple[str, ...], int] = {}
        for m in self._matchups.values():
            newest[m.tags] = max(newest.get(m.tags, 0), m.drawn)
        self._matchups = {
            key: m for key, m in self._matchups.items() if m.drawn >= before or m.drawn == newest[m.tags]
        }


def _name(tags: Sequence[str]) -> str:
    return " ".join(tags)


def _split(total: int, weights: Sequence[int]) -> list[int]:
    """``total`` by ``weights`` above 0, in whole numbers: the greatest remainders are rounded up."""
    whole = sum(weights)
    parts = [total * w // whole for w in weights]
    by_rest = sorted(range(len(weights)), key=lambda k: (-(total * weights[k] % whole), k))
    for k in by_rest[: total - sum(parts)]:
        parts[k] += 1
    return parts

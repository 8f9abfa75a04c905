"""Orders: the players of the matches in a member's pool, and how their results come back.

A drawn order adds to the remaining quota of its players (``quotas``). Players with the largest quota get
slots of a pool as a numbered order, until another takes its place; every match that starts
there is played by its players. The pool knows that number only, as the tag of the match. The trainer seats
``players[0]`` at the plans of the first team, ``players[1]`` at the second team's, and so on: a team draws
as one, each other team is drawn on its own. A live player is the member's own policy, or the newest weights
of another member; a frozen one is a lane of the bank; a bot is a bot.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ludus.flow import Order
from ludus.flow.inputs.shown import shown
from ludus.flow.league import Tally
from ludus.league.events import merge
from ludus.league.meeting import RATING, distribution, last_resort, tag_of
from ludus.league.payoff import Floats, Indices
from ludus.league.rules.checked import CheckedRule
from ludus.league.rules.errors import RuleError
from ludus.league.standings import BOTS, MemberStanding, RandomStream, Standings

STREAM_DRAW, STREAM_SCORE = 1, 5
OWN = "own"  #: tag of matches with opponents of a rule of one's own


class Drawer:
    """Draws orders. Distributions are worked out once between two events."""

    def __init__(
        self, standings: Standings, seed: int, rating_share: float, rules: Mapping[str, CheckedRule]
    ) -> None:
        """Draw by ``standings``; orders rate frozen players with probability ``rating_share``.

        ``rules``: rules of one's own by member.
        """
        self._rules = rules
        self._own: dict[str, dict[str, float]] = {}  # shares by these rules, by member
        self._standings = standings
        self._seed = seed
        self._rating_share = rating_share
        self._known: dict[tuple[str, int], tuple[list[int], list[float]]] = {}
        self._pairs: tuple[Indices, Floats] | None = None  # players that rating matches are between

    def forget(self) -> None:
        """Forget distributions: the standings have changed."""
        self._known.clear()
        self._own.clear()
        self._pairs = None

    def weights(self, member: str) -> dict[str, float]:
        """Return the shares that a rule of one's own gave since the last event; empty if it was not asked."""
        return self._own.get(member, {})

    def draws(self, me: MemberStanding, count: int, teams: int) -> Iterator[Order]:
        """Return the member's next orders, at most ``count``, each drawn when taken."""
        return (self._one(me, number, teams) for number in range(me.orders, me.orders + count))

    def _one(self, me: MemberStanding, number: int, teams: int) -> Order:
        stream = RandomStream(self._seed, STREAM_DRAW, me.order, number)
        names = self._standings.players
        if self._rating_share > 0 and stream.uniform() < self._rating_share:
            pair = self._rating(stream)
            if pair is not None:
                first, second = pair
                others = tuple(names[second].name for _ in range(teams - 1))
                return Order(number, me.name, (names[first].name, *others), (RATING,) * (teams - 1))
        drawn = [self._opponent(me, stream) for _ in range(teams - 1)]
        players = (names[me.player].name, *(names[i].name for i, _ in drawn))
        return Order(number, me.name, players, tuple(tag for _, tag in drawn))

    def _opponent(self, me: MemberStanding, stream: RandomStream) -> tuple[int, str]:
        """Draw an opponent; returns it and the tag of the rule that drew it."""
        if me.choices.rule:
            return self._own_opponent(me, stream)
        rules = me.choices.meet
        total = sum(rule.weight for rule in rules)
        mark = stream.uniform() * total
        first = 0
        while first < len(rules) - 1 and mark >= rules[first].weight:
            mark -= rules[first].weight
            first += 1
        for k in range(len(rules)):
            which = (first + k) % len(rules)
            if rules[which].weight <= 0:
                continue
            players, sums = self._distribution(me, which)
            at = bisect_right(sums, stream.uniform())
            if at < len(players):
                return players[at], tag_of(rules[which])
        return last_resort(me, self._standings), "latest"

    def _own_opponent(self, me: MemberStanding, stream: RandomStream) -> tuple[int, str]:
        """Draw an opponent by the member's rule of one's own."""
        key = (me.name, 0)
        if key not in self._known:
            if me.name not in self._rules:
                raise RuleError(f"league rule {shown(me.choices.rule)} of {me.name} is not loaded")
            shares = self._own[me.name] = self._rules[me.name].meet(self._standings, me, self._seed)
            found = [(self._standings.find(name), share) for name, share in shares.items()]
            players = [index for index, _ in found if index is not None]
            sums = np.cumsum([share for _, share in found])
            if len(sums):
                sums[-1] = 1.0
            self._known[key] = (players, sums.tolist())
        players, known = self._known[key]
        if not players:
            return last_resort(me, self._standings), OWN
        return players[bisect_right(known, stream.uniform())], OWN

    def _distribution(self, me: MemberStanding, which: int) -> tuple[list[int], list[float]]:
        key = (me.name, which)
        if key not in self._known:
            players, shares = distribution(me.choices.meet[which], me, self._standings)
            sums = np.cumsum(shares)
            if len(sums) and sums[-1] > 1.0 - 1e-9:
                sums[-1] = 1.0
            self._known[key] = (players.tolist(), sums.tolist())
        return self._known[key]

    def _rating(self, stream: RandomStream) -> tuple[int, int] | None:
        """Draw a pair of players whose strengths stay.

        It is the less likely the more it played: (1 + matches)^-2, first by player, then by opponent.
        Never two bots: a match that waits for no decision runs at the speed of the game and takes a thread
        of the pool for itself.
        """
        standings = self._standings
        bots = standings.frozen((BOTS,))
        players = standings.anchored()
        if len(players) < 2 or len(players) == len(bots):
            return None
        payoff = standings.payoff
        if self._pairs is None:
            played = payoff.frozen_matches[players] / len(players)
            self._pairs = (players, np.cumsum((1.0 + played) ** -2.0))
        players, sums = self._pairs
        first = int(players[int(np.searchsorted(sums, stream.uniform() * sums[-1], "right"))])
        others = players[players != first]
        if first in bots:
            others = np.setdiff1d(others, bots)
        sums = np.cumsum((1.0 + payoff.matches(first, others)) ** -2.0)
        return first, int(others[int(np.searchsorted(sums, stream.uniform() * sums[-1], "right"))])


class OrderBook:
    """The active orders of one member, and the results of their matches since the last round.

    Part of the member's checkpoint: :meth:`orders` restores it. A match with an unknown number is
    counted in :attr:`unknown` and otherwise ignored.
    """

    def __init__(self, orders: Sequence[Order] = (), tallies: Sequence[Tally] = ()) -> None:
        """Start with the ``orders`` of a checkpoint, and results that :meth:`take` returns."""
        self.unknown = 0
        self._orders = {order.number: order for order in orders}
        self._tallies = list(tallies)

    def add(self, orders: Sequence[Order]) -> None:
        """Add active orders."""
        self._orders.update((order.number, order) for order in orders)

    def keep(self, numbers: set[int]) -> None:
        """Forget all orders but ``numbers``: active ones, and orders of matches in play."""
        self._orders = {n: order for n, order in self._orders.items() if n in numbers}

    def orders(self) -> tuple[Order, ...]:
        """Return all orders, by rising number."""
        return tuple(self._orders[n] for n in sorted(self._orders))

    def attribute(
        self,
        number: int,
        outcome: Sequence[float],
        team_of_seat: Sequence[int],
        matches: int = 1,
        *,
        score_range: float = 0.0,
        seed: int = 0,
    ) -> None:
        """Count ``matches`` equal results for the players of order ``number``.

        ``outcome`` holds a value a seat (+1, 0, -1), ``team_of_seat`` the team that sat there.

        The first team's player is compared with each other team's: the higher outcome won. With a
        ``score_range`` above 0, ``outcome`` are the returns of one match of ``seed``: it counts as won with
        probability 1/2 + lead / (2 score_range) and as lost otherwise, so that rates are mean leads.
        """
        order = self._orders.get(number)
        if order is None or len(outcome) != len(team_of_seat):
            self.unknown += matches
            return
        of_team: dict[int, float] = {}
        for team, value in zip(team_of_seat, outcome, strict=True):
            of_team.setdefault(team, value)
        if 0 not in of_team:
            self.unknown += matches
            return
        seat = list(team_of_seat).index(0)
        for team, (player, tag) in enumerate(zip(order.players[1:], order.tags, strict=True), 1):
            if team in of_team:
                gap = of_team[0] - of_team[team]
                if score_range > 0:
                    gap = gap / score_range - (2.0 * RandomStream(seed, STREAM_SCORE, team).uniform() - 1.0)
                counts = (matches * (gap > 0), matches * (gap == 0), matches * (gap < 0))
                self._tallies.append(Tally(order.players[0], player, seat, tag, *counts))

    def take(self) -> tuple[Tally, ...]:
        """Return the results since the last call, one tally for each pair, seat and tag."""
        tallies = self.tallies()
        self._tallies.clear()
        return tallies

    def tallies(self) -> tuple[Tally, ...]:
        """Return what :meth:`take` would return."""
        return merge(tuple(self._tallies))

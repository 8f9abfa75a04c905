"""The matchmaker of a league's member: orders by the member's rules, results by the orders' players.

Orders are active in the pool as a batch, each in some slots. A lane plays one player until the last match
with it has ended; so the next batch comes when all matches of the batch before have ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ludus.flow import GameSpec, MatchResult, Order, Orders
from ludus.flow.inputs.decode import from_json
from ludus.flow.league import Tally
from ludus.flow.lineups import teams_of_plans, teams_of_seats
from ludus.league.league import League
from ludus.league.orders import OrderBook
from ludus.league.players import member_and_version
from ludus.league.quotas import DRAWS, Key, Matchup, Quotas, QuotaState

BATCH = 64  # active orders of a pool, at most


class BatchState(msgspec.Struct):
    """State of a :class:`LeagueMatchmaker` in a checkpoint.

    ``orders``: active ones and the orders of matches in play; from number ``first`` on they are the
    newest batch, assigned in round ``assigned``, each in its number of ``slots`` (empty: evenly).
    ``following``: the number of the order that follows. ``tallies``, ``episodes``, ``returns``: results that
    no round has reported yet.
    """

    orders: tuple[Order, ...] = ()
    first: int = -1
    assigned: int = -1
    slots: tuple[int, ...] = ()
    following: int = 0
    quotas: QuotaState = msgspec.field(default_factory=QuotaState)
    tallies: tuple[Tally, ...] = ()
    episodes: int = 0
    returns: float = 0.0


class RoundResults(NamedTuple):
    """Results of a round: by pairs of players, and the sum of ``returns`` of the member's ``episodes``."""

    tallies: tuple[Tally, ...]
    episodes: int
    returns: float


class LeagueMatchmaker:
    """Implements :class:`ludus.league.matchmaker.Matchmaker` for the member ``name``.

    ``lanes``: how many players its pool can play besides the member and bots; a batch uses half of them, so
    that the players of the batch before keep theirs. ``policy``: the id of the member's own policy.
    ``drawn(count)`` is called after ``count`` orders were drawn from the league.
    """

    def __init__(
        self, name: str, league: League, spec: GameSpec, lanes: int, policy: int, drawn: Callable[[int], None]
    ) -> None:
        """Start without orders; draws come from ``league``."""
        self.name = name
        self.book, self.quotas = OrderBook(), Quotas(QuotaState())
        self._league, self._spec, self._lanes, self._drawn = league, spec, lanes, drawn
        self._teams = len(set(teams_of_plans(spec)))
        self._bots = {bot.name for bot in spec.bots}
        self._own = f"policy:{policy}"
        self._state = BatchState()
        self._orders = Orders()
        self._in_play: Counter[int] | None = None  # matches by the number of their order
        self._episodes, self._returns = 0, 0.0

    # ---- orders ----------------------------------------------------------------------------------

    def on_play(self, tags: Mapping[int, int]) -> None:
        """Take in how many matches of each tag have started and not ended: the next orders depend on it."""
        self._in_play = Counter({tag - 1: matches for tag, matches in tags.items() if tag > 0})

    def next_orders(self, slots: int) -> Orders:
        """See :meth:`ludus.league.matchmaker.Matchmaker.next_orders`."""
        if not self._due():
            return self._orders
        in_play = self._matchups_in_play()
        matches = self.quotas.missing(slots, in_play)
        drawn = self._league.draw(self.name, min(matches, DRAWS), self._teams)
        self.quotas.enter(drawn, matches, in_play)
        if drawn:
            self._drawn(len(drawn))
        placed = self.quotas.next_batch(slots, min(slots, BATCH), in_play, self._fit)
        first = self._state.following
        batch = [Order(first + k, self.name, m.players, m.tags) for k, (m, _) in enumerate(placed)]
        return Orders(batch=tuple(batch), slots=tuple(n for _, n in placed))

    def on_seated(self, orders: Orders) -> None:
        """See :meth:`ludus.league.matchmaker.Matchmaker.on_seated`."""
        if orders is self._orders or not orders.batch:
            return
        state = self._state
        if state.first >= 0:
            self.book.keep({order.number for order in self._orders.batch})
        self.book.add(orders.batch)
        state.first, state.assigned = orders.batch[0].number, self._rounds
        state.following = orders.batch[-1].number + 1
        self._orders = orders

    def _due(self) -> bool:
        """Whether a new batch may be assigned: it needs lanes, so that the one before the last has ended."""
        if self._in_play is None:
            return False
        if self._state.first < 0:
            return True
        if self._state.assigned >= self._rounds:
            return False
        return bool(self._in_play) and min(self._in_play) >= self._state.first

    @property
    def _rounds(self) -> int:
        return self._league.standings.members[self.name].rounds

    def _fit(self, matchups: Sequence[Matchup]) -> bool:
        opponents = {p for matchup in matchups for p in matchup.players} - {self.name} - self._bots
        return len(opponents) <= self._lanes // 2

    def _matchups_in_play(self) -> Counter[Key]:
        known = {order.number: order for order in self.book.orders()}
        counts = Counter[Key]()
        for number, matches in (self._in_play or {}).items():
            if number in known:
                counts[known[number].players, known[number].tags] += matches
        return counts

    # ---- results ---------------------------------------------------------------------------------

    def on_results(self, results: Sequence[MatchResult]) -> None:
        """See :meth:`ludus.league.matchmaker.Matchmaker.on_results`."""
        config = self._league.config
        ended = Counter(result.tag for result in results)
        for order in self.book.orders():
            if ended[order.match_tag]:
                self.quotas.played(order, ended[order.match_tag])
        equal = Counter[tuple[int, tuple[float, ...], tuple[int, ...]]]()
        for result in results:
            if result.error or result.tag == 0:
                continue
            if config.score == "return":
                teams = teams_of_seats(self._spec, result.plan_of_seat)
                self.book.attribute(
                    result.tag - 1, result.returns, teams, score_range=config.score_range, seed=result.seed
                )
            else:
                equal[result.tag, result.outcome, result.plan_of_seat] += 1
            seat = result.plan_of_seat.index(0)
            if result.players[seat] == self._own:
                self._episodes += 1
                self._returns += result.returns[seat]
        for (tag, outcome, plans), matches in equal.items():
            self.book.attribute(tag - 1, outcome, teams_of_seats(self._spec, plans), matches)

    def take_results(self) -> RoundResults:
        """Return the results since the last call."""
        taken = RoundResults(self.book.take(), self._episodes, self._returns)
        self._episodes, self._returns = 0, 0.0
        return taken

    def on_weights(self, version: int) -> None:
        """See :meth:`ludus.league.matchmaker.Matchmaker.on_weights`: the league's events report them."""

    # ---- lost players, restarts, checkpoints -----------------------------------------------------

    def on_lost(self, player: str, newest: int) -> None:
        """See :meth:`ludus.league.matchmaker.Matchmaker.on_lost`."""
        self.quotas.lose(player)

    def on_replaced(self, player: str) -> None:
        """See :meth:`ludus.league.matchmaker.Matchmaker.on_replaced`."""
        self.book.keep({order.number for order in self.book.orders() if player not in order.players})
        self._stand()

    def on_restart(self) -> None:
        """See :meth:`ludus.league.matchmaker.Matchmaker.on_restart`."""
        self.book.keep(set())  # results of matches that have ended count
        self._state.first = -1
        self._stand()

    def label(self, player: str) -> str:
        """See :meth:`ludus.league.matchmaker.Matchmaker.label`: a member, or the past of one."""
        return f"{member_and_version(player)[0]}:past" if ":" in player else player

    def state(self) -> bytes:
        """See :meth:`ludus.league.matchmaker.Matchmaker.state`. Orders whose matches have ended are left out.

        Call :meth:`on_play` before.
        """
        standing = {order.number for order in self._orders.batch}
        self.book.keep(standing | set(self._in_play or ()))
        self._state.orders, self._state.slots = self.book.orders(), self._orders.slots
        self._state.quotas, self._state.tallies = self.quotas.state(), self.book.tallies()
        self._state.episodes, self._state.returns = self._episodes, self._returns
        return msgspec.json.encode(self._state)

    def load_state(self, state: bytes) -> None:
        """See :meth:`ludus.league.matchmaker.Matchmaker.load_state`."""
        try:
            loaded = from_json(state, BatchState)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"matchmaker of {self.name}: {error}") from error
        self._state = loaded
        self.book, self.quotas = OrderBook(loaded.orders, loaded.tallies), Quotas(loaded.quotas)
        self._episodes, self._returns = loaded.episodes, loaded.returns
        self._in_play = None
        self._orders = Orders(slots=loaded.slots)
        self._stand()

    def _stand(self) -> None:
        """Activate the orders of the newest batch that are still in the book."""
        first = self._state.first
        batch = tuple(o for o in self.book.orders() if o.number >= first) if first >= 0 else ()
        slots = self._orders.slots
        self._orders = Orders(batch=batch, slots=slots if len(slots) == len(batch) else ())

"""Matchmaker of a league's member: when batches change, lost players, results, and its state."""

from __future__ import annotations

from collections import Counter

import pytest

from ludus.flow import MatchResult, Orders
from ludus.games import spec
from ludus.league import config as cfg
from ludus.league.events import Frozen, Ordered, Results
from ludus.league.league import League
from ludus.league.league_matchmaker import LeagueMatchmaker

SLOTS, LANES = 16, 4
PLAYERS = (
    cfg.PlayerConfig("main", "fsp", meet=(cfg.Fsp(),), freeze=cfg.Never()),
    cfg.PlayerConfig("rival", "fsp", meet=(cfg.Fsp(),), freeze=cfg.Never()),
)


class Desk:
    """A league of two members; ``main`` has a matchmaker and ``frozen`` frozen players."""

    def __init__(self, frozen: int = 6) -> None:
        self.league = League(cfg.LeagueConfig(players=PLAYERS), 3)
        for event in self.league.initial_events():
            self.league.apply(event)
        for version in range(1, frozen):
            self.league.apply(Frozen("main", version))
        self.drawn = 0
        self.matchmaker = self.another()

    def another(self) -> LeagueMatchmaker:
        return LeagueMatchmaker("main", self.league, spec("tic_tac_toe"), LANES, 0, self.note)

    def note(self, count: int) -> None:
        self.drawn += count
        self.league.apply(Ordered("main", count))

    def seat(self, orders: Orders) -> Counter[int]:
        """All slots play a match of ``orders``. Returns their tags."""
        self.matchmaker.on_seated(orders)
        tags = Counter[int]()
        for order, slots in zip(orders.batch, orders.slots, strict=True):
            tags[order.match_tag] += slots
        return tags

    def round(self) -> None:
        self.league.apply(
            Results("main", self.league.standings.members["main"].rounds, steps=1, updates=1, version=1)
        )


def result(tag: int, outcome: tuple[float, ...] = (1.0, -1.0), players: str = "policy:1") -> MatchResult:
    return MatchResult(
        match=0,
        slot=0,
        seed=1,
        ticks=9,
        decisions=9,
        outcome=outcome,
        returns=outcome,
        players=("policy:0", players),
        plan_of_seat=(0, 1),
        tag=tag,
    )


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_orders_fill_the_slots_and_fit_half_of_the_lanes(desk: Desk) -> None:
    assert desk.matchmaker.next_orders(SLOTS) == Orders()  # the matches in play are unknown
    desk.matchmaker.on_play({0: SLOTS})
    orders = desk.matchmaker.next_orders(SLOTS)
    assert sum(orders.slots) == SLOTS
    assert [order.number for order in orders.batch] == list(range(len(orders.batch)))
    assert len({p for order in orders.batch for p in order.players} - {"main"}) <= LANES // 2
    assert desk.drawn == SLOTS


def test_a_batch_changes_when_the_one_before_has_ended(desk: Desk) -> None:
    matchmaker = desk.matchmaker
    matchmaker.on_play({})
    first = matchmaker.next_orders(SLOTS)
    tags = desk.seat(first)
    matchmaker.on_play(tags)
    assert matchmaker.next_orders(SLOTS) is first  # not twice in one round
    desk.round()
    matchmaker.on_play(tags)
    second = matchmaker.next_orders(SLOTS)
    assert second != first
    assert second.batch[0].number == len(first.batch)
    both = tags + desk.seat(second)
    desk.round()
    matchmaker.on_play(both)
    assert matchmaker.next_orders(SLOTS) is second  # matches of the first are in play
    matchmaker.on_play({tag: n for tag, n in both.items() if tag not in tags})
    assert matchmaker.next_orders(SLOTS) != second


def test_a_proposal_that_is_not_seated_leaves_no_trace(desk: Desk) -> None:
    matchmaker = desk.matchmaker
    matchmaker.on_play({})
    proposed = matchmaker.next_orders(SLOTS)
    lost = next(p for order in proposed.batch for p in order.players if p != "main")
    matchmaker.on_lost(lost, 0)
    again = matchmaker.next_orders(SLOTS)
    assert again.batch[0].number == 0
    assert lost not in {p for order in again.batch for p in order.players} or desk.drawn > SLOTS
    assert matchmaker.book.orders() == ()


def test_results_go_to_the_players_of_their_order(desk: Desk) -> None:
    matchmaker = desk.matchmaker
    matchmaker.on_play({})
    orders = matchmaker.next_orders(SLOTS)
    desk.seat(orders)
    order = orders.batch[0]
    matchmaker.on_results([result(order.match_tag)] * 3 + [result(order.match_tag, (-1.0, 1.0)), result(0)])
    taken = matchmaker.take_results()
    assert (taken.episodes, taken.returns) == (4, 2.0)
    assert [(t.player, t.opponent, t.wins, t.losses) for t in taken.tallies] == [(*order.players, 3, 1)]
    assert matchmaker.take_results() == ((), 0, 0.0)


def test_results_that_no_round_has_reported_outlive_a_checkpoint_and_a_restart(desk: Desk) -> None:
    matchmaker = desk.matchmaker
    matchmaker.on_play({})
    order = matchmaker.next_orders(SLOTS).batch[0]
    desk.seat(matchmaker.next_orders(SLOTS))
    matchmaker.on_results([result(order.match_tag)] * 3)
    other = desk.another()
    other.load_state(matchmaker.state())
    other.on_restart()
    taken = other.take_results()
    assert taken == matchmaker.take_results()
    assert (taken.episodes, taken.returns) == (3, 3.0)
    assert [(t.player, t.opponent, t.wins) for t in taken.tallies] == [(*order.players, 3)]


def test_matches_with_a_replaced_player_do_not_count(desk: Desk) -> None:
    matchmaker = desk.matchmaker
    matchmaker.on_play({})
    orders = matchmaker.next_orders(SLOTS)
    desk.seat(orders)
    order = orders.batch[0]
    matchmaker.on_replaced(order.players[1])
    matchmaker.on_results([result(order.match_tag)])
    assert matchmaker.take_results().tallies == ()
    standing = matchmaker.next_orders(SLOTS)
    assert order not in standing.batch
    assert standing.batch == () or standing.slots == ()  # the others share all slots


def test_a_restored_matchmaker_continues_as_the_original(desk: Desk) -> None:
    matchmaker = desk.matchmaker
    matchmaker.on_play({})
    tags = desk.seat(matchmaker.next_orders(SLOTS))
    matchmaker.on_play(tags)
    other = Desk()
    other.league = desk.league
    other.matchmaker = other.another()
    other.matchmaker.load_state(matchmaker.state())
    assert other.matchmaker.next_orders(SLOTS) == matchmaker.next_orders(SLOTS)  # the same batch is active
    desk.round()
    for one in (matchmaker, other.matchmaker):
        one.on_play(tags)
    ordered = desk.league.standings.members["main"].orders
    second = matchmaker.next_orders(SLOTS)
    desk.league.standings.members["main"].orders = ordered
    assert other.matchmaker.next_orders(SLOTS) == second
    with pytest.raises(ValueError, match="matchmaker of main"):
        matchmaker.load_state(b'{"orders": 3}')


def test_after_a_restart_no_orders_stand(desk: Desk) -> None:
    matchmaker = desk.matchmaker
    matchmaker.on_play({})
    first = matchmaker.next_orders(SLOTS)
    desk.seat(first)
    matchmaker.on_restart()
    assert matchmaker.book.orders() == ()
    matchmaker.on_play({})
    assert matchmaker.next_orders(SLOTS).batch[0].number == len(first.batch)
    assert matchmaker.label("rival") == "rival"
    assert matchmaker.label("rival:7") == "rival:past"

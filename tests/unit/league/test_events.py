"""10,000 random sequences of events: nothing is counted twice or lost, and the journal is the live state."""

from __future__ import annotations

import os

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ludus.flow.league import JournalRow, Tally
from ludus.league import config as cfg
from ludus.league.events import (
    AnyEffect,
    AnyEvent,
    Copied,
    Copy,
    Freeze,
    Frozen,
    Ignored,
    Joined,
    Mutate,
    Mutated,
    Ordered,
    Reset,
    ResetTo,
    Results,
    Retired,
    Withdrawn,
    from_row,
    merge,
    to_row,
)
from ludus.league.league import League
from ludus.league.orders import OrderBook

MEMBERS = ("main", "exploiter", "p0", "p1")
CONFIG = cfg.LeagueConfig(
    players=(
        cfg.PlayerConfig("main", "main", share=2.0, freeze=cfg.Beats(min_steps=200, max_steps=600)),
        cfg.PlayerConfig(
            "exploiter", "main_exploiter", freeze=cfg.Period(steps=300), origin=cfg.Seed(probability=0.5)
        ),
        cfg.PlayerConfig("p0", "population", tune={"algorithm.x": cfg.Tune(low=0.1, high=10.0)}),
        cfg.PlayerConfig(
            "p1",
            "population",
            meet=(cfg.Quality(), cfg.Psro(), cfg.Elo()),
            freeze=cfg.Updates(every=2),
            origin=cfg.Meta(),
            tune={"algorithm.x": cfg.Tune(low=0.1, high=10.0)},
        ),
    ),
    population=cfg.Ftw(every=300, below=0.6, mutation=0.5),
    rating_share=0.2,
)
DEFAULTS = {"algorithm.x": 1.0}


class Events(RuleBasedStateMachine):
    """A run as a trainer makes it, with reports that come twice, late, or of unknown players."""

    def __init__(self) -> None:
        super().__init__()
        self.league = League(CONFIG, 3, DEFAULTS)
        self.rows: list[JournalRow] = []
        self.books = {name: OrderBook() for name in MEMBERS}
        self.past: list[AnyEvent] = []
        self.ahead: dict[str, list[Results]] = {name: [] for name in MEMBERS}
        self.round = dict.fromkeys(MEMBERS, 0)
        self.steps = dict.fromkeys(MEMBERS, 0)
        self.truth: dict[tuple[str, str, int, str], list[int]] = {}

    @initialize()
    def found(self) -> None:
        for event in self.league.initial_events(("simple",)):
            for effect in self.apply(event):
                self.carry_out(effect)

    def apply(self, event: AnyEvent) -> list[AnyEffect]:
        effects = self.league.apply(event)
        self.rows.append(to_row(event, self.league.number))
        self.past.append(event)
        return effects

    def carry_out(self, effect: AnyEffect) -> None:
        event: AnyEvent
        if isinstance(effect, Freeze):
            event = Frozen(effect.member, effect.version, effect.reason)
        elif isinstance(effect, ResetTo):
            event = Reset(effect.member, effect.source)
        elif isinstance(effect, Copy):
            event = Copied(effect.member, effect.source, effect.hyper)
        elif isinstance(effect, Mutate):
            event = Mutated(effect.member, effect.hyper)
        else:
            raise AssertionError(f"{effect} was not expected")
        for more in self.apply(event):
            self.carry_out(more)

    @rule(
        name=st.sampled_from(MEMBERS),
        outcomes=st.lists(st.sampled_from((1.0, 0.0, -1.0)), min_size=1, max_size=6),
        late=st.booleans(),
    )
    def play(self, name: str, outcomes: list[float], late: bool) -> None:
        book = self.books[name]
        orders = self.league.draw(name, len(outcomes))
        self.apply(Ordered(name, len(outcomes)))
        book.add(orders)
        for k, (order, outcome) in enumerate(zip(orders, outcomes, strict=True)):
            book.attribute(order.number, (outcome, -outcome), (k % 2, 1 - k % 2))
        tallies = book.take()
        assert sum(t.wins + t.draws + t.losses for t in tallies) == len(outcomes)
        self.steps[name] += 100
        event = Results(
            name,
            self.round[name],
            self.steps[name],
            self.steps[name] // 100,
            self.steps[name] // 100,
            tallies,
            episodes=len(outcomes),
            returns=sum(outcomes),
        )
        self.round[name] += 1
        if late:
            self.ahead[name].append(event)
        else:
            self.report(event)

    def report(self, event: Results) -> None:
        for tally in event.tallies:
            key = (tally.player, tally.opponent, tally.seat, tally.tag)
            sums = self.truth.setdefault(key, [0, 0, 0])
            for k, n in enumerate((tally.wins, tally.draws, tally.losses)):
                sums[k] += n
        for effect in self.apply(event):
            self.carry_out(effect)

    @precondition(lambda self: any(self.ahead.values()))
    @rule(data=st.data())
    def report_late(self, data: st.DataObject) -> None:
        waiting = [name for name in MEMBERS if self.ahead[name]]
        name = data.draw(st.sampled_from(waiting))
        self.report(self.ahead[name].pop(data.draw(st.integers(0, len(self.ahead[name]) - 1))))

    @rule(data=st.data())
    def repeat_a_report(self, data: st.DataObject) -> None:
        again = [e for e in self.past if isinstance(e, (Results, Frozen, Joined))]
        event = data.draw(st.sampled_from(again))
        before = sum(self.league.ignored.values())
        effects = self.apply(event)
        assert [type(e) for e in effects] == [Ignored]
        assert sum(self.league.ignored.values()) > before

    @rule(name=st.sampled_from(("unknown", "main:999", "simple")))
    def report_of_an_unknown_player(self, name: str) -> None:
        events: list[AnyEvent] = [
            Results(name, 0, 1, 1, 1, (Tally(name, "simple", 0, "bot", 1, 0, 0),)),
            Frozen(name, 3),
            Reset(name, "seed"),
            Copied(name, "main", {}),
            Reset("main", "main:999"),
            Copied("main", "unknown", {}),
            Retired("main"),
        ]
        for event in events:
            assert [type(e) for e in self.apply(event)] == [Ignored]

    @rule(data=st.data())
    def lose_a_file(self, data: st.DataObject) -> None:
        frozen = [p.name for p in self.league.standings.players if p.kind == "frozen"]
        name = data.draw(st.sampled_from(frozen))
        self.apply(Retired(name))
        for member in MEMBERS:
            assert all(name not in order.players for order in self.league.draw(member, 5))

    @invariant()
    def nothing_is_counted_twice_or_lost(self) -> None:
        assert self.league.counts == self.truth
        met = sum(sum(v) for (a, b, _, _), v in self.truth.items() if a != b)
        assert self.league.standings.payoff.total() == met

    def teardown(self) -> None:
        again = League(CONFIG, 3, DEFAULTS)
        again.replay(self.rows)
        assert again.state() == self.league.state()
        assert again.pending() == self.league.pending()
        for name in MEMBERS:
            if self.rows:
                assert again.draw(name, 3) == self.league.draw(name, 3)


# The same examples in every run; LUDUS_EXAMPLES=10000 tries others, and the full number of them.
EXAMPLES = int(os.environ.get("LUDUS_EXAMPLES", "40"))
Events.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestEvents = pytest.mark.timeout(300 + EXAMPLES)(Events.TestCase)


def test_tallies_of_one_pair_are_added_up() -> None:
    one = Tally("a", "b", 0, "t", 1, 2, 3)
    assert merge((one, Tally("a", "b", 1, "t", 1, 0, 0), one)) == (
        Tally("a", "b", 0, "t", 2, 4, 6),
        Tally("a", "b", 1, "t", 1, 0, 0),
    )


def test_events_survive_the_journals_form() -> None:
    events: list[AnyEvent] = [
        Joined("a", "learner", "main", {"algorithm.x": 0.1 + 0.2}),
        Results("a", 4, 100, 3, 3, (Tally("a", "b", 0, "t", 1, 0, 0),), 5, 0.1),
        Ordered("a", 7),
        Frozen("a", 3, "timeout"),
        Reset("a", "seed"),
        Copied("a", "b", {"x": 1e-5}),
        Mutated("a", {}),
        Retired("a:3"),
        Withdrawn("a", "its game failed"),
    ]
    for event in events:
        assert from_row(to_row(event, 1)) == event
    bad = msgspec.structs.replace(to_row(events[0], 1), body=b'{"event": "born"}')
    with pytest.raises(ValueError, match="event 1: not an event"):
        from_row(bad)

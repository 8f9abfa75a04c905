"""A run of a league without networks, to be killed and resumed: python run_league.py JOURNAL ROUNDS.

It does what a trainer does: one transaction a round, what is pending first after a start.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ludus.flow.seeds import derive_seed
from ludus.league import config as cfg
from ludus.league.events import (
    AnyEffect,
    AnyEvent,
    Copied,
    Copy,
    Freeze,
    Frozen,
    Mutate,
    Mutated,
    Ordered,
    Reset,
    ResetTo,
    Results,
    to_row,
)
from ludus.league.league import League
from ludus.league.orders import OrderBook
from ludus.storage.journal import Journal

TUNE = {"algorithm.x": cfg.Tune(low=0.1, high=10.0)}
CONFIG = cfg.LeagueConfig(
    (
        cfg.PlayerConfig("main", share=2.0, freeze=cfg.Beats(min_steps=100, max_steps=300)),
        cfg.PlayerConfig("ex", "main_exploiter", freeze=cfg.Beats(min_steps=50, max_steps=100)),
        cfg.PlayerConfig("p0", "population", tune=TUNE, freeze=cfg.Updates(every=7)),
        cfg.PlayerConfig("p1", "population", tune=TUNE),
    ),
    cfg.Ftw(every=60, below=0.6, mutation=0.5),
    rating_share=0.1,
)


class Run:
    def __init__(self, path: Path) -> None:
        self.journal = Journal.open(path) if path.exists() else Journal.create(path)
        self.league = League(CONFIG, 5, {"algorithm.x": 1.0})
        self.league.replay(self.journal.rows())
        self.events: list[AnyEvent] = []
        if not self.league.number:
            for event in self.league.initial_events(("simple",)):
                self.apply(event)
            self.commit()
        for effect in self.league.pending():
            self.carry_out(effect)

    def apply(self, event: AnyEvent) -> list[AnyEffect]:
        self.events.append(event)
        return self.league.apply(event)

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
            raise AssertionError(effect)
        for more in self.apply(event):
            self.carry_out(more)

    def round(self) -> None:
        name = self.league.next_member()
        member = self.league.standings.members[name]
        book = OrderBook(self.league.draw(name, 20))
        self.apply(Ordered(name, 20))
        for order in book.orders():
            luck = derive_seed(9, member.order, order.number) % 3 - 1
            book.attribute(order.number, (float(luck), float(-luck)), (0, 1))
        steps = member.steps + 10
        done = Results(name, member.rounds, steps, steps // 10, steps // 10, book.take())
        for effect in self.apply(done):
            self.carry_out(effect)

    def commit(self) -> None:
        first = self.journal.last + 1
        assert self.journal.append([to_row(e, n) for n, e in enumerate(self.events, first)])
        self.events.clear()

    def rounds(self) -> int:
        return sum(m.rounds for m in self.league.standings.members.values())


def main() -> None:
    run = Run(Path(sys.argv[1]))
    while run.rounds() < int(sys.argv[2]):
        run.round()
        run.commit()
    run.journal.close()


if __name__ == "__main__":
    main()

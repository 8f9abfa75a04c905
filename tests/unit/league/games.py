"""Matrix games that leagues are tried on, a learner without a network, and exact exploitability."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ludus.flow.league import Tally
from ludus.league import config as cfg
from ludus.league.events import Freeze, Frozen, Ordered, Reset, ResetTo, Results
from ludus.league.league import League

Floats = npt.NDArray[np.float64]

ROCK_PAPER_SCISSORS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])


def disc(count: int) -> Floats:
    """Players on two rings: each beats those ahead of it by less than half a turn, outer ones inner ones."""
    angle = 2.0 * np.pi * np.arange(count) / count
    radius = np.where(np.arange(count) % 2 == 0, 1.0, 0.6)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    return np.outer(x, y) - np.outer(y, x)


def exploitability(table: Floats, mixture: Floats) -> float:
    """Return the gain of the best answer against ``mixture``."""
    return float((table @ mixture).max())


class Answers:
    """A league of one member, whose learner finds the exact best answer to the opponents that it is given."""

    def __init__(self, table: Floats, role: str, meet: tuple[cfg.AnyMeet, ...] = (), seed: int = 1) -> None:
        player = cfg.PlayerConfig("main", role, meet=meet, freeze=cfg.Period(steps=1))
        config = cfg.LeagueConfig((player,), rating_share=0.0)
        self.table = table
        self.league = League(config, seed)
        self.policies: dict[str, int] = {"main": 0}
        for event in self.league.initial_events():
            for effect in self.league.apply(event):
                if isinstance(effect, Freeze):
                    self._frozen(effect)
        self.random = np.random.default_rng(seed)

    def _frozen(self, effect: Freeze) -> None:
        self.policies[f"main:{effect.version}"] = self.policies["main"]
        for more in self.league.apply(Frozen("main", effect.version, effect.reason)):
            if isinstance(more, ResetTo):
                self.policies["main"] = self.policies.get(more.source, self.policies["main:0"])
                self.league.apply(Reset("main", more.source))

    def period(self, number: int, orders: int = 200) -> None:
        """One round: who the league wants met, the best answer to them, matches by the table, a freeze."""
        drawn = self.league.draw("main", orders)
        self.league.apply(Ordered("main", orders))
        meets = np.zeros(len(self.table))
        for order in drawn:
            meets[self.policies[order.players[1]]] += 1
        self.policies["main"] = int(np.argmax(self.table @ meets))
        tallies = []
        for name, policy in self.policies.items():
            if name != "main":
                # Win rates are measured against all, as evaluations of a league do.
                rate = 0.5 + 0.5 * self.table[self.policies["main"], policy]
                wins = int(self.random.binomial(100, min(max(rate, 0.0), 1.0)))
                tallies.append(Tally("main", name, 0, "pfsp", wins, 0, 100 - wins))
        done = Results("main", number, number + 1, number + 1, number + 1, tuple(tallies))
        for effect in self.league.apply(done):
            if isinstance(effect, Freeze):
                self._frozen(effect)

    def nash(self) -> Floats:
        """The league's meta-strategy: the mixture of the frozen that none of them beats."""
        mixture = np.zeros(len(self.table))
        players, shares = self.league.standings.meta["nash", 200]
        for player, share in zip(players, shares, strict=True):
            mixture[self.policies[self.league.standings.players[player].name]] += share
        return mixture

    def uniform(self) -> Floats:
        """The even mixture of all that was frozen."""
        counts = np.zeros(len(self.table))
        for name, policy in self.policies.items():
            counts[policy] += name != "main"
        shares: Floats = counts / counts.sum()
        return shares

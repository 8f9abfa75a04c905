"""A league in a state that a test sets up, without a pool."""

from __future__ import annotations

from ludus.flow.league import Tally
from ludus.league import config as cfg
from ludus.league import meeting
from ludus.league.events import (
    Frozen,
    Results,
)
from ludus.league.league import League


class Play:
    """A league in a state that a test sets up."""

    def __init__(
        self, *players: cfg.PlayerConfig, bots: tuple[str, ...] = ("simple",), **league: object
    ) -> None:
        config = cfg.LeagueConfig(players, freeze_first=False, decay=1.0, **league)  # type: ignore[arg-type]
        self.league = League(config, 7, {"algorithm.x": 1.0})
        self.round = dict.fromkeys((p.name for p in players), 0)
        self.effects: list[object] = []
        for event in self.league.initial_events(bots):
            self.league.apply(event)

    def freeze(self, member: str, *versions: int) -> None:
        for version in versions:
            self.effects = [*self.league.apply(Frozen(member, version))]

    def result(
        self, member: str, opponent: str = "", wins: int = 0, losses: int = 0, **more: object
    ) -> list[object]:
        tag = str(more.pop("tag", "pfsp"))
        player = str(more.pop("player", member))
        tallies = (Tally(player, opponent, 0, tag, wins, 0, losses),) if opponent else ()
        number = self.round[member]
        self.round[member] += 1
        fields = {"steps": 0, "updates": 0, "version": 0, **more}
        return [*self.league.apply(Results(member, number, tallies=tallies, **fields))]  # type: ignore[arg-type]

    def shares(self, member: str, rule: cfg.MeetRule) -> dict[str, float]:
        me = self.league.standings.members[member]
        players, shares = meeting.distribution(rule, me, self.league.standings)
        found: dict[str, float] = {}
        for i, share in zip(players, shares, strict=True):
            name = self.league.standings.players[i].name
            found[name] = found.get(name, 0.0) + float(share)
        return {name: share for name, share in found.items() if share > 0}

    def met(self, member: str, count: int = 2000) -> dict[str, float]:
        drawn = self.league.draw(member, count)
        names = [order.players[1] for order in drawn]
        return {name: names.count(name) / count for name in sorted(set(names))}


MAIN = cfg.PlayerConfig("main", "main", meet=(cfg.Latest(),), freeze=cfg.Never())
EXPLOITER = cfg.PlayerConfig("ex", "main_exploiter")

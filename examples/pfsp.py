"""AlphaStar's prioritised fictitious self-play (Vinyals et al. 2019) as a rule of a league.

ludus train ./league.toml --league.players.0.rule ./pfsp.py:Pfsp
"""

from collections.abc import Mapping

from ludus.league.rules.rule import RuleRandom
from ludus.league.rules.view import LeagueView


class Pfsp:
    def __init__(self, power: float = 2.0, itself: float = 0.35, period: int = 1_000_000) -> None:
        self.power, self.itself, self.period = power, itself, period

    def meet(self, view: LeagueView, random: RuleRandom) -> Mapping[str, float]:
        past = view.frozen()
        hard = [(1.0 - rate) ** self.power for rate in view.payoff.rates(view.me.name, past)]
        weights = {name: (1.0 - self.itself) * h / sum(hard) for name, h in zip(past, hard, strict=True)}
        return {**weights, view.me.name: self.itself}

    def freeze(self, view: LeagueView, random: RuleRandom) -> bool:
        return view.me.steps_since >= self.period

    def origin(self, view: LeagueView, random: RuleRandom) -> str:
        return "itself"

"""Rules of opponents: each is a function from a member's win rates to a distribution over players.

A distribution may sum to less than 1: what is missing goes to the member's next rule, around its list, and in
the end to a live main (of an exploiter) or to the member itself. So AlphaStar's main, whose rules are PFSP,
verification and ``main``, plays itself when there is nothing to verify.

Rates are those at which the member scores against the candidate (``payoff.Payoff.rates``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ludus.league import config as cfg
from ludus.league.payoff import Floats, Indices
from ludus.league.roles import choices_of
from ludus.league.standings import NO_PLAYERS, SIGMA, MemberStanding, Standings
from ludus.ratings.nash import maximal_entropy_nash

RATING = "rating"  #: tag of matches between frozen players

Distribution = tuple[Indices, Floats]
NOBODY: Distribution = (NO_PLAYERS, np.zeros(0))

_WEIGHTINGS: dict[str, Callable[[Floats, float], Floats]] = {
    "squared": lambda x, floor: (1.0 - x) ** 2,
    "linear": lambda x, floor: 1.0 - x,
    "linear_capped": lambda x, floor: np.minimum(0.5, 1.0 - x),
    "variance": lambda x, floor: x * (1.0 - x),
    "variance_floor": lambda x, floor: np.maximum(x, floor) * (1.0 - np.maximum(x, floor)),
}


def prioritised(rates: Floats, weighting: str, floor: float = 0.1) -> Floats:
    """PFSP: shares ``[N]`` of opponents beaten at ``rates: [N]``. Even if all weights vanish."""
    weights = _WEIGHTINGS[weighting](rates, floor)
    total = float(weights.sum())
    if total < 1e-10:
        return np.full(len(rates), 1.0 / max(len(rates), 1))
    shares: Floats = weights / total
    return shares


def without_monotonic_suffix(rates: Floats) -> int:
    """How many of ``rates: [N]``, oldest first, are left without the newest ones that only fall.

    A member beats its older selves more often than the newer ones as long as it improves; what comes before
    the last rise is where it forgot. 0 if rates fall all the way.
    """
    for i in range(len(rates) - 1, 0, -1):
        if rates[i - 1] < rates[i]:
            return i + 1
    return 0


def expected_score(difference: Floats | float) -> Floats | float:
    """Elo's expectation for a rating that is higher by ``difference``."""
    return 1.0 / (1.0 + 10.0 ** (-np.asarray(difference) / 400.0))


def meta_strategy(standings: Standings, solver: str, last: int) -> Distribution:
    """Return the mixture over the ``last`` newest frozen players that none of them beats, or the even one."""
    players = standings.frozen()[-last:]
    if solver == "uniform" or len(players) < 2:
        return _even(players)
    rates = standings.payoff.table(players)
    return players, maximal_entropy_nash(rates - rates.T)


def _even(players: Indices) -> Distribution:
    return players, np.full(len(players), 1.0 / max(len(players), 1))


def _pfsp(rule: cfg.Pfsp, me: MemberStanding, standings: Standings) -> Distribution:
    players = standings.frozen(rule.among)
    return players, prioritised(standings.payoff.rates(me.player, players), rule.weighting, rule.floor)


def _fsp(rule: cfg.Fsp, me: MemberStanding, standings: Standings) -> Distribution:
    return _even(standings.frozen(rule.among))


def _uniform(rule: cfg.Uniform, me: MemberStanding, standings: Standings) -> Distribution:
    players = standings.frozen(rule.among)
    if rule.self_too:
        players = np.append(players, me.player)
    return _even(players[-rule.last :])


def _latest(rule: cfg.Latest, me: MemberStanding, standings: Standings) -> Distribution:
    return _even(np.array([me.player], np.int64))


def _main(rule: cfg.Main, me: MemberStanding, standings: Standings) -> Distribution:
    mains = standings.live("main")
    parts: list[tuple[float, Distribution]] = []
    for main, rate in zip(mains, standings.payoff.rates(me.player, mains), strict=True):
        past = standings.frozen((standings.players[main].member,))
        only = _even(np.array([main], np.int64))
        if rate > rule.above or not len(past):
            parts.append((1.0, only))
            continue
        rates = standings.payoff.rates(me.player, past)
        parts += [(rule.anyway, only), (1.0 - rule.anyway, (past, prioritised(rates, "variance")))]
    return _mixture([(share / len(mains), part) for share, part in parts])


def _verification(rule: cfg.Verification, me: MemberStanding, standings: Standings) -> Distribution:
    exploiters = standings.frozen(("exploiters",))
    rates = standings.payoff.rates(me.player, exploiters)
    if len(rates) and rates.min() < rule.exploited:
        return exploiters, prioritised(rates, "squared")
    mains = standings.live("main")
    parts: list[tuple[float, Distribution]] = []
    for main in mains:
        past = standings.frozen((standings.players[main].member,))
        rates = standings.payoff.rates(me.player, past)
        left = without_monotonic_suffix(rates)
        if left and rates[:left].min() < rule.forgotten:
            parts.append((1.0 / len(mains), (past[:left], prioritised(rates[:left], "squared"))))
    return _mixture(parts)


def _quality(rule: cfg.Quality, me: MemberStanding, standings: Standings) -> Distribution:
    players = standings.frozen((me.name,))
    return players, softmax(np.array([me.quality.get(int(i), 0.0) for i in players]))


def _elo(rule: cfg.Elo, me: MemberStanding, standings: Standings) -> Distribution:
    others = [
        i for i, p in enumerate(standings.players) if p.kind != "bot" and not p.retired and i != me.player
    ]
    if not others:
        return NOBODY
    players = np.array(others, np.int64)
    mine = standings.players[me.player].elo
    rates = np.asarray(expected_score(mine - np.array([standings.players[i].elo for i in others])))
    sigma = max(me.hyper.get(SIGMA, rule.sigma), 1e-3)
    density = -0.5 * ((rates - 0.5) / sigma) ** 2
    return players, softmax(density)


def _psro(rule: cfg.Psro, me: MemberStanding, standings: Standings) -> Distribution:
    return standings.meta.get((rule.solver, rule.last)) or meta_strategy(standings, rule.solver, rule.last)


def _named(rule: cfg.AnyNamed, me: MemberStanding, standings: Standings) -> Distribution:
    index = standings.find(rule.name)
    if index is None or standings.players[index].retired:
        return NOBODY
    return _even(np.array([index], np.int64))


# A rule's function takes its own settings; the table is what matches them.
_RULES: dict[type[cfg.MeetRule], Callable[[Any, MemberStanding, Standings], Distribution]] = {
    cfg.Pfsp: _pfsp,
    cfg.Fsp: _fsp,
    cfg.Uniform: _uniform,
    cfg.Latest: _latest,
    cfg.Main: _main,
    cfg.Verification: _verification,
    cfg.Quality: _quality,
    cfg.Elo: _elo,
    cfg.Psro: _psro,
    cfg.NamedMember: _named,
    cfg.NamedPlayer: _named,
    cfg.NamedBot: _named,
}


def tag_of(rule: cfg.MeetRule) -> str:
    """Return the name of a rule in presets, which tags the matches that it draws."""
    return str(type(rule).__struct_config__.tag)


def distribution(rule: cfg.MeetRule, me: MemberStanding, standings: Standings) -> Distribution:
    """``players: [N]`` that the rule offers ``me``, with their shares ``[N]``; they sum to 1 or less."""
    players, shares = _RULES[type(rule)](rule, me, standings)
    if not len(players):
        return NOBODY
    gone = (
        [k for k, i in enumerate(players) if standings.players[i].retired]
        if isinstance(rule, cfg.Psro)
        else []
    )
    return (np.delete(players, gone), np.delete(shares, gone)) if gone else (players, shares)


def last_resort(me: MemberStanding, standings: Standings) -> int:
    """Return the opponent if no rule finds one: a live main for an exploiter, or the member itself."""
    mains = standings.live("main")
    return int(mains[0]) if me.choices.kind == "exploiter" and len(mains) else me.player


def softmax(logits: Floats) -> Floats:
    """Return the shares ``[N]`` of ``logits: [N]``; empty for none."""
    if not len(logits):
        return logits
    powers = np.exp(logits - logits.max())
    shares: Floats = powers / powers.sum()
    return shares


MAX_WINS = 10_000  # of one tally that lower a quality, by then next to nothing


def won_by_quality(quality: dict[int, float], player: int, wins: int, rate: float) -> None:
    """Lower the quality of ``player`` after ``wins`` matches won against it (OpenAI Five, appendix N).

    Each match takes rate / (N p) off q, with p of the qualities before it.
    """
    if player not in quality or wins <= 0:
        return
    top = max(quality.values())
    total = sum(np.exp(q - top) for q in quality.values())
    q = quality[player]
    for _ in range(min(wins, MAX_WINS)):
        power = float(np.exp(q - top))
        q -= rate * float(total) / (len(quality) * max(power, 1e-300))
        total += float(np.exp(q - top)) - power
    quality[player] = q


def _mixture(parts: list[tuple[float, Distribution]]) -> Distribution:
    """Mix distributions by weight; a player may be in several of them."""
    kept = [(share, part) for share, part in parts if share > 0 and len(part[0])]
    if not kept:
        return NOBODY
    return (
        np.concatenate([players for _, (players, _) in kept]),
        np.concatenate([share * shares for share, (_, shares) in kept]),
    )


def meta_strategies(config: cfg.LeagueConfig) -> list[tuple[str, int]]:
    """Return the meta-strategies that some player uses, by solver and number of newest players."""
    found: dict[tuple[str, int], None] = {}
    for player in config.players:
        choices = choices_of(player)
        for rule in (*choices.meet, choices.origin):
            if isinstance(rule, (cfg.Psro, cfg.Meta)):
                found[rule.solver, rule.last] = None
    return list(found)

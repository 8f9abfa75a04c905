"""Population based training: which member copies which, and how settings change. Decisions only.

A rule takes an exploit step for one member at a time, ``every`` decisions after its last one. The result is
``Copy`` (weights, optimiser and settings of another, settings mutated), ``Mutate`` (settings
only) or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ludus.league import config as cfg
from ludus.league.events import Copy, Mutate
from ludus.league.meeting import expected_score
from ludus.league.standings import MemberStanding, RandomStream, Standings

Decision = Copy | Mutate | None
Factor = Callable[[RandomStream, cfg.Tune], float]

COMPLEMENT = (1.01, 1.2)  # Sample Factory's factors of 1 - discount


def exploit(
    rule: cfg.AnyPopulation,
    me: MemberStanding,
    tunes: dict[str, cfg.Tune],
    defaults: dict[str, float],
    standings: Standings,
    stream: RandomStream,
) -> Decision:
    """Return whether ``me`` copies another member or changes its settings: the exploit step.

    ``defaults``: the preset's values of the paths in ``tunes``.
    """
    if isinstance(rule, cfg.NoPopulation):
        return None
    others = [m for m in standings.playing() if m.choices.kind == "population" and m is not me]
    if isinstance(rule, cfg.SampleFactory):
        return _sample_factory(rule, me, others, tunes, defaults, standings, stream)
    if not others:
        return None
    if isinstance(rule, cfg.Diversity):
        scores = {m.name: _diversity(m, [me, *others], standings) for m in (me, *others)}
        if scores[me.name] > rule.below * max(scores.values()):
            return None
        better = [m for m in others if scores[m.name] > scores[me.name]]
        if not better:
            return None
        model = stream.pick(better)
    else:
        model = stream.pick(others)
        lead = standings.players[me.player].elo - standings.players[model.player].elo
        if float(expected_score(lead)) >= rule.below:
            return None
    hyper = mutated(model.hyper, tunes, stream, rule.mutation, _factor(rule))
    return Copy(me.name, model.name, hyper)


def fitness(rule: cfg.PopulationRule, me: MemberStanding, standings: Standings) -> float | None:
    """Return the mean rate against the other members of the population, or the mean return.

    None without results.
    """
    if rule.fitness == "return":
        return me.mean_return()
    others = standings.live("population")
    others = others[others != me.player]
    if not len(others) or not standings.payoff.matches(me.player, others).any():
        return None
    return float(standings.payoff.rates(me.player, others).mean())


def _sample_factory(
    rule: cfg.SampleFactory,
    me: MemberStanding,
    others: list[MemberStanding],
    tunes: dict[str, cfg.Tune],
    defaults: dict[str, float],
    standings: Standings,
    stream: RandomStream,
) -> Decision:
    known = {m.name: fitness(rule, m, standings) for m in (me, *others)}
    if any(value is None for value in known.values()):
        return None  # the rule compares all of them
    values = {name: value for name, value in known.items() if value is not None}
    ranked = sorted((me, *others), key=lambda m: (-values[m.name], m.order))
    best = ranked[: max(1, math.ceil(rule.top * len(ranked)))]
    worst = ranked[len(ranked) - math.ceil(rule.bottom * len(ranked)) :]
    if me in best:
        return None
    fixed = rule.keep_first and me.order == min(m.order for m in ranked)
    model = stream.pick(best)
    copies = me in worst and _leads(rule, values[model.name], values[me.name])
    hyper = model.hyper if copies and not fixed else me.hyper
    if not fixed:
        hyper = mutated(hyper, tunes, stream, rule.mutation, _factor(rule), rule.to_default, defaults)
    if copies:
        return Copy(me.name, model.name, hyper)
    return Mutate(me.name, hyper) if hyper != me.hyper else None


def _leads(rule: cfg.SampleFactory, best: float, own: float) -> bool:
    if rule.fitness == "win_rate":
        return own < rule.ratio * best
    return best - own > rule.gap * max(abs(best), 1e-9)


def _diversity(me: MemberStanding, members: list[MemberStanding], standings: Standings) -> float:
    others = np.array([m.player for m in members if m is not me], np.int64)
    advantage = 2.0 * standings.payoff.rates(me.player, others) - 1.0
    return float(np.maximum(advantage, 0.0).sum())


def mutated(
    hyper: dict[str, float],
    tunes: dict[str, cfg.Tune],
    stream: RandomStream,
    probability: float,
    factor: Factor,
    to_default: float = 0.0,
    defaults: dict[str, float] | None = None,
) -> dict[str, float]:
    """``hyper`` with each tuned setting changed with ``probability``, by what ``factor`` draws.

    Values stay within the setting's bounds. With probability ``to_default`` the setting
    goes back to its default.
    """
    changed = dict(hyper)
    for path in sorted(tunes):
        tune = tunes[path]
        if path not in hyper or stream.uniform() >= probability:
            continue
        if defaults and path in defaults and stream.uniform() < to_default:
            changed[path] = bounded(defaults[path], tune)
        else:
            changed[path] = _changed(hyper[path], tune, stream, factor)
    return changed


def _factor(rule: cfg.AnyPopulation) -> Factor:
    """Return the function that draws the rule's factor of a setting."""

    def sample_factory(stream: RandomStream, tune: cfg.Tune) -> float:
        assert isinstance(rule, cfg.SampleFactory)
        low, high = COMPLEMENT if tune.how == "complement" else (rule.low, rule.high)
        factor = low + stream.uniform() * (high - low)
        return factor if stream.uniform() < 0.5 else 1.0 / factor

    def either(stream: RandomStream, tune: cfg.Tune) -> float:
        assert isinstance(rule, cfg.Ftw)
        return 1.0 + rule.by if stream.uniform() < 0.5 else 1.0 - rule.by

    def between(stream: RandomStream, tune: cfg.Tune) -> float:
        assert isinstance(rule, (cfg.TLeague, cfg.Diversity))
        return 1.0 + rule.by * (2.0 * stream.uniform() - 1.0)

    if isinstance(rule, cfg.SampleFactory):
        return sample_factory
    return either if isinstance(rule, cfg.Ftw) else between


def _changed(value: float, tune: cfg.Tune, stream: RandomStream, draw: Factor) -> float:
    if tune.choices:
        others = [choice for choice in tune.choices if choice != value]
        return stream.pick(others) if others else value
    if tune.how == "resample":
        share = stream.uniform()
        if tune.low > 0:
            return bounded(tune.low * (tune.high / tune.low) ** share, tune)
        return bounded(tune.low + share * (tune.high - tune.low), tune)
    own = 1.0 + tune.step * (2.0 * stream.uniform() - 1.0)
    factor = own if tune.step > 0 else draw(stream, tune)
    if tune.how == "complement":
        return bounded(1.0 - (1.0 - value) * factor, tune)
    moved = bounded(value * factor, tune)
    if tune.integer and moved == value and factor != 1.0:  # a step of an integer is at least 1
        moved = bounded(value + (1.0 if factor > 1.0 else -1.0), tune)
    return moved


def bounded(value: float, tune: cfg.Tune) -> float:
    """``value`` within the setting's bounds, an integer where it has to be one."""
    if tune.choices:
        return min(tune.choices, key=lambda choice: abs(choice - value))
    value = min(max(value, tune.low), tune.high)
    return float(round(value)) if tune.integer else value


def starting(tunes: dict[str, cfg.Tune], defaults: dict[str, float], order: int) -> dict[str, float]:
    """Return the first settings of member number ``order`` of a population."""
    return {
        path: tune.start[order % len(tune.start)] if tune.start else bounded(defaults[path], tune)
        for path, tune in sorted(tunes.items())
    }

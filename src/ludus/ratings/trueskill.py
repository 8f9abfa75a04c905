"""TrueSkill (Herbrich, Minka, Graepel 2006) for two sides, on the scale of OpenAI Five (appendix J).

A uniformly random player is 0 and stays there; a lead of d points wins with probability Phi(d / 9.862), so
8.3 points are 80%. Ratings are for display: what decides is
:func:`ludus.ratings.bradley_terry.bradley_terry`, since a rating made match by match depends on the order of
the matches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

POINTS = 9.862  # P(win) = Phi(lead / POINTS) between players whose skill is known
BETA = POINTS / math.sqrt(2.0)
SIGMA = 25.0 / 3.0  # of a player without matches
DRAW = 0.02  # probability between equals

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Skill:
    """A belief about a skill: normal with mean ``mu`` and deviation ``sigma``.

    ``sigma`` 0: an anchor, which does not change.
    """

    mu: float = 0.0
    sigma: float = SIGMA


RANDOM = Skill(0.0, 0.0)  #: the anchor of the scale


def rate_match(
    first: Sequence[Skill], second: Sequence[Skill], outcome: float, draw: float = DRAW
) -> tuple[list[Skill], list[Skill]]:
    """Return both sides' skills after one match. ``outcome`` of the first: > 0 won, 0 drawn, < 0 lost.

    A side is a team whose skills add up. ``draw``: probability of a draw between equals. ``ValueError`` for
    an empty side, a ``draw`` outside [0, 1), and an outcome or a skill that is not finite.
    """
    if not math.isfinite(outcome):
        raise ValueError(
            f"outcome = {outcome}: expected a finite number, above 0 for a win of the first side"
        )
    for skill in (*first, *second):
        if not (math.isfinite(skill.mu) and math.isfinite(skill.sigma) and skill.sigma >= 0.0):
            raise ValueError(f"{skill}: expected finite numbers, and sigma >= 0")
    if not first or not second or not 0.0 <= draw < 1.0:
        raise ValueError(f"sides of {len(first)} and {len(second)} players, draw={draw}")
    if outcome < 0:
        loser, winner = rate_match(second, first, -outcome, draw)
        return winner, loser
    players = len(first) + len(second)
    variance = players * BETA**2 + sum(s.sigma**2 for s in (*first, *second))
    c = math.sqrt(variance)
    lead = (sum(s.mu for s in first) - sum(s.mu for s in second)) / c
    margin = _quantile(draw) * math.sqrt(players) * BETA / c
    v, w = _won(lead, margin) if outcome > 0 else _drawn(lead, margin)
    return (
        [_moved(s, v, w, c, variance) for s in first],
        [_moved(s, -v, w, c, variance) for s in second],
    )


@lru_cache(maxsize=16)
def _quantile(draw: float) -> float:
    return _NORMAL.inv_cdf((draw + 1.0) / 2.0)


def _moved(skill: Skill, v: float, w: float, c: float, variance: float) -> Skill:
    share = skill.sigma**2
    return Skill(skill.mu + share / c * v, skill.sigma * math.sqrt(max(1.0 - share / variance * w, 1e-12)))


def _won(lead: float, margin: float) -> tuple[float, float]:
    x = lead - margin
    mass = _NORMAL.cdf(x)
    v = _NORMAL.pdf(x) / mass if mass > 1e-100 else -x  # far out: the tail's limit
    return v, min(max(v * (v + x), 0.0), 1.0)


def _drawn(lead: float, margin: float) -> tuple[float, float]:
    size = abs(lead)
    low, high = -margin - size, margin - size
    mass = _NORMAL.cdf(high) - _NORMAL.cdf(low)
    if mass < 1e-100:
        v, w = high, 1.0
    else:
        v = (_NORMAL.pdf(low) - _NORMAL.pdf(high)) / mass
        w = v * v + (high * _NORMAL.pdf(high) - low * _NORMAL.pdf(low)) / mass
    return (-v if lead < 0 else v), min(max(w, 0.0), 1.0)


def rate_all(
    matches: Iterable[tuple[str, str, float]], anchors: Mapping[str, float] | None = None, draw: float = DRAW
) -> dict[str, Skill]:
    """Return the skills of all players of ``matches``, rated in their order; ``anchors`` stay.

    A match is (player, opponent, outcome).
    """
    skills = {name: Skill(mu, 0.0) for name, mu in (anchors or {}).items()}
    for player, opponent, outcome in matches:
        if player == opponent:
            continue
        one, other = skills.get(player, Skill()), skills.get(opponent, Skill())
        (skills[player],), (skills[opponent],) = rate_match([one], [other], outcome, draw)
    return skills

"""Nash averaging: ratings that copies of a player do not change (Balduzzi et al. 2018; paper 003, figure 6).

Elo's rating of a player depends on whom else one cared to include. Here players are rated against the
mixture that nobody beats, of all such mixtures the one of greatest entropy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ludus.ratings.elo import SCALE, check_pairs

Floats = npt.NDArray[np.float64]

COLDEST = 1e-4  # temperature of the last step, as a share of the largest advantage
STEPS = 60
NEWTON = 50


@dataclass(frozen=True, slots=True)
class NashTable:
    """``share: [N]`` of the mixture, sums to 1; ``rating: [N]`` in Elo against it, at most about 0."""

    share: Floats
    rating: Floats


def maximal_entropy_nash(advantage: npt.ArrayLike) -> Floats:
    """The mixture ``[N]`` that nobody beats in the game where i gains ``advantage[i, j]`` against j.

    ``advantage`` is antisymmetric. Of several such mixtures it is the one of greatest entropy: the limit of
    the equilibria of the game whose players are also paid for entropy, as that pay goes to 0. Each is found
    from the warmer one before by Newton's method; its matrix, the identity less an antisymmetric times a
    positive one, has an inverse always.
    """
    a = np.asarray(advantage, np.float64)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not np.isfinite(a).all() or not np.allclose(a, -a.T):
        raise ValueError("advantages are a finite antisymmetric table")
    size = float(np.abs(a).max()) if a.size else 0.0
    count = len(a)
    if size == 0.0:
        return np.full(count, 1.0 / max(count, 1))
    a = a / size
    logits = np.zeros(count)
    for temperature in np.geomspace(4.0, COLDEST, STEPS):
        warmer = logits
        for _ in range(NEWTON):
            share = _softmax(logits)
            off = logits - a @ share / temperature
            worst = float(np.abs(off).max())
            if worst < 1e-9 / temperature:
                break
            slope = np.eye(count) - a @ (np.diag(share) - np.outer(share, share)) / temperature
            step = np.linalg.solve(slope, off)
            logits = _shorter(a, temperature, logits, step, worst)
        if not np.isfinite(logits).all():  # pragma: no cover - the warmer one is a good answer too
            logits = warmer
            break
    return _softmax(logits)


def _shorter(a: Floats, temperature: float, logits: Floats, step: Floats, worst: float) -> Floats:
    """Newton's step, halved until it helps."""
    factor = 1.0
    for _ in range(30):
        moved = logits - factor * step
        if float(np.abs(moved - a @ _softmax(moved) / temperature).max()) < worst:
            return moved
        factor *= 0.5
    return logits - factor * step


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max())
    share: Floats = powers / powers.sum()
    return share


def nash_average(points: npt.ArrayLike, matches: npt.ArrayLike) -> NashTable:
    """Ratings against the maximal-entropy mixture; arguments as in :func:`ludus.ratings.elo.check_pairs`.

    Advantages are logits of scores, with half a match drawn added to every pair that met; pairs that did not
    meet are taken as equal.
    """
    p, m = check_pairs(points, matches)
    rate = np.where(m > 0, (p + 0.25) / (m + 0.5), 0.5)
    advantage = np.log(rate) - np.log1p(-rate)
    advantage = 0.5 * (advantage - advantage.T)
    share = maximal_entropy_nash(advantage)
    return NashTable(share, SCALE * (advantage @ share))

"""Nash averaging: ratings that copies of a player do not change.

Balduzzi et al. 2018; Tian et al. 2019 (ELF OpenGo), figure 6.

An Elo rating depends on the other players in the table. Nash averaging rates players against the
maximum-entropy Nash equilibrium: the mixture that no player beats.
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
    """Compute the maximum-entropy Nash equilibrium of a symmetric zero-sum game.

    The equilibrium is the limit of entropy-regularised equilibria as the temperature goes to 0. Newton's
    method finds each one from the previous, warmer one; its matrix, the identity minus the product of an
    antisymmetric and a positive matrix, is always invertible.

    Args:
        advantage: Antisymmetric ``[N, N]``; i gains ``advantage[i, j]`` against j.

    Returns:
        Probabilities ``[N]``.
    """
    a = np.asarray(advantage, np.float64)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not np.isfinite(a).all() or not np.allclose(a, -a.T):
        raise ValueError("advantage: expected a finite antisymmetric table")
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
    """Return a Newton step, halved until it improves the residual."""
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
    """Return ratings against the maximum-entropy mixture; arguments as :func:`ludus.ratings.elo.check_pairs`.

    Advantages are logits of scores, with half a drawn match added to every pair that met; pairs that did not
    meet count as equal.
    """
    p, m = check_pairs(points, matches)
    rate = np.where(m > 0, (p + 0.25) / (m + 0.5), 0.5)
    advantage = np.log(rate) - np.log1p(-rate)
    advantage = 0.5 * (advantage - advantage.T)
    share = maximal_entropy_nash(advantage)
    return NashTable(share, SCALE * (advantage @ share))

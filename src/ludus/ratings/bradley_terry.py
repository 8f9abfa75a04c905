"""Bradley-Terry ratings with anchors, and the covariance that decisions need.

:func:`ludus.ratings.elo.elo` rates players against their own mean. Here some players may have a rating that
stays: then ratings of different runs and days are on one scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ludus.ratings.elo import MOST, PRIOR, SCALE, check_pairs

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RatingTable:
    """Ratings in Elo.

    ``rating: [N]``, ``covariance: [N, N]``; rows of anchors are 0. Without anchors the mean is 0.
    """

    rating: Floats
    covariance: Floats

    def error(self) -> Floats:
        """Return the standard errors in Elo, ``[N]``."""
        errors: Floats = np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))
        return errors

    def difference(self, i: int, j: int) -> tuple[float, float]:
        """Return the rating of i minus the rating of j, with its standard error: errors correlate."""
        c = self.covariance
        variance = float(c[i, i] + c[j, j] - 2.0 * c[i, j])
        return float(self.rating[i] - self.rating[j]), math.sqrt(max(variance, 0.0))


def bradley_terry(
    points: npt.ArrayLike, matches: npt.ArrayLike, anchors: Mapping[int, float] | None = None
) -> RatingTable:
    """Return the maximum-likelihood ratings. ``anchors``: index -> rating in Elo that stays.

    Everyone else drew one match against a player of the anchors' mean rating (0 without anchors), so that
    ratings stay finite. Tables as in :func:`ludus.ratings.elo.check_pairs`. ``ValueError`` for an anchor
    that is no player or not finite.
    """
    p, m = check_pairs(points, matches)
    fixed = dict(anchors or {})
    if any(not 0 <= i < len(p) or not math.isfinite(rating) for i, rating in fixed.items()):
        raise ValueError(f"anchors {fixed}: expected indices of {len(p)} players and finite ratings")
    theta = np.zeros(len(p))
    for i, rating in fixed.items():
        theta[i] = rating / SCALE
    middle = float(np.mean([theta[i] for i in fixed])) if fixed else 0.0
    free = np.array([i for i in range(len(p)) if i not in fixed], np.int64)
    theta[free] = middle
    covariance = np.zeros_like(p)
    if not len(free):
        return RatingTable(SCALE * theta, covariance)
    hessian = np.eye(len(free))
    for _ in range(MOST):
        expected = 1.0 / (1.0 + np.exp(theta[None, :] - theta[:, None]))
        prior = 1.0 / (1.0 + np.exp(middle - theta[free]))
        gradient = (p - m * expected).sum(axis=1)[free] + PRIOR * (0.5 - prior)
        weight = m * expected * (1.0 - expected)
        hessian = np.diag(weight.sum(axis=1)[free] + PRIOR * prior * (1.0 - prior))
        hessian = hessian - weight[np.ix_(free, free)]
        step = np.linalg.solve(hessian, gradient)
        largest = float(np.abs(step).max())
        theta[free] += step * min(1.0, 2.0 / max(largest, 1e-12))
        if largest < 1e-10:
            break
    covariance[np.ix_(free, free)] = np.linalg.inv(hessian)
    if not fixed:
        centre = np.eye(len(p)) - 1.0 / len(p)
        covariance = centre @ covariance @ centre.T
        theta = theta - theta.mean()
    return RatingTable(SCALE * theta, SCALE**2 * covariance)

"""Wald's sequential probability ratio test (1945): a gate can stop before all its matches are played."""

from __future__ import annotations

import math
from typing import Literal


def sprt(
    wins: int, losses: int, low: float, high: float, error: float = 0.05
) -> tuple[Literal["accept", "reject", ""], float]:
    """Test whether a player's share of decisive matches is ``high`` rather than ``low``.

    Args:
        wins: Matches won.
        losses: Matches lost.
        low: Share under the null hypothesis, above 0.
        high: Share under the alternative, below 1 and above ``low``.
        error: Probability of either error, in (0, 0.5).

    Returns:
        The verdict ("" = play on), and the log-likelihood ratio of ``high`` over ``low``.

    Raises:
        ValueError: A number is out of range.
    """
    if not 0.0 < low < high < 1.0 or not 0.0 < error < 0.5:
        raise ValueError(f"sprt: low={low}, high={high}, error={error}")
    ratio = wins * math.log(high / low) + losses * math.log((1.0 - high) / (1.0 - low))
    bound = math.log((1.0 - error) / error)
    return ("accept" if ratio >= bound else "reject" if ratio <= -bound else ""), ratio

"""Shares of right answers with their intervals: of single answers, and of matches they come from."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from ludus.analyses.record import Cell, RecordColumn
from ludus.ratings import wilson_interval

#: Draws of a bootstrap.
DRAWS = 1000
_SEED = 0x5EED
#: Matches of a bootstrap, at most.
MOST_DRAWN = 4096
_REACH = 1.96  # standard errors of a 95% interval

#: Columns of :func:`share_cells`.
SHARE = (
    RecordColumn("share", "%", 1),
    RecordColumn("low", "%", 1),
    RecordColumn("high", "%", 1),
)


def share_cells(right: int, total: int) -> tuple[Cell, Cell, Cell]:
    """Return a share and the ends of Wilson's interval, as :data:`SHARE` names them; None of nothing."""
    if not total:
        return None, None, None
    found = wilson_interval(right, total)
    return found.rate, found.low, found.high


def match_interval(values: Sequence[float], matches: Sequence[Hashable]) -> tuple[Cell, Cell]:
    """Return the 95% interval of a mean whose values come in matches, by a bootstrap over matches.

    Values of one match depend on each other, so whole matches are drawn. Equal arguments give equal numbers.
    Above :data:`MOST_DRAWN` matches the mean is taken as normal.

    Args:
        values: Values, one a position.
        matches: The match of each.

    Returns:
        Both ends; None with fewer than two matches.
    """
    number = {match: k for k, match in enumerate(dict.fromkeys(matches))}
    count = len(number)
    if count < 2:
        return None, None
    where = np.array([number[match] for match in matches], np.int64)
    total = np.bincount(where, np.asarray(values, np.float64), count)
    size = np.bincount(where, minlength=count).astype(np.float64)
    if count > MOST_DRAWN:
        mean = float(total.sum() / size.sum())
        spread = float(((total - mean * size) ** 2).sum()) * count / (count - 1)
        reach = _REACH * math.sqrt(spread) / float(size.sum())
        return mean - reach, mean + reach
    times = _drawn(count).astype(np.float64)
    low, high = np.quantile((times @ total) / (times @ size), (0.025, 0.975))
    return float(low), float(high)


@functools.lru_cache(maxsize=16)
def _drawn(count: int) -> npt.NDArray[np.uint16]:
    """Return how often each of ``count`` matches is in each draw: ``uint16[DRAWS, count]``."""
    stream = np.random.Philox(key=_SEED)  # raw bits: the same in every version of numpy
    picks = (stream.random_raw(DRAWS * count) % np.uint64(count)).astype(np.int64).reshape(DRAWS, count)
    picks += count * np.arange(DRAWS, dtype=np.int64)[:, None]
    return np.bincount(picks.ravel(), minlength=DRAWS * count).astype(np.uint16).reshape(DRAWS, count)

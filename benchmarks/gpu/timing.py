"""Times of short work on a device."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from benchmarks.gpu.stage import Context

WARM = 3  # first repetitions that do not count, unless they take all of the time
MOST = 2000


def median_s(work: Callable[[], object], context: Context, seconds: float) -> float:
    """Return the median seconds of ``work``, with the device's part of it, over about ``seconds``.

    It runs at least twice, and the first does not count.
    """
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 2 or (time.perf_counter() < end and len(times) < MOST):
        started = time.perf_counter()
        work()
        context.synchronise()
        times.append(time.perf_counter() - started)
    return statistics.median(times[min(WARM, len(times) - 1) :])

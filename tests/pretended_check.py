"""Cases of benchmarks/gpu on the pretended GPU: ``python -m tests.pretended_check STAGE/CASE ...``.

It prints a line of JSON for each: whether it holds, and its numbers.
"""

from __future__ import annotations

import sys
import time
from unittest import mock

from benchmarks.gpu import agreement, bits, copies
from benchmarks.gpu.stage import Context
from tests.pretend import NAME, PretendedGpu, run_apart

STAGES = {"agreement": agreement.cases, "bits": bits.cases, "copies": copies.cases}


def _device(device: str, setting: str = "device") -> str:
    """Return ``device`` unchecked, in place of :func:`ludus.presets.hardware.device_of`."""
    return "cpu" if device == "auto" else device


def outcome(reference: str) -> dict[str, object]:
    """Return ``holds`` and the numbers of a case."""
    stage, _, case = reference.partition("/")
    context = Context(NAME, small=True, deadline=time.monotonic())
    with PretendedGpu(), mock.patch("ludus.presets.hardware.device_of", new=_device):
        found = STAGES[stage](context)[case]()
    return {"holds": found.holds, **found.numbers}


if __name__ == "__main__":
    run_apart(outcome, sys.argv[1:])

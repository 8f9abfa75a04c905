"""Ludus's side of a comparison: a training as ``ludus train`` does it, progress written after every update.

python ludus_side.py PRESET --frames-per-decision 4 --progress FILE
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import msgspec

from ludus.presets.file import load_preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.reporting.sinks import Sink
from ludus.training.runs import start_run


class Progress(Sink):
    """Appends ``monotonic_ns frames`` after each update."""

    def __init__(self, path: str, frames_per_decision: int) -> None:
        self._file = open(path, "a", buffering=1)  # noqa: SIM115 - open as long as the process
        self._frames = frames_per_decision

    def update(self, metrics: UpdateMetrics) -> None:
        """Decisions that were trained on, in frames."""
        self._file.write(f"{time.monotonic_ns()} {metrics.steps * self._frames}\n")

    def message(self, text: str) -> None:
        """To the log."""
        print(text, flush=True)


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset")
    parser.add_argument("--frames-per-decision", type=int, default=1)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--progress", required=True)
    return parser


def main() -> int:
    arguments = parser_of().parse_args()
    preset = load_preset(arguments.preset).preset
    preset = msgspec.structs.replace(
        preset, run=msgspec.structs.replace(preset.run, precision=arguments.precision)
    )
    start_run(preset, Path("run"), sinks=[Progress(arguments.progress, arguments.frames_per_decision)])
    return 0


if __name__ == "__main__":
    sys.exit(main())

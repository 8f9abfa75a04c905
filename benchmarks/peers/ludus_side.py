"""Ludus's side of a comparison: a training as ``ludus train`` does it, progress written after every update.

python ludus_side.py PRESET --frames-per-decision 4 --progress FILE [--episodes FILE]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import msgspec

from ludus.flow import MatchResult
from ludus.pool.match_results import ResultReader
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


def write_episodes(path: str) -> None:
    """Append ``monotonic_ns return objective`` for each match of the training, as it is received."""
    file, read = open(path, "a", buffering=1), ResultReader.read  # noqa: SIM115 - open as long as the process

    def read_and_write(reader: ResultReader, *args: object) -> list[MatchResult]:
        results = read(reader, *args)  # type: ignore[arg-type]
        write_results(file, results)
        return results

    ResultReader.read = read_and_write  # type: ignore[method-assign, assignment]


def write_results(file: TextIO, results: Sequence[MatchResult]) -> None:
    """Write a line for each match of the first seat: its return, and its first score or else its return."""
    for result in results:
        scores = getattr(result, "scores", ())
        objective = scores[0][0] if scores else result.returns[0]
        if not result.error:
            file.write(f"{time.monotonic_ns()} {result.returns[0]:.6g} {objective:.6g}\n")


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset")
    parser.add_argument("--frames-per-decision", type=int, default=1)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--episodes", default="", help="file for the return of each match")
    parser.add_argument("--progress", required=True)
    return parser


def main() -> int:
    arguments = parser_of().parse_args()
    preset = load_preset(arguments.preset).preset
    run = msgspec.structs.replace(preset.run, precision=arguments.precision, seed=arguments.seed)
    preset = msgspec.structs.replace(preset, run=run)
    if arguments.episodes:
        write_episodes(arguments.episodes)
    start_run(preset, Path("run"), sinks=[Progress(arguments.progress, arguments.frames_per_decision)])
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Small runs for tests: a preset of tic-tac-toe, a sink that records, rows that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.reporting.metrics import EvaluationMetrics, UpdateMetrics
from ludus.reporting.sinks import RunStart, Sink
from ludus.storage import read_jsonl
from ludus.training import runs
from ludus.training.machines import LOCAL, Machines
from ludus.training.resumed import resumed_settings

TIMED = ("time", "throughput")  # namespaces of the numbers that differ between equal runs

TOML = """
[game]
name = "tic_tac_toe"
[[opponents]]
name = "random"
[pool]
slots = 16
groups = 2
threads = 1
rollout_length = 8
[policy]
dense = [16]
hidden = [16]
[algorithm]
minibatches = 2
micro_batch = 32
[evaluation]
every_steps = 500
matches = 20
final_matches = 30
[run]
max_steps = 1600
threads = 2
"""


def small_preset(**overrides: object) -> Preset:
    """Return the preset with overrides; ``run__seed=3`` sets ``run.seed``."""
    text = {key.replace("__", "."): str(value) for key, value in overrides.items()}
    return parse_preset(TOML.encode(), "small", overrides=text).preset


def resume_run(
    run: Path,
    *,
    sinks: Iterable[Sink] = (),
    more: Callable[[Preset], Preset] | None = None,
    machines: Machines = LOCAL,
    game: str = "",
    method: str = "",
) -> runs.RunResult:
    """Resume a run; ``more`` changes its settings as a program may, which types none."""
    resumed = resumed_settings(run, game=game, method=method)
    if more is not None:
        resumed = replace(resumed, preset=more(resumed.preset))
    return runs.resume_run(resumed, sinks=sinks, machines=machines)


class Recorder(Sink):
    """Sink that keeps everything that a run reports."""

    def __init__(self) -> None:
        self.updates: list[UpdateMetrics] = []
        self.evaluations: list[EvaluationMetrics] = []
        self.messages: list[str] = []
        self.checkpoints: list[int] = []
        self.started = 0

    def start(self, run: RunStart) -> None:
        self.started += 1

    def update(self, metrics: UpdateMetrics) -> None:
        self.updates.append(metrics)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        self.evaluations.append(evaluation)

    def checkpoint(self, path: Path, version: int) -> None:
        self.checkpoints.append(version)

    def message(self, text: str) -> None:
        self.messages.append(text)


def reproducible_rows(path: Path) -> list[dict[str, object]]:
    """Return the lines of ``metrics.jsonl`` without the timings, which differ between equal runs."""
    return [
        {key: value for key, value in row.items() if key.partition("/")[0] not in TIMED}
        for row in read_jsonl(path)
    ]

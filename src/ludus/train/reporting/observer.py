"""What a run shows while it goes on. Front ends implement it; nothing below knows them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import msgspec

from ludus.evaluation.results import EvalResult
from ludus.flow import GameSpec
from ludus.presets.config import Preset


class Timing(msgspec.Struct, frozen=True):
    """Of one update. The only numbers of a run that are not reproducible, minutes included.

    ``sampler_wait_share`` and ``learner_wait_share``: share of the wall time in which the sampling thread,
    and the learner's threads on average, had nothing to do.
    """

    minutes: float = 0.0  # of the run, resumes included
    minutes_left: float | None = None  # estimate, None if nothing bounds the run
    update_s: float = 0.0  # wall time of the whole round
    collect_s: float = 0.0
    infer_s: float = 0.0
    pool_wait_s: float = 0.0
    learn_s: float = 0.0  # busy threads added up
    frames_per_s: float = 0.0
    steps_per_s: float = 0.0
    sampler_wait_share: float = 0.0
    learner_wait_share: float = 0.0


class UpdateMetrics(msgspec.Struct, frozen=True):
    """One update: a line of ``metrics.jsonl``. Counters run over the whole run."""

    update: int
    version: int
    steps: int  # decisions of the learner's policy that were trained on
    received: int  # decisions of the learner's policy that were collected
    ticks: int
    matches: int
    progress: float  # 0..1 of the budget
    loss: dict[str, float]
    lag_mean: float
    lag_max: int
    lag: dict[int, int]  # versions behind -> decisions, of this update
    sample_reuse: float  # steps learned over steps received, epochs counted
    dropped: int  # steps thrown away because they were too old (asynchronous runs)
    outcomes: dict[str, tuple[int, int, int]]  # opponent -> won, drawn, lost in this slab
    win_rate: dict[str, float]  # opponent -> running average of the training matches
    mean_return: float  # of the matches finished in this slab, 0 without any
    mean_ticks: float
    handover_ticks: int
    time: Timing
    search: dict[str, float] = {}  # of self-play: evaluations_per_s, batch_fill and the like
    running_return: float | None = None  # average of the training matches, None before the first
    kind: str = "update"


class EvaluationMetrics(msgspec.Struct, frozen=True):
    """One evaluation: a line of ``metrics.jsonl``.

    ``playoff``: of a candidate at the end of the run. The best candidate plays the ``final`` matches.
    """

    version: int
    steps: int
    score: (
        float  # mean lower bound over the opponents (of the return without any); the highest makes ``best``
    )
    best: bool
    results: tuple[EvalResult, ...]
    final: bool = False
    playoff: bool = False
    kind: str = "evaluation"


class Observer(Protocol):
    """Called from the thread that runs the training; must return soon and never raise."""

    def on_start(self, run: Path, preset: Preset, spec: GameSpec) -> None: ...

    def on_update(self, metrics: UpdateMetrics) -> None: ...

    def on_evaluation(self, evaluation: EvaluationMetrics) -> None: ...

    def on_checkpoint(self, path: Path, version: int) -> None: ...

    def on_message(self, text: str) -> None:
        """A line for people: what was decided, what went wrong and how the run goes on."""
        ...


class SilentObserver:
    """Shows nothing."""

    def on_start(self, run: Path, preset: Preset, spec: GameSpec) -> None:
        """Nothing."""

    def on_update(self, metrics: UpdateMetrics) -> None:
        """Nothing."""

    def on_evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Nothing."""

    def on_checkpoint(self, path: Path, version: int) -> None:
        """Nothing."""

    def on_message(self, text: str) -> None:
        """Nothing."""

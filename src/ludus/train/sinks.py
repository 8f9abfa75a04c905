"""Where metrics go besides ``metrics.jsonl``: sinks are fed from the same structs and may fail alone."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ludus.train.observer import EvaluationMetrics, UpdateMetrics


class Sink(Protocol):
    """Takes what ``metrics.jsonl`` takes."""

    def update(self, metrics: UpdateMetrics) -> None: ...

    def evaluation(self, evaluation: EvaluationMetrics) -> None: ...

    def close(self) -> None: ...


class TensorBoardSink:
    """Scalars over trained steps, in ``RUN/tensorboard``."""

    def __init__(self, directory: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(directory))

    def update(self, metrics: UpdateMetrics) -> None:
        step = metrics.steps
        groups: dict[str, dict[str, float]] = {
            "loss": metrics.loss,
            "training_win_rate": metrics.win_rate,
            "rollout": {
                "mean_return": metrics.mean_return,
                "mean_ticks": metrics.mean_ticks,
                "lag_versions": metrics.lag_mean,
                "sample_reuse": metrics.sample_reuse,
            },
            "speed": {
                "frames_per_s": metrics.time.frames_per_s,
                "steps_per_s": metrics.time.steps_per_s,
                "sampler_wait_share": metrics.time.sampler_wait_share,
                "learner_wait_share": metrics.time.learner_wait_share,
            },
        }
        for group, values in groups.items():
            for name, value in values.items():
                self._writer.add_scalar(f"{group}/{name}", value, step)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        kind = "final" if evaluation.final else "evaluation"
        for result in evaluation.results:
            for name in ("win_rate", "ci_low", "ci_high", "mean_ticks"):
                self._writer.add_scalar(
                    f"{kind}_{result.against}/{name}", getattr(result, name), evaluation.steps
                )

    def close(self) -> None:
        self._writer.close()


def default_sinks(run: Path) -> tuple[Sink, ...]:
    """TensorBoard, where its package is installed."""
    try:
        return (TensorBoardSink(run / "tensorboard"),)
    except ImportError:
        return ()

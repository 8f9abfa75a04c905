"""Where metrics go besides ``metrics.jsonl``: sinks are fed from the same structs and may fail alone."""

from __future__ import annotations

import io
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ludus.train.reporting.observer import EvaluationMetrics, UpdateMetrics

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event


class Sink(Protocol):
    """Takes what ``metrics.jsonl`` takes."""

    def update(self, metrics: UpdateMetrics) -> None: ...

    def evaluation(self, evaluation: EvaluationMetrics) -> None: ...

    def close(self) -> None: ...


_MEASURES = {
    False: ("win_rate", "ci_low", "ci_high"),
    True: ("mean_return", "return_low", "return_high"),
}


class TensorBoardSink:
    """Scalars over trained steps, in ``RUN/tensorboard``.

    One record an update, written at once and whole: what a full disk cuts off is taken back, later
    records are tried again, and the run never hears of it. (TensorBoard's own writer has a thread that
    dies of a full disk and takes the run along.)
    """

    def __init__(self, directory: Path) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary, self._writer = Event, Summary, RecordWriter
        self._path = directory / f"events.out.tfevents.{int(time.time()):010d}.{os.getpid()}"
        self._write(Event(wall_time=time.time(), file_version="brain.Event:2"))

    def update(self, metrics: UpdateMetrics) -> None:
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
        if metrics.running_return is not None:
            groups["rollout"]["running_return"] = metrics.running_return
        if metrics.search:
            groups["search"] = metrics.search
        scalars = {f"{group}/{name}": v for group, values in groups.items() for name, v in values.items()}
        self._scalars(scalars, metrics.steps)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        if evaluation.playoff:  # of several versions at one moment: no point of a curve
            return
        kind = "final" if evaluation.final else "evaluation"
        scalars = {
            f"{kind}_{result.against}/{name}": float(getattr(result, name))
            for result in evaluation.results
            for name in (*_MEASURES[result.alone], "mean_ticks")
        }
        self._scalars(scalars, evaluation.steps)

    def close(self) -> None:
        """Nothing is held open."""

    def _scalars(self, scalars: dict[str, float], step: int) -> None:
        values = [self._summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
        self._write(self._event(wall_time=time.time(), step=step, summary=self._summary(value=values)))

    def _write(self, event: Event) -> None:
        record = io.BytesIO()
        self._writer(record).write(event.SerializeToString())
        # metrics.jsonl is the truth, and says what is wrong with the disk
        with suppress(OSError):
            self._path.parent.mkdir(exist_ok=True)
            with self._path.open("ab", buffering=0) as file:
                good, data = file.tell(), record.getvalue()
                try:
                    whole = file.write(data) == len(data)
                except OSError:
                    whole = False
                if not whole:
                    file.truncate(good)


def default_sinks(run: Path) -> tuple[Sink, ...]:
    """TensorBoard, where its package is installed."""
    try:
        return (TensorBoardSink(run / "tensorboard"),)
    except ImportError:
        return ()

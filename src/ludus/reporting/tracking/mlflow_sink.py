"""MLflow: settings as parameters, numbers over decisions as metrics, report and replays as artifacts.

The store is MLflow's: ``MLFLOW_TRACKING_URI``, or its default in the working directory.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludus.presets.config import TrackingConfig
from ludus.reporting.metrics import EvaluationMetrics, UpdateMetrics
from ludus.reporting.sinks import RunStart, Sink
from ludus.reporting.tracking.facts import facts_of, group_of, hyper_parameters, identity, name_of
from ludus.storage.rundir import RunDirectory

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

IDENTITY = "ludus.id"  # tag by which a run is found again
MOST_PARAMS, MOST_VALUE = 100, 500  # of a request, characters of a value
_NO_NAME = re.compile(r"[^\w\-. :/]", re.ASCII)
_STATUS = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED", "lost": "FAILED"}


class MlflowSink(Sink):
    """One run of MLflow for one run of Ludus, whatever number of processes feed it."""

    package, extra = "mlflow", "mlflow"

    def __init__(self) -> None:
        """Wait for :meth:`start`."""
        self._client: MlflowClient | None = None
        self._id = ""
        self._path = Path()
        self._steps = 0

    def start(self, run: RunStart) -> None:
        """Make the run of MLflow, or continue it."""
        import mlflow
        from mlflow.tracking import MlflowClient

        directory, tracking = RunDirectory(run.path), run.preset.tracking
        self._path, client = run.path, MlflowClient()
        store = mlflow.get_tracking_uri()
        experiment = _experiment(client, tracking.project)
        known = identity(directory)
        found = client.search_runs([experiment], f"tags.`{IDENTITY}` = '{known}'", max_results=1)
        if found:
            self._id = found[0].info.run_id
        elif run.received:
            raise LookupError(
                f"{store} has no such run, but {run.received:,} rows were sent; to send all again, remove "
                f"{directory.tracking / 'mlflow.json'}"
            )
        else:
            self._id = _made(client, experiment, directory, tracking)
        client.update_run(self._id, status="RUNNING")
        self._client = client
        run.say(f"mlflow: run {self._id} of {tracking.project} in {store}; to see it: mlflow ui")

    def update(self, metrics: UpdateMetrics) -> None:
        """Send the numbers of an update."""
        self._log(metrics.numbers, metrics.steps, metrics.player)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Send an evaluation while training; the final matches are sent at the end."""
        if not evaluation.final and not evaluation.playoff:
            self._log(evaluation.numbers, evaluation.steps, evaluation.player)

    def _log(self, numbers: Mapping[str, float], steps: int, player: str = "") -> None:
        from mlflow.entities import Metric

        assert self._client is not None
        self._steps = max(self._steps, steps)
        prefix, now = f"{player}/" if player else "", int(time.time() * 1000)
        metrics = [Metric(_NO_NAME.sub("_", prefix + n), v, now, steps) for n, v in numbers.items()]
        self._client.log_batch(self._id, metrics=metrics)

    def close(self) -> None:
        """Send results and files, and end the run of MLflow."""
        client = self._client
        if client is None:
            return
        facts = facts_of(self._path)
        known: Mapping[str, float] = client.get_run(self._id).data.metrics
        new = {name: v for name, v in facts.results.items() if known.get(_NO_NAME.sub("_", name)) != v}
        if new:
            self._log(new, facts.steps)
        for file in facts.files:
            folder = file.relative_to(self._path).parent.as_posix()
            client.log_artifact(self._id, str(file), None if folder == "." else folder)
        if facts.state in _STATUS:
            client.set_terminated(self._id, _STATUS[facts.state])
        self._client = None


def _experiment(client: MlflowClient, project: str) -> str:
    """Return the id of the experiment ``project``, which is made if it is not there."""
    found = client.get_experiment_by_name(project)
    return str(found.experiment_id if found is not None else client.create_experiment(project))


def _made(client: MlflowClient, experiment: str, run: RunDirectory, tracking: TrackingConfig) -> str:
    """Make the run of MLflow with its settings, and return its id."""
    from mlflow.entities import Param

    tags = {IDENTITY: identity(run), **{_NO_NAME.sub("_", tag): "true" for tag in tracking.tags}}
    if group := group_of(run.path):
        tags["sweep"] = group
    made = client.create_run(experiment, run_name=name_of(run.path, tracking), tags=tags)
    params = [
        Param(_NO_NAME.sub("_", name)[:200], str(value)[:MOST_VALUE])
        for name, value in hyper_parameters(run).items()
    ]
    for part in _parts(params, MOST_PARAMS):
        client.log_batch(made.info.run_id, params=part)
    return str(made.info.run_id)


def _parts(items: list[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part

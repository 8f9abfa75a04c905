"""Weights & Biases: settings as config, numbers over decisions, results as summary, report and replays.

Without a login or without a network the run is kept in ``RUN/tracking/wandb``, and ``wandb sync`` sends it
later.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludus.flow.inputs.shown import shell
from ludus.presets.config import TrackingConfig
from ludus.reporting.metrics import EvaluationMetrics, UpdateMetrics
from ludus.reporting.sinks import RunStart, Sink
from ludus.reporting.tracking.facts import facts_of, group_of, hyper_parameters, identity, name_of
from ludus.storage.files import own_folder
from ludus.storage.rundir import RunDirectory

if TYPE_CHECKING:
    from wandb import Run

STEPS = "steps"
INIT_S = 15.0  # for an answer of the server, after which the run is kept here


def arguments(run: RunDirectory, tracking: TrackingConfig) -> dict[str, Any]:
    """Return the arguments with which a run of W&B is made or continued."""
    return {
        "id": identity(run),
        "project": tracking.project,
        "name": name_of(run.path, tracking),
        "tags": list(tracking.tags),
        "group": group_of(run.path) or None,
        "config": hyper_parameters(run),
        "resume": "allow",
        "dir": str(run.tracking),
    }


def why_offline(tracking: TrackingConfig) -> str:
    """Return why nothing is sent, as far as settings decide; empty if they do not."""
    return "offline was asked for" if tracking.offline else ""


class WandbSink(Sink):
    """One run of W&B for one run of Ludus, whatever number of processes feed it."""

    package, extra = "wandb", "wandb"

    def __init__(self) -> None:
        """Wait for :meth:`start`."""
        self._run: Run | None = None
        self._path = Path()
        self._row = 0
        self._players: set[str] = set()

    def start(self, run: RunStart) -> None:
        """Make the run of W&B, or continue it."""
        os.environ.setdefault("WANDB_SILENT", "true")
        import wandb

        tracking, directory = run.preset.tracking, RunDirectory(run.path)
        own_folder(directory.tracking / "wandb", make=True)
        self._path, self._row = run.path, run.received or 0
        self._run = self._opened(wandb, run, why_offline(tracking))
        self._run.define_metric(STEPS)
        self._run.define_metric("*", step_metric=STEPS)

    def _opened(self, wandb: Any, run: RunStart, offline: str) -> Run:  # noqa: ANN401
        made = arguments(RunDirectory(run.path), run.preset.tracking)
        settings = wandb.Settings(
            silent=True,
            console="off",
            disable_git=True,
            disable_code=True,
            x_disable_stats=True,
            init_timeout=INIT_S,
        )
        if not offline and os.environ.get("WANDB_MODE", "online") == "online":
            if not wandb.login(prompt=False, verify=False):
                offline = "no login"
            else:
                try:
                    opened: Run = wandb.init(**made, settings=settings)
                except wandb.errors.Error as error:
                    offline = str(error).partition("\n")[0].rstrip(".")
                    wandb.teardown()  # it keeps the id of the attempt
                else:
                    run.say(f"wandb: {opened.url or 'started'}")
                    return opened
        opened = wandb.init(**made, settings=settings, mode="offline" if offline else None)
        if opened.offline:
            folder = Path(opened.dir).parent
            several = len(list(folder.parent.glob("offline-run-*"))) > 1  # W&B sends them in their order
            parts = f"{shell(str(folder.parent))}/offline-run-*" if several else shell(str(folder))
            why = f" ({offline})" if offline else ""
            run.say(f"wandb: the run is kept here{why}; to send it: wandb sync {parts}")
        return opened

    def update(self, metrics: UpdateMetrics) -> None:
        """Send the numbers of an update."""
        self._log(metrics.numbers, metrics.steps, metrics.player)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Send an evaluation while training; the final matches are in the summary."""
        if not evaluation.final and not evaluation.playoff:
            self._log(evaluation.numbers, evaluation.steps, evaluation.player)

    def _log(self, numbers: dict[str, float], steps: int, player: str) -> None:
        """Send one row. The step of W&B counts rows; its plots have the decisions as axis."""
        assert self._run is not None
        prefix = f"{player.replace('*', '-')}/" if player else ""
        if prefix and prefix not in self._players:
            self._players.add(prefix)
            self._run.define_metric(f"{prefix}*", step_metric=f"{prefix}{STEPS}")
        row = {f"{prefix}{name}": value for name, value in {STEPS: steps, **numbers}.items()}
        self._run.log(row, step=self._row)
        self._row += 1

    def close(self) -> None:
        """Send results and files, and end the run of W&B."""
        if self._run is None:
            return
        facts = facts_of(self._path)
        self._run.summary.update({**facts.results, "state": facts.state})
        if facts.version is not None:
            self._run.summary["final/version"] = facts.version
        folder = Path(self._run.dir)
        for file in facts.files:  # copies: the directory of the run may move before they are sent
            copied = folder / file.relative_to(self._path)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copied)
            self._run.save(str(copied), base_path=str(folder), policy="now")
        self._run.finish(exit_code=1 if facts.state in ("failed", "lost") else 0)
        self._run = None

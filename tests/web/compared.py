"""A league and a sweep that no one trained, with files as a run writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from ludus.evaluation.results import EvalResult
from ludus.flow import Weights, WeightsMeta
from ludus.reporting.metrics import EvaluationMetrics, UpdateMetrics, metrics_row
from ludus.storage.checkpoints import Checkpoint
from ludus.storage.run_info import RunInfo
from ludus.storage.rundir import RunDirectory, RunLog
from ludus.sweep.config import read_sweep
from ludus.sweep.directory import SweepDirectory
from ludus.sweep.plan import planned_cells, runs_of

SWEEP = """title = "rates"
preset = "tic_tac_toe"
seeds = [1, 2]
baseline = "learning_rate=0.001"

[grid]
algorithm.learning_rate = [0.001, 0.01]
"""
STEPS = 1000  # of an update
GAME = "tic_tac_toe"


def result(rate: float, matches: int = 100, player: str = "p") -> EvalResult:
    """Return a result of ``matches`` without draws."""
    wins = round(rate * matches)
    return EvalResult(
        player=player, against="random", game=GAME, matches=matches, win_rate=wins / matches,
        ci_low=max(0.0, rate - 0.1), ci_high=min(1.0, rate + 0.1), wins=wins, draws=0, losses=matches - wins,
        score=wins / matches, mean_ticks=7.0, mean_return=2 * rate - 1, errors=0, seed=1,
        return_low=-1.0, return_high=1.0,
    )  # fmt: skip


def make_run(
    path: Path, settings: str, rates: Sequence[float], seed: int, finished: bool = True
) -> RunDirectory:
    """Make a run whose evaluations have ``rates``; the last is of its final matches if it is ``finished``."""
    info = RunInfo(1, "0.1.0", GAME, "0" * 16, seed, "2026-01-01T00:00:00Z", ("ludus", "train"))
    run = RunDirectory.create(path, f'[game]\nname = "{GAME}"\n[run]\nseed = {seed}\n{settings}', info)
    meta = WeightsMeta(len(rates), "0" * 16, "{}", "{}", GAME, STEPS * len(rates))
    run.checkpoints.save(Checkpoint(Weights(meta, {"a": np.zeros(2, np.float32)}), {}, {}, b"{}"))
    log = RunLog(run)
    log.event("started")
    log.metrics(metrics_row(EvaluationMetrics(0, 0, 0.1, False, (result(0.3),), initial=True)))
    for k, rate in enumerate(rates, 1):
        update = UpdateMetrics(
            version=k, steps=STEPS * k, received=STEPS * k, ticks=STEPS * k, matches=100 * k,
            progress=k / len(rates) * (1.0 if finished else 0.5), numbers={"time/minutes": 0.5 * k},
            outcomes={"random": (round(100 * rate), 0, 100 - round(100 * rate))},
        )  # fmt: skip
        log.metrics(metrics_row(update))
        log.metrics(metrics_row(EvaluationMetrics(k, STEPS * k, rate, True, (result(rate),))))
    if finished:
        last = EvaluationMetrics(len(rates), STEPS * len(rates), rates[-1], True, (result(rates[-1], 200),))
        uniform = (result(0.4, player="uniform"),)
        log.metrics(metrics_row(msgspec.structs.replace(last, final=True, uniform=uniform)))
        log.event("finished")
    log.close()
    return run


def make_sweep(
    folder: Path, text: str = SWEEP, unfinished: Sequence[str] = (), absent: Sequence[str] = ()
) -> SweepDirectory:
    """Make the sweep of ``text`` whose runs are finished, but for those that are named."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    file = folder.parent / f"{folder.name}.toml"
    file.write_text(text)
    config = read_sweep(str(file))
    sweep = SweepDirectory.open(folder, config, {})
    for run in runs_of(planned_cells(config, []), config.seeds):
        if run.name not in absent:
            rate = float(run.settings["algorithm.learning_rate"])
            settings = f"[algorithm]\nlearning_rate = {rate}\n"
            rates = [0.4 + 0.05 * k + 2 * rate + 0.01 * run.seed for k in range(4)]
            make_run(sweep.run(run.name).path, settings, rates, run.seed, run.name not in unfinished)
    return sweep

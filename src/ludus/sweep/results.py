"""Results of runs, from their own records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ludus.evaluation.results import EvalResult
from ludus.flow.inputs.bounds import LARGEST_COUNT
from ludus.flow.inputs.decode import TextError, TomlError, from_json, from_toml, text_of
from ludus.flow.problem import quoted
from ludus.flow.process.code_files import CodeFile
from ludus.presets.document import leaves
from ludus.reporting.changes import Change
from ludus.reporting.floors import Floors
from ludus.reporting.metrics import UpdateMetrics
from ludus.reporting.run_view import RunView
from ludus.storage.errors import CorruptFile
from ludus.storage.files import read_bounded
from ludus.storage.rundir import RunDirectory
from ludus.sweep.directory import SweepDirectory
from ludus.training.run_code import known_files

MAX_RESULT_BYTES = 1 << 20


class RunSummary(msgspec.Struct, frozen=True):
    """Results and settings of one run. ``greedy``: results of its likeliest actions, if there are any."""

    name: str
    cell: str
    seed: int
    path: str
    finished: bool
    final: tuple[EvalResult, ...]
    greedy: tuple[EvalResult, ...]
    steps: int
    ticks: int
    updates: int
    gradient_steps: int
    minutes: float
    cpu_minutes: float  # 0 where it was not measured
    settings: dict[str, Any]
    slots: int = 0  # matches in parallel; 0 where the settings leave the default
    floors: Floors = Floors()
    code: tuple[CodeFile, ...] = ()  # files that its code came from, when it was started or resumed last
    changes: tuple[Change, ...] = ()  # of settings and code, when it was resumed


def score_of_run(run: RunDirectory) -> float:
    """Return the mean over the opponents of a finished run's result."""
    view = RunView(run)
    results = view.metrics().results
    if not results:
        raise CorruptFile(f"{view.source}: no final matches of a finished run")
    return sum(r.measure for r in results) / len(results)


def read_run(run: RunDirectory, cell: str, greedy: tuple[EvalResult, ...] = ()) -> RunSummary:
    """Return the record of a run. Raises ``StorageError`` and ``CorruptFile``."""
    view = RunView(run)
    metrics = view.metrics()
    settings = run_leaves(run)
    last = metrics.updates[-1] if metrics.updates else None
    final = metrics.results
    order = [r.against for r in final]
    return RunSummary(
        name=run.path.name,
        cell=cell,
        seed=view.info().seed,
        path=str(run.path),
        finished=view.is_finished(),
        final=final,
        greedy=tuple(sorted((r for r in greedy if r.against in order), key=lambda r: order.index(r.against))),
        steps=last.steps if last else 0,
        ticks=last.ticks if last else 0,
        updates=last.version if last else 0,
        gradient_steps=_gradient_steps(metrics.updates),
        minutes=last.numbers.get("time/minutes", 0.0) if last else 0.0,
        cpu_minutes=last.numbers.get("time/cpu_minutes", 0.0) if last else 0.0,
        settings=settings,
        slots=_slots(run, settings),
        floors=metrics.floors,
        code=known_files(run),
        changes=tuple(view.changes()),
    )


def greedy_results(sweep: SweepDirectory, name: str) -> tuple[EvalResult, ...]:
    """Return results of greedy matches. Raises ``CorruptFile``."""
    found = []
    for path in sorted((sweep.greedy / name).glob("*.json")):
        try:
            document = from_json(read_bounded(path, MAX_RESULT_BYTES))
            if document.get("alone"):  # without winners it has no win rate
                document = _NOTHING_WON | document
            document = {key: value for key, value in document.items() if value is not None} | {
                key: 0.0 for key, value in document.items() if value is None
            }
            found.append(msgspec.convert(document, EvalResult))
        except (msgspec.MsgspecError, UnicodeDecodeError, AttributeError) as error:
            raise CorruptFile(f"{path}: {error}") from error
    return tuple(found)


_NOTHING_WON: dict[str, None] = {
    "win_rate": None,
    "ci_low": None,
    "ci_high": None,
    "wins": None,
    "draws": None,
    "losses": None,
    "score": None,
}


def run_leaves(run: RunDirectory) -> dict[str, Any]:
    """Return the settings of a run as it was started, by path. Raises ``CorruptFile``."""
    try:
        return dict(leaves(from_toml(text_of(run.config_bytes()))))
    except (TextError, TomlError) as error:
        raise CorruptFile(f"{run.config}: {error}") from error


def _slots(run: RunDirectory, settings: dict[str, Any]) -> int:
    given = settings.get("pool.slots", 0)
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= LARGEST_COUNT:
        raise CorruptFile(f"{run.config}: pool.slots = {quoted(given)}: expected an integer >= 1")
    return given


def _gradient_steps(updates: Sequence[UpdateMetrics]) -> int:
    """Return the optimiser's steps; 0 where they are unknown.

    Rows have a count so far, or the count of each update (AlphaZero).
    """
    so_far = [u.numbers["learner/gradient_steps"] for u in updates if "learner/gradient_steps" in u.numbers]
    each = [u.numbers["learner/minibatches"] for u in updates if "learner/minibatches" in u.numbers]
    return round(so_far[-1] if so_far else sum(each))

"""Results of runs, from their own records."""

from __future__ import annotations

from typing import Any

import msgspec

from ludus.evaluation.results import EvalResult
from ludus.flow.bounds import LARGEST_COUNT
from ludus.flow.code_files import CodeFile
from ludus.flow.decode import TextError, TomlError, from_json, from_toml, text_of
from ludus.flow.problem import quoted
from ludus.presets.document import leaves
from ludus.storage.errors import CorruptFile
from ludus.storage.files import read_bounded
from ludus.storage.last_state import is_finished
from ludus.storage.rundir import RunDirectory
from ludus.training.changes import Change, read_changes
from ludus.training.reporting.floors import Floors, floors_of
from ludus.training.reporting.metrics import EvaluationMetrics, UpdateMetrics, read_metrics
from ludus.training.run_code import known_files
from ludus.training.sweep.directory import SweepDirectory

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


def final_results(run: RunDirectory) -> tuple[EvalResult, ...]:
    """Return the final matches of a run; none of one that has not ended. Raises ``CorruptFile``."""
    return _final(read_metrics(run)[1])


def score_of_run(run: RunDirectory) -> float:
    """Return the mean over the opponents of a finished run's result."""
    results = final_results(run)
    if not results:
        raise CorruptFile(f"{run.metrics}: no final matches of a finished run")
    return sum(r.measure for r in results) / len(results)


def read_run(run: RunDirectory, cell: str, greedy: tuple[EvalResult, ...] = ()) -> RunSummary:
    """Return the record of a run. Raises ``StorageError`` and ``CorruptFile``."""
    updates, evaluations = read_metrics(run)
    settings = run_leaves(run)
    last = updates[-1] if updates else None
    final = _final(evaluations)
    order = [r.against for r in final]
    return RunSummary(
        name=run.path.name,
        cell=cell,
        seed=run.info().seed,
        path=str(run.path),
        finished=is_finished(run),
        final=final,
        greedy=tuple(sorted((r for r in greedy if r.against in order), key=lambda r: order.index(r.against))),
        steps=last.steps if last else 0,
        ticks=last.ticks if last else 0,
        updates=last.version if last else 0,
        gradient_steps=_gradient_steps(updates),
        minutes=last.numbers.get("time/minutes", 0.0) if last else 0.0,
        cpu_minutes=last.numbers.get("time/cpu_minutes", 0.0) if last else 0.0,
        settings=settings,
        slots=_slots(run, settings),
        floors=floors_of(evaluations),
        code=known_files(run),
        changes=tuple(read_changes(run)),
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


def _final(evaluations: list[EvaluationMetrics]) -> tuple[EvalResult, ...]:
    final = [e for e in evaluations if e.final]
    return final[-1].results if final else ()


def _gradient_steps(updates: list[UpdateMetrics]) -> int:
    """Return the optimiser's steps; 0 where they are unknown.

    Rows have a count so far, or that of each update (AlphaZero).
    """
    so_far = [u.numbers["learner/gradient_steps"] for u in updates if "learner/gradient_steps" in u.numbers]
    each = [u.numbers["learner/minibatches"] for u in updates if "learner/minibatches" in u.numbers]
    return round(so_far[-1] if so_far else sum(each))

"""CartPole and MiniRTS learn on the device: a short training and its matches.

How much must be learned depends on the decisions that were made, never on the time that they took; after
fewer than the first number of ``FLOORS`` nothing is checked.
"""

from __future__ import annotations

import functools
import importlib.util
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.gpu.recorded import on
from benchmarks.gpu.stage import Cases, Context, Outcome
from ludus.evaluation.results import EvalResult
from ludus.presets.config import RunConfig
from ludus.presets.file import load_preset
from ludus.presets.hardware import precision_name
from ludus.training.runs import start_run

#: Decisions, and the mean return (CartPole: 9 to 500) or win rate against SIMPLE that they must give.
FLOORS = {
    "minirts": ((200_000, 0.25), (500_000, 0.4), (2_000_000, 0.6)),
    "cartpole": ((50_000, 100.0), (500_000, 450.0)),
}
PACKAGES = {"minirts": "", "cartpole": "gymnasium"}
MATCHES = {"minirts": 200, "cartpole": 32}
SHORTEST_S = 3.0  # of a training
TRAINING = 0.5  # of a case's time; the rest is for its start and its matches


def cases(context: Context) -> Cases:
    """Return the cases of this stage."""
    return {name: functools.partial(learned, name, context, len(FLOORS) - k) for k, name in enumerate(FLOORS)}


def learned(name: str, context: Context, left: int) -> Outcome:
    """Train a preset; ``left``: trainings that are to come, this one included."""
    package = PACKAGES[name]
    if package and importlib.util.find_spec(package) is None:
        return Outcome(None, {"skipped": f"{package} is not installed"})
    seconds = max(SHORTEST_S, TRAINING * context.left_s / left)
    matches = MATCHES[name] // (8 if context.small else 1)
    settings = {
        "run.max_minutes": f"{seconds / 60:.4f}",
        "run.target": "0",
        "evaluation.initial": "false" if context.small else "true",
        "evaluation.every_steps": "0",
        "evaluation.matches": str(matches),
        "evaluation.final_matches": str(matches),
    }
    precision = precision_name(RunConfig(), context.device)
    preset = on(load_preset(name, settings).preset, context.device, precision)
    with tempfile.TemporaryDirectory(prefix="ludus-gpu-") as folder:
        result = start_run(preset, Path(folder) / "run")
    after = _number(result.final)
    holds, floor = judged(name, result.steps, after)
    numbers: dict[str, object] = {
        "precision": precision,
        "steps": result.steps,
        "minutes": result.minutes,
        "matches": matches,
        "result": after,
        "expected": floor,
        "initial_weights": _number(result.floors.initial),
        "uniform": _number(result.floors.uniform),
    }
    if holds is False:
        numbers["why"] = f"{after} after {result.steps:,} decisions, at least {floor} expected"
    return Outcome(holds, numbers)


def judged(name: str, steps: int, result: float | None) -> tuple[bool | None, float | None]:
    """Return whether ``result`` is enough after ``steps`` decisions, and the least that would be."""
    reached = [floor for least, floor in FLOORS[name] if steps >= least]
    if not reached:
        return None, None
    return result is not None and result >= reached[-1], reached[-1]


def _number(results: Sequence[EvalResult]) -> float | None:
    """Return the win rate, or the mean return in a game of one seat; None without matches."""
    if not results:
        return None
    first = results[0]
    return first.mean_return if first.alone else first.win_rate

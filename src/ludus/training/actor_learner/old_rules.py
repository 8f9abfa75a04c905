"""Schedule of ``game.before``: the share of the slabs that are played under the old rules.

The share moves from its first to its last value as the budget is used. When an evaluation is much lower than
the highest one before, it goes back by a step and moves at half the speed from there.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ludus.evaluation.results import EvalResult
from ludus.presets.config import BeforeConfig, RunConfig
from ludus.training.stopping import Budget, progress

STEP = 0.1  # of the way, by which a setback goes back
SLOWER = 0.5  # factor of the speed after a setback
DONE = 1.0 - 1e-9  # of the way: all of it but for rounding


class OldRules(msgspec.Struct, frozen=True):
    """Progress of the schedule, a part of a run's state.

    ``way``: the part of the way from the first to the last share that is done, 0..1. ``span``: steps, or
    share of the budget, that the whole way takes at speed 1. ``clock``: steps or share of the budget when
    ``way`` was last moved. ``highest``: mean over the opponents of the highest evaluation since the start or
    the last setback, None before the first. ``steps``: decisions under the old rules that were trained on.
    """

    span: float
    clock: float
    way: float = 0.0
    speed: float = 1.0
    highest: float | None = None
    setbacks: int = 0
    steps: int = 0


def clock_of(config: BeforeConfig, run: RunConfig, used: Budget) -> float:
    """Return steps, or the share of the budget, that are used."""
    return float(used.steps) if config.over_steps else progress(run, used)


def moved(config: BeforeConfig, run: RunConfig, used: Budget, state: OldRules | None) -> OldRules:
    """Return the schedule when ``used`` of the budget is used; it starts there where ``state`` is None.

    A larger budget in a resume moves nothing back: the share continues at the pace that follows from it.
    """
    now = clock_of(config, run, used)
    if state is None:
        state = OldRules(float(config.over_steps) or config.until * (1.0 - now), now)
    if state.span <= 0.0:
        return msgspec.structs.replace(state, way=1.0, clock=now)
    way = state.way + state.speed * max(0.0, now - state.clock) / state.span
    return msgspec.structs.replace(state, way=way if way < DONE else 1.0, clock=now)


def evaluated(config: BeforeConfig, state: OldRules, results: Sequence[EvalResult]) -> OldRules:
    """Return the schedule after an evaluation, which sets it back if its measure has fallen too far.

    An evaluation without a match that ended changes nothing.

    Args:
        config: With ``setback``; 0 = no evaluation changes anything.
        state: The schedule before it.
        results: Results against each opponent under the new rules; one or more.
    """
    if config.setback <= 0.0 or any(r.nothing_played for r in results):
        return state
    measure = sum(r.measure for r in results) / len(results)
    if state.highest is None or measure >= state.highest:
        return msgspec.structs.replace(state, highest=measure)
    if state.highest - measure <= config.setback:
        return state
    return msgspec.structs.replace(
        state,
        way=max(0.0, state.way - STEP),
        speed=state.speed * SLOWER,
        highest=measure,
        setbacks=state.setbacks + 1,
    )

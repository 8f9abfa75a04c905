"""Floors of a run's results: what its weights reached before training, and what uniform play reaches."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ludus.evaluation.play import UNIFORM
from ludus.evaluation.results import EvalResult
from ludus.reporting.metrics import EvaluationMetrics

INITIAL_WEIGHTS = "initial weights"


class Floors(msgspec.Struct, frozen=True):
    """In the setting of the final matches: opponents, frame skips, parameters.

    ``initial_weights``: the weights of another run that the initial weights are, empty for untrained ones.
    """

    initial: tuple[EvalResult, ...] = ()
    uniform: tuple[EvalResult, ...] = ()
    initial_weights: str = ""

    def against(self, name: str) -> list[tuple[str, EvalResult]]:
        """Yield the floors against one opponent, with their labels."""
        both = ((INITIAL_WEIGHTS, self.initial), (UNIFORM, self.uniform))
        return [(what, r) for what, results in both for r in results if r.against == name]

    def text(self, name: str) -> str:
        """Return ``initial weights 30.8%, uniform 30.9%``; empty without measurements."""
        return ", ".join(f"{what} {measure_text(r)}" for what, r in self.against(name))


def measure_text(result: EvalResult) -> str:
    """Return ``30.8%``, or the mean return in a game of one seat."""
    if result.nothing_played:
        return "no match was played to its end"
    return f"{result.mean_return:,.1f}" if result.alone else f"{result.measure:.1%}"


def floors_of(evaluations: Iterable[EvaluationMetrics]) -> Floors:
    """Return the floors in a run's rows."""
    floors = Floors()
    for e in evaluations:
        if e.initial:
            floors = msgspec.structs.replace(floors, initial=e.results, initial_weights=e.initial_weights)
        if e.uniform:
            floors = msgspec.structs.replace(floors, uniform=e.uniform)
    return floors

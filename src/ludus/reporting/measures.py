"""Measures of a run: what its report and its pages draw, one plot each, from the rows of its evaluations.

A measure is the win rate, or the mean return in a game of one seat, of evaluations while training: a line for
each opponent with its interval, and floors. A league has a measure for each member. Evaluations against plain
searches have a measure of Elo, too. Runs that learn from recorded matches have the agreement with decisions
that they did not learn, by part of the match.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from ludus.evaluation.play import UNIFORM
from ludus.evaluation.results import ALONE
from ludus.flow.inputs.shown import visible
from ludus.reporting.floors import INITIAL_WEIGHTS, floors_of
from ludus.reporting.metrics import STAGES, TOP1, EvaluationMetrics
from ludus.reporting.metrics import UNIFORM as AGREE_UNIFORM

MOST_LINES = 8  # of a plot: as many as there are colours
MOST_MEASURES = 24
MOST_NAME = 200
Kind = Literal["rate", "return", "elo", "agreement"]
INSIDE, FINAL = "eval/", "final/"  # namespaces: evaluations while training, final matches
_VALUES: Mapping[Kind, tuple[str, str, str]] = {
    "rate": ("win_rate", "ci_low", "ci_high"),
    "return": ("mean_return", "return_low", "return_high"),
    "elo": ("elo", "elo_low", "elo_high"),
}
_WORDS: Mapping[Kind, str] = {
    "rate": "win rate",
    "return": "mean return",
    "elo": "Elo",
    "agreement": "agreement with held-out decisions",
}
#: Numbers of a run that learns from recorded matches, by the name of their line.
_AGREEMENT = {"all decisions": TOP1, **{stage: f"{TOP1}/{stage}" for stage in STAGES}}


class Value(msgspec.Struct, frozen=True):
    """Win rate in 0..1, or mean return, with its interval; None for an end that is not known."""

    value: float
    low: float | None = None
    high: float | None = None


class EvaluationPoint(NamedTuple):
    """One evaluation by its numbers (``eval/OPPONENT/win_rate``). ``player``: of a league."""

    steps: float
    numbers: Mapping[str, float]
    player: str = ""
    minutes: float | None = None


#: Values by player and kind, then by line: steps, minutes, value.
_Lines = dict[tuple[str, Kind], dict[str, list[tuple[float, float | None, Value]]]]


class Line(msgspec.Struct, frozen=True):
    """Results against one opponent, in the order of their steps. ``minutes``: of training, None unknown."""

    name: str
    steps: tuple[float, ...]
    minutes: tuple[float | None, ...]
    values: tuple[Value, ...]


class Level(msgspec.Struct, frozen=True):
    """A floor: the result of ``what`` against the opponent ``against``, without training."""

    what: str
    against: str
    value: Value


class Measure(msgspec.Struct, frozen=True):
    """One plot. ``title``: in words; ``axis``: title of the values; ``player``: of a league."""

    title: str
    axis: str
    kind: Kind
    lines: tuple[Line, ...]
    levels: tuple[Level, ...] = ()
    player: str = ""


def point_of(evaluation: EvaluationMetrics) -> EvaluationPoint:
    """Return an evaluation as a point."""
    return EvaluationPoint(evaluation.steps, evaluation.numbers, evaluation.player)


def measures_of(points: Iterable[EvaluationPoint], floors: Sequence[Level] = ()) -> list[Measure]:
    """Return the measures of evaluations while training, with at most :data:`MOST_LINES` lines each.

    ``floors``: floors against all opponents; a measure has the floors of its lines.
    """
    points = list(points)
    lines: _Lines = {}
    for point in points:
        for against, kind, value in results_in(point.numbers):
            opponents = lines.setdefault((point.player, kind), {})
            opponents.setdefault(against, []).append((point.steps, point.minutes, value))
    found = []
    agreement, floor = _agreement(points)
    for (player, kind), opponents in (*lines.items(), *agreement.items()):
        made = [_line(name, sorted(seen, key=lambda p: p[0])) for name, seen in opponents.items()]
        for start in range(0, len(made), MOST_LINES):
            part = tuple(made[start : start + MOST_LINES])
            names = [line.name for line in part]
            own = (f for f in floors if f.against in names and kind in ("rate", "return"))
            levels = floor if kind == "agreement" else tuple(best_floors(own))
            axis = f"{_WORDS[kind]}, evaluations"
            found.append(
                Measure(titled(kind, player, [line.name for line in part]), axis, kind, part, levels, player)
            )
    return found[:MOST_MEASURES]


def _agreement(points: Sequence[EvaluationPoint]) -> tuple[_Lines, tuple[Level, ...]]:
    """Return lines of the agreement with held-out decisions, and the level of uniform legal choices."""
    lines: _Lines = {}
    levels: tuple[Level, ...] = ()
    for point in points:
        for name, metric in _AGREEMENT.items():
            if metric in point.numbers:
                of_player = lines.setdefault((point.player, "agreement"), {})
                seen = (point.steps, point.minutes, Value(point.numbers[metric]))
                of_player.setdefault(name, []).append(seen)
        if AGREE_UNIFORM in point.numbers:
            levels = (Level("uniform legal choices", "all decisions", Value(point.numbers[AGREE_UNIFORM])),)
    return lines, levels


def results_in(numbers: Mapping[str, float], namespace: str = INSIDE) -> list[tuple[str, Kind, Value]]:
    """Return the results in the numbers of a row: opponent, kind and value with its interval."""
    found = []
    for name, value in numbers.items():
        if not name.startswith(namespace):
            continue
        against, _, last = name.removeprefix(namespace).rpartition("/")
        for kind, (middle, low, high) in _VALUES.items():
            if last == middle and against:
                ends = (numbers.get(f"{namespace}{against}/{end}") for end in (low, high))
                found.append((visible(against)[:MOST_NAME], kind, Value(value, *ends)))
    return found


def floor_levels(evaluations: Iterable[EvaluationMetrics]) -> list[Level]:
    """Return the floors of a run: its initial weights, and uniform legal play."""
    floors = floors_of(evaluations)
    both = ((INITIAL_WEIGHTS, floors.initial), (UNIFORM, floors.uniform))
    return [
        Level(what, visible(r.against)[:MOST_NAME], Value(r.measure, r.measure_low, r.measure_high))
        for what, results in both
        for r in results
        if not r.nothing_played
    ]


def floor_text(floor: Level, measure: Measure) -> str:
    """Return the label of a floor's line: ``floor: initial weights``, with its opponent among several."""
    of = f" ({floor.against})" if len(measure.lines) > 1 else ""
    return f"floor: {floor.what}{of}"


def best_floors(floors: Iterable[Level]) -> list[Level]:
    """Return the highest floor of each opponent: what learning has to exceed."""
    best: dict[str, Level] = {}
    for floor in floors:
        if floor.against not in best or floor.value.value > best[floor.against].value.value:
            best[floor.against] = floor
    return list(best.values())


def _line(name: str, seen: Sequence[tuple[float, float | None, Value]]) -> Line:
    return Line(
        name, tuple(s for s, _, _ in seen), tuple(m for _, m, _ in seen), tuple(v for _, _, v in seen)
    )


def titled(kind: Kind, player: str, names: Sequence[str]) -> str:
    """Return ``Win rate of main against simple, evaluations``, for a plot of the opponents ``names``."""
    of = f" of {visible(player)[:MOST_NAME]}" if player else ""
    if kind == "agreement":
        part = f", {names[0]}" if len(names) == 1 else ""
        return f"{_WORDS[kind].capitalize()}{of}{part}"
    against = f" against {names[0]}" if len(names) == 1 and names[0] != ALONE else ""
    several = " by opponent" if len(names) > 1 else ""
    return f"{_WORDS[kind].capitalize()}{of}{against}{several}, evaluations"

"""Metrics: what a run reports of an update and of an evaluation, and their rows in ``metrics.jsonl``.

A row has the fields of its struct, and its scalars under namespaced names: ``loss/value``, ``lag/mean``,
``eval/simple/win_rate``. docs/reference/metrics.md lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from ludus.evaluation import ladder
from ludus.evaluation.results import EvalResult
from ludus.flow.inputs.bounds import Count, Number
from ludus.ratings.ladder import LadderRating
from ludus.storage.jsonl import Row

SCHEMA = 2

#: Running win rates of the training matches, by opponent; while a curriculum's bot plays for the policy they
#: have another name.
WIN_RATE, WITH_HELP = "rollout/win_rate", "rollout/win_rate_with_help"

_MEASURES = {
    False: ("win_rate", "ci_low", "ci_high", "mean_ticks"),
    True: ("mean_return", "return_low", "return_high", "mean_ticks"),
}


#: Agreement with recorded decisions that were not learned.
TOP1 = "imitation/top1"  # share of decisions whose likeliest choice is the recorded one
TOP5 = "imitation/top5"
UNIFORM = "imitation/uniform"  # the floor of TOP1: uniform legal choices
VALUE_ERROR = "imitation/value_error"
DECISIONS = "imitation/decisions"
STAGES = ("opening", "middle", "end")  # thirds of a match


class UpdateMetrics(msgspec.Struct, frozen=True):
    """One update of the weights. Counters run over the whole run, resumes included."""

    version: Count
    steps: Count  # decisions of the learner's policy trained on
    received: Count  # decisions of the learner's policy that were collected
    ticks: Count
    matches: Count
    progress: Number  # 0..1 of the budget
    numbers: dict[str, Number]  # scalars by namespaced name
    lag: dict[int, Count] = {}  # versions behind -> decisions, of this update
    outcomes: dict[str, tuple[Count, Count, Count]] = {}  # opponent -> won, drawn, lost in this update
    player: str = ""  # of a league
    kind: Literal["update"] = "update"

    @property
    def training_rates(self) -> tuple[dict[str, float], bool]:
        """Running win rates by opponent, and whether a curriculum's bot plays the first ticks."""
        helped = self.under(WITH_HELP)
        return (helped, True) if helped else (self.under(WIN_RATE), False)

    def under(self, namespace: str) -> dict[str, float]:
        """Return the numbers of one namespace, by the rest of their names."""
        prefix = namespace + "/"
        return {n.removeprefix(prefix): v for n, v in self.numbers.items() if n.startswith(prefix)}


class EvaluationMetrics(msgspec.Struct, frozen=True):
    """One evaluation of the weights.

    ``playoff``: result of a candidate at the end of the run. The best candidate plays the ``final`` matches.
    ``initial``: result of the initial weights, before training; ``initial_weights``: their name if they come
    from another run. ``uniform``: in the row of the final matches, the result of uniform legal
    play in their setting. ``ladder``: strength among plain searches, if the opponents have any.
    """

    version: Count
    steps: Count
    score: Number  # mean lower bound over the opponents (of the return without any); the highest is ``best``
    best: bool
    results: Annotated[tuple[EvalResult, ...], msgspec.Meta(min_length=1)]
    final: bool = False
    playoff: bool = False
    initial: bool = False
    initial_weights: str = ""
    uniform: tuple[EvalResult, ...] = ()
    ladder: LadderRating | None = None
    player: str = ""  # of a league
    held_out: dict[str, Number] = {}  # by metric: agreement with recorded decisions that were not learned
    kind: Literal["evaluation"] = "evaluation"

    @property
    def named(self) -> str:
        """The version, in a league behind its member: ``main:12``."""
        return f"{self.player}:{self.version}" if self.player else str(self.version)

    @property
    def whose(self) -> str:
        """``version 12``, ``the initial weights``, ``the initial weights (RUN@best)``."""
        if not self.initial:
            return f"version {self.named}"
        return "the initial weights" + (f" ({self.initial_weights})" if self.initial_weights else "")

    @property
    def numbers(self) -> dict[str, float]:
        """``eval/OPPONENT/win_rate`` and so on; ``final/...`` and ``playoff/...`` at the end of the run."""
        found = {
            f"{r.against}/{name}": float(value)
            for r in self.results
            if not r.nothing_played
            for name in _MEASURES[r.alone]
            if (value := getattr(r, name)) is not None
        }
        for r in self.results:
            for s in r.named_scores:
                for part, value in (("score", s.mean), ("score_low", s.low), ("score_high", s.high)):
                    found[f"{r.against}/{part}/{s.name}"] = float(value)
        if self.ladder is not None:
            found |= ladder.numbers(self.ladder)
        namespace = "final" if self.final else "playoff" if self.playoff else "eval"
        return {f"{namespace}/{name}": value for name, value in found.items()} | self.held_out


Metrics = UpdateMetrics | EvaluationMetrics


def metrics_row(metrics: Metrics) -> Row:
    """Return a line of ``metrics.jsonl``."""
    row: Row = msgspec.to_builtins(metrics, str_keys=True)
    row.pop("numbers", None)
    for name in ("player", "initial_weights", "uniform", "ladder", "held_out"):
        if not row.get(name, True):
            del row[name]
    return {"schema": SCHEMA, **row, **metrics.numbers}


def metrics_of(row: Mapping[str, object]) -> Metrics:
    """Return the metrics that :func:`metrics_row` wrote. Raises ``ValueError``."""
    if row.get("schema") != SCHEMA:
        raise ValueError(f"schema {row.get('schema')}, this version of ludus reads {SCHEMA}")
    fields = {name: value for name, value in row.items() if "/" not in name}
    if row.get("kind") == "evaluation":
        return msgspec.convert(fields, EvaluationMetrics, str_keys=True)
    # JSON has no number for what is not finite: it was written as null
    numbers = {n: v for n, v in row.items() if "/" in n and v is not None}
    return msgspec.convert(fields | {"numbers": numbers}, UpdateMetrics, str_keys=True)


def lag_numbers(lag: Mapping[int, int]) -> dict[str, float]:
    """Return mean and maximum of a histogram: versions behind -> decisions."""
    decisions = max(1, sum(lag.values()))
    return {
        "lag/mean": sum(behind * count for behind, count in lag.items()) / decisions,
        "lag/max": float(max(lag, default=0)),
    }


def held_out_text(numbers: Mapping[str, float]) -> str:
    """Return the numbers of one measurement in words; empty without any."""
    if TOP1 not in numbers:
        return ""
    count, agree, floor = (numbers.get(n, 0.0) for n in (DECISIONS, TOP1, UNIFORM))
    return f"{agree:.1%} of {count:,.0f} held-out decisions agree; uniform legal choices: {floor:.1%}"

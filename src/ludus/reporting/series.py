"""Series of a run in words: the title, unit and group of each number of its updates.

The tables of docs/reference/metrics.md have the whole meaning of each name.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from ludus.flow.inputs.shown import visible
from ludus.reporting.metrics import WIN_RATE, WITH_HELP

MOST_SERIES = 600  # of a run; a log may have any number of names
MOST_NAME = 200
#: Namespaces in the order in which a page shows them, with their titles.
GROUPS: Mapping[str, str] = {
    "loss": "Losses",
    "policy": "Policy",
    "value": "Value",
    "throughput": "Speed",
    "rollout": "Training matches",
    "self_play": "Self-play",
    "search": "Search",
    "learner": "Learner",
    "lag": "Policy lag",
    "eval": "Evaluations",
    "time": "Time",
}
#: Results at the end of a run: rows of a table.
_ROWS = ("final", "playoff")
_WORDS: Mapping[str, tuple[str, str]] = {
    "rollout/running_return": ("Return of training matches, running mean", "return"),
    "rollout/return": ("Return of training matches", "return"),
    "rollout/length": ("Length of training matches", "ticks"),
    "rollout/reward_mean": ("Mean reward of a decision", "scaled reward"),
    "rollout/dropped": ("Decisions that were dropped", "decisions"),
    "loss/policy": ("Loss of the policy", ""),
    "loss/policy_excess": ("Loss of the policy above the targets' entropy", "nats"),
    "loss/value": ("Loss of the value", ""),
    "policy/entropy": ("Entropy of the policy", "nats"),
    "policy/kl": ("KL of behaviour and learner", "nats"),
    "policy/clip_fraction": ("Clipped samples", "share"),
    "value/explained_variance": ("Explained variance of the value", ""),
    "value/target_mean": ("Mean value target", "scaled reward"),
    "learner/learning_rate": ("Learning rate", ""),
    "learner/grad_norm": ("Norm of the gradient", ""),
    "learner/sample_reuse": ("Sample reuse", "passes"),
    "learner/gradient_steps": ("Gradient steps", "steps"),
    "lag/mean": ("Mean policy lag", "versions"),
    "lag/max": ("Largest policy lag", "versions"),
    "throughput/ticks_per_s": ("Ticks per second", "ticks/s"),
    "throughput/steps_per_s": ("Decisions per second", "decisions/s"),
    "throughput/received_per_s": ("Decisions received per second", "decisions/s"),
    "throughput/consumed_per_s": ("Decisions consumed per second, epochs counted", "decisions/s"),
    "throughput/matches_per_s": ("Matches per second", "matches/s"),
    "throughput/evaluations_per_s": ("Positions evaluated per second", "positions/s"),
    "throughput/simulations_per_s": ("Simulations of the search per second", "simulations/s"),
    "eval/mcts/visits": ("Visits of a plain search of equal strength", "visits"),
    "eval/mcts/visits_low": ("Visits of a plain search of equal strength, lower end", "visits"),
    "eval/mcts/visits_high": ("Visits of a plain search of equal strength, upper end", "visits"),
    "time/minutes_left": ("Time left, estimate", "minutes"),
    "time/cpu_minutes": ("Processor time", "minutes"),
    "time/update_s": ("Time of an update", "s"),
    "time/collect_s": ("Time for collecting experience", "s"),
    "time/learn_s": ("Time for learning", "s"),
}
#: Results of a measure.
_BOUNDS = (
    *("win_rate", "ci_low", "ci_high"),
    *("mean_return", "return_low", "return_high"),
    *("elo", "elo_low", "elo_high"),
)


class SeriesInfo(msgspec.Struct, frozen=True):
    """A number of a run for people. ``group``: title of its section; ``leads``: shown above all sections."""

    name: str
    title: str
    unit: str
    kind: Literal["rate", "number"]
    group: str
    leads: bool = False


def series_of(names: Iterable[str]) -> list[SeriesInfo]:
    """Return the series of a page in the order of their groups, without results of the end of the run."""
    known = sorted(itertools.islice((n for n in names if _is_curve(n)), MOST_SERIES))
    leading = _leading(known)
    places = {space: place for place, space in enumerate(GROUPS)}

    def place(name: str) -> tuple[bool, int, str]:
        space = name.partition("/")[0]
        return name not in leading, places.get(space, len(places)), space

    return [_info(name, leads=name in leading) for name in sorted(known, key=place)]


def _is_curve(name: str) -> bool:
    space, _, rest = name.partition("/")
    if space == "eval":
        if rest.split("/")[-2:-1] in (["score_low"], ["score_high"]):
            return False
        return rest.rpartition("/")[2] not in _BOUNDS
    return bool(rest) and space not in _ROWS and name != "time/minutes" and len(name) <= MOST_NAME


def _leading(names: list[str]) -> set[str]:
    """Return the names that show best how training goes: win rates, or the smoothest return."""
    rates = {name for name in names if name.startswith((WIN_RATE + "/", WITH_HELP + "/"))}
    if rates:
        return set(sorted(rates)[:4])
    return set([name for name in ("rollout/running_return", "rollout/return") if name in names][:1])


def _info(name: str, leads: bool) -> SeriesInfo:
    space, _, rest = name.partition("/")
    group = GROUPS.get(space, visible(space.replace("_", " ")).capitalize())
    for start, words in (
        (WITH_HELP, "Win rate against {}, training matches with help"),
        (WIN_RATE, "Win rate against {}, training matches"),
    ):
        if name.startswith(start + "/"):
            against = visible(name.removeprefix(start + "/"))
            return SeriesInfo(name, words.format(against), "win rate", "rate", group, leads)
    if space == "eval" and name not in _WORDS:
        against, _, last = rest.rpartition("/")
        against = against.removesuffix("/score")
        title = f"{visible(last.replace('_', ' ')).capitalize()} against {visible(against)}, evaluations"
        return SeriesInfo(name, title, "ticks" if last == "mean_ticks" else "", "number", group, leads)
    title, unit = _WORDS.get(name, (visible(rest.replace("_", " ").replace("/", ", ")).capitalize(), ""))
    return SeriesInfo(name, title, unit, "number", group, leads)

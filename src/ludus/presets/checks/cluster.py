"""Settings that cannot be played by rollouts on other machines."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.algorithms.config import MethodConfig
from ludus.algorithms.registry import method_of
from ludus.flow.problem import Problem
from ludus.games.hosted import is_hosted
from ludus.games.names import is_installed_name
from ludus.presets.config import Preset


def cluster_problems(preset: Preset) -> Iterator[Problem]:
    """Yield why ``cluster.rollouts``, ``cluster.learners`` or ``cluster.ahead`` must be lower."""
    yield from _learner_problems(preset)
    ahead = preset.cluster.ahead
    if ahead and preset.league is None:
        yield Problem("cluster.ahead", value=ahead, expected="0 without a league")
    rollouts = preset.cluster.rollouts
    if rollouts == 0:
        return
    path, run = "cluster.rollouts", preset.run
    if reason := _alone(preset):
        yield Problem(path, value=rollouts, expected=f"0 where {reason}")
    if run.lag != "async" or rollouts == 1 or not method_of(preset.algorithm).learns_from_slabs:
        return
    if _has_teacher(preset.algorithm):
        wanted = f'1 where run.lag = "async" and {_teacher_text(preset.algorithm)}'
        yield Problem(path, value=rollouts, expected=wanted)
    if rollouts > run.max_lag + 1:
        wanted = f'at most run.max_lag + 1 = {run.max_lag + 1} where run.lag = "async"'
        yield Problem(path, value=rollouts, expected=wanted)


def _learner_problems(preset: Preset) -> Iterator[Problem]:
    """Yield why there must be fewer learners: each of them needs a slab of every update."""
    learners, rollouts = preset.cluster.learners, preset.cluster.rollouts
    if learners == 1:
        return
    method, wanted = method_of(preset.algorithm), ""
    if not method.learns_from_slabs:
        wanted = f'1 where algorithm.name = "{method.name}"'
    elif preset.league is not None:
        wanted = "1 where there is a league: its members learn in turn"
    elif preset.run.topology == "one_to_one":
        wanted = '1 where run.topology = "one_to_one"'
    elif preset.run.lag == "async":
        wanted = '1 where run.lag = "async": an update has one slab'
    elif rollouts < learners:
        wanted = f"at most {max(rollouts, 1)}, the slabs of an update (cluster.rollouts = {rollouts})"
    if wanted:
        yield Problem("cluster.learners", value=learners, expected=wanted)


def _alone(preset: Preset) -> str:
    """Return why a run plays in its own process alone; empty where it does not."""
    method = method_of(preset.algorithm)
    if not method.plays_on_rollouts:
        return f'algorithm.name = "{method.name}"'
    if preset.run.topology == "one_to_one":
        return 'run.topology = "one_to_one"'
    if preset.game.before is not None:
        return "there is a table game.before"
    game = preset.game.name
    if game.endswith(".cfg"):
        return f'game.name = "{game}" is a scenario with files of its own'
    if not (is_installed_name(game) or is_hosted(game)):
        return (
            f'game.name = "{game}" is a compiled file, which other machines may not run; install it on all '
            "of them, as a package with an entry point in ludus.games"
        )
    return ""


def _has_teacher(config: MethodConfig) -> bool:
    return method_of(config).teaches == "player" or bool(getattr(config, "teacher", ""))


def _teacher_text(config: MethodConfig) -> str:
    return f'algorithm.teacher = "{getattr(config, "teacher", "")}"'

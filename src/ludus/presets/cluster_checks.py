"""Settings that cannot be played by rollouts on other machines."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.algorithms.config import MethodConfig
from ludus.algorithms.registry import method_of
from ludus.games.hosted import is_hosted
from ludus.games.names import is_installed_name
from ludus.presets.config import Preset
from ludus.presets.schema import Problem


def cluster_problems(preset: Preset) -> Iterator[Problem]:
    """Yield why ``cluster.rollouts`` or ``cluster.ahead`` must be 0, or lower."""
    ahead = preset.cluster.ahead
    if ahead and preset.league is None:
        yield Problem("cluster.ahead", f"cluster.ahead = {ahead}: expected 0 without a league")
    rollouts = preset.cluster.rollouts
    if rollouts == 0:
        return
    where, run = f"cluster.rollouts = {rollouts}", preset.run
    if reason := _alone(preset):
        yield Problem("cluster.rollouts", f"{where}: expected 0 where {reason}")
    if run.lag != "async" or rollouts == 1 or not method_of(preset.algorithm).learns_from_slabs:
        return
    if _has_teacher(preset.algorithm):
        text = f'expected 1 where run.lag = "async" and {_teacher_text(preset.algorithm)}'
        yield Problem("cluster.rollouts", f"{where}: {text}")
    if rollouts > run.max_lag + 1:
        text = f'expected at most run.max_lag + 1 = {run.max_lag + 1} where run.lag = "async"'
        yield Problem("cluster.rollouts", f"{where}: {text}")


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

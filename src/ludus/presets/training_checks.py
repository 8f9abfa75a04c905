"""Settings of training that do not fit each other, or the game."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.algorithms.config import SlabLearnerConfig
from ludus.algorithms.registry import method_of
from ludus.flow.spec import GameSpec
from ludus.presets.before_checks import before_problems
from ludus.presets.cluster_checks import cluster_problems
from ludus.presets.config import Preset
from ludus.presets.parts import parts_problems
from ludus.presets.schema import Problem
from ludus.presets.teacher_checks import teacher_problems


def training_problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    """Yield every mistake: path, value, expectation."""
    yield from teacher_problems(preset, declared)
    yield from _horizon_problems(preset, declared)
    yield from _queue_problems(preset)
    yield from _topology_problems(preset)
    yield from cluster_problems(preset)
    yield from before_problems(preset, declared)
    yield from parts_problems(preset)
    curriculum = preset.curriculum
    if curriculum.advance > 0 and not curriculum.bot:
        path = "curriculum.advance"
        yield Problem(path, f"{path} = {curriculum.advance:g}: expected 0 where curriculum.bot is empty")


def _horizon_problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    config = preset.algorithm
    if not isinstance(config, SlabLearnerConfig):
        return
    ticks = preset.game.frame_skip or declared.default_frame_skip
    for name in ("horizon", "horizon_final"):
        value = getattr(config, name)
        if 0 < value < ticks:
            path = f"algorithm.{name}"
            yield Problem(
                path, f"{path} = {value:g}: expected 0 or at least {ticks}, the ticks of one decision"
            )
    if config.horizon_final > 0 and config.horizon == 0:
        path = "algorithm.horizon_final"
        yield Problem(path, f"{path} = {config.horizon_final:g}: expected 0 where algorithm.horizon = 0")


def _queue_problems(preset: Preset) -> Iterator[Problem]:
    run = preset.run
    if run.queue == 0:
        return
    reason = ""
    if preset.league is not None:
        reason = "there is a league"
    elif not method_of(preset.algorithm).learns_from_slabs:
        reason = f'algorithm.name = "{method_of(preset.algorithm).name}"'
    elif run.lag == "async":
        reason = 'run.lag = "async": run.max_lag bounds its lag'
    elif run.topology == "one_to_one":
        reason = 'run.topology = "one_to_one": its lag is run.pools - 1'
    if reason:
        yield Problem("run.queue", f"run.queue = {run.queue}: expected 0 where {reason}")


def _topology_problems(preset: Preset) -> Iterator[Problem]:
    run, pool = preset.run, preset.pool
    if run.topology == "many_to_one":
        return
    reason = ""
    if preset.league is not None:
        reason = "there is a league"
    elif run.topology not in method_of(preset.algorithm).topologies:
        reason = f'algorithm.name = "{method_of(preset.algorithm).name}"'
    elif run.lag == "async":
        reason = 'run.lag = "async"'
    elif any(opponent.name == "past" for opponent in preset.opponents):
        reason = 'an opponent is "past"'
    if reason:
        text = f'run.topology = "{run.topology}": expected "many_to_one" where {reason}'
        yield Problem("run.topology", text)
    if pool.slots % (run.pools * pool.groups):
        text = f"expected a multiple of run.pools = {run.pools} times pool.groups = {pool.groups}"
        yield Problem("pool.slots", f"pool.slots = {pool.slots}: {text}")

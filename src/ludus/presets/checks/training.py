"""Settings of training that do not fit each other, or the game."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.algorithms.config import SlabLearnerConfig
from ludus.algorithms.registry import method_of
from ludus.flow.inputs.whole import whole
from ludus.flow.problem import Problem
from ludus.flow.spec import GameSpec
from ludus.presets.checks.before import before_problems
from ludus.presets.checks.cluster import cluster_problems
from ludus.presets.checks.teacher import teacher_problems
from ludus.presets.config import Preset
from ludus.presets.parts import parts_problems


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
        wanted = "0 where curriculum.bot is empty"
        yield Problem("curriculum.advance", value=whole(curriculum.advance), expected=wanted)


def _horizon_problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    config = preset.algorithm
    if not isinstance(config, SlabLearnerConfig):
        return
    ticks = preset.game.frame_skip or declared.default_frame_skip
    for name in ("horizon", "horizon_final"):
        value = getattr(config, name)
        if 0 < value < ticks:
            wanted = f"0 or at least {ticks}, the ticks of one decision"
            yield Problem(f"algorithm.{name}", value=whole(value), expected=wanted)
    if config.horizon_final > 0 and config.horizon == 0:
        path, wanted = "algorithm.horizon_final", "0 where algorithm.horizon = 0"
        yield Problem(path, value=whole(config.horizon_final), expected=wanted)


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
        yield Problem("run.queue", value=run.queue, expected=f"0 where {reason}")


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
        yield Problem("run.topology", value=run.topology, expected=f'"many_to_one" where {reason}')
    if pool.slots % (run.pools * pool.groups):
        wanted = f"a multiple of run.pools = {run.pools} times pool.groups = {pool.groups}"
        yield Problem("pool.slots", value=pool.slots, expected=wanted)

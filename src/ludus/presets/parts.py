"""Parts of a minibatch (``algorithm.parts``): how many suit a run, and which runs may have several."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ludus.algorithms.config import SlabLearnerConfig
from ludus.algorithms.registry import is_registered, method_of
from ludus.flow.problem import Problem
from ludus.policies.config import EncoderConfig
from ludus.policies.encoders import encoder_is_registered
from ludus.presets.config import Preset
from ludus.presets.method_file import method_file

LEAST_DECISIONS = 256  # of a part: smaller ones cost nearly as much time
MOST_AUTO = 8  # parts; more of them are too small, or wait for the sum of their gradients
MOST_PROCESSES = 32  # that learn together
_PATH = "algorithm.parts"


def with_parts(preset: Preset, threads: int) -> Preset:
    """Return a preset with a number in place of ``algorithm.parts = "auto"``, for a run made now.

    Half of the threads learn from parts of a minibatch, if these are large enough; with two threads, a
    minibatch stays whole.

    Args:
        preset: The settings.
        threads: Threads of the run.
    """
    config = preset.algorithm
    if not isinstance(config, SlabLearnerConfig) or config.parts != "auto":
        return preset
    parts = max(1, min(MOST_AUTO, threads // 2, _decisions(preset, config) // LEAST_DECISIONS))
    cut = _with(preset, config, parts)
    return cut if not any(parts_problems(cut)) else _with(preset, config, 1)


def _decisions(preset: Preset, config: SlabLearnerConfig) -> int:
    """Return about how many decisions of one seat a minibatch has."""
    return preset.pool.slots * preset.pool.rollout_length // int(getattr(config, "minibatches", 1))


def _with(preset: Preset, config: SlabLearnerConfig, parts: int) -> Preset:
    return msgspec.structs.replace(preset, algorithm=msgspec.structs.replace(config, parts=parts))


def parts_problems(preset: Preset) -> Iterator[Problem]:
    """Yield why a minibatch must have one part."""
    config = preset.algorithm
    if not isinstance(config, SlabLearnerConfig) or config.part_count == 1:
        return
    if reason := _why_one(preset):
        yield Problem(_PATH, value=config.part_count, expected=f"1 where {reason}")


def _why_one(preset: Preset) -> str:
    method, encoder = method_of(preset.algorithm), str(getattr(preset.policy, "encoder", ""))
    if not method.divides:
        return f'algorithm.name = "{method.name}"'
    if not isinstance(preset.policy, EncoderConfig):
        return f'policy.network = "{preset.policy.__struct_config__.tag}"'
    if preset.league is not None:
        return "there is a league: its members learn in turn"
    if preset.cluster.learners > 1:
        return f"cluster.learners = {preset.cluster.learners}"
    if preset.run.topology == "one_to_one":
        return 'run.topology = "one_to_one"'
    if preset.run.device == "cuda":
        return 'run.device = "cuda"'
    if is_registered(method.name) and method_file(preset.algorithm) is None:
        return (
            f'algorithm.name = "{method.name}" is registered by a program, which a new process does not run'
        )
    if encoder_is_registered(encoder):
        return f'policy.encoder = "{encoder}" is registered by a program, which a new process does not run'
    return ""


def learner_processes(preset: Preset, threads: int, device: str) -> int:
    """Return the number of processes that differentiate parts of a minibatch, this one included.

    Args:
        preset: Settings of the run.
        threads: Threads of the run.
        device: Device that it learns on.
    """
    config = preset.algorithm
    if not isinstance(config, SlabLearnerConfig) or device != "cpu" or any(parts_problems(preset)):
        return 1
    return max(1, min(config.part_count, threads, MOST_PROCESSES))


def larger_parts(preset: Preset, threads: int) -> int:
    """Return a larger ``algorithm.parts`` for which there are processors and decisions; 0 = none.

    Args:
        preset: Settings of the run.
        threads: Threads of the run.
    """
    config = preset.algorithm
    if not isinstance(config, SlabLearnerConfig):
        return 0
    parts = min(threads, MOST_AUTO, _decisions(preset, config) // LEAST_DECISIONS)
    fits = parts > config.part_count and not any(parts_problems(_with(preset, config, parts)))
    return parts if fits else 0

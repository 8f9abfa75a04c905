"""A run on a card: its share in graphs, the time that it takes there, and the memory that it needs.

All are functions of its settings. On a card a call costs almost the same for few rows and for many, while the
processor's time grows with the arithmetic. Constants were measured with float32 on one H100 and
AMD Zen 3 cores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ludus.algorithms.config import SlabLearnerConfig
from ludus.algorithms.registry import method_of
from ludus.algorithms.round_work import RoundSize
from ludus.codecs.registry import layout_of
from ludus.flow import GameSpec, Slab
from ludus.flow.slab import Array
from ludus.policies.actions.heads import heads_of
from ludus.policies.config import EncoderConfig
from ludus.policies.protocol import inputs_of
from ludus.policies.summary import forward_cost, summary_of
from ludus.presets.card import DeviceChoice
from ludus.presets.config import Preset

#: Methods, and parts of networks and runs, that are replayed as CUDA graphs on a card. All others ask for
#: each operation by itself, which takes longer than most networks' arithmetic on the processor.
GRAPHED_METHODS: frozenset[str] = frozenset()
GRAPHED_PARTS: frozenset[str] = frozenset()

CORE = 1.15e10  # multiply-adds/s of a core: MiniRTS learns 1,024 decisions in 6.54 ms
CARD = 1e13  # multiply-adds/s of a card
ACT_S = 0.28e-3  # of a call of the acting network
MINIBATCH_S = 1.4e-3  # of a gradient step
SPREAD = 4  # processors beyond this many make a run no faster
BACKWARD = 2  # times the forward pass
LEAST_GAIN = 2.0  # below it the processor is taken: the times are right within a factor of two

CONTEXT = 1 << 30  # bytes of CUDA's context, of libraries and of their workspaces
COPIES = 8  # of the parameters: they themselves, gradient, moments, temporary ones, copies that play
LIVE = 2  # of each layer's outputs while a minibatch is learned: with activations


class NetworkTimes(NamedTuple):
    """Seconds of one round of the network's work: of a slab, or of a batch of a search."""

    processor_s: float
    card_s: float


def choose(
    preset: Preset,
    spec: GameSpec,
    processors: int,
    methods: frozenset[str] = GRAPHED_METHODS,
    parts: frozenset[str] = GRAPHED_PARTS,
) -> DeviceChoice:
    """Return whether a run should use a card that is there.

    Args:
        preset: Settings of the run.
        spec: Game under the preset's parameters.
        processors: Threads of the run.
        methods: See :data:`GRAPHED_METHODS`.
        parts: See :data:`GRAPHED_PARTS`.

    Raises:
        ValueError: Network and spec do not match.
    """
    if preset.cluster.needs_ray or preset.cluster.learners > 1:
        return DeviceChoice(False, "the machines of a cluster may have none")
    if eager := eager_part(preset, spec, methods, parts):
        return DeviceChoice(False, f"{eager} runs without CUDA graphs")
    times = network_times(preset, spec, processors)
    if times is None:
        return DeviceChoice(False, "its method has not been measured")
    gain = times.processor_s / times.card_s
    text = (
        f"the network's share of a round takes about {times.processor_s * 1e3:,.1f} ms on the processor and "
        f"{times.card_s * 1e3:,.1f} ms on a card"
    )
    return DeviceChoice(gain >= LEAST_GAIN, text)


def eager_part(
    preset: Preset,
    spec: GameSpec,
    methods: frozenset[str] = GRAPHED_METHODS,
    parts: frozenset[str] = GRAPHED_PARTS,
) -> str:
    """Return the first thing in a run that is not replayed as a graph; "" if everything is."""
    method = method_of(preset.algorithm).name
    if method not in methods:
        return f'algorithm.name = "{method}"'
    return next((part for part in parts_of(preset, spec) if part not in parts), "")


def parts_of(preset: Preset, spec: GameSpec) -> tuple[str, ...]:
    """Return the parts of a network, and of the run around it, that need a static form each.

    Raises:
        ValueError: The configuration names a tensor that the game does not observe.
    """
    policy = preset.policy
    out = ["a league"] if preset.league is not None else []
    if any(opponent.name == "past" for opponent in preset.opponents):
        out.append("frozen opponents")
    if not isinstance(policy, EncoderConfig):
        return (*out, "a residual tower")
    kinds = {layout_of(tensor).kind for tensor in inputs_of(policy, spec)}
    out += [f"observations of {kind}" for kind in ("vector", "planes", "rows") if kind in kinds]
    pointers = any(head.points_at for head in spec.heads)
    conditions = {
        "pointer heads": pointers,
        "dependent heads": not pointers and heads_of(spec).dependent,
        f"memory = {policy.memory}": policy.memory != "none",
        "batch norms": policy.norm == "batch",
        "an own critic": policy.critic == "own",
        f"critic_sees = {policy.critic_sees}": policy.critic_sees != "own",
        "several value heads": policy.value_heads > 1,
        f"encoder = {policy.encoder}": bool(policy.encoder),
    }
    return (*out, *(name for name, present in conditions.items() if present))


def network_times(preset: Preset, spec: GameSpec, processors: int) -> NetworkTimes | None:
    """Return the times of a round; None for a method that has not been measured.

    Raises:
        ValueError: Network and spec do not match.
    """
    method, pool = method_of(preset.algorithm), preset.pool
    if not method.round_work:
        return None
    forward = forward_cost(preset.policy, spec).multiply_adds
    threads = min(processors, SPREAD)
    size = RoundSize(pool.slots, pool.groups, pool.rollout_length, threads)
    work = method.work(preset.algorithm, size)
    acted, learned = work.acted * forward, (1 + BACKWARD) * work.learned * forward
    return NetworkTimes(
        acted / (CORE * threads) + learned / (CORE * min(threads, work.tasks)),
        work.calls * ACT_S + work.gradient_steps * MINIBATCH_S + (acted + learned) / CARD,
    )


def needed_bytes(preset: Preset, spec: GameSpec) -> int:
    """Return about how many bytes of a card's memory a run needs at least.

    These are copies of the parameters, the slabs in flight, and what layers give for one micro-batch.

    Raises:
        ValueError: Network and spec do not match.
    """
    config = preset.algorithm
    cost = forward_cost(preset.policy, spec)
    parameters = 4 * COPIES * summary_of(preset.policy, spec).parameters
    slabs = rows = 0
    if isinstance(config, SlabLearnerConfig):
        slabs = (1 + preset.run.queue) * _slab_bytes(preset, spec)
        rows = min(config.micro_batch, preset.pool.slots * preset.pool.rollout_length)
    else:
        rows = int(getattr(config, "batch_size", 0))
    width = 4 if preset.run.precision == "float32" else 2  # bytes of an output; auto may be bfloat16
    return CONTEXT + parameters + slabs + width * LIVE * rows * cost.outputs


def _slab_bytes(preset: Preset, spec: GameSpec) -> int:
    """Return the bytes of the fields of a slab that the learner reads."""

    def unallocated(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        return np.broadcast_to(np.zeros((), dtype), shape)

    slab = Slab(spec, preset.pool.rollout_length, preset.pool.slots * spec.seats, unallocated)
    inputs = [tensor.name for tensor in inputs_of(preset.policy, spec)]
    return sum(array.nbytes for array in slab.learned_fields(inputs).values())

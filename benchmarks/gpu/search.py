"""AlphaZero's network, the processor against the device: a batch of leaves and a minibatch of positions."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
from torch import Tensor

from benchmarks.gpu.recorded import on, without_gaps
from benchmarks.gpu.stage import Context
from ludus.algorithms.alphazero.samples import Positions
from ludus.algorithms.config import AlphaZeroConfig
from ludus.mcts import LeafBatch
from ludus.mcts.network import NetworkEvaluator
from ludus.presets.config import Preset
from ludus.presets.file import load_preset
from ludus.training.alphazero.components import AlphaZeroComponents, build_alphazero, make_plays

PRESETS = ("go5", "tic_tac_toe-alphazero")
ROUNDS = 4  # batches of a search before the one that is compared
RATE = 1.0  # so large that the steps lose no bits of the gradient
Floats = npt.NDArray[np.float32]


class Evaluated(NamedTuple):
    """``outputs``: by name; ``gradient``: of a minibatch."""

    outputs: dict[str, Floats]
    gradient: Tensor


def preset_of(name: str, context: Context) -> Preset:
    """Return a preset that learns from small minibatches by one thread, with steps along the gradient."""
    settings = {
        "run.threads": "1",
        "algorithm.batch_size": "32" if context.small else "256",
        "algorithm.self_play.slots": "32" if context.small else "256",
        "algorithm.optimizer": "sgd",
        "algorithm.momentum": "0",
        "algorithm.weight_decay": "0",
        "algorithm.max_grad_norm": "0",
        "algorithm.learning_rate": str(RATE),
        "algorithm.learning_rate_schedule": "constant",
        "algorithm.warmup": "0",
    }
    return load_preset(name, settings).preset


def leaves(preset: Preset) -> Positions:
    """Return a batch of leaves of a search on the processor, with targets that are drawn."""
    components = build_alphazero(on(preset, "cpu"))
    try:
        evaluator = NetworkEvaluator(components.learner.publish(None), "float32")
        play, *_ = make_plays(preset, components, 0, evaluator)
        play.step(ROUNDS)
        count = play.collect()
        size = cast(AlphaZeroConfig, preset.algorithm).batch_size
        wanted = np.arange(size) % count
        random = np.random.default_rng(1)
        choices = components.spec.mask_size
        return Positions(
            {name: a[wanted] for name, a in play.batch.obs.items()},
            np.ones((size, choices), np.uint8),
            random.dirichlet(np.ones(choices), size).astype(np.float32),
            random.uniform(-1.0, 1.0, size).astype(np.float32),
        )
    finally:
        components.close()


def evaluated(preset: Preset, positions: Positions, device: str, precision: str) -> Evaluated:
    """Evaluate ``positions`` and learn a minibatch of them on a device."""
    components: AlphaZeroComponents = build_alphazero(on(preset, device, precision))
    try:
        learner = components.learner
        evaluator = NetworkEvaluator(learner.publish(positions), components.precision)
        batch = LeafBatch(components.spec, len(positions))
        for name, array in batch.obs.items():
            array[:] = positions.obs[name]
        policy, value = evaluator.evaluate(batch, len(positions))
        before = without_gaps(learner.parameters, learner.parameters.vector)
        stats = learner.learn(positions, 0.0)
        moved = without_gaps(learner.parameters, learner.parameters.vector) - before
        losses = [stats.numbers[name] for name in ("loss/policy", "loss/value")]
        outputs = {"policy": policy, "value": value, "loss": np.asarray(losses, np.float32)}
        return Evaluated(outputs, moved / -RATE)
    finally:
        components.close()

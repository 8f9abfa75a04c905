"""AlphaZero's minibatch as a program: loss, gradient, clip, step of the optimiser and average of the weights.

What changes from minibatch to minibatch is an input: positions, learning rate with the bias terms of Adam,
decay of the average. The processor makes the same step with Python numbers in
:class:`ludus.algorithms.alphazero.learner.AlphaZeroLearner`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ludus.algorithms.loss import Loss
from ludus.algorithms.updates.optimiser import ProgramOptimiser
from ludus.algorithms.updates.parameters import FlatParameters
from ludus.flow.slab import Array
from ludus.policies.accelerator import Executor, Program

_FACTORS, _MOVED = "factors", "moved"


@dataclass(frozen=True, slots=True)
class Learned:
    """Tensors and settings of a learner that a minibatch changes.

    Attributes:
        network: The network, or a replica, in training mode.
        parameters: Its parameters.
        optimiser: Optimiser that moves them.
        average: Running average of the parameters, ``[P]``.
        max_grad_norm: Limit of the gradient's norm; 0 = off.
    """

    network: nn.Module
    parameters: FlatParameters
    optimiser: ProgramOptimiser
    average: Tensor
    max_grad_norm: float

    def state(self) -> list[Tensor]:
        """Return every tensor that a step changes."""
        return [self.parameters.vector, self.average, *self.optimiser.vectors().values()]


class MinibatchProgram:
    """Minibatches of one size, one after another on one stream. One thread uses it."""

    def __init__(
        self, executor: Executor, learned: Learned, loss: Callable[[Mapping[str, Tensor]], Loss]
    ) -> None:
        """Prepare nothing yet.

        Args:
            executor: Executor of the network's device.
            learned: Tensors and settings that a minibatch changes.
            loss: Loss of ``learned.network`` summed over the rows of named inputs.
        """
        self._executor, self._learned, self._loss = executor, learned, loss
        self._stream = executor.stream()
        self._gradient = torch.zeros_like(learned.parameters.vector)
        self._programs: dict[frozenset[str], Program] = {}  # by the names of the inputs
        self._names: dict[frozenset[str], list[str]] = {}  # of the loss's numbers
        self._sent: frozenset[str] = frozenset()

    def send(self, arrays: Mapping[str, Array], rows: int, rate: float, keep: float) -> None:
        """Start the step of a minibatch.

        Args:
            arrays: Inputs of the loss.
            rows: Number of samples, the same for all calls.
            rate: Learning rate.
            keep: Share of the average that stays.
        """
        inputs: dict[str, Array] = {
            **arrays,
            _FACTORS: np.array(self._learned.optimiser.factors(rate), np.float32),
            _MOVED: np.array(1.0 - keep, np.float32),
        }
        names = frozenset(inputs)
        program = self._programs.get(names)
        if program is None:
            state = self._learned.state()
            program = self._executor.program(self._step_of(names, rows), inputs, self._stream, state)
            self._programs[names] = program
        program.send(inputs)
        self._sent = names

    def read(self) -> tuple[dict[str, float], float]:
        """Return the loss's numbers and the gradient's norm of the last minibatch; nothing and 0 if read."""
        sent, self._sent = self._sent, frozenset()
        if not sent:
            return {}, 0.0
        *numbers, norm = self._programs[sent].read()["numbers"].tolist()
        return dict(zip(self._names[sent], numbers, strict=True)), norm

    def _step_of(
        self, names: frozenset[str], rows: int
    ) -> Callable[[Mapping[str, Tensor]], dict[str, Tensor]]:
        learned, gradient, limit = self._learned, self._gradient, self._learned.max_grad_norm

        def step(inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
            loss = self._loss(inputs)
            learned.parameters.gradient(loss.total, learned.network, gradient)
            with torch.no_grad():
                gradient.div_(rows)
                norm = gradient.norm()
                if limit > 0.0:
                    gradient.mul_((limit / norm).clamp(max=1.0))
                learned.optimiser.move(gradient, inputs[_FACTORS])
                learned.average.lerp_(learned.parameters.vector, inputs[_MOVED])
                self._names[names] = list(loss.numbers)
                return {"numbers": torch.stack([*loss.numbers.values(), norm])}

        return step

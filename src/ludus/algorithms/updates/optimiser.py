"""Optimisers on one flat vector, clipping of gradients, schedules of the learning rate.

``P``: length of the parameters' vector. An optimiser owns vectors ``float32[P]`` that checkpoints keep by
name.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from ludus.algorithms.config import SlabLearnerConfig
from ludus.algorithms.updates.parameters import FlatParameters
from ludus.flow.override import override
from ludus.flow.slab import Array

RATE_STEP, LOWEST_RATE, HIGHEST_RATE = 1.5, 1e-6, 1e-2  # of Sample Factory's kl_adaptive schedule


class Optimiser(Protocol):
    """Interface of an optimiser, which moves parameters along a gradient."""

    def step(self, gradient: Tensor, learning_rate: float) -> None:
        """Make one step against ``gradient: [P]``, which may be overwritten."""
        ...

    def vectors(self) -> dict[str, Tensor]:
        """Return name -> vector ``[P]`` that the next step depends on; not copies."""
        ...

    def counters(self) -> dict[str, int]:
        """Return counters that the next step depends on."""
        ...

    def set_counters(self, counters: dict[str, int]) -> None:
        """Set what :meth:`counters` returned; ignore the rest. ``KeyError`` for a missing one."""
        ...


@runtime_checkable
class ProgramOptimiser(Optimiser, Protocol):
    """An optimiser whose step can be part of a program: what changes from step to step is a tensor."""

    def factors(self, learning_rate: float) -> tuple[float, ...]:
        """Count one more step and return what its :meth:`move` needs, always as many numbers."""
        ...

    def move(self, gradient: Tensor, factors: Tensor) -> None:
        """Make the step of ``factors: float32[F]`` against ``gradient: [P]``, which may be overwritten."""
        ...


class SGD:
    """Stochastic gradient descent with heavy-ball momentum; weight decay is added to the gradient."""

    def __init__(self, parameters: FlatParameters, momentum: float = 0.0, weight_decay: float = 0.0) -> None:
        """Start without velocity.

        Args:
            parameters: Parameters that it moves.
            momentum: Kept share of the last step, in [0, 1].
            weight_decay: Decay of matrices, not of biases and scales, >= 0.
        """
        self.vector, self.momentum, self.weight_decay = parameters.vector, momentum, weight_decay
        self.matrices = parameters.matrices()
        self.velocity = torch.zeros_like(parameters.vector)

    def step(self, gradient: Tensor, learning_rate: float) -> None:
        """Set ``velocity = momentum * velocity + gradient``, ``parameters -= learning_rate * velocity``."""
        gradient.addcmul_(self.vector, self.matrices, value=self.weight_decay)
        self.velocity.mul_(self.momentum).add_(gradient)
        self.vector.add_(self.velocity, alpha=-learning_rate)

    def factors(self, learning_rate: float) -> tuple[float, ...]:
        """See :meth:`ProgramOptimiser.factors`."""
        return (learning_rate,)

    def move(self, gradient: Tensor, factors: Tensor) -> None:
        """See :meth:`ProgramOptimiser.move`."""
        gradient.addcmul_(self.vector, self.matrices, value=self.weight_decay)
        self.velocity.mul_(self.momentum).add_(gradient)
        self.vector.sub_(self.velocity * factors[0])

    def vectors(self) -> dict[str, Tensor]:
        """See :meth:`Optimiser.vectors`."""
        return {"momentum": self.velocity}

    def counters(self) -> dict[str, int]:
        """See :meth:`Optimiser.counters`."""
        return {}

    def set_counters(self, counters: dict[str, int]) -> None:
        """Do nothing: SGD has no counters."""


class Adam:
    """Adam (Kingma and Ba 2015, algorithm 1); a handful of vector operations a step.

    ``torch.optim.Adam`` on the vector gives the same bits and takes about 1.4 times as long; its fused
    variant is faster and gives other bits. Neither has ``max_rms``.
    """

    def __init__(
        self,
        parameters: FlatParameters,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        max_rms: float = 0.0,
    ) -> None:
        """Start with moments of 0.

        Args:
            parameters: Parameters that it moves.
            betas: Decay of the moments, in [0, 1).
            eps: Added to the root of the second moment, > 0.
            max_rms: Bound of each gradient in roots of its second moment, before it enters the first; the
                second takes the gradients before the cut (OpenAI Five, section 3.2: 5). 0 = off.
        """
        self.vector, self.betas, self.eps, self.max_rms = parameters.vector, betas, eps, max_rms
        self.first = torch.zeros_like(parameters.vector)
        self.second = torch.zeros_like(parameters.vector)
        self.steps = 0

    def step(self, gradient: Tensor, learning_rate: float) -> None:
        """Set ``parameters -= learning_rate * m / (sqrt(v) + eps)`` with the bias of m and v removed."""
        self.steps += 1
        a, b = self.betas
        self.second.mul_(b).addcmul_(gradient, gradient, value=1.0 - b)
        root = self.second.sqrt().div_((1.0 - b**self.steps) ** 0.5)
        if self.max_rms > 0.0:
            bound = root * self.max_rms
            gradient.clamp_(-bound, bound)
        self.first.lerp_(gradient, 1.0 - a)
        root.add_(self.eps)
        self.vector.addcdiv_(self.first, root, value=-learning_rate / (1.0 - a**self.steps))

    def factors(self, learning_rate: float) -> tuple[float, ...]:
        """See :meth:`ProgramOptimiser.factors`: the rate, both biases removed from it and from the root."""
        self.steps += 1
        a, b = self.betas
        return learning_rate, learning_rate / (1.0 - a**self.steps), (1.0 - b**self.steps) ** -0.5

    def move(self, gradient: Tensor, factors: Tensor) -> None:
        """See :meth:`ProgramOptimiser.move`."""
        a, b = self.betas
        self.second.mul_(b).addcmul_(gradient, gradient, value=1.0 - b)
        root = self.second.sqrt().mul_(factors[2])
        if self.max_rms > 0.0:
            bound = root * self.max_rms
            gradient.clamp_(-bound, bound)
        self.first.lerp_(gradient, 1.0 - a)
        root.add_(self.eps)
        self.vector.sub_(self.first / root * factors[1])

    def vectors(self) -> dict[str, Tensor]:
        """See :meth:`Optimiser.vectors`."""
        return {"adam.first": self.first, "adam.second": self.second}

    def counters(self) -> dict[str, int]:
        """See :meth:`Optimiser.counters`."""
        return {"adam_steps": self.steps}

    def set_counters(self, counters: dict[str, int]) -> None:
        """See :meth:`Optimiser.set_counters`."""
        self.steps = counters["adam_steps"]


class AdamW(Adam):
    """Adam with decoupled weight decay of matrices, not of biases and scales (Loshchilov and Hutter 2019)."""

    def __init__(
        self,
        parameters: FlatParameters,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        """See :class:`Adam`. ``weight_decay``: decay of matrices, >= 0."""
        super().__init__(parameters, betas, eps)
        self.matrices, self.weight_decay = parameters.matrices(), weight_decay

    def step(self, gradient: Tensor, learning_rate: float) -> None:
        """Set ``parameters -= learning_rate * weight_decay * parameters``, then Adam's step."""
        self.vector.addcmul_(self.vector, self.matrices, value=-learning_rate * self.weight_decay)
        super().step(gradient, learning_rate)

    @override
    def move(self, gradient: Tensor, factors: Tensor) -> None:
        self.vector.sub_(self.vector * self.matrices * (factors[0] * self.weight_decay))
        super().move(gradient, factors)


class Partial:
    """Optimiser of some parameters: the learning rate of the rest is 0.

    The vectors of the wrapped optimiser (Adam's moments) are updated for all parameters.
    """

    def __init__(self, optimiser: Optimiser, parameters: FlatParameters, names: Collection[str]) -> None:
        """Wrap ``optimiser`` so that only the parameters called ``names`` move."""
        self.optimiser, self.vector = optimiser, parameters.vector
        self.moves = parameters.marks(names)

    def step(self, gradient: Tensor, learning_rate: float) -> None:
        """Make a step of the wrapped optimiser, and put all other parameters back."""
        before = self.vector.clone()
        self.optimiser.step(gradient, learning_rate)
        torch.where(self.moves, self.vector, before, out=self.vector)

    def factors(self, learning_rate: float) -> tuple[float, ...]:
        """See :meth:`ProgramOptimiser.factors`. Raises ``TypeError`` if the wrapped optimiser has none."""
        return _in_programs(self.optimiser).factors(learning_rate)

    def move(self, gradient: Tensor, factors: Tensor) -> None:
        """See :meth:`ProgramOptimiser.move`."""
        before = self.vector.clone()
        _in_programs(self.optimiser).move(gradient, factors)
        torch.where(self.moves, self.vector, before, out=self.vector)

    def vectors(self) -> dict[str, Tensor]:
        """See :meth:`Optimiser.vectors`."""
        return self.optimiser.vectors()

    def counters(self) -> dict[str, int]:
        """See :meth:`Optimiser.counters`."""
        return self.optimiser.counters()

    def set_counters(self, counters: dict[str, int]) -> None:
        """See :meth:`Optimiser.set_counters`."""
        self.optimiser.set_counters(counters)


def _in_programs(optimiser: Optimiser) -> ProgramOptimiser:
    if not isinstance(optimiser, ProgramOptimiser):
        raise TypeError(f"{type(optimiser).__name__} cannot be part of a program")
    return optimiser


def optimiser_state(
    optimiser: Optimiser, parameters: FlatParameters
) -> tuple[dict[str, Array], dict[str, int]]:
    """Return copies of what the next step depends on: arrays ``NAME.PARAMETER``, and counters."""
    arrays: dict[str, Array] = {}
    for name, vector in optimiser.vectors().items():
        arrays |= {f"{name}.{n}": a for n, a in parameters.named(vector).items()}
    return arrays, optimiser.counters()


def load_optimiser_state(
    optimiser: Optimiser,
    parameters: FlatParameters,
    arrays: dict[str, Array],
    counters: dict[str, int],
    where: str,
) -> None:
    """Restore what :func:`optimiser_state` returned; other arrays and counters are not read.

    Raises:
        ValueError: Something is missing or has the wrong shape; ``where`` precedes its name.
    """
    for name, vector in optimiser.vectors().items():
        parameters.fill(vector, under(f"{name}.", arrays), f"{where}: {name}")
    for name in optimiser.counters():
        if name not in counters:
            raise ValueError(f"{where}: no counter {name!r}")
    optimiser.set_counters(counters)


def under(prefix: str, arrays: dict[str, Array]) -> dict[str, Array]:
    """Return the arrays whose name starts with ``prefix``, by the rest of it."""
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def make_optimiser(config: SlabLearnerConfig, parameters: FlatParameters) -> Optimiser:
    """Build the optimiser that the settings name, in its initial state."""
    if config.optimizer == "sgd":
        return SGD(parameters, config.momentum)
    return Adam(parameters, config.adam_betas, config.adam_eps, config.max_grad_rms)


def rate_steps_after(config: SlabLearnerConfig, steps: int, rate: float, kl: float, target: float) -> int:
    """Return the steps by which a learning rate is moved so that updates reach a KL.

    Sample Factory's ``kl_adaptive``.

    Args:
        config: ``learning_rate_final`` is the lowest rate, but at least 1e-6; 1e-2 is the highest.
        steps: Steps so far; the rate is multiplied by :data:`RATE_STEP` to their power.
        rate: Current learning rate.
        kl: KL of the last epoch, nats.
        target: KL to reach, nats: one step down above twice of it, one up below half of it.
    """
    lowest = max(LOWEST_RATE, config.learning_rate_final)
    if kl > 2.0 * target and rate / RATE_STEP >= lowest:
        return steps - 1
    if kl < 0.5 * target and rate * RATE_STEP <= HIGHEST_RATE:
        return steps + 1
    return steps


def clip_by_norm(gradient: Tensor, limit: float) -> float:
    """Shorten ``gradient: [P]`` in place to the norm ``limit`` (0 = off); returns the norm before that."""
    norm = float(gradient.norm())
    if 0.0 < limit < norm:
        gradient.mul_(limit / norm)
    return norm

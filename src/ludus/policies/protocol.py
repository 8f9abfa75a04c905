"""Interface of every policy network.

Shapes: ``N`` rows, ``A`` choices of all heads. Observations are given packed, as they lie in a slab:
``obs[name]: [N, *packed_shape]``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from ludus.flow import GameSpec, TensorSpec
from ludus.policies.accelerator import kind_of
from ludus.policies.actions.action_distribution import ActionDistribution, Independent
from ludus.policies.actions.distribution import Heads
from ludus.policies.config import PolicyConfig

Observation = Mapping[str, Tensor]


def logits_of(distribution: ActionDistribution) -> Tensor:
    """Return ``float32[N, A]`` of independent heads. Raise ``TypeError`` for dependent ones."""
    if not isinstance(distribution, Independent):
        raise TypeError("expected logits; heads that depend on each other, and Q-values, have none")
    return distribution.logits


class Step(NamedTuple):
    """Outputs for ``N`` rows. ``value`` is in the game's own units."""

    distribution: ActionDistribution
    value: Tensor  # float32[N]
    memory: Tensor | None  # float32[N, *memory_shape]

    @property
    def logits(self) -> Tensor:
        """``float32[N, A]`` of independent heads; ``TypeError`` for dependent ones."""
        return logits_of(self.distribution)


class Network(Protocol):
    """A policy network: it acts, and holds everything that a weights file needs to rebuild it."""

    precision: str

    @property
    def config(self) -> PolicyConfig:
        """Configuration of the network."""

    @property
    def spec(self) -> GameSpec:
        """Spec of the game."""

    @property
    def heads(self) -> Heads:
        """Heads of the game."""

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """The observation tensors that it reads."""
        ...

    @property
    def device(self) -> torch.device:
        """Device of the weights."""

    @property
    def memory_shape(self) -> tuple[int, ...] | None:
        """Shape of one row's memory, or None."""
        ...

    @property
    def architecture(self) -> str:
        """The configuration as JSON, as in a weights file."""
        ...

    @property
    def board(self) -> BoardNetwork | None:
        """This network if it reads planes of one board."""
        ...

    def step(self, obs: Observation, memory: Tensor | None = None, first: Tensor | None = None) -> Step:
        """Decide once for ``N`` rows. ``memory[N, ...]`` and ``first: bool[N]`` only with memory."""
        ...

    def for_acting(self) -> Network:
        """Prepare the network for acting and return it; it cannot be trained afterwards."""
        ...

    def to(self, device: str | torch.device) -> object:
        """Move the weights to a device, as :class:`torch.nn.Module`."""

    def eval(self) -> object:
        """Leave training mode, as :class:`torch.nn.Module`."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Return the parameters, as :class:`torch.nn.Module`."""

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Return the parameters by name, as :class:`torch.nn.Module`."""

    def state_dict(self) -> Mapping[str, Any]:
        """Return parameters and buffers by name, as :class:`torch.nn.Module`."""

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = ..., assign: bool = ...
    ) -> object:
        """Replace parameters and buffers, as :class:`torch.nn.Module`."""


class BoardOutputs(NamedTuple):
    """All outputs for ``N`` positions; outputs of absent heads are None."""

    logits: Tensor  # [N, A]
    value: Tensor  # [N]
    ownership: Tensor | None  # [N, cells]: log-odds that the seat to move will own the cell
    score: Tensor | None  # [N]: points of the deciding seat less the opponent's


class BoardInference(Protocol):
    """Board planes ``float32[N, C, H, W]`` -> probabilities ``[N, A]`` and values ``[N]``. Thread-safe."""

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return probabilities and values of planes."""


class BoardNetwork(Network, Protocol):
    """A network whose input is planes of one board, so that symmetries of the board apply."""

    @property
    def predicts_ends(self) -> bool:
        """Whether it has auxiliary heads for final ownership and score."""
        ...

    def boards(self, obs: Observation) -> Tensor:
        """Return planes ``float32[N, C, H, W]`` of ``obs[name]: [N, *packed]``."""
        ...

    def learned(self, planes: Tensor) -> BoardOutputs:
        """Return the outputs of all heads, those that are only trained included."""
        ...

    def inference(self, precision: str, rows: int) -> BoardInference:
        """Return a copy as one compiled graph (:class:`ludus.policies.inference.Inference`)."""
        ...

    def shared_inference(self, precision: str) -> BoardInference:
        """Return a copy for programs of an accelerator, whose weights :meth:`refresh` replaces in place."""
        ...

    def refresh(self, inference: BoardInference) -> None:
        """Give this network's weights to a :meth:`shared_inference` of its form, while no program runs it."""
        ...


def inputs_of(config: PolicyConfig, spec: GameSpec) -> tuple[TensorSpec, ...]:
    """Return the observation tensors that a network of this configuration reads.

    Raises:
        ValueError: The configuration names a tensor that the game does not observe.
    """
    known = {t.name: t for t in spec.observation}
    for name in config.inputs:
        if name not in known:
            raise ValueError(
                f"policy.inputs names {name!r}; {spec.name} observes: {', '.join(sorted(known))}"
            )
    return tuple(known[n] for n in config.inputs) if config.inputs else spec.observation


def autocast(device: torch.device, precision: str) -> contextlib.AbstractContextManager[object]:
    """Return the context in which encoders run in ``precision``."""
    if precision == "bfloat16":
        return torch.autocast(kind_of(device), torch.bfloat16)
    return contextlib.nullcontext()

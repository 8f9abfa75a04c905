"""Fast inference of a residual network: statistics are folded into convolutions.

The processor runs a graph traced for the weights (:class:`Inference`). Programs of an accelerator run
the operations over weights replaced in place (:class:`SharedInference`).
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from ludus.policies.accelerator import executor_of
from ludus.policies.actions.own_draws import own_draws
from ludus.policies.layers.tower import Block, Convolution

_LINEAR = ("policy_head", "value_inner", "value_head")


class Tower(Protocol):
    """The layers of a residual network (:class:`ludus.policies.layers.residual.ResidualNetwork`)."""

    height: int
    width: int
    stem: Convolution
    tower: nn.Sequential
    policy_planes: Convolution
    value_plane: Convolution
    policy_head: nn.Linear
    value_inner: nn.Linear
    value_head: nn.Linear

    @property
    def device(self) -> torch.device:
        """Device of the weights."""


class _Folded(nn.Module):
    """The function of a residual network in eval mode, with half its operations."""

    @own_draws
    def __init__(self, network: Tower) -> None:
        super().__init__()
        self.stem = network.stem.folded()
        blocks = [b for b in network.tower if isinstance(b, Block)]
        self.first = nn.ModuleList(b.first.folded() for b in blocks)
        self.second = nn.ModuleList(b.second.folded() for b in blocks)
        self.policy_planes = network.policy_planes.folded()
        self.value_plane = network.value_plane.folded()
        self.policy_head = nn.Linear(network.policy_head.in_features, network.policy_head.out_features)
        self.value_inner = nn.Linear(network.value_inner.in_features, network.value_inner.out_features)
        self.value_head = nn.Linear(network.value_head.in_features, 1)
        for name in _LINEAR:
            getattr(self, name).load_state_dict(getattr(network, name).state_dict())

    @torch.no_grad()
    def load(self, network: Tower) -> None:
        """Copy the weights of another network with the same layers."""
        blocks = [b for b in network.tower if isinstance(b, Block)]
        pairs = [
            (network.stem, self.stem),
            *zip([b.first for b in blocks], self.first, strict=True),
            *zip([b.second for b in blocks], self.second, strict=True),
            (network.policy_planes, self.policy_planes),
            (network.value_plane, self.value_plane),
        ]
        for convolution, made in pairs:
            assert isinstance(made, nn.Conv2d)
            convolution.fold_into(made)
        for name in _LINEAR:
            getattr(self, name).load_state_dict(getattr(network, name).state_dict())

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return probabilities and values of planes."""
        x = functional.relu(self.stem(planes))
        for first, second in zip(self.first, self.second, strict=True):
            x = functional.relu(x + second(functional.relu(first(x))))
        policy = self.policy_head(functional.relu(self.policy_planes(x)).flatten(1))
        value = functional.relu(self.value_plane(x)).flatten(1)
        value = self.value_head(functional.relu(self.value_inner(value)))
        return torch.softmax(policy.float(), dim=1), torch.tanh(value.float()).squeeze(1)


def _dtype(precision: str) -> torch.dtype:
    return torch.bfloat16 if precision == "bfloat16" else torch.float32


def _folded(network: Tower, dtype: torch.dtype) -> _Folded:
    """Return the folded layers on the network's device, convolutions in channels-last memory."""
    folded = _Folded(network).eval().to(network.device, dtype)
    for module in folded.modules():
        if isinstance(module, nn.Conv2d):
            module.weight.data = module.weight.data.contiguous(memory_format=torch.channels_last)
    return folded


class SharedInference:
    """``planes: float32[N, C, H, W]`` -> probabilities ``float32[N, A]`` and values ``float32[N]``.

    Programs of several threads run it over the same weights, which stay at their addresses.
    """

    def __init__(self, network: Tower, precision: str = "float32") -> None:
        """Copy the weights of a network.

        Args:
            network: The network to copy.
            precision: ``float32`` or ``bfloat16`` (inputs, weights and intermediate sums).
        """
        self.dtype = _dtype(precision)
        self._layers = _folded(network, self.dtype)
        self.load(network)  # as every later copy: the device, not the processor, folds the statistics

    def load(self, network: Tower) -> None:
        """Replace the weights, while no program runs, by ``network``'s, which has the same layers."""
        self._layers.load(network)
        device = self._layers.value_head.weight.device
        executor_of(device).wait()  # programs run on streams that do not wait for PyTorch's own

    @torch.no_grad()
    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return probabilities and values of planes."""
        ready = planes.to(self.dtype).contiguous(memory_format=torch.channels_last)
        policy, value = self._layers(ready)
        return policy, value


class Inference:
    """``planes: float32[N, C, H, W]`` -> probabilities ``float32[N, A]`` and values ``float32[N]``.

    It holds a copy of the network's weights and does not change when the network learns. Several threads may
    call it at once.
    """

    def __init__(self, network: Tower, precision: str = "float32", rows: int = 0) -> None:
        """Compile a network of the processor.

        Args:
            network: The network to copy.
            precision: ``float32`` or ``bfloat16`` (inputs, weights and intermediate sums).
            rows: The usual batch size. Such batches use a graph compiled for that size, with convolutions,
                sums and ReLU in one pass over memory: 1.25 to 1.5 times the rate.
        """
        self.rows, self.dtype = rows, _dtype(precision)
        shape = (network.stem.convolution.in_channels, network.height, network.width)
        folded = _folded(network, self.dtype)
        self._graph = self._compiled(folded, torch.zeros((2, *shape)))
        self._fused: torch.jit.ScriptModule | None = None
        fuses = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        if rows > 0 and fuses:
            with _fusion():
                self._fused = self._compiled(folded, torch.zeros((rows, *shape)))

    def _compiled(self, folded: nn.Module, example: Tensor) -> torch.jit.ScriptModule:
        ready = self._ready(example)
        with torch.inference_mode(), warnings.catch_warnings():
            # A frozen trace: torch.compile, its replacement, is half as fast here without long compilation.
            warnings.simplefilter("ignore", DeprecationWarning)
            traced = torch.jit.trace(folded, ready, check_trace=False)  # type: ignore[no-untyped-call]
            graph: torch.jit.ScriptModule = torch.jit.freeze(traced)
            for _ in range(3):  # the first calls specialise the graph
                graph(ready)
        return graph

    def _ready(self, planes: Tensor) -> Tensor:
        return planes.to(self.dtype).contiguous(memory_format=torch.channels_last)

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return probabilities and values of planes."""
        with torch.inference_mode():
            fused = self._fused if len(planes) == self.rows else None
            graph = self._graph if fused is None else fused
            policy, value = graph(self._ready(planes))
        return policy, value


_fusing = threading.Lock()


@contextmanager
def _fusion() -> Iterator[None]:
    """Fuse graphs whose first calls happen in this context. The switch is global to the process."""
    with _fusing:
        before = torch.jit.onednn_fusion_enabled()  # type: ignore[no-untyped-call]
        torch.jit.enable_onednn_fusion(True)
        try:
            yield
        finally:
            torch.jit.enable_onednn_fusion(before)

"""A residual network made ready to answer batches: statistics folded into convolutions, one traced graph."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn
from torch.nn import functional

from ludus.policies.residual import Block, ResidualNetwork


class _Folded(nn.Module):
    """The same function as a :class:`ResidualNetwork` in eval mode, with half its operations."""

    def __init__(self, network: ResidualNetwork) -> None:
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
        for name in ("policy_head", "value_inner", "value_head"):
            getattr(self, name).load_state_dict(getattr(network, name).state_dict())

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        x = functional.relu(self.stem(planes))
        for first, second in zip(self.first, self.second, strict=True):
            x = functional.relu(x + second(functional.relu(first(x))))
        policy = self.policy_head(functional.relu(self.policy_planes(x)).flatten(1))
        value = functional.relu(self.value_plane(x)).flatten(1)
        value = self.value_head(functional.relu(self.value_inner(value)))
        return torch.softmax(policy.float(), dim=1), torch.tanh(value.float()).squeeze(1)


class Inference:
    """``planes: float32[N, C, H, W]`` -> probabilities ``float32[N, A]`` and values ``float32[N]``.

    A copy of the network's numbers: it does not change when the network learns. Several threads may call it
    at once. ``precision``: ``float32`` or ``bfloat16`` (inputs, weights and sums in between).
    """

    def __init__(self, network: ResidualNetwork, precision: str = "float32") -> None:
        self.device = network.device
        self.dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        channels = network.stem.convolution.in_channels
        folded = _Folded(network).eval().to(self.device, self.dtype)
        for module in folded.modules():
            if isinstance(module, nn.Conv2d):
                module.weight.data = module.weight.data.contiguous(memory_format=torch.channels_last)
        example = torch.zeros((2, channels, network.height, network.width), device=self.device)
        with torch.no_grad(), warnings.catch_warnings():
            # A frozen trace is twice as fast here as what torch recommends in its place can be made at once.
            warnings.simplefilter("ignore", DeprecationWarning)
            traced = torch.jit.trace(folded, self._ready(example), check_trace=False)  # type: ignore[no-untyped-call]
            self._graph = torch.jit.freeze(traced)
            for _ in range(3):  # the first calls specialise the graph
                self._graph(self._ready(example))

    def _ready(self, planes: Tensor) -> Tensor:
        return planes.to(self.device, self.dtype).contiguous(memory_format=torch.channels_last)

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        with torch.inference_mode():
            policy, value = self._graph(self._ready(planes))
        return policy, value

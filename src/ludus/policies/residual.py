"""The residual tower of AlphaGo Zero (Silver et al. 2017, methods: neural network architecture).

3x3 convolution, ``blocks`` residual blocks of two 3x3 convolutions each, then a policy head (1x1
convolution to ``policy_planes``, two there, linear) and a value head (1x1 convolution to
``value_planes``, one there, linear, linear, tanh).
Every convolution is followed by batch normalisation and ReLU.

Two more heads may be there only to be learned (Wu 2019, section 4.1; :meth:`ResidualNetwork.learned`): whose
each cell will be (1x1 convolution to one plane), and by how many points (mean and maximum over the board,
linear).

Batch normalisation learns with the statistics of its batch and acts with stored ones. Stored ones that
trail behind the weights cost the paper (003, appendix C) strength, so nothing is averaged while training:
:meth:`ResidualNetwork.measure` takes the plain mean over fresh batches for the weights as they are, and is
called whenever weights are to act.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ludus.codecs.forms import decoded
from ludus.codecs.registry import layout_of
from ludus.flow import GameSpec
from ludus.policies.action_distribution import ActionDistribution, Independent
from ludus.policies.config import PolicyConfig
from ludus.policies.heads import heads_of
from ludus.policies.network import Observation, PolicyNetwork, Step, inputs_of


def make_network(
    config: PolicyConfig, spec: GameSpec, seed: int | None = 0, precision: str = "float32"
) -> PolicyNetwork:
    """The network that a configuration means. ``ValueError`` where configuration and spec do not fit."""
    kind = ResidualNetwork if config.blocks > 0 else PolicyNetwork
    return kind(config, spec, seed, precision)


class Convolution(nn.Module):
    """A convolution without bias and its batch normalisation."""

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        # momentum None: while statistics are measured they are plain means (see `measure`)
        self.norm = nn.BatchNorm2d(outputs, momentum=None)
        self.norm.track_running_stats = False

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm(self.convolution(x))
        return out

    def folded(self) -> nn.Conv2d:
        """One convolution with bias that does the same as this one with its stored statistics."""
        norm, old = self.norm, self.convolution
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        made = nn.Conv2d(
            old.in_channels, old.out_channels, old.kernel_size[0], padding=old.padding[0], bias=True
        )
        assert made.bias is not None
        with torch.no_grad():
            made.weight.copy_(old.weight * scale.reshape(-1, 1, 1, 1))
            made.bias.copy_(norm.bias - norm.running_mean * scale)
        return made


class Block(nn.Module):
    """Two convolutions and the way around them."""

    def __init__(self, filters: int) -> None:
        super().__init__()
        self.first = Convolution(filters, filters, 3)
        self.second = Convolution(filters, filters, 3)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.second(functional.relu(self.first(x))))


SCORE_UNIT = 20.0  # points that the score head's 1 stands for, as in KataGo


class Learned(NamedTuple):
    """All outputs for ``N`` positions; those of heads that are not there are None."""

    logits: Tensor  # [N, A]
    value: Tensor  # [N]
    ownership: Tensor | None  # [N, cells]: log-odds of the deciding seat's owning a cell
    score: Tensor | None  # [N]: points of the deciding seat less the opponent's


class ResidualNetwork(PolicyNetwork):
    """A :class:`PolicyNetwork` by what it does. Reads planes of one size; vectors become constant planes.

    Values lie in [-1, 1]: the game's outcome. No memory, no normalisers apart from batch normalisation.
    """

    policy_head: nn.Linear

    def __init__(
        self, config: PolicyConfig, spec: GameSpec, seed: int | None = 0, precision: str = "float32"
    ) -> None:
        nn.Module.__init__(self)
        self.config, self.spec, self.precision = config, spec, precision
        self.heads = heads_of(spec)
        if self.heads.dependent:
            raise ValueError(
                f"policy.blocks = {config.blocks}: the heads of {spec.name} depend on each other"
            )
        self.inputs = inputs_of(config, spec)
        self.layouts = {t.name: layout_of(t) for t in self.inputs}
        boards = {u.shape[1:] for u in self.layouts.values() if u.kind == "planes"}
        odd = [n for n, u in self.layouts.items() if u.kind == "rows"]
        if len(boards) != 1 or odd:
            raise ValueError(
                f"policy.blocks = {config.blocks}: a residual tower reads planes of one size; {spec.name} "
                f"observes {', '.join(f'{n} {u.kind}{list(u.shape)}' for n, u in self.layouts.items())}"
            )
        ((self.height, self.width),) = boards
        channels = sum(u.shape[0] for u in self.layouts.values())
        cells = self.height * self.width
        self.stem = Convolution(channels, config.filters, 3)
        self.tower = nn.Sequential(*(Block(config.filters) for _ in range(config.blocks)))
        self.policy_planes = Convolution(config.filters, config.policy_planes, 1)
        self.policy_head = nn.Linear(config.policy_planes * cells, self.heads.choices)
        self.value_plane = Convolution(config.filters, config.value_planes, 1)
        self.value_inner = nn.Linear(config.value_planes * cells, config.value_hidden)
        self.value_head = nn.Linear(config.value_hidden, 1)
        # After all others: with or without them the rest begins with the same numbers.
        self.ownership_plane: nn.Conv2d | None = None
        self.score_head: nn.Linear | None = None
        for key in ("ownership", "score"):
            if getattr(config, key) and spec.counted_cells != cells:
                raise ValueError(
                    f"policy.{key} = true: {spec.name} counts the owners of {spec.counted_cells} cells at "
                    f"the end of a match, expected the {cells} of its board"
                )
        if config.ownership:
            self.ownership_plane = nn.Conv2d(config.filters, 1, 1)
        if config.score:
            self.score_head = nn.Linear(2 * config.filters, 1)
        self.recurrent, self.values, self.normaliser = None, None, None
        if seed is not None:
            self._initialise(seed)
        self.eval()

    def _initialise(self, seed: int) -> None:
        """He et al. 2015 for convolutions; a policy that is nearly uniform and values near 0 at the start."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for module in self.modules():
                if isinstance(module, nn.Conv2d | nn.Linear):
                    fan_in = module.weight[0].numel()
                    last = (self.policy_head, self.value_head, self.ownership_plane, self.score_head)
                    gain = 0.1 if module in last else math.sqrt(2.0)
                    module.weight.normal_(0.0, gain / math.sqrt(fan_in), generator=generator)
                    if module.bias is not None:
                        module.bias.zero_()
            for block in self.tower:
                assert isinstance(block, Block)
                block.second.norm.weight.zero_()  # every block begins as the identity (Goyal et al. 2017)

    @property
    def memory_shape(self) -> tuple[int, ...] | None:
        return None

    def boards(self, obs: Observation) -> Tensor:
        """``obs[name]: [N, *packed]`` -> ``float32[N, C, H, W]``."""
        parts = []
        for tensor in self.inputs:
            layout = self.layouts[tensor.name]
            values = decoded(tensor, layout, obs[tensor.name])
            if layout.kind == "vector":
                values = values[:, :, None, None].expand(-1, -1, self.height, self.width)
            parts.append(values)
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def outputs(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """``float32[N, C, H, W]`` -> logits ``float32[N, A]``, values ``float32[N]``."""
        return self._acting_heads(self._features(planes))

    def learned(self, planes: Tensor) -> Learned:
        """:meth:`outputs`, and what the heads say that are there to be learned alone."""
        x = self._features(planes)
        logits, value = self._acting_heads(x)
        ownership = score = None
        if self.ownership_plane is not None:
            with self._autocast():
                ownership = self.ownership_plane(x).flatten(1)
            ownership = ownership.float()
        if self.score_head is not None:
            pooled = torch.cat([x.float().mean((2, 3)), x.float().amax((2, 3))], dim=1)
            score = SCORE_UNIT * self.score_head(pooled).squeeze(-1)
        return Learned(logits, value, ownership, score)

    def _features(self, planes: Tensor) -> Tensor:
        with self._autocast():
            x: Tensor = self.tower(functional.relu(self.stem(planes)))
        return x

    def _acting_heads(self, x: Tensor) -> tuple[Tensor, Tensor]:
        with self._autocast():
            policy = functional.relu(self.policy_planes(x)).flatten(1)
            value = functional.relu(self.value_plane(x)).flatten(1)
            value = functional.relu(self.value_inner(value))
        return self.policy_head(policy.float()), torch.tanh(self.value_head(value.float()).squeeze(-1))

    @torch.no_grad()
    def step(self, obs: Observation, memory: Tensor | None = None, first: Tensor | None = None) -> Step:
        """See :meth:`PolicyNetwork.step`."""
        logits, value = self.outputs(self.boards(obs))
        return Step(Independent(self.heads, logits), value, None)

    def flat(self, obs: Observation, recalled: Tensor | None = None) -> tuple[ActionDistribution, Tensor]:
        """See :meth:`PolicyNetwork.flat`."""
        logits, value = self.outputs(self.boards(obs))
        return Independent(self.heads, logits), value

    @torch.no_grad()
    def measure(self, batches: Iterable[Tensor]) -> None:
        """Stored statistics become the mean over ``batches`` of planes, for the weights as they are now."""
        norms = [m for m in self.modules() if isinstance(m, nn.BatchNorm2d)]
        for norm in norms:
            norm.track_running_stats = True  # first: without it the line below does nothing
            norm.reset_running_stats()
        training = self.training
        self.train()
        try:
            for planes in batches:
                self.outputs(planes)
        finally:
            self.train(training)
            for norm in norms:
                norm.track_running_stats = False

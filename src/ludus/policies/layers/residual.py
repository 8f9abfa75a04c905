"""The residual tower of AlphaGo Zero (Silver et al. 2017, methods: neural network architecture).

3x3 convolution, ``blocks`` residual blocks of two 3x3 convolutions each, then a policy head (1x1
convolution to ``policy_planes``, two there, linear) and a value head (1x1 convolution to
``value_planes``, one there, linear, linear, tanh).
Every convolution is followed by batch normalisation and ReLU.

Two optional auxiliary heads serve training alone (Wu 2019, section 4.1; :meth:`ResidualNetwork.learned`):
final ownership of each cell (1x1 convolution to one plane), and final score (mean and maximum over the
board, linear).

Batch normalisation learns with the statistics of its batch and acts with stored ones. Stored statistics that
trail behind the weights cost strength (ELF OpenGo, appendix C), so training averages none.
:meth:`ResidualNetwork.measure` computes the mean over fresh batches for the current weights. Call it before
weights act.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from ludus.codecs.forms import decoded
from ludus.codecs.registry import layout_of
from ludus.flow import GameSpec
from ludus.policies.accelerator import executor_of
from ludus.policies.actions.action_distribution import Independent
from ludus.policies.actions.heads import heads_of
from ludus.policies.actions.own_draws import own_draws
from ludus.policies.config import ResnetConfig, encode_config
from ludus.policies.inference import Inference, SharedInference
from ludus.policies.layers.tower import Block, Convolution
from ludus.policies.protocol import (
    BoardInference,
    BoardNetwork,
    BoardOutputs,
    Observation,
    Step,
    autocast,
    inputs_of,
)

SCORE_UNIT = 20.0  # points per unit of the score head's output, as in KataGo


class ResidualNetwork(nn.Module):
    """A :class:`ludus.policies.protocol.BoardNetwork` that reads planes of one size.

    Vectors become constant planes.

    Values lie in [-1, 1]: the game's outcome. No memory, no normalisers apart from batch normalisation.
    """

    @own_draws
    def __init__(
        self, config: ResnetConfig, spec: GameSpec, seed: int | None = 0, precision: str = "float32"
    ) -> None:
        """Make a network with initial weights.

        Args:
            config: Configuration of the network.
            spec: Spec of the game.
            seed: Seed of the initial weights; None: the caller loads them.
            precision: ``float32`` or ``bfloat16``, of the tower.

        Raises:
            ValueError: Configuration and spec do not match.
        """
        super().__init__()
        self.config, self.spec, self.precision = config, spec, precision
        self.heads = heads_of(spec)
        if self.heads.dependent:
            raise ValueError(f'policy.network = "resnet": the heads of {spec.name} depend on each other')
        self.inputs = inputs_of(config, spec)
        self.layouts = {t.name: layout_of(t) for t in self.inputs}
        boards = {u.shape[1:] for u in self.layouts.values() if u.kind == "planes"}
        odd = [n for n, u in self.layouts.items() if u.kind == "rows"]
        if len(boards) != 1 or odd:
            raise ValueError(
                f'policy.network = "resnet": a residual tower reads planes of one size; {spec.name} '
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
        # Last, so that the other layers start with the same numbers with or without them.
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
        if seed is not None:
            self._initialise(seed)
        self.eval()

    def _initialise(self, seed: int) -> None:
        """Draw weights as He et al. 2015; the policy is nearly uniform and values near 0 at the start."""
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
                block.second.norm.weight.zero_()  # every block starts as the identity (Goyal et al. 2017)

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return self.value_head.weight.device

    @property
    def memory_shape(self) -> tuple[int, ...] | None:
        """None: each position is decided by itself."""
        return None

    @property
    def architecture(self) -> str:
        """The configuration as JSON text, as in a weights file."""
        return encode_config(self.config)

    @property
    def board(self) -> BoardNetwork | None:
        """The network itself: it reads planes of one board."""
        return self

    @property
    def predicts_ends(self) -> bool:
        """Whether it has auxiliary heads for final ownership and score."""
        return self.ownership_plane is not None and self.score_head is not None

    def for_acting(self) -> ResidualNetwork:
        """Return the network itself: :meth:`inference` makes a fast copy."""
        return self

    def inference(self, precision: str, rows: int) -> Inference:
        """Return a compiled copy, as :class:`ludus.policies.protocol.BoardNetwork`."""
        return Inference(self, precision, rows)

    def shared_inference(self, precision: str) -> SharedInference:
        """Return a copy for programs, as :class:`ludus.policies.protocol.BoardNetwork`."""
        return SharedInference(self, precision)

    def refresh(self, inference: BoardInference) -> None:
        """Replace the weights of a copy, as :class:`ludus.policies.protocol.BoardNetwork`."""
        assert isinstance(inference, SharedInference)
        inference.load(self)

    def boards(self, obs: Observation) -> Tensor:
        """Return planes ``float32[N, C, H, W]`` of ``obs[name]: [N, *packed]``."""
        parts, static = [], executor_of(self.device).static
        for tensor in self.inputs:
            layout = self.layouts[tensor.name]
            values = decoded(tensor, layout, obs[tensor.name], static)
            if layout.kind == "vector":
                values = values[:, :, None, None].expand(-1, -1, self.height, self.width)
            parts.append(values)
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def outputs(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits ``float32[N, A]`` and values ``float32[N]`` of planes ``float32[N, C, H, W]``."""
        return self._acting_heads(self._features(planes))

    def learned(self, planes: Tensor) -> BoardOutputs:
        """Return :meth:`outputs`, and the outputs of the heads that are only trained."""
        x = self._features(planes)
        logits, value = self._acting_heads(x)
        ownership = score = None
        if self.ownership_plane is not None:
            with autocast(self.device, self.precision):
                ownership = self.ownership_plane(x).flatten(1)
            ownership = ownership.float()
        if self.score_head is not None:
            pooled = torch.cat([x.float().mean((2, 3)), x.float().amax((2, 3))], dim=1)
            score = SCORE_UNIT * self.score_head(pooled).squeeze(-1)
        return BoardOutputs(logits, value, ownership, score)

    def _features(self, planes: Tensor) -> Tensor:
        with autocast(self.device, self.precision):
            x: Tensor = self.tower(functional.relu(self.stem(planes)))
        return x

    def _acting_heads(self, x: Tensor) -> tuple[Tensor, Tensor]:
        with autocast(self.device, self.precision):
            policy = functional.relu(self.policy_planes(x)).flatten(1)
            value = functional.relu(self.value_plane(x)).flatten(1)
            value = functional.relu(self.value_inner(value))
        return self.policy_head(policy.float()), torch.tanh(self.value_head(value.float()).squeeze(-1))

    @torch.no_grad()
    def step(self, obs: Observation, memory: Tensor | None = None, first: Tensor | None = None) -> Step:
        """Decide once for ``N`` rows, as :meth:`ludus.policies.protocol.Network.step`."""
        logits, value = self.outputs(self.boards(obs))
        return Step(Independent(self.heads, logits), value, None)

    @torch.no_grad()
    def measure(self, batches: Iterable[Tensor]) -> None:
        """Set stored statistics to the mean over ``batches`` of planes, for the current weights."""
        norms = [m for m in self.modules() if isinstance(m, nn.BatchNorm2d)]
        for norm in norms:
            norm.track_running_stats = True  # first: without it the line below does nothing
            norm.reset_running_stats()
        training = self.training
        self.train()
        try:
            for number, planes in enumerate(batches, 1):
                for norm in norms:  # the factor of a plain mean: torch would read it from the device
                    norm.momentum = 1.0 / number
                self.outputs(planes)
        finally:
            self.train(training)
            for norm in norms:
                norm.track_running_stats, norm.momentum = False, None

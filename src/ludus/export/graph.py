"""A policy network as one function of decoded observations, as a graph holds it.

Observations enter decoded: ``float32[N, *layout]``, what the network reads after its codecs. The function is
made by a twin of the network whose observation tensors are those decoded ones, with the same weights; so
every kind of network is computed by its own modules, in their static forms (no shape depends on data).

Shapes: ``N`` rows, ``K`` heads, ``A`` bytes of a mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import msgspec
import torch
from torch import Tensor, nn

from ludus.codecs.layout import TensorLayout
from ludus.codecs.registry import codec_of, layout_of
from ludus.export.errors import ExportError
from ludus.export.names import CHOICES, MASK, MEMORY, NEXT_MEMORY, VALUE, GraphNames, graph_names
from ludus.flow import GameSpec, TensorSpec
from ludus.flow.inputs.shown import visible
from ludus.policies.actions.action_distribution import Independent
from ludus.policies.actions.autoregressive import AutoregressiveDistribution, SequentialHeads
from ludus.policies.actions.q_values import QValues
from ludus.policies.factory import build_network
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.network import Encoding, PolicyNetwork
from ludus.policies.protocol import Network

#: Roles of the outputs of heads.
PROBABILITIES, Q_VALUES, MEAN, DEVIATION = "probabilities", "q", "mean", "deviation"


class Output(NamedTuple):
    """One output of a graph. ``head``: index of the head that it belongs to, -1 for none."""

    name: str
    role: str
    head: int
    shape: tuple[int, ...]  # without the rows


class PolicyGraph(nn.Module):
    """A network as a function of tensors in the order of ``inputs``; it returns those of ``outputs``."""

    def __init__(self, network: Network) -> None:
        """Make the function of ``network``.

        Raises:
            ExportError: A kind of network, a codec or a head that no graph can hold.
        """
        super().__init__()
        self.spec = network.spec
        self.tensors = network.inputs
        self.layouts: tuple[TensorLayout, ...] = tuple(layout_of(t) for t in network.inputs)
        self.names: GraphNames = graph_names(network.spec, [t.name for t in network.inputs])
        self.twin = _twin(network)
        #: why the graph has no values; "" = it has
        self.without_value = ""
        self.value_heads, self.gives_q = 1, False
        if isinstance(self.twin, PolicyNetwork):
            self._prepare(self.twin)
        #: the policy's part of the memory: no graph holds a critic
        self.memory_shape = self.twin.memory_shape
        self.masked = any(h.kind == "discrete" for h in self.spec.heads)
        #: whether heads are decided one after the other
        self.dependent = (
            len(self.spec.heads) > 1
            and isinstance(self.twin, PolicyNetwork)
            and isinstance(self.twin.policy_head, SequentialHeads)
        )
        self.eval()  # all of it: the exporter returns it to the mode that it had

    def _prepare(self, twin: PolicyNetwork) -> None:
        twin.static = True
        self.value_heads = twin.config.value_heads
        self.gives_q = twin.epsilon is not None
        if self.gives_q:
            self.without_value = "Q-values give it: the mean over heads of their highest Q-values"
        elif twin.critic is not None:
            self.without_value = "the critic is a separate network, which only training needs"
            twin.critic = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return (
            *self.names.observations,
            *((MASK,) if self.masked else ()),
            *((MEMORY,) if self.memory_shape is not None else ()),
            *((CHOICES,) if self.dependent else ()),
        )

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The outputs."""
        out = list(self._head_outputs())
        if self.dependent:
            out.append(Output(f"next_{CHOICES}", CHOICES, -1, (len(self.spec.heads),)))
        if not self.without_value:
            out.append(Output(VALUE, VALUE, -1, (self.value_heads,) if self.value_heads > 1 else ()))
        if self.memory_shape is not None:
            out.append(Output(NEXT_MEMORY, MEMORY, -1, self.memory_shape))
        return tuple(out)

    def _head_outputs(self) -> Iterator[Output]:
        for k, (head, name) in enumerate(zip(self.spec.heads, self.names.heads, strict=True)):
            if head.kind == "continuous":
                yield Output(f"{MEAN}_{name}", MEAN, k, ())
                yield Output(f"{DEVIATION}_{name}", DEVIATION, k, ())
            else:
                role = Q_VALUES if self.gives_q else PROBABILITIES
                yield Output(f"{role}_{name}", role, k, (head.size,))

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        """Compute the outputs of the inputs, in their orders."""
        values = dict(zip(self.inputs, given, strict=True))
        obs = {t.name: values[n] for t, n in zip(self.tensors, self.names.observations, strict=True)}
        rows = given[0].shape[0]
        mask = values[MASK].to(torch.int32) if self.masked else given[0].new_ones((rows, self.spec.mask_size))
        if isinstance(self.twin, ResidualNetwork):
            logits, value = self.twin.outputs(self.twin.boards(obs))
            return (*self._independent(logits, mask), value)
        twin = cast(PolicyNetwork, self.twin)
        encoding, memory = self._encoded(twin, obs, values.get(MEMORY))
        distribution, critic = twin.outputs(encoding)
        out: list[Tensor] = []
        if isinstance(distribution, AutoregressiveDistribution):
            choices = values[CHOICES] if self.dependent else mask.new_zeros((rows, 1), dtype=torch.int64)
            parts = list(self._in_turn(distribution, mask, choices))
            out += parts if self.dependent else parts[:-1]
        elif isinstance(distribution, QValues):
            out += torch.split(distribution.values(mask), [h.size for h in self.spec.heads], dim=1)
        else:
            assert isinstance(distribution, Independent)
            out += self._independent(distribution.logits, mask)
        if not self.without_value:
            assert critic is not None
            out.append(twin.denormalise(critic).float())
        if memory is not None:
            out.append(memory)
        return tuple(out)

    def _encoded(
        self, twin: PolicyNetwork, obs: dict[str, Tensor], memory: Tensor | None
    ) -> tuple[Encoding, Tensor | None]:
        """Return the inputs of the heads, and the memory after these observations."""
        if memory is None:
            encoding = twin.encode(obs)
            return (encoding._replace(critic=None) if self._drops_critic else encoding), None
        same = torch.zeros_like(memory.flatten(1)[:, 0], dtype=torch.bool)  # zeros reset a memory, no flag
        if twin.recall is not None:
            vector = twin.vectors(obs, True)
            assert vector is not None
            memory = twin.recall.step(vector, memory, same)
            encoding = twin.encode(obs, memory)
            return (encoding._replace(critic=None) if self._drops_critic else encoding), memory
        assert twin.recurrent is not None
        encoding = twin.encode(obs)
        memory = twin.recurrent.step(encoding.features.float(), memory, same)
        output = twin.recurrent.output(memory)
        return Encoding(output, output, encoding.pointed), memory

    @property
    def _drops_critic(self) -> bool:
        return bool(self.without_value) and not self.gives_q

    def _independent(self, logits: Tensor, mask: Tensor) -> Iterator[Tensor]:
        log_probs = self.twin.heads.log_probs(logits, mask)
        at = 0
        for head in self.spec.heads:
            part = log_probs[:, at : at + head.size]
            at += head.size
            if head.kind == "continuous":
                yield part[:, 0]
                yield part[:, 1].exp()
            else:
                yield part.exp()

    def _in_turn(
        self, distribution: AutoregressiveDistribution, mask: Tensor, choices: Tensor
    ) -> Iterator[Tensor]:
        """Return each head's probabilities given the choices before it, then the choices.

        A choice below 0 is decided here: the most probable one.
        """
        chosen = choices.clone()
        heads = distribution.heads.every_conditional(
            distribution.features, distribution.pointed, mask, chosen
        )
        for k, _, log_probs in heads:
            best = log_probs.argmax(dim=1)
            chosen[:, k] = torch.where(choices[:, k] < 0, best, choices[:, k])
            yield log_probs.exp()
        yield chosen


def _twin(network: Network) -> Network:
    """Return the network of decoded observations with the weights of ``network``."""
    names = {t.name for t in network.inputs}
    observation = tuple(_decoded(t) if t.name in names else t for t in network.spec.observation)
    spec: GameSpec = msgspec.structs.replace(network.spec, observation=observation)
    with torch.device("meta"):
        twin = build_network(network.config, spec, seed=None)
    state = {name: value.detach().cpu() for name, value in network.state_dict().items()}
    twin.load_state_dict(state, strict=True, assign=True)
    twin.eval()
    return twin


def _decoded(tensor: TensorSpec) -> TensorSpec:
    layout = layout_of(tensor)
    codec = codec_of(tensor)
    own = layout.kind == "rows" and tensor.codec not in ("identity", "bits") and hasattr(codec, "present")
    if own:
        raise ExportError(
            f"input {visible(tensor.name)}: the codec {visible(tensor.codec)} finds the rows that are "
            "present by itself, which decoded rows do not show"
        )
    return msgspec.structs.replace(tensor, dtype="f32", shape=layout.shape, codec="identity", scale=1.0)


def examples(graph: PolicyGraph, rows: int) -> Sequence[Tensor]:
    """Return inputs of ``rows`` rows to trace the graph with."""
    spec = graph.spec
    out: list[Tensor] = [torch.ones((rows, *layout.shape)) for layout in graph.layouts]
    if graph.masked:
        out.append(torch.ones((rows, spec.mask_size), dtype=torch.uint8))
    if graph.memory_shape is not None:
        out.append(torch.zeros((rows, *graph.memory_shape)))
    if graph.dependent:
        out.append(torch.full((rows, len(spec.heads)), -1, dtype=torch.int64))
    return out

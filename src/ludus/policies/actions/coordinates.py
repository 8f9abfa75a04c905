"""Coordinates: a name for every place along every axis of a policy's parameters and buffers.

Observation columns and choices are named by the spec's labels, units by their layer and number. Two places
with one name, in two tensors or two networks, hold the same quantity. Names come from the network's own
modules, made on the meta device, so that no table of shapes is kept twice.

A place is a nested tuple. Those that hold a label are ``("column", tensor, label)`` and
``("choice", head, label)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ludus.codecs.layout import TensorLayout
from ludus.flow import GameSpec, HeadSpec, TensorSpec
from ludus.policies.actions.autoregressive import AutoregressiveHeads, Head
from ludus.policies.actions.continuous import FreeDeviation
from ludus.policies.config import EncoderConfig, PolicyConfig, ResnetConfig
from ludus.policies.critic import Critic
from ludus.policies.encoder import Encoder
from ludus.policies.factory import build_network
from ludus.policies.layers.batch_norm import BatchNorm
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.layers.torso import Dense, Planes, Residual, Rows, after_convolution
from ludus.policies.network import PolicyNetwork

#: Most places of a network, all axes of all its tensors together: files come from anywhere.
MAX_PLACES = 1 << 21
#: Name of a place; comparable and hashable.
Place = tuple[Any, ...]


@dataclass(frozen=True)
class Axis:
    """Places of one axis. ``reads``: it is the axis of inputs; ``named``: else a kernel's height or width."""

    places: tuple[Place, ...]
    reads: bool = False
    named: bool = True

    @property
    def size(self) -> int:
        """Number of places."""
        return len(self.places)


@dataclass(frozen=True)
class Mixing:
    """A norm over several coordinates (LayerNorm, GroupNorm).

    ``groups``: groups of its coordinates; ``eights``: groups of 8 if they divide the width. ``rotates``:
    it reads a linear layer's outputs as they are, so that a rotation of them passes to the norm.
    """

    groups: int
    eights: bool
    rotates: bool

    def by_eight(self, old: int, new: int) -> bool:
        """Whether groups of 8 stay as they are when ``old`` coordinates become ``new`` ones."""
        return self.eights and old % 8 == 0 and new % 8 == 0


@dataclass(frozen=True)
class Coordinates:
    """Names of a network's places, and what else a conversion reads from its modules."""

    axes: dict[str, tuple[Axis, ...]]
    shapes: dict[str, tuple[int, ...]]
    parameters: frozenset[str]
    choices: tuple[Place, ...]  # of all heads, in the spec's order
    memory: tuple[Place, ...]  # of the last axis of a row's memory; empty without memory
    memory_shape: tuple[int, ...]
    mixed: dict[str, Mixing]  # by the name of the norm


def column_labels(tensor: TensorSpec, layout: TensorLayout) -> tuple[str, ...]:
    """Return a name for each column or plane: a complete set of labels, or numbers."""
    count = column_count(layout)
    if len(tensor.labels) == count and len(set(tensor.labels)) == count:
        return tensor.labels
    return tuple(f"#{i}" for i in range(count))


def column_count(layout: TensorLayout) -> int:
    """Return the number of planes, of numbers of an entity row, or of a vector."""
    return layout.shape[1] if layout.kind == "rows" else layout.shape[0]


def choice_labels(head: HeadSpec) -> tuple[str, ...]:
    """Return a name for each choice of a head: a complete set of labels, or numbers.

    Rows that a head points at are named by their number, choices behind them by their labels.
    """
    plain = head.size - head.rows
    labels = head.labels[head.rows :] if len(head.labels) == head.size else head.labels
    if len(labels) != plain or len(set(labels)) != plain or head.kind == "continuous":
        labels = tuple(f"#{i}" for i in range(plain))
    return (*(f"#row {i}" for i in range(head.rows)), *labels)


def coordinates(config: PolicyConfig, spec: GameSpec) -> dict[str, tuple[Axis, ...]]:
    """Return the axes of every parameter and buffer of a policy, by its name in the network's state.

    Raises:
        ValueError: Configuration and spec do not match.
    """
    return describe(config, spec).axes


def describe(config: PolicyConfig, spec: GameSpec) -> Coordinates:
    """Return :class:`Coordinates` of a policy.

    Raises:
        ValueError: Configuration and spec do not match, or the network is too large for names.
    """
    with torch.device("meta"):
        network = build_network(config, spec, None)
    assert isinstance(network, nn.Module)
    places = sum(sum(t.shape) for t in network.state_dict().values())
    if places > MAX_PLACES:
        raise ValueError(f"a network of {places} places: expected at most {MAX_PLACES}")
    names = _Names(network, spec)
    if isinstance(network, ResidualNetwork):
        assert isinstance(config, ResnetConfig)
        names.tower(network, config)
    else:
        assert isinstance(network, PolicyNetwork)
        names.policy(network)
    return names.finished()


class _Names:
    """Names of one network, gathered module by module."""

    def __init__(self, network: nn.Module, spec: GameSpec) -> None:
        self.spec = spec
        self.state = {n: tuple(t.shape) for n, t in network.state_dict().items()}
        self.parameters = frozenset(n for n, _ in network.named_parameters())
        self.axes: dict[str, tuple[Axis, ...]] = {}
        self.mixed: dict[str, Mixing] = {}
        self.choices = [[("choice", h.name, label) for label in choice_labels(h)] for h in spec.heads]
        self.memory: Sequence[Place] = ()
        self.memory_shape: tuple[int, ...] = ()
        #: of tensors that heads point at: features of an entity or cell
        self.entities: dict[str, list[Place]] = {}
        self.vector: list[Place] = []
        self.eights = False

    def finished(self) -> Coordinates:
        """Return the names. Raise ``ValueError`` if one is missing: the network has a part without names."""
        for name, shape in self.state.items():
            axes = self.axes.get(name)
            if axes is None or tuple(a.size for a in axes) != shape:
                raise ValueError(f"{name}{list(shape)} has no names: this part of a network is not covered")
        choices = tuple(c for head in self.choices for c in head)
        return Coordinates(
            {n: self.axes[n] for n in self.state},
            self.state,
            self.parameters,
            choices,
            tuple(self.memory),
            self.memory_shape,
            self.mixed,
        )

    # --- layers ---------------------------------------------------------------------------------

    def put(self, name: str, out: Sequence[Place] | None = None, ins: Sequence[Place] | None = None) -> None:
        """Name the axes of one tensor: outputs, inputs, and a kernel's."""
        shape = self.state.get(name, ())
        axes = [Axis(tuple(out))] if out is not None else []
        if ins is not None:
            axes.append(Axis(tuple(ins), reads=True))
        rest = shape[len(axes) :] if axes else ()
        kernel = [Axis(tuple((i,) for i in range(size)), named=False) for size in rest]
        self.axes[name] = (*axes, *kernel)

    def layer(self, name: str, out: Sequence[Place], ins: Sequence[Place], bias: bool = True) -> None:
        """Name a linear layer or a convolution."""
        self.put(f"{name}.weight", out, ins)
        if bias:
            self.put(f"{name}.bias", out)

    def norm(self, name: str, module: nn.Module, out: Sequence[Place], rotates: bool = True) -> None:
        """Name a norm of ``out``; see :class:`Mixing`."""
        if isinstance(module, BatchNorm):
            for part in ("bias", "mean", "variance"):
                self.put(f"{name}.{part}", out)
            self.put(f"{name}.weight")
            return
        self.put(f"{name}.weight", out)
        self.put(f"{name}.bias", out)
        groups = module.num_groups if isinstance(module, nn.GroupNorm) else 1
        self.mixed[name] = Mixing(groups, isinstance(module, nn.GroupNorm) and self.eights, rotates)

    def dense(self, name: str, module: Dense, ins: Sequence[Place], key: Place) -> list[Place]:
        """Name dense layers and return the places of the last one's outputs."""
        places = list(ins)
        for i, layer in enumerate(module.layers):
            assert isinstance(layer, nn.Linear)
            out: list[Place] = [(*key, i, unit) for unit in range(layer.out_features)]
            self.layer(f"{name}.layers.{i}", out, places)
            if module.norms is not None:
                self.norm(f"{name}.norms.{i}", module.norms[i], out)
            places = out
        return places

    # --- encoders -------------------------------------------------------------------------------

    def policy(self, network: PolicyNetwork) -> None:
        """Name a policy network."""
        config = network.config
        self.eights = config.norm == "group"
        features = self.encoder("", network, "policy")
        self.memory_shape = network.memory_shape or ()
        if network.normaliser is not None:
            self.put("normaliser.mean", self.vector)
            self.put("normaliser.variance", self.vector)
            self.put("normaliser.count")
        if network.recall is not None:
            self.memory = self.vector
        value = features
        if network.recurrent is not None:
            mine: list[Place] = [("memory", k) for k in range(network.recurrent.size)]
            self.recurrent("recurrent", features, mine)
            value = features = self.memory = mine
        if network.critic is not None:
            value = self.encoder("critic.", network.critic, "critic")
            if network.critic.recurrent is not None:
                theirs: list[Place] = [("critic memory", k) for k in range(network.critic.recurrent.size)]
                self.recurrent("critic.recurrent", value, theirs)
                self.memory = [*self.memory, *theirs]
                value = theirs
            value = self.together(network.critic, value)
        self.policy_head(network, features)
        values: list[Place] = [("value", k) for k in range(config.value_heads)]
        self.layer("value_head", values, value)
        if network.values is not None:
            several = config.value_heads > 1
            self.put("values.mean", values if several else None)
            self.put("values.square", values if several else None)
            self.put("values.weight")
        if network.epsilon is not None:
            self.put("epsilon")

    def recurrent(self, name: str, features: Sequence[Place], memory: Sequence[Place]) -> None:
        """Name a GRU or LSTM layer."""
        gates = self.state[f"{name}.read.bias"][0] // len(memory)
        of_gates: list[Place] = [("gate", g, m) for g in range(gates) for m in memory]
        self.layer(f"{name}.read", of_gates, features)
        self.layer(f"{name}.recur", of_gates, memory)

    def together(self, critic: Critic, value: list[Place]) -> list[Place]:
        """Name the layer that joins the seats of a centralised critic."""
        if critic.together is None:
            return value
        seats: list[Place] = [("seat", k, x) for k in range(1 + critic.seats) for x in value]
        return self.dense("critic.together", critic.together, seats, ("critic", "together"))

    def encoder(self, prefix: str, encoder: Encoder, who: str) -> list[Place]:
        """Name an encoder and return the places of its features."""
        joined: list[Place] = []
        vector: list[Place] = []
        if encoder.own is not None:
            joined += self.own(f"{prefix}own.", encoder, who)
        for tensor in encoder.inputs:
            layout = encoder.layouts[tensor.name]
            columns: list[Place] = [("column", tensor.name, x) for x in column_labels(tensor, layout)]
            if layout.kind == "vector":
                vector += columns
            elif tensor.name in encoder.planes:
                torso = encoder.planes[tensor.name]
                assert isinstance(torso, Planes | Residual)
                joined += self.planes(f"{prefix}planes.{tensor.name}", torso, columns, (who, tensor.name))
            elif tensor.name in encoder.rows:
                rows = encoder.rows[tensor.name]
                assert isinstance(rows, Rows)
                key = (who, "each", tensor.name)
                each = self.dense(f"{prefix}rows.{tensor.name}.each", rows.each, columns, key)
                self.point(who, tensor.name, each)
                joined += [("mean", x) for x in each] + [("top", x) for x in each]
        if who == "policy":
            self.vector = vector
        if encoder.dense is not None:
            parts = ("now", "highest", "recent") if encoder.config.memory == "recall" else ("now",)
            ins: list[Place] = [(part, x) for part in parts for x in vector]
            joined += self.dense(f"{prefix}dense", encoder.dense, ins, (who, "dense"))
        if not isinstance(encoder.join, Dense):
            return joined
        return self.dense(f"{prefix}join", encoder.join, joined, (who, "join"))

    def point(self, who: str, tensor: str, places: list[Place]) -> None:
        """Keep the features of entities or cells for heads that point at them."""
        if who == "policy":
            self.entities[tensor] = places

    def own(self, prefix: str, encoder: Encoder, who: str) -> list[Place]:
        """Name every place of a user's encoder by its number, for lack of labels."""
        for name, shape in self.state.items():
            if name.startswith(prefix):
                self.axes[name] = tuple(
                    Axis(tuple((who, "own", name[len(prefix) :], k, i) for i in range(size)))
                    for k, size in enumerate(shape)
                )
        return [(who, "own", "features", i) for i in range(encoder.own_size)]

    def planes(self, name: str, torso: Planes | Residual, columns: list[Place], key: Place) -> list[Place]:
        """Name a torso of planes and return the places of its features: channels of each cell."""
        stage = self.stage if isinstance(torso, Residual) else self.convolution
        places, near = columns, None
        _, height, width = size = torso.shape
        count = len(torso.strides) if isinstance(torso, Residual) else len(torso.convolutions)
        for i in range(count):
            places, after = stage(name, torso, i, places, key)
            height, width = after(height), after(width)
            if (height, width) == size[1:]:
                near = places
        who, tensor = key
        self.point(who, tensor, columns + near if near else columns)
        if torso.gathers:
            return [("cell", x, height // 2, width // 2) for x in places]
        return [("cell", x, y, z) for x in places for y in range(height) for z in range(width)]

    def convolution(
        self, name: str, torso: nn.Module, i: int, ins: list[Place], key: Place
    ) -> tuple[list[Place], Callable[[int], int]]:
        """Name one plain convolution; return its outputs, and the size of planes after it."""
        assert isinstance(torso, Planes)
        module = torso.convolutions[i]
        assert isinstance(module, nn.Conv2d)
        assert isinstance(module.padding[0], int)
        out: list[Place] = [(*key, "convolution", i, k) for k in range(module.out_channels)]
        self.layer(f"{name}.convolutions.{i}", out, ins)
        if torso.norms is not None:
            self.norm(f"{name}.norms.{i}", torso.norms[i], out)
        kernel, stride, padding = module.kernel_size[0], module.stride[0], module.padding[0]
        return out, lambda size: after_convolution(size, kernel, stride, padding)

    def stage(
        self, name: str, torso: nn.Module, i: int, ins: list[Place], key: Place
    ) -> tuple[list[Place], Callable[[int], int]]:
        """Name one residual stage. Convolutions whose outputs are added share the names of the outputs."""
        assert isinstance(torso, Residual)
        first = torso.convolutions[5 * i]
        assert isinstance(first, nn.Conv2d)
        channels = range(first.out_channels)
        out: list[Place] = [(*key, "stage", i, k) for k in channels]
        inner: list[list[Place]] = [[(*key, "inner", i, block, k) for k in channels] for block in range(2)]
        pairs = [(out, ins), (inner[0], out), (out, inner[0]), (inner[1], out), (out, inner[1])]
        for j, (outputs, inputs) in enumerate(pairs):
            self.layer(f"{name}.convolutions.{5 * i + j}", outputs, inputs)
        if torso.norms is not None:
            self.norm(f"{name}.norms.{i}", torso.norms[i], out, rotates=False)
        stride = torso.strides[i]
        return out, lambda size: after_convolution(size, 3, stride, 1)

    # --- heads ----------------------------------------------------------------------------------

    def policy_head(self, network: PolicyNetwork, features: list[Place]) -> None:
        """Name the heads of decisions."""
        head = network.policy_head
        every: list[Place] = [c for choices in self.choices for c in choices]
        if isinstance(head, AutoregressiveHeads):
            self.heads_in_turn(head, features, network.config)
        elif isinstance(head, FreeDeviation):
            free: list[Place] = [
                choices[1]
                for h, choices in zip(self.spec.heads, self.choices, strict=True)
                if h.kind == "continuous"
            ]
            left_out = set(free)
            self.layer("policy_head.linear", [c for c in every if c not in left_out], features)
            self.put("policy_head.log_deviation", free)
        else:
            self.layer("policy_head", every, features)

    def heads_in_turn(self, heads: AutoregressiveHeads, features: list[Place], config: EncoderConfig) -> None:
        """Name heads decided one after the other."""
        context: list[Place] = [("context", i) for i in range(config.context)]
        self.layer("policy_head.start", context, features)
        for k, head in enumerate(heads.each):
            assert isinstance(head, Head)
            name, of = f"policy_head.each.{k}", head.spec.name
            hidden: list[Place] = [("head", of, i) for i in range(config.context)]
            plain = self.choices[k][head.spec.rows :]
            self.layer(f"{name}.hidden", hidden, context)
            if head.plain is not None:
                self.layer(f"{name}.plain", plain, hidden)
            if head.embedding is not None:
                self.axes[f"{name}.embedding"] = (Axis(tuple(plain), reads=True), Axis(tuple(context)))
            if head.query is None:
                continue
            query: list[Place] = [("query", of, i) for i in range(config.context)]
            entity = self.entities[head.spec.points_at]
            self.layer(f"{name}.query", query, hidden)
            self.layer(f"{name}.key", query, entity, bias=False)
            if head.entity_embedding is not None:
                self.layer(f"{name}.entity_embedding", context, entity, bias=False)

    # --- residual towers ------------------------------------------------------------------------

    def tower(self, network: ResidualNetwork, config: ResnetConfig) -> None:
        """Name AlphaGo Zero's tower."""
        columns: list[Place] = [
            ("column", t.name, label)
            for t in network.inputs
            for label in column_labels(t, network.layouts[t.name])
        ]
        filters: list[Place] = [("filter", i) for i in range(config.filters)]
        self.normed("stem", filters, columns)
        for b in range(config.blocks):
            inner: list[Place] = [("block", b, i) for i in range(config.filters)]
            self.normed(f"tower.{b}.first", inner, filters)
            self.normed(f"tower.{b}.second", filters, inner)
        cells = range(network.height * network.width)
        policy: list[Place] = [("policy plane", i) for i in range(config.policy_planes)]
        value: list[Place] = [("value plane", i) for i in range(config.value_planes)]
        hidden: list[Place] = [("value", "hidden", i) for i in range(config.value_hidden)]
        self.normed("policy_planes", policy, filters)
        self.layer(
            "policy_head",
            [c for h in self.choices for c in h],
            [("cell", p, c) for p in policy for c in cells],
        )
        self.normed("value_plane", value, filters)
        self.layer("value_inner", hidden, [("cell", p, c) for p in value for c in cells])
        self.layer("value_head", [("value", 0)], hidden)
        if network.ownership_plane is not None:
            self.layer("ownership_plane", [("ownership",)], filters)
        if network.score_head is not None:
            self.layer("score_head", [("score",)], [(part, f) for part in ("mean", "top") for f in filters])

    def normed(self, name: str, out: Sequence[Place], ins: Sequence[Place]) -> None:
        """Name a convolution of a tower and its norm."""
        self.layer(f"{name}.convolution", out, ins, bias=False)
        for part in ("weight", "bias", "running_mean", "running_var"):
            self.put(f"{name}.norm.{part}", out)
        self.put(f"{name}.norm.num_batches_tracked")

"""Evaluation of several policy networks of one architecture in one call.

Parts without weights (codecs, recalled memory, masks, sampling) run once for all rows; dense layers are
batched matrix products over the networks; convolutions, which gain nothing by that, run network by network.

Float sums are taken in another order than by a single network: outputs agree to about 1e-5, and a decision
differs only where a uniform falls between two such sums.

Shapes: ``L`` lanes (networks), ``N`` rows of all lanes, lane by lane, ``M`` maximum rows of a lane.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ludus.codecs.forms import entity_rows, every_row
from ludus.flow import TensorSpec
from ludus.policies.actions.action_distribution import ActionDistribution, Independent
from ludus.policies.actions.autoregressive import (
    AutoregressiveDistribution,
    AutoregressiveHeads,
    Head,
    SequentialHeads,
)
from ludus.policies.actions.continuous import FreeDeviation
from ludus.policies.actions.pointed import Cells, Entities, EntityTable, PointerTargets
from ludus.policies.actions.q_values import QValues
from ludus.policies.critic import split_memory
from ludus.policies.encoder import Encoder
from ludus.policies.lane_rows import LaneRows, StackedDense, StackedLinear, StackedNorm
from ludus.policies.layers.torso import Dense, Rows
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network, Observation, Step

T = TypeVar("T")


def stackable(network: Network) -> TypeGuard[PolicyNetwork]:
    """Whether networks of this kind can be stacked: no towers, no encoders of users, no mixed precision."""
    return isinstance(network, PolicyNetwork) and network.precision == "float32" and network.own is None


class StackedNetworks:
    """Copies of the networks' dense weights; convolutions are read from the networks themselves.

    Static forms copy the convolutions too: a graph reads the copies, and :meth:`load` writes to them.
    """

    def __init__(self, networks: Sequence[PolicyNetwork]) -> None:
        """Copy the weights.

        Args:
            networks: Networks of one architecture and one game, all :func:`stackable`.

        Raises:
            ValueError: They are not.
        """
        self.networks = tuple(networks)
        first = self.first = self.networks[0]
        odd = [n for n in self.networks if n.architecture != first.architecture or not stackable(n)]
        if odd:
            raise ValueError("networks to be stacked: expected one architecture in float32")
        self._encoder = _StackedEncoder(self.networks, first.static)
        self._critic: _StackedEncoder | None = None
        if first.critic is not None and (first.critic.recurrent is not None or not first.centralised):
            self._critic = _StackedEncoder([_some(n.critic) for n in self.networks], first.static)
        self._normaliser: tuple[Tensor, Tensor, float] | None = None
        if first.normaliser is not None:
            every = [_some(n.normaliser) for n in self.networks]
            scale = torch.rsqrt(torch.stack([n.variance for n in every]) + 1e-5)
            self._normaliser = torch.stack([n.mean for n in every]), scale, first.normaliser.limit
        if first.recurrent is not None:
            layers = [_some(n.recurrent) for n in self.networks]
            self._read = StackedLinear([one.read for one in layers])
            self._recur = StackedLinear([one.recur for one in layers])
        if first.critic is not None and first.critic.recurrent is not None:
            theirs = [_some(_some(n.critic).recurrent) for n in self.networks]
            self._critic_read = StackedLinear([one.read for one in theirs])
            self._critic_recur = StackedLinear([one.recur for one in theirs])
        encoders = [e for e in (first, first.critic) if e is not None]
        planes = sum(p.numel() for e in encoders for p in e.planes.parameters())
        self._batched = sum(p.numel() for p in first.parameters()) - planes  # weights of a lane
        self._value = StackedLinear([n.value_head for n in self.networks])
        self._moments: Tensor | None = None  # float32[L, 2]
        if first.values is not None and first.values_in_acting:
            values = [_some(n.values) for n in self.networks]
            if first.static:
                self._moments = torch.stack([torch.stack(v.moment_tensors()) for v in values]).float()
            else:
                self._moments = torch.tensor([v.moments() for v in values], device=first.device)
        self._epsilon: Tensor | None = None
        if first.epsilon is not None:
            self._epsilon = torch.stack([_some(n.epsilon) for n in self.networks])
        self._logits: StackedLinear | None = None
        self._heads: list[_StackedHead] = []
        self._start: StackedLinear | None = None
        heads = [n.policy_head for n in self.networks]
        if isinstance(first.policy_head, AutoregressiveHeads):
            in_turn = [h for h in heads if isinstance(h, AutoregressiveHeads)]
            self._start = StackedLinear([h.start for h in in_turn])
            self._heads = [
                _StackedHead([_head(h.each[k]) for h in in_turn]) for k in range(len(first.policy_head.each))
            ]
        else:
            linear = [h.as_linear() if isinstance(h, FreeDeviation) else h for h in heads]
            self._logits = StackedLinear([h for h in linear if isinstance(h, nn.Linear)])

    @torch.no_grad()
    def load(self, networks: Sequence[PolicyNetwork]) -> None:
        """Copy the weights of as many other networks of the same architecture and game, in place.

        No program of the stack may run meanwhile. Returns when the copies are made.
        """
        other = StackedNetworks(networks)
        for mine, theirs in zip(_tensors(vars(self)), _tensors(vars(other)), strict=True):
            mine.copy_(theirs)
        self.networks, self.first = other.networks, other.first
        self._value.weight.flatten()[0].item()  # programs run on other streams: wait for the copies

    def wasted(self, counts: Sequence[int]) -> int:
        """Return the multiplications for padding if ``counts[lane]`` rows are decided in one call."""
        return (max(counts) * len(counts) - sum(counts)) * self._batched

    @torch.no_grad()
    def step(self, obs: Observation, memory: Tensor | None, first: Tensor, counts: Sequence[int]) -> Step:
        """Decide once, as :meth:`PolicyNetwork.step`; ``counts[lane]`` of the ``N`` rows are each lane's."""
        return self.decide(obs, memory, first, LaneRows.of_counts(tuple(counts), self.first.device))

    @torch.no_grad()
    def decide(self, obs: Observation, memory: Tensor | None, first: Tensor, rows: LaneRows) -> Step:
        """Decide once, as :meth:`step`, for ``rows`` of the lanes."""
        net = self.first
        if net.memory_shape is not None and memory is None:
            raise ValueError("a policy with memory needs memory at every step")
        vector = net.vectors(obs, net.static)
        if net.recall is not None:
            assert vector is not None
            assert memory is not None
            memory = net.recall.step(vector, memory, first.bool())
        padded = self._vector(vector, memory if net.recall is not None else None, rows)
        features, pointed = self._encoder.features(obs, padded, rows, net.static)
        critic = features if self._critic is None else self._critic.features(obs, padded, rows, net.static)[0]
        if net.recurrent is not None:
            assert memory is not None
            mine, theirs = split_memory(memory, net.recurrent.size)
            before = net.recurrent.reset(mine, first.bool())
            recur = self._recur(net.recurrent.output(before), rows)
            memory = net.recurrent.cell(rows.flat(self._read.padded(features)), recur, before)
            features = rows.padded(net.recurrent.output(memory))
            if net.critic is None:
                critic = features
            else:
                theirs = self._critic_memory(critic, theirs, first.bool(), rows)
                critic = rows.padded(net.recurrent.output(theirs))
                memory = torch.cat([memory, theirs], dim=-1)
        value = rows.flat(self._value.padded(critic)).squeeze(-1)
        distribution = self._distribution(features, pointed, rows, value)
        if isinstance(distribution, QValues):
            value = distribution.best_unmasked()
        if not net.values_in_acting:
            value = value.new_zeros(len(value))
        elif self._moments is not None:
            mean, deviation = self._moments.index_select(0, rows.lane).unbind(dim=1)
            value = value * deviation + mean
        return Step(distribution, value, memory)

    def _critic_memory(self, features: Tensor, memory: Tensor, first: Tensor, rows: LaneRows) -> Tensor:
        """Return the critics' memories after a decision, as :meth:`Critic.step`."""
        recurrent = _some(_some(self.first.critic).recurrent)
        before = recurrent.reset(memory, first)
        recur = self._critic_recur(recurrent.output(before), rows)
        return recurrent.cell(rows.flat(self._critic_read.padded(features)), recur, before)

    def _distribution(
        self, features: Tensor, pointed: Mapping[str, PointerTargets], rows: LaneRows, value: Tensor
    ) -> ActionDistribution:
        if self._logits is not None:
            scores = rows.flat(self._logits.padded(features))
            if self._epsilon is None:
                return Independent(self.first.heads, scores)
            epsilon = self._epsilon.index_select(0, rows.lane)
            return QValues(self.first.heads, scores, value if self.first.config.duelling else None, epsilon)
        head = self.first.policy_head
        assert isinstance(head, AutoregressiveHeads)
        assert self._start is not None
        heads = _StackedSequentialHeads(head, self._start, self._heads, rows)
        return AutoregressiveDistribution(heads, rows.flat(features), pointed, self.first.static)

    def _vector(self, vector: Tensor | None, recalled: Tensor | None, rows: LaneRows) -> Tensor | None:
        """Return the normalised input of dense torsos, ``[L, M, D]``, or ``[L, M, 3 D]`` with recall."""
        if vector is None:
            return None
        x = vector.unsqueeze(1)
        if recalled is not None:  # each in the units of the input that it recalls
            x = torch.cat([x, recalled], dim=1)
        x = rows.padded(x)  # [L, M, 1 or 3, D]
        if self._normaliser is not None:
            mean, scale, limit = self._normaliser
            x = ((x - mean[:, None, None]) * scale[:, None, None]).clamp(-limit, limit)
        return x.flatten(2)


class _StackedEncoder:
    """:class:`Encoder` of each lane."""

    def __init__(self, encoders: Sequence[Encoder], static: bool) -> None:
        own = static and len(encoders[0].planes) > 0
        self.encoders = tuple(copy.deepcopy(e) if own else e for e in encoders)
        first = self.first = self.encoders[0]
        self._rows = {name: StackedDense([_rows(e.rows[name]).each for e in encoders]) for name in first.rows}
        self._dense = None if first.dense is None else StackedDense([_some(e.dense) for e in encoders])
        self._join = StackedDense([_dense(e.join) for e in encoders])

    def features(
        self, obs: Observation, vector: Tensor | None, rows: LaneRows, static: bool
    ) -> tuple[Tensor, dict[str, PointerTargets]]:
        """Return features ``[L, M, hidden]``, as :meth:`Encoder.features`, of ``vector: [L, M, D]``."""
        first, parts = self.first, list[Tensor]()
        pointed: dict[str, PointerTargets] = {}
        for tensor in first.inputs:
            kind = first.layouts[tensor.name].kind
            if kind == "planes":
                flat, cells = self._planes(tensor, obs[tensor.name], rows, static)
                parts.append(flat)
                if cells is not None:
                    pointed[tensor.name] = cells
            elif kind == "rows":
                encode = self._every_row if static else self._entities
                flat, entities = encode(tensor, obs[tensor.name], rows)
                parts.append(flat)
                if tensor.name in first.points_at:
                    pointed[tensor.name] = entities
        if vector is not None and self._dense is not None:
            parts.append(self._dense.padded(vector))
        return self._join.padded(parts[0] if len(parts) == 1 else torch.cat(parts, dim=2)), pointed

    def _entities(self, tensor: TensorSpec, packed: Tensor, rows: LaneRows) -> tuple[Tensor, Entities]:
        """Encode the present entity rows: ``[L, M, size]``."""
        owner, slot, some = entity_rows(tensor, packed)
        embedded = self._rows[tensor.name](some, rows.select(owner)) if len(owner) else None
        module = _rows(self.first.rows[tensor.name])
        if embedded is None:
            embedded = some.new_zeros((0, module.each.size))
        pooled = rows.padded(module.pool(owner, embedded, packed.shape[0]))
        places = self.first.layouts[tensor.name].shape[0]
        return pooled, Entities(owner, slot, embedded, packed.shape[0], places)

    def _every_row(self, tensor: TensorSpec, packed: Tensor, rows: LaneRows) -> tuple[Tensor, EntityTable]:
        """Encode all entity rows: ``[L, M, size]``."""
        present, every = (rows.padded(x) for x in every_row(tensor, packed))  # [L, M, U], [L, M, U, F]
        module = _rows(self.first.rows[tensor.name])
        embedded = self._rows[tensor.name].padded(every.flatten(1, 2)).view(*present.shape, module.each.size)
        embedded = embedded * present.unsqueeze(3)
        pooled = module.pool_every(present.flatten(0, 1), embedded.flatten(0, 1))
        return pooled.view(rows.lanes, rows.size, -1), EntityTable(rows.flat(embedded))

    def _planes(
        self, tensor: TensorSpec, packed: Tensor, rows: LaneRows, static: bool
    ) -> tuple[Tensor, Cells | None]:
        """Encode planes encoder by encoder, ``[L, M, size]``: a batched convolution is slower than these."""
        if static:
            some = zip(self.encoders, rows.padded(packed), strict=True)
            every = [encoder.encode_planes(tensor, part, static) for encoder, part in some]
            near = [c.planes for _, c in every if c is not None]
            flat = torch.stack([flat for flat, _ in every])
            return flat, Cells(rows.flat(torch.stack(near))) if near else None
        parts = [
            encoder.encode_planes(tensor, part)
            for encoder, part in zip(self.encoders, torch.split(packed, list(rows.counts)), strict=True)
            if len(part)
        ]
        cells = [c.planes for _, c in parts if c is not None]
        return rows.padded(torch.cat([flat for flat, _ in parts])), Cells(torch.cat(cells)) if cells else None


class _StackedHead:
    """:class:`Head` of each lane."""

    def __init__(self, heads: Sequence[Head]) -> None:
        first = heads[0]
        self.spec = first.spec
        self.hidden = StackedLinear([h.hidden for h in heads])
        self.plain = None if first.plain is None else StackedLinear([_some(h.plain) for h in heads])
        self.query = None if first.query is None else StackedLinear([_some(h.query) for h in heads])
        self.key = None if first.key is None else StackedLinear([_some(h.key) for h in heads])
        self.embedding: Tensor | None = None
        if first.embedding is not None:
            self.embedding = torch.cat([_some(h.embedding).detach() for h in heads])
        self.entity_embedding: StackedLinear | None = None
        if first.entity_embedding is not None:
            self.entity_embedding = StackedLinear([_some(h.entity_embedding) for h in heads])
        self.plain_choices = first.plain_choices

    def logits(self, context: Tensor, pointed: PointerTargets | None, rows: LaneRows) -> Tensor:
        """Return logits, as :meth:`Head.logits`."""
        hidden = functional.leaky_relu(self.hidden(context, rows), 0.01)
        parts = []
        if self.query is not None and self.key is not None:
            assert pointed is not None
            query = self.query(hidden, rows) * context.shape[1] ** -0.5
            parts.append(pointed.scores(query, _StackedKey(self.key, rows), self.spec))
        if self.plain is not None:
            parts.append(self.plain(hidden, rows))
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def embed(self, choice: Tensor, pointed: PointerTargets | None, rows: LaneRows) -> Tensor:
        """Return embeddings, as :meth:`Head.embed`."""
        if self.entity_embedding is None:
            return self._plain(choice, rows)
        assert pointed is not None
        embedding = self.entity_embedding(pointed.chosen(choice, self.spec), rows)
        if self.embedding is not None:
            plain = self._plain((choice - self.spec.rows).clamp(min=0), rows)
            embedding = embedding + plain * (choice >= self.spec.rows).unsqueeze(1)
        return embedding

    def _plain(self, choice: Tensor, rows: LaneRows) -> Tensor:
        assert self.embedding is not None
        return functional.embedding(rows.lane * self.plain_choices + choice, self.embedding)


class _StackedKey:
    """A :class:`ludus.policies.actions.pointed.Key` of each lane."""

    def __init__(self, key: StackedLinear, rows: LaneRows) -> None:
        self.key, self.rows = key, rows

    def of_entities(self, features: Tensor, owner: Tensor) -> Tensor:
        """Return keys of entities, as :class:`ludus.policies.actions.pointed.Key`."""
        if not len(owner):
            return features.new_zeros((0, self.key.weight.shape[1]))
        return self.key(features, self.rows.select(owner))

    def of_queries(self, query: Tensor) -> Tensor:
        """Return factors for the raw features of cells, as :class:`ludus.policies.actions.pointed.Key`."""
        return self.rows.flat(torch.bmm(self.rows.padded(query), self.key.weight))


class _StackedSequentialHeads(SequentialHeads):
    """:class:`AutoregressiveHeads` of each lane, for ``rows``."""

    def __init__(
        self, like: SequentialHeads, start: StackedLinear, each: Sequence[_StackedHead], rows: LaneRows
    ) -> None:
        self.heads, self.specs = like.heads, like.specs
        self._start, self._each, self._rows = start, each, rows

    def initial_context(self, features: Tensor) -> Tensor:
        return self._start(features, self._rows)

    def among(self, rows: Tensor) -> _StackedSequentialHeads:
        return _StackedSequentialHeads(self, self._start, self._each, self._rows.select(rows))

    def logits(self, k: int, context: Tensor, pointed: PointerTargets | None) -> Tensor:
        return self._each[k].logits(context, pointed, self._rows)

    def embed(self, k: int, choice: Tensor, pointed: PointerTargets | None, static: bool = False) -> Tensor:
        return self._each[k].embed(choice, pointed, self._rows)


def _tensors(part: object) -> Iterator[Tensor]:
    """Yield the copied weights of a part of a stack, in one order."""
    if isinstance(part, Tensor):
        yield part
    elif isinstance(part, Mapping):
        for each in part.values():
            yield from _tensors(each)
    elif isinstance(part, list | tuple):
        for each in part:
            yield from _tensors(each)
    elif isinstance(part, _StackedEncoder):
        yield from _tensors(vars(part))
        for encoder in part.encoders:
            yield from encoder.planes.state_dict().values()
    elif isinstance(part, _StackedHead | StackedDense | StackedLinear | StackedNorm):
        yield from _tensors(vars(part))


def _dense(value: object) -> Dense:
    assert isinstance(value, Dense)
    return value


def _some(value: T | None) -> T:
    """Return ``value``, not None: networks of one architecture have the same parts."""
    assert value is not None
    return value


def _rows(module: nn.Module) -> Rows:
    assert isinstance(module, Rows)
    return module


def _head(module: nn.Module) -> Head:
    assert isinstance(module, Head)
    return module

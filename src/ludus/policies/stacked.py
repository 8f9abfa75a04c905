"""Evaluation of several policy networks of one architecture in one call.

Parts without weights (codecs, recalled memory, masks, sampling) run once for all rows; dense layers are
batched matrix products over the networks; convolutions, which gain nothing by that, run network by network.

Float sums are taken in another order than by a single network: outputs agree to about 1e-5, and a decision
differs only where a uniform falls between two such sums.

Shapes: ``L`` lanes (networks), ``N`` rows of all lanes, lane by lane, ``M`` maximum rows of a lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ludus.codecs.forms import entity_rows
from ludus.flow import TensorSpec
from ludus.policies.action_distribution import ActionDistribution, Independent
from ludus.policies.autoregressive import (
    AutoregressiveDistribution,
    AutoregressiveHeads,
    Head,
    SequentialHeads,
)
from ludus.policies.continuous import FreeDeviation
from ludus.policies.encoder import Encoder
from ludus.policies.lane_rows import LaneRows, StackedDense, StackedLinear
from ludus.policies.network import PolicyNetwork
from ludus.policies.pointed import Cells, Entities, PointerTargets
from ludus.policies.protocol import Network, Observation, Step
from ludus.policies.q_values import QValues
from ludus.policies.torso import Dense, Rows

T = TypeVar("T")


def stackable(network: Network) -> TypeGuard[PolicyNetwork]:
    """Whether networks of this kind can be stacked: no towers, no encoders of users, no mixed precision."""
    return isinstance(network, PolicyNetwork) and network.precision == "float32" and network.own is None


class StackedNetworks:
    """Copies of the networks' dense weights; convolutions are read from the networks themselves."""

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
        self._encoder = _StackedEncoder(self.networks)
        self._critic: _StackedEncoder | None = None
        if first.critic is not None and not first.centralised:
            self._critic = _StackedEncoder([_some(n.critic) for n in self.networks])
        self._normaliser: tuple[Tensor, Tensor, float] | None = None
        if first.normaliser is not None:
            every = [_some(n.normaliser) for n in self.networks]
            scale = torch.rsqrt(torch.stack([n.variance for n in every]) + 1e-5)
            self._normaliser = torch.stack([n.mean for n in every]), scale, first.normaliser.limit
        if first.recurrent is not None:
            layers = [_some(n.recurrent) for n in self.networks]
            self._read = StackedLinear([one.read for one in layers])
            self._recur = StackedLinear([one.recur for one in layers])
        encoders = [e for e in (first, first.critic) if e is not None]
        planes = sum(p.numel() for e in encoders for p in e.planes.parameters())
        self._batched = sum(p.numel() for p in first.parameters()) - planes  # weights of a lane
        self._value = StackedLinear([n.value_head for n in self.networks])
        normalisers = [n.values if n.values_in_acting else None for n in self.networks]
        moments = [n.moments() if n is not None else (0.0, 1.0) for n in normalisers]
        self._moments = torch.tensor(moments, device=first.device)
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

    def wasted(self, counts: Sequence[int]) -> int:
        """Return the multiplications for padding if ``counts[lane]`` rows are decided in one call."""
        return (max(counts) * len(counts) - sum(counts)) * self._batched

    @torch.no_grad()
    def step(self, obs: Observation, memory: Tensor | None, first: Tensor, counts: Sequence[int]) -> Step:
        """Decide once, as :meth:`PolicyNetwork.step`; ``counts[lane]`` of the ``N`` rows are each lane's."""
        net, rows = self.first, LaneRows.of_counts(tuple(counts), self.first.device)
        if net.memory_shape is not None and memory is None:
            raise ValueError("a policy with memory needs memory at every step")
        vector = net.vectors(obs)
        if net.recall is not None:
            assert vector is not None
            assert memory is not None
            memory = net.recall.step(vector, memory, first.bool())
        padded = self._vector(vector, memory if net.recall is not None else None, rows)
        features, pointed = self._encoder.features(obs, padded, rows)
        critic = features if self._critic is None else self._critic.features(obs, padded, rows)[0]
        if net.recurrent is not None:
            assert memory is not None
            before = net.recurrent.reset(memory, first.bool())
            recur = self._recur(net.recurrent.output(before), rows)
            memory = net.recurrent.cell(rows.flat(self._read.padded(features)), recur, before)
            features = critic = rows.padded(net.recurrent.output(memory))
        value = rows.flat(self._value.padded(critic)).squeeze(-1)
        distribution = self._distribution(features, pointed, rows, value)
        if isinstance(distribution, QValues):
            value = distribution.best_unmasked()
        if not net.values_in_acting:
            value = value.new_zeros(len(value))
        elif net.values is not None:
            mean, deviation = self._moments.index_select(0, rows.lane).unbind(dim=1)
            value = value * deviation + mean
        return Step(distribution, value, memory)

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
        return AutoregressiveDistribution(heads, rows.flat(features), pointed)

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

    def __init__(self, encoders: Sequence[Encoder]) -> None:
        self.encoders = tuple(encoders)
        first = self.first = self.encoders[0]
        self._rows = {name: StackedDense([_rows(e.rows[name]).each for e in encoders]) for name in first.rows}
        self._dense = None if first.dense is None else StackedDense([_some(e.dense) for e in encoders])
        self._join = StackedDense([_dense(e.join) for e in encoders])

    def features(
        self, obs: Observation, vector: Tensor | None, rows: LaneRows
    ) -> tuple[Tensor, dict[str, PointerTargets]]:
        """Return features ``[L, M, hidden]``, as :meth:`Encoder.features`, of ``vector: [L, M, D]``."""
        first, parts = self.first, list[Tensor]()
        pointed: dict[str, PointerTargets] = {}
        for tensor in first.inputs:
            kind = first.layouts[tensor.name].kind
            if kind == "planes":
                flat, cells = self._planes(tensor, obs[tensor.name], rows)
                parts.append(rows.padded(flat))
                if cells is not None:
                    pointed[tensor.name] = cells
            elif kind == "rows":
                packed = obs[tensor.name]
                owner, slot, some = entity_rows(tensor, packed)
                embedded = self._rows[tensor.name](some, rows.select(owner)) if len(owner) else None
                module = _rows(first.rows[tensor.name])
                if embedded is None:
                    embedded = some.new_zeros((0, module.each.size))
                parts.append(rows.padded(module.pool(owner, embedded, packed.shape[0])))
                if tensor.name in first.points_at:
                    pointed[tensor.name] = Entities(
                        owner, slot, embedded, packed.shape[0], first.layouts[tensor.name].shape[0]
                    )
        if vector is not None and self._dense is not None:
            parts.append(self._dense.padded(vector))
        return self._join.padded(parts[0] if len(parts) == 1 else torch.cat(parts, dim=2)), pointed

    def _planes(self, tensor: TensorSpec, packed: Tensor, rows: LaneRows) -> tuple[Tensor, Cells | None]:
        """Encode planes encoder by encoder: a batched convolution is slower than the single ones."""
        parts = [
            encoder.encode_planes(tensor, part)
            for encoder, part in zip(self.encoders, torch.split(packed, list(rows.counts)), strict=True)
            if len(part)
        ]
        cells = [c.planes for _, c in parts if c is not None]
        return torch.cat([flat for flat, _ in parts]), Cells(torch.cat(cells)) if cells else None


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
    """A :class:`ludus.policies.pointed.Key` of each lane."""

    def __init__(self, key: StackedLinear, rows: LaneRows) -> None:
        self.key, self.rows = key, rows

    def of_entities(self, features: Tensor, owner: Tensor) -> Tensor:
        """Return keys of entities, as :class:`ludus.policies.pointed.Key`."""
        if not len(owner):
            return features.new_zeros((0, self.key.weight.shape[1]))
        return self.key(features, self.rows.select(owner))

    def of_queries(self, query: Tensor) -> Tensor:
        """Return factors for the raw features of cells, as :class:`ludus.policies.pointed.Key`."""
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

    def embed(self, k: int, choice: Tensor, pointed: PointerTargets | None) -> Tensor:
        return self._each[k].embed(choice, pointed, self._rows)


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

"""Autoregressive heads: sampled in order, some of them by pointing at an entity or a cell.

The k-th head sees the features of the time step and all choices before it (Vinyals et al. 2019, AlphaStar,
"auto-regressive" heads): a context of width C starts from the features, and each choice adds its embedding:
a row of a table, or a projection of the chosen entity. A pointer's logit is the scaled dot product of a query
made from the context with a key made from the entity (Vinyals, Fortunato, Jaitly 2015). With the cells of a
map as entities that is a 1x1 convolution with a kernel computed from the context.

Shapes: ``N`` samples, ``E`` features of an entity or cell, ``C`` context width.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from ludus.flow import GameSpec, HeadSpec
from ludus.policies.actions.action_distribution import ActionDistribution, ActionEvaluation, ActionSample
from ludus.policies.actions.distribution import Heads, entropy_of, log_probs_of, sample_of
from ludus.policies.actions.heads import heads_of
from ludus.policies.actions.pointed import PointerTargets


class LinearKey:
    """A :class:`ludus.policies.actions.pointed.Key` with ``weight: float32[C, E]``."""

    def __init__(self, weight: Tensor) -> None:
        """Take the weight ``float32[C, E]``."""
        self.weight = weight

    def of_entities(self, features: Tensor, owner: Tensor) -> Tensor:
        """Return keys of entities, as :class:`ludus.policies.actions.pointed.Key`."""
        return features @ self.weight.T

    def of_queries(self, query: Tensor) -> Tensor:
        """Return factors for the raw features of cells, as :class:`ludus.policies.actions.pointed.Key`."""
        return query @ self.weight


class Head(nn.Module):
    """One head: plain choices by a linear layer, entities and cells by a query and keys."""

    def __init__(self, head: HeadSpec, context: int, entity: int, last: bool) -> None:
        """Make the layers of a head.

        Args:
            head: Declaration of the head.
            context: Width of the context.
            entity: Features of an entity or cell that the head points at; 0 without pointer.
            last: Whether no head follows, so that choices need no embedding.
        """
        super().__init__()
        self.spec, self.plain_choices = head, head.size - head.rows
        self.hidden = nn.Linear(context, context)
        self.plain = nn.Linear(context, self.plain_choices) if self.plain_choices else None
        self.query = nn.Linear(context, context) if head.rows else None
        self.key = nn.Linear(entity, context, bias=False) if head.rows else None
        # Embeddings of the choices, for the heads after this one.
        self.embedding = (
            None if last or not self.plain_choices else nn.Parameter(torch.zeros(self.plain_choices, context))
        )
        self.entity_embedding = nn.Linear(entity, context, bias=False) if head.rows and not last else None

    def logits(self, context: Tensor, pointed: PointerTargets | None) -> Tensor:
        """Return logits ``[N, size]`` of the context ``[N, C]``.

        They are zero for absent entities, which no mask allows.
        """
        hidden = functional.leaky_relu(self.hidden(context), 0.01)
        parts = []
        if self.query is not None and self.key is not None:
            assert pointed is not None
            query = self.query(hidden) * context.shape[1] ** -0.5
            parts.append(pointed.scores(query, LinearKey(self.key.weight), self.spec))
        if self.plain is not None:
            parts.append(self.plain(hidden))
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def embed(self, choice: Tensor, pointed: PointerTargets | None, static: bool = False) -> Tensor:
        """Return the embeddings ``[N, C]`` of the choices ``int64[N]``."""
        if self.entity_embedding is None:
            assert self.embedding is not None
            return _rows_of(self.embedding, choice, static)
        assert pointed is not None
        embedding: Tensor = self.entity_embedding(pointed.chosen(choice, self.spec))
        if self.embedding is not None:
            plain = _rows_of(self.embedding, (choice - self.spec.rows).clamp(min=0), static)
            embedding = embedding + plain * (choice >= self.spec.rows).unsqueeze(1)
        return embedding


def _rows_of(table: Tensor, index: Tensor, static: bool) -> Tensor:
    """Return the rows ``[N, C]`` of a small ``table`` at ``index: int64[N]``.

    The gradient of a lookup adds in any order on a GPU; a product adds in one order.
    """
    if not static or not torch.is_grad_enabled():
        return functional.embedding(index, table)
    each = torch.arange(len(table), device=index.device)
    return (index.unsqueeze(1) == each).to(table.dtype) @ table


class SequentialHeads(ABC):
    """Heads of a game, decided in order; subclasses hold the weights."""

    heads: Heads
    specs: tuple[HeadSpec, ...]

    @abstractmethod
    def initial_context(self, features: Tensor) -> Tensor:
        """Return the context ``[N, C]`` before the first choice, of features ``float32[N, F]``."""

    @abstractmethod
    def among(self, rows: Tensor) -> SequentialHeads:
        """Return these heads for the samples ``rows: int64[n]``, ascending."""

    @abstractmethod
    def logits(self, k: int, context: Tensor, pointed: PointerTargets | None) -> Tensor:
        """Return the logits ``[N, size]`` of head k, given the context ``[N, C]``.

        They are zero for absent entities, which no mask allows.
        """

    @abstractmethod
    def embed(self, k: int, choice: Tensor, pointed: PointerTargets | None, static: bool = False) -> Tensor:
        """Return the embeddings ``[N, C]`` of the choices ``int64[N]`` of head k.

        With ``static`` the gradient has one order on every device.
        """

    def run(
        self,
        features: Tensor,
        pointed: Mapping[str, PointerTargets],
        mask: Tensor,
        *,
        actions: Tensor | None = None,
        uniform: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions ``int64[N, K]``, their log-probability and entropy ``float32[N]``.

        Given ``actions: int[N, K]`` are evaluated; otherwise they are drawn by ``uniform: float32[N, K]``, or
        the most probable are taken without it. Without gradients the entropy is left at zero.
        """
        chosen = mask.new_zeros((mask.shape[0], len(self.specs)), dtype=torch.int64)
        if actions is not None:
            chosen.copy_(actions)
        log_prob = features.new_zeros(mask.shape[0], dtype=torch.float32)
        entropy = torch.zeros_like(log_prob)
        for k, rows, log_probs in self.conditionals(features, pointed, mask, chosen):
            if actions is not None:
                choice = chosen[:, k].index_select(0, rows)
            else:
                draws = uniform[:, k].index_select(0, rows) if uniform is not None else None
                choice = log_probs.argmax(dim=1) if draws is None else sample_of(log_probs, draws)
                chosen[rows, k] = choice
            log_prob = log_prob.index_add(0, rows, log_probs.gather(1, choice.unsqueeze(1)).squeeze(1))
            if torch.is_grad_enabled():
                entropy = entropy.index_add(0, rows, entropy_of(log_probs))
        return chosen, log_prob, entropy

    def conditionals(
        self, features: Tensor, pointed: Mapping[str, PointerTargets], mask: Tensor, chosen: Tensor
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Yield the conditional distributions of the heads in order.

        A head without a legal choice is irrelevant: choice 0, no cost, no embedding.

        Args:
            features: ``float32[N, F]``.
            pointed: Targets of pointers by the name of the tensor.
            mask: ``uint8[N, A]``, 1 = legal.
            chosen: ``int64[N, K]``; head k's choices are read when the next head is requested.

        Yields:
            k, the samples ``int64[n]`` where head k has a legal choice, and its log-probabilities
            ``float32[n, size]`` given the choices before it.
        """
        context = self.initial_context(features)
        for k, head in enumerate(self.specs):
            legal = self.heads.legal(mask, k, chosen)
            rows = legal.any(dim=1).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            here: SequentialHeads = self
            some, near = context, pointed[head.points_at] if head.rows else None
            if rows.numel() < legal.shape[0]:
                some, legal = context.index_select(0, rows), legal.index_select(0, rows)
                near = near.select(rows) if near is not None else None
                here = self.among(rows)
            yield k, rows, log_probs_of(here.logits(k, some, near), legal)
            if k + 1 < len(self.specs):
                choice = chosen[:, k].index_select(0, rows)
                context = context.index_add(0, rows, here.embed(k, choice, near))

    def run_every(
        self,
        features: Tensor,
        pointed: Mapping[str, PointerTargets],
        mask: Tensor,
        *,
        actions: Tensor | None = None,
        uniform: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return what :meth:`run` returns; no shape depends on data."""
        chosen = mask.new_zeros((mask.shape[0], len(self.specs)), dtype=torch.int64)
        if actions is not None:
            chosen.copy_(actions)
        log_prob = features.new_zeros(mask.shape[0], dtype=torch.float32)
        entropy = torch.zeros_like(log_prob)
        for k, matters, log_probs in self.every_conditional(features, pointed, mask, chosen):
            if actions is None:
                draws = uniform[:, k] if uniform is not None else None
                chosen[:, k] = log_probs.argmax(dim=1) if draws is None else sample_of(log_probs, draws)
            taken = log_probs.gather(1, chosen[:, k : k + 1]).squeeze(1)
            log_prob = log_prob + taken.masked_fill(~matters, 0.0)
            if torch.is_grad_enabled():
                entropy = entropy + entropy_of(log_probs)  # 0 for a head without a legal choice
        return chosen, log_prob, entropy

    def every_conditional(
        self, features: Tensor, pointed: Mapping[str, PointerTargets], mask: Tensor, chosen: Tensor
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Yield the conditional distributions of the heads in order, as :meth:`conditionals`.

        Yields:
            k, whether head k has a legal choice, ``bool[N]``, and its log-probabilities ``float32[N, size]``:
            choice 0 has probability 1 without one.
        """
        context = self.initial_context(features)
        for k, head in enumerate(self.specs):
            legal = self.heads.legal(mask, k, chosen)
            matters = legal.any(dim=1)
            near = pointed[head.points_at] if head.rows else None
            yield k, matters, log_probs_of(self.logits(k, context, near), legal)
            if k + 1 < len(self.specs):
                embedding = self.embed(k, chosen[:, k], near, static=True)
                context = context + embedding * matters.unsqueeze(1)


class AutoregressiveHeads(nn.Module, SequentialHeads):
    """All heads of a game whose heads depend on each other or point at entities or cells."""

    def __init__(self, spec: GameSpec, features: int, entity: Mapping[str, int], context: int) -> None:
        """Make the layers.

        Args:
            spec: Spec of the game.
            features: Width of the features.
            entity: Number of features of each entity or cell, by the name of the tensor.
            context: Width of the context.
        """
        super().__init__()
        self.heads, self.specs = heads_of(spec), spec.heads
        self.start = nn.Linear(features, context)
        last = len(spec.heads) - 1
        self.each = nn.ModuleList(
            Head(h, context, entity.get(h.points_at, 0), k == last) for k, h in enumerate(spec.heads)
        )

    def initialise(self, generator: torch.Generator) -> None:
        """Make choices nearly uniform, and embeddings of size 1.

        Call it after the orthogonal initialisation.
        """
        for head in self.each:
            assert isinstance(head, Head)
            for layer in (head.plain, head.query):
                if layer is not None:
                    layer.weight.mul_(0.01)
            if head.embedding is not None:
                head.embedding.normal_(generator=generator)
                head.embedding.mul_(head.embedding.shape[1] ** -0.5)

    def initial_context(self, features: Tensor) -> Tensor:
        """Return the context before the first choice, as :class:`SequentialHeads`."""
        context: Tensor = self.start(features)
        return context

    def among(self, rows: Tensor) -> AutoregressiveHeads:
        """Return these heads: the same weights serve all samples."""
        return self

    def logits(self, k: int, context: Tensor, pointed: PointerTargets | None) -> Tensor:
        """Return the logits of head k, as :class:`SequentialHeads`."""
        head = self.each[k]
        assert isinstance(head, Head)
        return head.logits(context, pointed)

    def embed(self, k: int, choice: Tensor, pointed: PointerTargets | None, static: bool = False) -> Tensor:
        """Return the embeddings of choices of head k, as :class:`SequentialHeads`."""
        head = self.each[k]
        assert isinstance(head, Head)
        return head.embed(choice, pointed, static)


class AutoregressiveDistribution(ActionDistribution):
    """Distributions of :class:`SequentialHeads`.

    The entropy is the sum of each head's entropy given the sampled choices before it. Its mean over sampled
    decisions is the entropy of the whole decision.
    """

    def __init__(
        self,
        heads: SequentialHeads,
        features: Tensor,
        pointed: Mapping[str, PointerTargets],
        static: bool = False,
    ) -> None:
        """Take the outputs of a network.

        Args:
            heads: Heads of the game.
            features: ``float32[N, F]``.
            pointed: Targets of pointers by the name of the tensor.
            static: Whether no shape may depend on data.
        """
        self.heads, self.features, self.pointed, self.static = heads, features, pointed, static
        self._run = heads.run_every if static else heads.run

    @torch.no_grad()
    def sample(self, mask: Tensor, uniform: Tensor | None) -> ActionSample:
        """Sample decisions, as :class:`ActionDistribution`."""
        actions, log_prob, _ = self._run(self.features, self.pointed, mask, uniform=uniform)
        return ActionSample(actions, log_prob)

    def evaluate(self, mask: Tensor, actions: Tensor) -> ActionEvaluation:
        """Evaluate decisions, as :class:`ActionDistribution`."""
        _, log_prob, entropy = self._run(self.features, self.pointed, mask, actions=actions)
        return ActionEvaluation(log_prob, entropy)

    def divergence(self, other: ActionDistribution, mask: Tensor, actions: Tensor) -> Tensor:
        """Return the divergence by the chain rule, as :class:`ActionDistribution`."""
        if not isinstance(other, AutoregressiveDistribution):
            raise TypeError(f"expected heads in turn, got {type(other).__name__}")
        chosen = actions.long()
        total = self.features.new_zeros(mask.shape[0], dtype=torch.float32)
        if self.static or other.static:
            return self._divergence_of_every(other, mask, chosen)
        ours = self.heads.conditionals(self.features, self.pointed, mask, chosen)
        theirs = other.heads.conditionals(other.features, other.pointed, mask, chosen)
        for (_, rows, log_p), (_, _, log_q) in zip(ours, theirs, strict=True):
            total = total.index_add(0, rows, Heads((log_p.shape[1],)).kl(log_p, log_q))
        return total

    def _divergence_of_every(self, other: AutoregressiveDistribution, mask: Tensor, chosen: Tensor) -> Tensor:
        total = self.features.new_zeros(mask.shape[0], dtype=torch.float32)
        ours = self.heads.every_conditional(self.features, self.pointed, mask, chosen)
        theirs = other.heads.every_conditional(other.features, other.pointed, mask, chosen)
        for (_, _, log_p), (_, _, log_q) in zip(ours, theirs, strict=True):
            total = total + Heads((log_p.shape[1],)).kl(log_p, log_q)
        return total

    def select(self, index: Tensor) -> AutoregressiveDistribution:
        """Return the distributions of some time steps, as :class:`ActionDistribution`."""
        index = index.nonzero().squeeze(1) if index.dtype == torch.bool else index
        pointed = {name: some.select(index) for name, some in self.pointed.items()}
        features = self.features.index_select(0, index)
        return AutoregressiveDistribution(self.heads, features, pointed, self.static)

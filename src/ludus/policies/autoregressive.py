"""Heads that are decided one after the other, some of them by pointing at an entity.

The k-th head sees the features of the moment and all choices before it (Vinyals et al. 2019, AlphaStar,
"auto-regressive" heads): a context of width C starts from the features, and each choice adds its embedding:
a row of a table, or a projection of the entity that was pointed at. A pointer's logit is the scaled dot
product of a query made from the context with a key made from the entity (Vinyals, Fortunato, Jaitly 2015).

Shapes: ``N`` samples, ``n`` entities of all samples, ``E`` features of an entity, ``C`` context width.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from ludus.flow import GameSpec, HeadSpec
from ludus.policies.distribution import Heads, entropy_of, log_probs_of, sample_of
from ludus.policies.preference import Drawn, Judged, Preference


@dataclass(frozen=True, slots=True)
class Entities:
    """The entity rows of ``samples`` moments, absent ones left out."""

    owner: Tensor  # int64[n], rising: whose
    slot: Tensor  # int64[n], rising within an owner: which row of the observation tensor
    features: Tensor  # float32[n, E]
    samples: int

    def select(self, index: Tensor) -> Entities:
        """Of the samples ``index: int64[M]``, rising."""
        place = index.new_full((self.samples,), -1)
        place[index] = torch.arange(index.numel(), device=index.device)
        owner = place.index_select(0, self.owner)
        kept = (owner >= 0).nonzero().squeeze(1)
        return Entities(
            owner.index_select(0, kept),
            self.slot.index_select(0, kept),
            self.features.index_select(0, kept),
            index.numel(),
        )


class _Head(nn.Module):
    """One head: plain choices by a linear layer, pointed ones by a query and keys."""

    def __init__(self, head: HeadSpec, context: int, entity: int, last: bool) -> None:
        super().__init__()
        self.rows, self.plain_choices = head.rows, head.size - head.rows
        self.hidden = nn.Linear(context, context)
        self.plain = nn.Linear(context, self.plain_choices) if self.plain_choices else None
        self.query = nn.Linear(context, context) if head.rows else None
        self.key = nn.Linear(entity, context, bias=False) if head.rows else None
        # What the choice tells the heads after it.
        self.told = (
            None if last or not self.plain_choices else nn.Parameter(torch.zeros(self.plain_choices, context))
        )
        self.told_entity = nn.Linear(entity, context, bias=False) if head.rows and not last else None

    def logits(self, context: Tensor, entities: Entities | None) -> Tensor:
        """``[N, C]`` -> ``[N, size]``; zero where an entity is absent, which no mask allows."""
        hidden = functional.leaky_relu(self.hidden(context), 0.01)
        parts = []
        if self.query is not None and self.key is not None:
            assert entities is not None
            owner, slot, features = entities.owner, entities.slot, entities.features
            if bool((slot >= self.rows).any()):
                inside = (slot < self.rows).nonzero().squeeze(1)
                owner, slot = owner.index_select(0, inside), slot.index_select(0, inside)
                features = features.index_select(0, inside)
            query = self.query(hidden).index_select(0, owner)
            scores = (query * self.key(features)).sum(dim=1) * context.shape[1] ** -0.5
            flat = scores.new_zeros(context.shape[0] * self.rows)
            parts.append(flat.index_copy(0, owner * self.rows + slot, scores).view(-1, self.rows))
        if self.plain is not None:
            parts.append(self.plain(hidden))
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def tell(self, choice: Tensor, entities: Entities | None) -> Tensor:
        """Embeddings ``[N, C]`` of the choices ``int64[N]``."""
        if self.told_entity is None:
            assert self.told is not None
            return functional.embedding(choice, self.told)
        assert entities is not None
        count = entities.features.shape[0]
        # Where each row of each sample stands among the entities; absent ones are the zeros at the end.
        where = choice.new_full((choice.numel() * self.rows,), count)
        inside = (entities.slot < self.rows).nonzero().squeeze(1)
        where[(entities.owner * self.rows + entities.slot).index_select(0, inside)] = inside
        pointed = choice < self.rows
        at = where.view(-1, self.rows).gather(1, choice.clamp(max=self.rows - 1).unsqueeze(1)).squeeze(1)
        at = torch.where(pointed, at, torch.full_like(at, count))
        padded = torch.cat([entities.features, entities.features.new_zeros((1, entities.features.shape[1]))])
        told: Tensor = self.told_entity(padded.index_select(0, at))
        if self.told is not None:
            plain = functional.embedding((choice - self.rows).clamp(min=0), self.told)
            told = told + plain * (~pointed).unsqueeze(1)
        return told


class AutoregressiveHeads(nn.Module):
    """All heads of a game whose heads depend on each other or point at entities.

    ``points_at`` names the one tensor of entity rows that its pointers mean, or is empty.
    ``ValueError`` where heads point at several.
    """

    def __init__(self, spec: GameSpec, features: int, entity: int, context: int) -> None:
        super().__init__()
        self.heads = Heads.of(spec)
        self.points_at = pointed_tensor(spec)
        self.start = nn.Linear(features, context)
        last = len(spec.heads) - 1
        self.each = nn.ModuleList(_Head(h, context, entity, k == last) for k, h in enumerate(spec.heads))

    def initialise(self, generator: torch.Generator) -> None:
        """After every matrix has been made orthogonal: nearly uniform choices, embeddings of size 1."""
        for head in self.each:
            assert isinstance(head, _Head)
            for layer in (head.plain, head.query):
                if layer is not None:
                    layer.weight.mul_(0.01)
            if head.told is not None:
                head.told.normal_(generator=generator)
                head.told.mul_(head.told.shape[1] ** -0.5)

    def run(
        self,
        features: Tensor,
        entities: Entities | None,
        mask: Tensor,
        *,
        actions: Tensor | None = None,
        uniform: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Actions ``int64[N, K]``, their log-probability and entropy ``float32[N]``.

        Given ``actions: int[N, K]`` are judged; otherwise they are drawn by ``uniform: float32[N, K]``, or
        the likeliest are taken without it. Without gradients the entropy is left at zero.
        """
        context: Tensor = self.start(features)
        chosen = mask.new_zeros((mask.shape[0], len(self.each)), dtype=torch.int64)
        if actions is not None:
            chosen.copy_(actions)
        log_prob = torch.zeros_like(context[:, 0])
        entropy = torch.zeros_like(log_prob)
        for k, head in enumerate(self.each):
            assert isinstance(head, _Head)
            legal = self.heads.legal(mask, k, chosen)
            # Where nothing is legal the head does not matter: it is 0, costs nothing and tells nothing.
            rows = legal.any(dim=1).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            some, near = context, entities
            if rows.numel() < legal.shape[0]:
                some, legal = context.index_select(0, rows), legal.index_select(0, rows)
                near = entities.select(rows) if entities is not None and head.rows else None
            log_probs = log_probs_of(head.logits(some, near), legal)
            if actions is not None:
                choice = chosen[:, k].index_select(0, rows)
            else:
                draws = uniform[:, k].index_select(0, rows) if uniform is not None else None
                choice = log_probs.argmax(dim=1) if draws is None else sample_of(log_probs, draws)
                chosen[rows, k] = choice
            log_prob = log_prob.index_add(0, rows, log_probs.gather(1, choice.unsqueeze(1)).squeeze(1))
            if torch.is_grad_enabled():
                entropy = entropy.index_add(0, rows, entropy_of(log_probs))
            if k + 1 < len(self.each):
                context = context.index_add(0, rows, head.tell(choice, near))
        return chosen, log_prob, entropy


def pointed_tensor(spec: GameSpec) -> str:
    """The tensor at which the heads of a game point; empty if none does. ``ValueError`` if they differ."""
    names = sorted({h.points_at for h in spec.heads if h.points_at})
    if len(names) > 1:
        raise ValueError(
            f"{spec.name}: heads point at several tensors ({', '.join(names)}); one is supported"
        )
    return names[0] if names else ""


class Pointing(Preference):
    """Of :class:`AutoregressiveHeads`. The entropy is that of each head given the drawn choices before it,
    whose mean over drawn decisions is the entropy of the whole."""

    def __init__(self, heads: AutoregressiveHeads, features: Tensor, entities: Entities | None) -> None:
        self.heads, self.features, self.entities = heads, features, entities

    @torch.no_grad()
    def draw(self, mask: Tensor, uniform: Tensor | None) -> Drawn:
        actions, log_prob, _ = self.heads.run(self.features, self.entities, mask, uniform=uniform)
        return Drawn(actions, log_prob)

    def judge(self, mask: Tensor, actions: Tensor) -> Judged:
        _, log_prob, entropy = self.heads.run(self.features, self.entities, mask, actions=actions)
        return Judged(log_prob, entropy)

    def select(self, index: Tensor) -> Pointing:
        index = index.nonzero().squeeze(1) if index.dtype == torch.bool else index
        entities = self.entities.select(index) if self.entities is not None else None
        return Pointing(self.heads, self.features.index_select(0, index), entities)

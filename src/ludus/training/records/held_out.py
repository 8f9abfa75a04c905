"""How often weights decide as recorded, in matches that they never learned from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow.inputs.shown import visible
from ludus.games.records.rows import MatchRows
from ludus.policies.actions.action_distribution import Independent
from ludus.policies.actions.distribution import Heads
from ludus.policies.protocol import Network, Step
from ludus.policies.transfer import uploaded
from ludus.presets.errors import RunFailed
from ludus.reporting.metrics import DECISIONS, STAGES, TOP1, TOP5, UNIFORM, VALUE_ERROR
from ludus.rollouts.network_actor import NetworkActor
from ludus.training.records.recorded import Records, SeatRecord

BATCH = 512  # decisions at once
_NEAREST = 5

Floats = npt.NDArray[np.float64]


class _Measured(NamedTuple):
    """Numbers of ``N`` decisions. ``float64[N]`` each; NaN where there is none."""

    top1: Floats  # 1 where the likeliest decision is the recorded one
    top5: Floats
    value: Floats

    @classmethod
    def of(cls, step: Step, mask: Tensor, actions: Tensor) -> _Measured:
        """Compare the outputs for ``N`` observations with ``actions: int[N, K]``."""
        likeliest = step.distribution.sample(mask, None).actions
        top1 = (likeliest == actions).all(dim=1)
        top5: Tensor | None = None
        if actions.shape[1] == 1 and isinstance(step.distribution, Independent):
            logits = step.distribution.logits.float()
            if logits.shape[1] == mask.shape[1]:
                logits = logits.masked_fill(mask == 0, -torch.inf)
                own = logits.gather(1, actions.long())
                top5 = (logits > own).sum(dim=1) < _NEAREST
        first = top1.cpu().numpy().astype(np.float64)
        nearest = np.full_like(first, np.nan) if top5 is None else top5.cpu().numpy().astype(np.float64)
        return cls(first, nearest, step.value.float().cpu().numpy().astype(np.float64))


class HeldOut:
    """A fixed sample of held-out matches. Equal seeds and data give the same one."""

    def __init__(self, records: Records, count: int, seed: int) -> None:
        """Read no match yet.

        Args:
            records: The recorded matches.
            count: Decisions; whole matches of a seat are taken until there are so many.
            seed: Seed of the choice.
        """
        self._records, self._count, self._seed = records, count, seed
        self._sample: list[SeatRecord] = []

    def measure(self, actor: NetworkActor) -> dict[str, float]:
        """Return the numbers of the weights of an actor, by the names of their metrics.

        Raises:
            RunFailed: A record that cannot be read.
        """
        if not self._sample:
            self._sample = self._drawn()
        network = actor.network
        with torch.no_grad():
            if network.memory_shape is None:
                parts = [_flat(network, record.rows) for record in self._sample]
            else:
                parts = _in_order(network, [record.rows for record in self._sample])
        legal = [_uniform(network.heads, record.rows) for record in self._sample]
        known = np.concatenate(legal) > 0.0  # decisions that the mask rules out count nowhere
        top1, top5, value = (np.concatenate(columns)[known] for columns in zip(*parts, strict=True))
        stage = np.concatenate([_stages(len(record.rows.actions)) for record in self._sample])[known]
        numbers = {DECISIONS: float(known.sum())}
        if not known.any():
            return numbers
        numbers |= {TOP1: float(top1.mean()), UNIFORM: float(np.concatenate(legal)[known].mean())}
        if not np.isnan(top5).any():
            numbers[TOP5] = float(top5.mean())
        for i, name in enumerate(STAGES):
            if (stage == i).any():
                numbers[f"{TOP1}/{name}"] = float(top1[stage == i].mean())
        if network.board is not None:
            outcomes = [np.full(len(record.rows.actions), record.outcome) for record in self._sample]
            errors = (np.concatenate(outcomes)[known] - value) ** 2
            if not np.isnan(errors).all():
                numbers[VALUE_ERROR] = float(np.nanmean(errors))
        return numbers

    def _drawn(self) -> list[SeatRecord]:
        """Return the sample. Raises ``RunFailed``."""
        records, drawn, decisions = self._records, [], 0
        entries = records.held_out
        random = np.random.Generator(np.random.Philox(key=self._seed, counter=[0, 0, 2, 0]))
        for number in random.permutation(len(entries)):
            match, seat = int(entries.match[number]), int(entries.seat[number])
            try:
                record = records.read(match, (seat,))[seat]
            except (ValueError, KeyError) as error:
                raise RunFailed(f"match {match}: {visible(str(error))}", where=records.where) from error
            if len(record.rows.actions):
                drawn.append(record)
                decisions += len(record.rows.actions)
            if decisions >= self._count:
                break
        if not drawn:
            raise RunFailed("no held-out decision is known", where=records.where)
        return drawn


def _flat(network: Network, rows: MatchRows) -> _Measured:
    """Measure decisions that do not depend on each other."""
    return _joined(list(_batches(network, rows)))


def _batches(network: Network, rows: MatchRows) -> Iterator[_Measured]:
    for start in range(0, len(rows.actions), BATCH):
        part = slice(start, start + BATCH)
        obs = {t.name: uploaded(rows.obs[t.name][part], network.device) for t in network.inputs}
        mask, actions = (uploaded(a[part], network.device) for a in (rows.mask, rows.actions))
        yield _Measured.of(network.step(obs), mask, actions)


def _in_order(network: Network, sample: Sequence[MatchRows]) -> list[_Measured]:
    """Measure decisions of a network with memory, all matches at once."""
    seen: list[list[_Measured]] = [[] for _ in sample]
    shape = network.memory_shape or ()
    memory = torch.zeros((len(sample), *shape), device=network.device)
    for t in range(max(len(rows.actions) for rows in sample)):
        there = [i for i, rows in enumerate(sample) if t < len(rows.actions)]
        index = torch.tensor(there, device=network.device)
        obs = {
            n.name: uploaded(np.stack([sample[i].obs[n.name][t] for i in there]), network.device)
            for n in network.inputs
        }
        first = torch.full((len(there),), t == 0, device=network.device)
        step = network.step(obs, memory[index], first)
        if step.memory is not None:
            memory[index] = step.memory.float()
        mask = uploaded(np.stack([sample[i].mask[t] for i in there]), network.device)
        actions = uploaded(np.stack([sample[i].actions[t] for i in there]), network.device)
        measured = _Measured.of(step, mask, actions)
        for k, i in enumerate(there):
            seen[i].append(_Measured(*(column[k : k + 1] for column in measured)))
    return [_joined(parts) for parts in seen]


def _joined(parts: Sequence[_Measured]) -> _Measured:
    return _Measured(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _uniform(heads: Heads, rows: MatchRows) -> Floats:
    """Return the probability of each recorded decision under uniform legal choices; 0 for illegal ones."""
    mask, actions = torch.from_numpy(rows.mask), torch.from_numpy(rows.actions)
    share = np.ones(len(rows.actions), np.float64)
    for k in range(actions.shape[1]):
        legal = heads.legal(mask, k, actions)
        own = legal.gather(1, actions[:, k : k + 1].long()).squeeze(1)
        share *= own.numpy() / np.maximum(legal.sum(dim=1).numpy(), 1)
    return share


def _stages(count: int) -> npt.NDArray[np.int64]:
    """Return the third of a match, 0 to 2, of each of its decisions."""
    return np.arange(count, dtype=np.int64) * len(STAGES) // max(count, 1)

"""Rows of several networks of one architecture, and layers that hold the weights of all of them.

A *lane* is one network. Rows lie lane by lane: all rows of lane 0 come first.

Shapes: ``L`` lanes, ``N`` rows of all lanes, ``M`` maximum rows of a lane.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ludus.policies.layers.batch_norm import BatchNorm
from ludus.policies.layers.torso import Dense


class LaneRows:
    """Lanes of ``N`` rows."""

    def __init__(self, lane: Tensor, counts: Sequence[int]) -> None:
        """Take the lane of each row, ``int64[N]``, ascending, and the number of rows of each lane."""
        self.lane, self.counts = lane, tuple(counts)
        self.lanes, self.size = len(self.counts), max(self.counts)
        self.even = min(self.counts) == self.size

    @classmethod
    @functools.lru_cache(maxsize=64)  # short matches have the same counts for many time steps
    def of_counts(cls, counts: tuple[int, ...], device: torch.device) -> LaneRows:
        """Return ``counts[lane]`` rows of each lane."""
        lane = np.repeat(np.arange(len(counts)), counts)
        return cls(torch.from_numpy(lane).to(device), counts)

    def select(self, index: Tensor) -> LaneRows:
        """Return rows that belong to the rows ``index: int64[n]``, ascending."""
        lane = self.lane.index_select(0, index)
        return LaneRows(lane, torch.bincount(lane, minlength=len(self.counts)).tolist())

    @functools.cached_property
    def _places(self) -> tuple[Tensor, Tensor]:
        """``int64[L * M]``: the row at each padded place; ``int64[N]``: the padded place of each row."""
        counts = np.array(self.counts)
        starts, within = np.cumsum(counts) - counts, np.arange(self.size)
        row = np.minimum(starts[:, None] + within, counts.sum() - 1)
        place = np.flatnonzero(within < counts[:, None])
        device = self.lane.device
        return torch.from_numpy(row.reshape(-1)).to(device), torch.from_numpy(place).to(device)

    def padded(self, x: Tensor) -> Tensor:
        """Return ``[N, ...]`` as ``[L, M, ...]``; short lanes are padded with some row of another lane."""
        x = x if self.even else x.index_select(0, self._places[0])
        return x.reshape(self.lanes, self.size, *x.shape[1:])

    def flat(self, x: Tensor) -> Tensor:
        """Invert :meth:`padded`."""
        x = x.flatten(0, 1)
        return x if self.even else x.index_select(0, self._places[1])


class StackedLinear:
    """``linear`` of each lane: one batched matrix product."""

    def __init__(self, linear: Sequence[nn.Linear]) -> None:
        """Copy the weights of ``linear``, one layer per lane."""
        self.weight = torch.stack([one.weight.detach() for one in linear])  # [L, out, in]
        self.bias: Tensor | None = None  # [L, 1, out]
        if cast(Tensor | None, linear[0].bias) is not None:
            self.bias = torch.stack([one.bias.detach() for one in linear]).unsqueeze(1)

    def padded(self, x: Tensor) -> Tensor:
        """Return ``[L, M, out]`` of ``[L, M, in]``."""
        weight = self.weight.transpose(1, 2)
        return torch.bmm(x, weight) if self.bias is None else torch.baddbmm(self.bias, x, weight)

    def __call__(self, x: Tensor, rows: LaneRows) -> Tensor:
        """Return ``[N, out]`` of ``[N, in]``."""
        return rows.flat(self.padded(rows.padded(x)))


class StackedNorm:
    """A layer's norm of each lane: ``[L, M, D]`` -> the same shape."""

    def __init__(self, norms: Sequence[nn.Module]) -> None:
        """Copy the statistics and weights of ``norms``, one per lane."""
        pairs: list[tuple[Tensor, Tensor]] = []
        self._eps: float | None = None  # of layer norms
        for norm in norms:
            if isinstance(norm, BatchNorm):
                pairs.append(norm.affine())
            else:
                assert isinstance(norm, nn.LayerNorm)
                self._eps = float(norm.eps)
                pairs.append((norm.weight, norm.bias))
        self._scale = torch.stack([scale.detach() for scale, _ in pairs]).unsqueeze(1)
        self._shift = torch.stack([shift.detach() for _, shift in pairs]).unsqueeze(1)

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise ``[L, M, D]``."""
        if self._eps is not None:
            x = functional.layer_norm(x, x.shape[-1:], eps=self._eps)
        return torch.addcmul(self._shift, x, self._scale)


class StackedDense:
    """:class:`Dense` of each lane."""

    def __init__(self, dense: Sequence[Dense]) -> None:
        """Copy the weights of ``dense``, one per lane."""
        first = dense[0]
        self.layers = [
            StackedLinear([d.layers[i] for d in dense])  # type: ignore[misc]
            for i in range(len(first.layers))
        ]
        self.norms = [
            StackedNorm([d.norms[i] for d in dense if d.norms is not None])
            for i in range(len(first.norms or ()))
        ]
        self.activation = first.activation

    def padded(self, x: Tensor) -> Tensor:
        """Return ``[L, M, size]`` of ``[L, M, D]``."""
        for i, layer in enumerate(self.layers):
            x = layer.padded(x)
            if self.norms:
                x = self.norms[i](x)
            x = self.activation(x)
        return x

    def __call__(self, x: Tensor, rows: LaneRows) -> Tensor:
        """Return ``[N, size]`` of ``[N, D]``."""
        return rows.flat(self.padded(rows.padded(x)))

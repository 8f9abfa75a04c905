"""Recurrent memory reset at the start of a match, the same in acting and in learning.

A memory is ``float32[N, *shape]``: ``(M,)`` for a GRU, ``(2, M)`` for an LSTM (output, cell), ``(2, D)`` for
:class:`Recall` of ``D`` vector inputs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ludus.policies.layers.scan import gru_cell, lstm_cell, scan


class Recurrent(nn.Module):
    """One GRU or LSTM layer whose rows can be reset and skipped at any step."""

    def __init__(self, kind: str, inputs: int, size: int) -> None:
        """Make a layer of ``kind`` ``gru`` or ``lstm`` with ``inputs`` inputs and ``size`` outputs."""
        super().__init__()
        self.kind, self.size = kind, size
        gates = 4 if kind == "lstm" else 3
        self.read = nn.Linear(inputs, gates * size)
        self.recur = nn.Linear(size, gates * size)
        self.shape: tuple[int, ...] = (2, size) if kind == "lstm" else (size,)

    def initial(self, rows: int, device: torch.device) -> Tensor:
        """Return zeros ``[rows, *shape]``."""
        return torch.zeros((rows, *self.shape), device=device)

    def output(self, memory: Tensor) -> Tensor:
        """Return the part of ``[..., *shape]`` that the heads read: ``[..., M]``."""
        return memory[..., 0, :] if self.kind == "lstm" else memory

    def step(self, features: Tensor, memory: Tensor, first: Tensor) -> Tensor:
        """Return the memory after one decision of each row. ``first: bool[N]`` rows start from zero."""
        memory = self.reset(memory, first)
        return self.cell(self.read(features), self.recur(self.output(memory)), memory)

    def reset(self, memory: Tensor, first: Tensor) -> Tensor:
        """Return ``memory`` with zeros for the rows that are ``first: bool[N]`` in their match."""
        return memory * (~first).to(memory.dtype).reshape(-1, *([1] * len(self.shape)))

    def cell(self, read: Tensor, recur: Tensor, memory: Tensor) -> Tensor:
        """Return the next memory, of projected features and projected output ``[N, gates * M]``."""
        if self.kind == "lstm":
            output, cell, _, _ = lstm_cell(read, recur, memory[:, 1])
            return torch.stack([output, cell], dim=1)
        return gru_cell(read, recur, memory)[0]

    def sequence(
        self, features: Tensor, memory: Tensor, first: Tensor, active: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Run ``features[T, B, D]`` through time.

        ``first, active: bool[T, B]``; an inactive row keeps its memory.

        Returns:
            Outputs ``[T, B, M]`` and the last memory.
        """
        keep = (~(first & active)).to(features.dtype).unsqueeze(2)
        busy = active.to(features.dtype).unsqueeze(2)
        out = scan(self.kind, self.read(features), memory, keep, busy, self.recur.weight, self.recur.bias)
        return self.output(out), out[-1]


class Recall(nn.Module):
    """Maximum and recent average of each vector input in this match: memory without weights.

    The maximum keeps a single sighting (an enemy's barracks); the average fades by a tenth per decision. Both
    start from zero. Nothing in it is learned, so a learner computes it once for a slab and then trains on
    single time steps, at half the cost of a GRU.
    """

    FADE = 0.1

    def __init__(self, inputs: int) -> None:
        """Recall ``inputs`` vector inputs."""
        super().__init__()
        self.shape: tuple[int, ...] = (2, inputs)

    def initial(self, rows: int, device: torch.device) -> Tensor:
        """Return zeros ``[rows, 2, D]``."""
        return torch.zeros((rows, *self.shape), device=device)

    def step(self, vector: Tensor, memory: Tensor, first: Tensor) -> Tensor:
        """Return ``memory`` after ``vector: float32[N, D]``; rows with ``first: bool[N]`` start from zero."""
        memory = memory * (~first).to(memory.dtype).reshape(-1, 1, 1)
        highest = torch.maximum(memory[:, 0], vector)
        recent = torch.lerp(memory[:, 1], vector, self.FADE)
        return torch.stack([highest, recent], dim=1)

    def sequence(self, vectors: Tensor, memory: Tensor, first: Tensor, active: Tensor) -> Tensor:
        """Return the memory after every step of ``vectors: float32[T, B, D]``: ``[T, B, 2, D]``.

        ``first, active: bool[T, B]``; an inactive row keeps its memory.
        """
        out = vectors.new_empty((vectors.shape[0], *memory.shape))
        for t in range(vectors.shape[0]):
            busy = active[t].reshape(-1, 1, 1)
            memory = torch.where(busy, self.step(vectors[t], memory, first[t]), memory)
            out[t] = memory
        return out

"""Recurrent memory that is reset where a match begins, the same in acting and in learning.

A memory is ``float32[N, *shape]``: ``(M,)`` for a GRU, ``(2, M)`` for an LSTM (output, cell).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Recurrent(nn.Module):
    """One GRU or LSTM layer, stepped explicitly so that rows can be reset and skipped at any step."""

    def __init__(self, kind: str, inputs: int, size: int) -> None:
        super().__init__()
        self.kind, self.size = kind, size
        self.gates = 4 if kind == "lstm" else 3
        self.read = nn.Linear(inputs, self.gates * size)
        self.recur = nn.Linear(size, self.gates * size)
        self.shape: tuple[int, ...] = (2, size) if kind == "lstm" else (size,)

    def initial(self, rows: int, device: torch.device) -> Tensor:
        """Zeros ``[rows, *shape]``."""
        return torch.zeros((rows, *self.shape), device=device)

    def _cell(self, read: Tensor, memory: Tensor) -> Tensor:
        if self.kind == "lstm":
            output, cell = memory[:, 0], memory[:, 1]
            i, f, g, o = (read + self.recur(output)).chunk(4, dim=1)
            cell = torch.sigmoid(f + 1.0) * cell + torch.sigmoid(i) * torch.tanh(g)
            return torch.stack([torch.sigmoid(o) * torch.tanh(cell), cell], dim=1)
        recur = self.recur(memory)
        r, z = torch.sigmoid(read[:, : 2 * self.size] + recur[:, : 2 * self.size]).chunk(2, dim=1)
        new = torch.tanh(read[:, 2 * self.size :] + r * recur[:, 2 * self.size :])
        return (1.0 - z) * new + z * memory

    def output(self, memory: Tensor) -> Tensor:
        """What the heads see: ``float32[N, M]``."""
        return memory[:, 0] if self.kind == "lstm" else memory

    def step(self, features: Tensor, memory: Tensor, first: Tensor) -> Tensor:
        """New memory after one decision of each row. ``first: bool[N]`` rows start from zero."""
        keep = (~first).to(memory.dtype).reshape(-1, *([1] * len(self.shape)))
        return self._cell(self.read(features), memory * keep)

    def sequence(
        self, features: Tensor, memory: Tensor, first: Tensor, active: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Runs ``features[T, B, D]`` through time.

        ``first, active: bool[T, B]``; where a row is not active its memory stays as it was, because
        nobody decided there. Returns outputs ``[T, B, M]`` and the last memory.
        """
        read = self.read(features)
        tail = [1] * len(self.shape)
        keep = (~(first & active)).to(features.dtype).reshape(*first.shape, *tail)
        every = bool(active.all())
        outputs = []
        for t in range(features.shape[0]):
            before = memory * keep[t]
            after = self._cell(read[t], before)
            memory = after if every else torch.where(active[t].reshape(-1, *tail), after, memory)
            outputs.append(self.output(memory))
        return torch.stack(outputs), memory

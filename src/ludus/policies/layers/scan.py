"""GRU and LSTM through time with their gradients written out.

Autograd over a loop of cells computes the gradient of a weight matrix at every step. Here the gates'
gradients are collected and multiplied once. Cho et al. 2014; Hochreiter and Schmidhuber 1997, with a
forget bias of 1 (Jozefowicz et al. 2015).

Shapes: ``T`` steps, ``B`` rows, ``M`` memory. ``read: [T, B, gates * M]`` is the projected input of the cell.
``keep: [T, B, 1]`` is 0 where memory is reset. ``busy: [T, B, 1]`` is 0 where a row does not act and keeps
its memory (``keep`` is 1 there).
"""

from __future__ import annotations

from typing import Protocol, cast

import torch
from torch import Tensor
from torch.autograd import Function


class Context(Protocol):
    """The part of autograd's context used here."""

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """The tensors of :meth:`save_for_backward`."""

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Keep tensors for the gradient."""


def gru_cell(read: Tensor, recur: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``(new memory, gates r and z [B, 2M], candidate [B, M])``.

    ``recur``: projected memory with bias.
    """
    size = memory.shape[1]
    gates = torch.sigmoid(read[:, : 2 * size] + recur[:, : 2 * size])
    candidate = torch.tanh(read[:, 2 * size :] + gates[:, :size] * recur[:, 2 * size :])
    return candidate + gates[:, size:] * (memory - candidate), gates, candidate


def lstm_cell(read: Tensor, recur: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return ``(output, new cell, gates i, f, o [B, 3M], candidate [B, M])``."""
    size = cell.shape[1]
    total = read + recur
    total[:, size : 2 * size] += 1.0
    gates = torch.sigmoid(total[:, : 3 * size])
    candidate = torch.tanh(total[:, 3 * size :])
    new = gates[:, size : 2 * size] * cell + gates[:, :size] * candidate
    return gates[:, 2 * size :] * torch.tanh(new), new, gates, candidate


class GruScan(Function):
    """Function from ``read, memory [B, M], keep, busy, weight, bias`` to memories ``[T, B, M]``.

    ``weight`` is ``[3M, M]``, ``bias [3M]``.
    """

    @staticmethod
    def forward(
        ctx: Context, read: Tensor, memory: Tensor, keep: Tensor, busy: Tensor, weight: Tensor, bias: Tensor
    ) -> Tensor:
        """Return the memories ``[T, B, M]``."""
        steps, rows, size = read.shape[0], read.shape[1], memory.shape[1]
        before, out = read.new_empty((steps, rows, size)), read.new_empty((steps, rows, size))
        gates, candidates = read.new_empty((steps, rows, 2 * size)), read.new_empty((steps, rows, size))
        recurred = read.new_empty((steps, rows, size))  # the projected memory that the reset gate scales
        transposed = weight.t()
        for t in range(steps):
            torch.mul(memory, keep[t], out=before[t])
            recur = torch.addmm(bias, before[t], transposed)
            new, gates[t], candidates[t] = gru_cell(read[t], recur, before[t])
            recurred[t] = recur[:, 2 * size :]
            torch.lerp(before[t], new, busy[t], out=out[t])
            memory = out[t]
        ctx.save_for_backward(keep, busy, weight, before, gates, candidates, recurred)
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the arguments; None for ``keep`` and ``busy``."""
        (d_out,) = grads
        keep, busy, weight, before, gates, candidates, recurred = ctx.saved_tensors
        steps, rows, size = before.shape
        r, z = gates[..., :size], gates[..., size:]
        # Factors that need no recursion, for all steps at once.
        by_candidate = (1.0 - z) * (1.0 - candidates.square()) * busy
        by_z = (before - candidates) * z * (1.0 - z) * busy
        by_r = recurred * r * (1.0 - r)
        stay = z * busy + (1.0 - busy)
        d_read = d_out.new_empty((steps, rows, 3 * size))
        d_recur = d_out.new_empty((steps, rows, 3 * size))
        d_memory = torch.zeros_like(before[0])
        for t in range(steps - 1, -1, -1):
            d_after = d_out[t] + d_memory
            d_candidate = torch.mul(d_after, by_candidate[t], out=d_read[t, :, 2 * size :])
            torch.mul(d_candidate, by_r[t], out=d_read[t, :, :size])
            torch.mul(d_after, by_z[t], out=d_read[t, :, size : 2 * size])
            d_recur[t, :, : 2 * size] = d_read[t, :, : 2 * size]
            torch.mul(d_candidate, r[t], out=d_recur[t, :, 2 * size :])
            d_memory = torch.addmm(d_after * stay[t], d_recur[t], weight) * keep[t]
        flat = d_recur.reshape(-1, 3 * size)
        return d_read, d_memory, None, None, flat.t() @ before.reshape(-1, size), flat.sum(dim=0)


class LstmScan(Function):
    """Function from ``read, memory [B, 2, M], keep, busy, weight, bias`` to memories ``[T, B, 2, M]``.

    ``weight`` is ``[4M, M]``, ``bias [4M]``. Gates lie in the order input, forget, output, candidate; memory
    is (output, cell).
    """

    @staticmethod
    def forward(
        ctx: Context, read: Tensor, memory: Tensor, keep: Tensor, busy: Tensor, weight: Tensor, bias: Tensor
    ) -> Tensor:
        """Return the memories ``[T, B, 2, M]``."""
        steps, rows, size = read.shape[0], read.shape[1], memory.shape[2]
        before, out = read.new_empty((steps, rows, 2, size)), read.new_empty((steps, rows, 2, size))
        gates, candidates = read.new_empty((steps, rows, 3 * size)), read.new_empty((steps, rows, size))
        squashed = read.new_empty((steps, rows, size))
        transposed = weight.t()
        for t in range(steps):
            torch.mul(memory, keep[t].unsqueeze(1), out=before[t])
            recur = torch.addmm(bias, before[t, :, 0], transposed)
            output, cell, gates[t], candidates[t] = lstm_cell(read[t], recur, before[t, :, 1])
            squashed[t] = torch.tanh(cell)
            torch.lerp(before[t], torch.stack([output, cell], dim=1), busy[t].unsqueeze(1), out=out[t])
            memory = out[t]
        ctx.save_for_backward(keep, busy, weight, before, gates, candidates, squashed)
        return out

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the arguments; None for ``keep`` and ``busy``."""
        (d_out,) = grads
        keep, busy, weight, before, gates, candidates, squashed = ctx.saved_tensors
        steps, rows, size = candidates.shape
        i, f, o = gates[..., :size], gates[..., size : 2 * size], gates[..., 2 * size :]
        by_cell = o * (1.0 - squashed.square())
        by_i = candidates * i * (1.0 - i)
        by_f = before[:, :, 1] * f * (1.0 - f)
        by_o = squashed * o * (1.0 - o)
        by_candidate = i * (1.0 - candidates.square())
        d_read = d_out.new_empty((steps, rows, 4 * size))
        d_memory = torch.zeros_like(before[0])
        for t in range(steps - 1, -1, -1):
            d_after = d_out[t] + d_memory
            d_idle = d_after * (1.0 - busy[t]).unsqueeze(1)
            d_busy = d_after * busy[t].unsqueeze(1)
            d_output = d_busy[:, 0]
            d_cell = d_busy[:, 1] + d_output * by_cell[t]
            torch.mul(d_cell, by_i[t], out=d_read[t, :, :size])
            torch.mul(d_cell, by_f[t], out=d_read[t, :, size : 2 * size])
            torch.mul(d_output, by_o[t], out=d_read[t, :, 2 * size : 3 * size])
            torch.mul(d_cell, by_candidate[t], out=d_read[t, :, 3 * size :])
            d_before = torch.stack([d_read[t] @ weight, d_cell * f[t]], dim=1)
            d_memory = (d_before + d_idle) * keep[t].unsqueeze(1)
        flat = d_read.reshape(-1, 4 * size)
        d_weight = flat.t() @ before[:, :, 0].reshape(-1, size)
        return d_read, d_memory, None, None, d_weight, flat.sum(dim=0)


def scan(
    kind: str, read: Tensor, memory: Tensor, keep: Tensor, busy: Tensor, weight: Tensor, bias: Tensor
) -> Tensor:
    """Memory after each step, ``[T, B, *shape]``."""
    function = LstmScan if kind == "lstm" else GruScan
    return cast(Tensor, function.apply(read, memory, keep, busy, weight, bias))  # type: ignore[no-untyped-call]

"""Legal choices of a mask, given the choices of earlier heads, with numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ludus.flow.spec import GameSpec


def legal_choices(
    spec: GameSpec,
    mask: npt.NDArray[np.generic],
    head: int,
    actions: npt.NDArray[np.integer],
) -> npt.NDArray[np.bool_]:
    """Return ``bool[N, size]`` of ``mask: uint8[N, A]`` after the earlier choices ``actions: int[N, K]``.

    A head without a legal choice is irrelevant and counts as 0 (:class:`ludus.flow.spec.HeadSpec`).
    """
    at = sum(_bytes(spec, k) for k in range(head))
    this = spec.heads[head]
    if not this.depends_on:
        return np.asarray(mask[:, at : at + this.size] != 0)
    legal = np.ones((len(mask), this.size), np.bool_)
    for before in this.depends_on:
        rows = spec.heads[before].size
        table = mask[:, at : at + rows * this.size].reshape(len(mask), rows, this.size)
        legal &= table[np.arange(len(mask)), actions[:, before]] != 0
        at += rows * this.size
    return legal


def possible_choices(spec: GameSpec, mask: npt.NDArray[np.generic], head: int) -> npt.NDArray[np.bool_]:
    """Return ``bool[size]`` of ``mask: uint8[A]``: legal after some choice of the earlier heads."""
    at = sum(_bytes(spec, k) for k in range(head))
    this = spec.heads[head]
    possible = np.ones(this.size, np.bool_)
    for rows in [spec.heads[d].size for d in this.depends_on] or [1]:
        possible &= mask[at : at + rows * this.size].reshape(rows, this.size).any(axis=0)
        at += rows * this.size
    return possible


def head_spans(spec: GameSpec) -> list[slice]:
    """Return the bytes of each head in a mask."""
    out, at = [], 0
    for k in range(len(spec.heads)):
        out.append(slice(at, at + _bytes(spec, k)))
        at += _bytes(spec, k)
    return out


def illegal_choice(spec: GameSpec, mask: npt.NDArray[np.generic], action: Sequence[int]) -> str:
    """Return why ``action``, one number per head, is not allowed by ``mask: uint8[A]``; "" if it is.

    Continuous heads allow every number of 32 bits.
    """
    if len(action) != len(spec.heads):
        return f"{len(action)} numbers, expected {len(spec.heads)}: one per head"
    chosen = np.zeros((1, len(action)), np.int32)
    for k, (head, choice) in enumerate(zip(spec.heads, action, strict=True)):
        if head.kind == "continuous":
            continue
        if not 0 <= choice < head.size:
            return f"{head.name} {choice}, expected 0 to {head.size - 1}"
        legal = legal_choices(spec, mask[None], k, chosen)[0]
        if not (legal[choice] if legal.any() else choice == 0):
            label = head.labels[choice] if choice < len(head.labels) else str(choice)
            return f"{head.name} {label} is not legal now"
        chosen[0, k] = choice
    return ""


def check_choices(spec: GameSpec, mask: npt.NDArray[np.generic]) -> None:
    """Raise ``ValueError`` if ``mask: uint8[A]`` allows no choice of a head that depends on no other."""
    for head, span in free_heads(spec):
        if not mask[span].any():
            raise ValueError(f"no legal action: the mask allows no choice of head {head}")


def free_heads(spec: GameSpec) -> list[tuple[str, slice]]:
    """Return name and bytes in a mask of the heads that depend on no other. Each needs a legal choice."""
    return [(h.name, span) for h, span in zip(spec.heads, head_spans(spec), strict=True) if not h.depends_on]


def _bytes(spec: GameSpec, head: int) -> int:
    this = spec.heads[head]
    return this.size * (sum(spec.heads[d].size for d in this.depends_on) if this.depends_on else 1)

"""Legality as other libraries give it: one rule for Gymnasium, PettingZoo and dm_env.

A mask is ``info["action_mask"]``, or ``observation["action_mask"]`` where observations are dicts. It holds
for the step that gave it; a step without one allows every action. It has the form of Gymnasium's
``action_space.sample(mask)``:

Discrete(n)       [n] of 0 and 1
MultiDiscrete     a tuple with [n] for each number
MultiBinary       the space's shape: 0 and 1 allow only that value, 2 allows both
Dict, Tuple       a mask for each part, or None
Box               None: every number is legal

Of a space without a Box, one flat vector of all choices will also do, as sb3-contrib's MaskablePPO takes it.
A mask of another form, with other numbers, or without a legal choice is an error of the match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ludus.flow.names import did_you_mean
from ludus.games.adapters.spaces import Actions
from ludus.games.adapters.values import array_of, short, zeros_and_ones
from ludus.games.python_game import Bytes

if TYPE_CHECKING:
    from gymnasium import Space

MASK = "action_mask"


class StepMask:
    """Mask of one step, and the place where the environment returned it."""

    __slots__ = ("mask", "where")

    def __init__(self, mask: Any, where: str) -> None:
        """Keep ``mask``; ``where`` names its place in messages, as ``info['action_mask']``."""
        self.mask, self.where = mask, where


def masks_in(observation: Any, info: Any) -> tuple[StepMask, ...]:
    """Return the masks of a step: none, one, or both."""
    found: tuple[StepMask, ...] = ()
    if info and isinstance(info, Mapping) and info.get(MASK) is not None:
        found = (StepMask(info[MASK], f"info[{MASK!r}]"),)
    if type(observation) is np.ndarray or not isinstance(observation, Mapping):
        return found
    if observation.get(MASK) is not None:
        found += (StepMask(observation[MASK], f"observation[{MASK!r}]"),)
    return found


class Masks:
    """Masks of an action space as ``uint8[A]`` of its heads."""

    def __init__(self, actions: Actions) -> None:
        """Prepare the parts of an action space, in the order of its heads."""
        self._space = actions.space
        ends = np.cumsum([0, *(head.size for head in actions.heads)]).tolist()
        self._spans = [slice(start, end) for start, end in pairwise(ends)]
        self._names = [head.name for head in actions.heads]
        self._parts = [heads for _, _, heads in actions.parts]
        self._plain = actions.discrete
        self.size: int = ends[-1]
        self._flat = not any(_is_box(leaf) for _, leaf, _ in actions.parts)

    def write(self, masks: Sequence[StepMask], out: Bytes) -> None:
        """Write the legality that ``masks`` contain to ``out: uint8[A]``. Raises ``ValueError``."""
        if self._plain and len(masks) == 1 and self._write_plain(masks[0].mask, out):
            return
        out[...] = 1
        for number, step in enumerate(masks):
            if number:
                before = out.copy()
                self._write(step, out)
                if (before != out).any():
                    raise ValueError(f"{masks[0].where} and {step.where} differ; give one of them")
            else:
                self._write(step, out)

    def _write_plain(self, mask: Any, out: Bytes) -> bool:
        """Write the usual mask of one Discrete without further checks. False if it is not one."""
        if type(mask) is not np.ndarray or mask.shape != out.shape or mask.dtype.itemsize != 1:
            return False
        if mask.dtype.kind not in "biu":
            return False
        out[...] = mask
        return bool(out.max() == 1)

    def _write(self, step: StepMask, out: Bytes) -> None:
        mask, where = step.mask, step.where
        if self._flat and not isinstance(mask, Mapping) and _is_flat(mask):
            vector = array_of(where, mask)
            if self._plain or vector.shape == (self.size,):
                out[...] = _bits(vector, (self.size,), where)
                mask = None
        if mask is not None:
            self._fill(self._space, mask, iter(self._parts), out, where)
        for span, name in zip(self._spans, self._names, strict=True):
            if not out[span].any():
                raise ValueError(
                    f"no legal action: {where} allows no choice of {name}; end the episode there "
                    "(terminated), or allow one"
                )

    def _fill(self, space: Space[Any], mask: Any, parts: Any, out: Bytes, where: str) -> None:
        from gymnasium import spaces

        if isinstance(space, spaces.Dict):
            if mask is not None and not isinstance(mask, Mapping):
                raise ValueError(f"{where} is {short(mask)}, expected a dict with {', '.join(space.spaces)}")
            for key in mask or ():
                if key not in space.spaces:
                    raise ValueError(
                        f"{where}[{key!r}]: no such part of the action space"
                        f"{did_you_mean(str(key), map(str, space.spaces), 'parts')}"
                    )
            for key, part in space.spaces.items():
                self._fill(part, (mask or {}).get(key), parts, out, f"{where}[{key!r}]")
            return
        if isinstance(space, spaces.Tuple):
            each = _parts_of(mask, len(space.spaces), where)
            for i, part in enumerate(space.spaces):
                self._fill(part, each[i], parts, out, f"{where}[{i}]")
            return
        heads = next(parts)
        if mask is None:
            return
        spans = self._spans[heads]
        if isinstance(space, spaces.Discrete):
            out[spans[0]] = _bits(mask, (int(space.n),), where)
        elif isinstance(space, spaces.MultiDiscrete):
            self._fill_many(np.asarray(space.nvec), mask, iter(spans), out, where)
        elif isinstance(space, spaces.MultiBinary):
            _fill_binary(space.shape, mask, spans, out, where)
        else:
            raise ValueError(f"{where}: {space} has no choices to mask; expected None")

    def _fill_many(self, counts: Any, mask: Any, spans: Any, out: Bytes, where: str) -> None:
        """Write a mask for each number of a MultiDiscrete, nested as its ``nvec``, or one flat vector."""
        total = int(counts.sum())
        if mask is not None and counts.ndim == 1 and _is_flat(mask) and np.shape(mask) == (total,):
            bits = _bits(mask, (total,), where)
            start = 0
            for count in counts.tolist():
                out[next(spans)] = bits[start : start + count]
                start += count
            return
        each = _parts_of(mask, len(counts), where)
        for i, count in enumerate(counts):
            if count.ndim:
                self._fill_many(count, each[i], spans, out, f"{where}[{i}]")
                continue
            span = next(spans)
            if each[i] is not None:
                out[span] = _bits(each[i], (int(count),), f"{where}[{i}]")


def _fill_binary(shape: tuple[int, ...], mask: Any, spans: Sequence[slice], out: Bytes, where: str) -> None:
    array = array_of(where, mask)
    if array.shape == (2 * len(spans),) and array.shape != shape:
        bits = _bits(array, array.shape, where)
        for i, span in enumerate(spans):
            out[span] = bits[2 * i : 2 * i + 2]
        return
    if array.shape != shape:
        raise ValueError(f"{where}: shape {array.shape}, expected {shape}")
    for span, value in zip(spans, array.ravel().tolist(), strict=True):
        if value not in (0, 1, 2):
            raise ValueError(f"{where}: {value}, expected 0, 1 or 2 (both)")
        out[span] = (value != 1, value != 0)


def _is_box(space: Space[Any]) -> bool:
    from gymnasium import spaces

    return isinstance(space, spaces.Box)


def _is_flat(mask: Any) -> bool:
    if isinstance(mask, (list, tuple)):
        return all(np.ndim(x) == 0 and x is not None for x in mask)
    return np.ndim(mask) == 1 and np.asarray(mask).dtype != object


def _bits(mask: Any, shape: tuple[int, ...], where: str) -> Any:
    array = array_of(where, mask)
    if array.shape != shape:
        raise ValueError(f"{where}: shape {array.shape}, the action space has {shape}")
    return zeros_and_ones(where, array)


def _parts_of(mask: Any, count: int, where: str) -> Sequence[Any]:
    if mask is None:
        return (None,) * count
    several = isinstance(mask, (tuple, list)) or (isinstance(mask, np.ndarray) and mask.ndim > 0)
    if not several or len(mask) != count:
        raise ValueError(f"{where} is {short(mask)}, expected a tuple of {count} masks, one for each part")
    return list(mask)

"""Tensors and heads of a spec as spaces of Gymnasium, and actions of those spaces as decisions."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ludus.flow import GameSpec, HeadSpec
from ludus.flow.masks import legal_choices, possible_choices
from ludus.flow.slab import Array
from ludus.flow.spec import OPEN
from ludus.games.adapters.boxes import decision
from ludus.games.adapters.values import short
from ludus.games.exports.match import Decisions

Illegal = Literal["replace", "raise"]
#: Bounds of the integer types of a spec.
_INTEGERS = {
    "u8": (0, 255),
    "i8": (-128, 127),
    "u16": (0, 65535),
    "i16": (-32768, 32767),
    "i32": (-(2**31), 2**31 - 1),
}


def observation_space(spec: GameSpec) -> spaces.Dict[Any]:
    """Return a box for each tensor, bits as uint8 of 0 and 1.

    The objects are new at every call: spaces are seeded.
    """
    parts: dict[str, spaces.Space[Any]] = {}
    for t in spec.observation:
        if t.dtype == "bits":
            parts[t.name] = spaces.Box(0, 1, t.shape, np.uint8)
            continue
        dtype = t.packed_dtype.type
        if t.dtype == "f32":
            top = float(np.finfo(np.float32).max)
            low, high = (-np.inf if t.low <= -top else t.low), (np.inf if t.high >= top else t.high)
        else:
            least, most = _INTEGERS[t.dtype]
            low, high = max(t.low, least), min(t.high, most)
            if low >= high:
                low, high = least, most
        parts[t.name] = spaces.Box(low, high, t.shape, dtype)
    return spaces.Dict(parts)


def action_space(spec: GameSpec) -> spaces.Space[Any]:
    """Return Discrete, MultiDiscrete or Box if all heads are alike, else a Tuple with one space a head."""
    kinds = {h.kind for h in spec.heads}
    if kinds == {"discrete"}:
        sizes = [h.size for h in spec.heads]
        return spaces.Discrete(sizes[0]) if len(sizes) == 1 else spaces.MultiDiscrete(sizes)
    bounds = [_bounds(h) for h in spec.heads]
    if kinds == {"continuous"}:
        low, high = (np.array(b, np.float32) for b in zip(*bounds, strict=True))
        return spaces.Box(low, high, dtype=np.float32)
    parts: list[spaces.Space[Any]] = []
    for head, (low_, high_) in zip(spec.heads, bounds, strict=True):
        if head.kind == "discrete":
            parts.append(spaces.Discrete(head.size))
        else:
            parts.append(spaces.Box(low_, high_, (1,), np.float32))
    return spaces.Tuple(parts)


def _bounds(head: HeadSpec) -> tuple[float, float]:
    if not (head.bounded or head.half_open):
        return -np.inf, np.inf
    return (-np.inf if head.low <= -OPEN else head.low), (np.inf if head.high >= OPEN else head.high)


def mask_of(spec: GameSpec, mask: npt.NDArray[np.uint8]) -> Any:
    """Return ``uint8[A]`` as ``action_space.sample(mask)`` takes it; None if a head is continuous.

    A choice of a head that depends on others is 1 if it is legal after some choice of those.
    """
    if any(h.kind != "discrete" for h in spec.heads):
        return None
    parts = [part.astype(np.int8) for part in possible_of(spec, mask)]
    return parts[0] if len(parts) == 1 else tuple(parts)


def possible_of(spec: GameSpec, mask: npt.NDArray[np.uint8]) -> list[npt.NDArray[np.bool_]]:
    """Return ``bool[size]`` of each head: choices that are legal after some choice of earlier heads.

    At least one choice of every head is true. Raises ``ValueError`` where a head is continuous.
    """
    parts = []
    for k, head in enumerate(spec.heads):
        if head.kind != "discrete":
            raise ValueError(f"{spec.name}: head {head.name} is continuous; it has no mask")
        part = possible_choices(spec, mask, k)
        if not part.any():  # an irrelevant head
            part[0] = True
        parts.append(part)
    return parts


def decision_of(
    spec: GameSpec, action: Any, mask: npt.NDArray[np.uint8], illegal: Illegal
) -> tuple[Decisions, bool]:
    """Return ``int32[K]``, and whether an illegal choice was replaced by the first legal one.

    Raises ``ValueError`` for an invalid action, and for an illegal choice with ``"raise"``.
    """
    values = _numbers(spec, action)
    out = np.zeros(len(spec.heads), np.int32)
    replaced = False
    for k, (head, value) in enumerate(zip(spec.heads, values, strict=True)):
        if head.kind == "continuous":
            out[k] = decision(head, value)
        else:
            choice = int(value)
            if choice != value:
                raise ValueError(f"{spec.name}: action {value:g} of head {head.name}, expected an integer")
            if not 0 <= choice < head.size:
                raise ValueError(
                    f"{spec.name}: action {choice} of head {head.name} is not in [0, {head.size})"
                )
            legal = legal_choices(spec, mask[None], k, out[None])[0]
            if head.depends_on and not legal.any():
                choice = 0  # an irrelevant head
            elif not legal[choice] and legal.any():
                if illegal == "raise":
                    name = f" ({head.labels[choice]})" if head.labels else ""
                    raise ValueError(f"{spec.name}: action {choice}{name} of head {head.name} is illegal now")
                choice, replaced = int(np.flatnonzero(legal)[0]), True
            out[k] = choice
    return out, replaced


def _numbers(spec: GameSpec, action: Any) -> list[float]:
    """Return a finite number for each head. Raises ``ValueError`` for anything else."""
    heads = spec.heads
    if isinstance(action, tuple) and len(action) == len(heads):
        parts = [np.asarray(part) for part in action]
        fits = all(part.shape in ((), (1,)) for part in parts)
    else:
        whole = np.asarray(action)
        fits = whole.shape == (len(heads),) or (len(heads) == 1 and whole.shape == ())
        parts = list(whole.reshape(-1)) if fits else [whole]
    if not fits or any(np.asarray(part).dtype.kind not in "iuf" for part in parts):
        expected = "an integer" if heads[0].kind == "discrete" else "a number"
        if len(heads) > 1:
            expected = f"{len(heads)} numbers"
        raise ValueError(f"{spec.name}: action {short(action)}, expected {expected}")
    values = [float(np.asarray(part).reshape(())) for part in parts]
    for head, value in zip(heads, values, strict=True):
        if not np.isfinite(value):
            raise ValueError(f"{spec.name}: action {value} of head {head.name}, expected a finite number")
    return values


def choices_of(spec: GameSpec, actions: Any, count: int) -> npt.NDArray[np.int32]:
    """Return ``int32[count, K]`` of many matches with discrete heads. Raises ``ValueError`` for others."""
    given = np.asarray(actions)
    shapes = [(count, len(spec.heads)), *([(count,)] if len(spec.heads) == 1 else [])]
    if given.shape not in shapes or given.dtype.kind not in "iuf":
        raise ValueError(
            f"{spec.name}: actions of {given.dtype} with shape {given.shape}, expected integers with shape "
            f"{shapes[-1]}"
        )
    if given.dtype.kind == "f" and not (np.isfinite(given) & (np.floor(given) == given)).all():
        wrong = given[~(np.isfinite(given) & (np.floor(given) == given))][0]
        raise ValueError(f"{spec.name}: action {wrong:g}, expected an integer")
    if (np.abs(given.astype(np.float64)) >= 2.0**31).any():
        raise ValueError(f"{spec.name}: an action is beyond the range of its head")
    return given.reshape(count, len(spec.heads)).astype(np.int32)


def nothing(space: spaces.Dict[Any]) -> dict[str, Array]:
    """Return an observation of zeros, clipped into the space."""
    out: dict[str, Array] = {}
    for name, box in space.spaces.items():
        assert isinstance(box, spaces.Box)
        out[name] = np.clip(np.zeros(box.low.shape, box.low.dtype), box.low, box.high)
    return out


def within(space: spaces.Dict[Any], seen: dict[str, Array]) -> dict[str, Array]:
    """Clip observations to the range of the spec, which may be too narrow by rounding."""
    for name, array in seen.items():
        box = space.spaces[name]
        if isinstance(box, spaces.Box) and array.dtype == np.float32:
            np.clip(array, box.low, box.high, out=array)
    return seen

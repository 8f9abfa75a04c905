"""Pictures: recognition of boxes that are pictures, and the order of their axes.

``auto``   Boxes of bytes with two axes [H, W] or three, [H, W, C] or [C, H, W]. The sides H and W are
           neighbours of at least 8 pixels each. If both orders are possible, the sides are the neighbours
           that are more equal (by ratio); if these are equally so, the order is [H, W, C].
``hwc``    channels last; ``chw`` channels first; of any box of two axes or more. More than three axes are a
           stack of pictures, whose channels follow one another.
``flat``   no picture: a vector.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ludus.flow.names import did_you_mean
from ludus.flow.spec import ParamSpec

LAYOUTS = ("auto", "hwc", "chw", "flat")
MIN_SIDE = 8  # least side of a picture in pixels, unless its layout is set
PARAM = ParamSpec(
    "picture_layout",
    "text",
    "auto",
    meaning="order of a picture's axes: auto, hwc, chw or flat (no picture); or TENSOR:LAYOUT, ...",
)


class Layouts:
    """Layouts of a game's boxes: one for all, or some by tensor."""

    def __init__(self, text: str = "auto") -> None:
        """Read ``hwc`` or ``TENSOR:LAYOUT, ...``. Raises ``ValueError`` for an unknown layout."""
        self._all, self._by_name = "auto", dict[str, str]()
        for part in (p.strip() for p in text.split(",") if p.strip()):
            name, colon, layout = part.rpartition(":")
            if layout not in LAYOUTS:
                hint = did_you_mean(layout, LAYOUTS, "valid", 0.4)
                raise ValueError(f"parameter {PARAM.name} = {text}: unknown layout {layout}{hint}")
            if colon:
                self._by_name[name.strip()] = layout
            else:
                self._all = layout

    def of(self, tensor: str) -> str:
        """Return the layout of a tensor."""
        return self._by_name.get(tensor, self._all)

    def check(self, tensors: Sequence[str]) -> None:
        """Raise ``ValueError`` for a name that is no tensor's."""
        for name in self._by_name:
            if name not in tensors:
                hint = did_you_mean(name, tensors, "valid", 0.4)
                raise ValueError(f"parameter {PARAM.name}: unknown tensor {name}{hint}")


class Picture(NamedTuple):
    """Planes ``[C, H, W]`` of a box, and the order of its axes (None: as they are) before a reshape."""

    planes: tuple[int, int, int]
    axes: tuple[int, ...] | None
    meaning: str


def picture(shape: tuple[int, ...], of_bytes: bool, layout: str) -> Picture | None:
    """Return how a box of ``shape`` is read as a picture, or None for a vector."""
    axes = len(shape)
    if layout == "auto":
        layout = _recognised(shape) if of_bytes else "flat"
    if layout == "flat" or axes < 2:
        return None
    text = f"picture of shape {shape}"
    if axes == 2:
        return Picture((1, shape[0], shape[1]), None, text)
    stack = math.prod(shape[:-3])
    if layout == "chw":
        planes = (stack * shape[-3], shape[-2], shape[-1])
        return Picture(planes, None, f"{text}, channels first (chw)")
    planes = (stack * shape[-1], shape[-3], shape[-2])
    order = (*range(axes - 3), axes - 1, axes - 3, axes - 2)
    return Picture(planes, order, f"{text}, channels last (hwc)")


def _recognised(shape: tuple[int, ...]) -> str:
    if len(shape) == 2:
        return "hwc" if min(shape) >= MIN_SIDE else "flat"
    if len(shape) != 3:
        return "flat"
    last, first = min(shape[:2]) >= MIN_SIDE, min(shape[1:]) >= MIN_SIDE
    if last and first:
        a, b, c = shape
        last = max(a, b) * min(b, c) <= max(b, c) * min(a, b)
    return "hwc" if last else "chw" if first else "flat"


def meaning_of_flat(shape: tuple[int, ...], of_bytes: bool, layout: str) -> str:
    """Describe a box with several axes that becomes a flat vector, and why; empty for other boxes."""
    if len(shape) < 2:
        return ""
    why = (
        "no bytes"
        if not of_bytes
        else f"sides below {MIN_SIDE}"
        if len(shape) < 4
        else "more than three axes"
    )
    return f"{shape} as a flat vector" + ("" if layout == "flat" else f" ({why}; {PARAM.name} sets it)")


def settings(values: Mapping[str, object]) -> Layouts:
    """Return the layouts that a game's parameters set."""
    return Layouts(str(values.get(PARAM.name, "auto")))

"""One player's observations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow.slab import Array
from ludus.flow.spec import TensorSpec
from ludus.games.adapters.vizdoom.measures import Measures
from ludus.games.python_game import Bytes, tensor
from ludus.native import core

CENTRE = 0.3  # side of the centre that TLeague cuts out, as a share of the screen's
#: Kinds of objects in the plane of labels, by the number that stands for them. 0: no object.
KINDS = ("nothing", "other", "self", "monster", "player", "item", "weapon", "ammunition", "projectile")


class SeatObservation(msgspec.Struct, frozen=True):
    """Settings of what a policy observes: sizes in pixels, and options."""

    height: int
    width: int
    colour: bool
    centre: bool
    depth: bool
    labels: bool
    variables: tuple[str, ...]

    @property
    def channels(self) -> int:
        """Planes of the screen."""
        return 3 if self.colour else 1

    def tensors(self) -> list[TensorSpec]:
        """Return the specs of the observation."""
        size = (self.height, self.width)
        pixels: dict[str, Any] = {"low": 0, "high": 255, "scale": 1 / 255}
        planes = self.channels * (2 if self.centre else 1)
        meaning = "the screen" + (" and its centre, enlarged" if self.centre else "")
        seen = [tensor("screen", (planes, *size), "u8", meaning=meaning, **pixels)]
        if self.depth:
            seen.append(tensor("depth", (1, *size), "u8", meaning="distance of each pixel", **pixels))
        if self.labels:
            kinds = ", ".join(f"{n} {kind}" for n, kind in enumerate(KINDS))
            seen.append(
                tensor("labels", (1, *size), "u8", low=0, high=len(KINDS) - 1, scale=0.125, meaning=kinds)
            )
        if self.variables:
            said = ", ".join(self.variables)
            seen.append(tensor("variables", (len(self.variables),), labels=self.variables, meaning=said))
        return seen


class VizdoomSeat:
    """The observation of one player."""

    def __init__(self, seen: SeatObservation) -> None:
        """Allocate the tensors of ``seen``."""
        self._seen, self._size = seen, (seen.height, seen.width)
        self._measures = Measures(seen.variables)
        self._out: dict[str, Array] = {
            t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in seen.tensors()
        }
        self.picture: Bytes | None = None  # of the engine's own size

    def look(self, game: Any) -> None:
        """Read the screen of a running engine; after the end the last image stays."""
        state = game.get_state()
        if state is None:
            return
        picture = np.ascontiguousarray(state.screen_buffer)
        self.picture = picture
        planes = picture[None] if picture.ndim == 2 else picture
        shrink(planes, self._out["screen"][: self._seen.channels])
        if self._seen.centre:
            shrink(_centre(planes, self._size), self._out["screen"][self._seen.channels :])
        if self._seen.depth and state.depth_buffer is not None:
            shrink(np.ascontiguousarray(state.depth_buffer)[None], self._out["depth"])
        if self._seen.labels and state.labels_buffer is not None:
            self._out["labels"][0] = nearest_pixels(_kinds(state), self._size)
        if self._seen.variables:
            self._out["variables"][...] = self._measures.scaled(state.game_variables)

    def write(self, out: Mapping[str, Array]) -> None:
        """Write every tensor of the spec."""
        for name, values in self._out.items():
            out[name][...] = values

    def drawn(self) -> Bytes | None:
        """Return the engine's own picture, ``uint8[H, W]`` or ``[H, W, 3]``; None before the first."""
        if self.picture is None or self.picture.ndim == 2:
            return self.picture
        return self.picture.transpose(1, 2, 0)


def shrink(planes: Bytes, out: Array) -> None:
    """Shrink ``planes: uint8[C, H, W]`` by area averaging into ``out: uint8[C, h, w]``."""
    if planes.shape == out.shape:
        out[...] = planes
        return
    for plane, small in zip(planes, out, strict=True):
        core.shrink_max(plane, plane, small)


def nearest_pixels(picture: Bytes, size: tuple[int, int]) -> Bytes:
    """Return ``picture: uint8[H, W]`` at ``size`` by nearest neighbours: its numbers are no brightness."""
    rows, columns = ((np.arange(new) * old // new) for new, old in zip(size, picture.shape, strict=True))
    near: Bytes = picture[rows[:, None], columns[None, :]]
    return near


def _centre(planes: Bytes, size: tuple[int, int]) -> Bytes:
    """Return the centre of ``planes: uint8[C, H, W]``, enlarged to ``size`` where it is smaller."""
    height, width = planes.shape[1:]
    h, w = max(1, round(height * CENTRE)), max(1, round(width * CENTRE))
    top, left = (height - h) // 2, (width - w) // 2
    part = planes[:, top : top + h, left : left + w]
    if h < size[0] or w < size[1]:
        wanted = (max(h, size[0]), max(w, size[1]))
        part = np.stack([nearest_pixels(plane, wanted) for plane in part])
    return np.ascontiguousarray(part)


def _kinds(state: Any) -> Bytes:
    """Return the kind of object at each pixel, ``uint8[H, W]``: an index into :data:`KINDS`."""
    buffer: Bytes = state.labels_buffer
    table: npt.NDArray[np.uint8] = np.zeros(256, np.uint8)
    for label in state.labels:
        table[label.value] = _kind(str(label.object_name), str(label.object_category))
    return table[buffer]


def _kind(name: str, category: str) -> int:
    """Return the number of the kind of an object, by the engine's names of the object and its category."""
    kind = _CATEGORIES.get(category.lower(), "player" if name == "DoomPlayer" else "other")
    return KINDS.index(kind)


#: The engine's categories -> kinds. Others (Gore, Gibs, SFX, LightSource, Obstacle) are "other".
_CATEGORIES: Mapping[str, str] = {
    "self": "self",
    "monster": "monster",
    "player": "player",
    "weapon": "weapon",
    "ammo": "ammunition",
    "explosive": "projectile",  # rockets, fireballs, and the puffs of bullets
    "health": "item",
    "armor": "item",
    "powerup": "item",
    "key": "item",
}

"""Looks of a game at one moment: a picture, a text, or a table of what its seats observe.

``H``, ``W``: sides of a picture in pixels.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Mapping
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec
from ludus.games.exports.match import unpack_one
from ludus.web.frames.packing import Kind

MOST_SIDE = 1024  # pixels of a picture that is kept; larger ones are made smaller
MOST_TEXT = 20_000  # characters
MOST_VALUES = 64  # of a tensor in a table
MOST_TENSORS = 24
LOSSLESS = 0.25  # bytes a pixel; a film whose pictures need more is kept with loss
QUALITY = 80
PNG_LEVEL, FAST_LEVEL = 6, 3
_LEAST_SIDE = 16  # of an observation that is a picture
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[^\[]")
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]")

Pixels = npt.NDArray[np.uint8]


class UnusableRender(ValueError):
    """Result of ``render`` that is neither a picture nor a text."""


class Look(NamedTuple):
    """A moment as the page gets it: an image file, UTF-8 text, or JSON."""

    kind: Kind
    data: bytes


def checked(value: Any) -> Pixels | str | None:  # noqa: ANN401 - a game may return anything
    """Return what ``render`` gave: ``uint8[H, W, 3]`` of at most ``MOST_SIDE`` a side, a text, or None.

    Raises:
        UnusableRender: It gave something else.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return _text(value)
    if not isinstance(value, np.ndarray):
        raise UnusableRender(f"render() returned {type(value).__name__}, {_EXPECTED}")
    shape = ", ".join(map(str, value.shape))
    channels = value.shape[2] if value.ndim == 3 else 1
    if value.dtype != np.uint8 or value.ndim not in (2, 3) or channels not in (1, 3, 4) or not value.size:
        raise UnusableRender(f"render() returned {value.dtype}[{shape}], {_EXPECTED}")
    return _smaller(value[:, :, None] if value.ndim == 2 else value)


_EXPECTED = "expected uint8[H, W, 3], a text or None"


def _smaller(value: Pixels) -> Pixels:
    """Return the picture in three channels, by equal boxes of pixels of which one is kept each."""
    step = -(-max(value.shape[:2]) // MOST_SIDE)
    kept = value[::step, ::step, :3]
    return np.ascontiguousarray(np.broadcast_to(kept, (*kept.shape[:2], 3)))


def _text(value: str) -> str:
    """Return a text without what a terminal would obey; marks of colour stay."""
    kept = value[: 4 * MOST_TEXT]
    kept = _ESCAPE.sub(lambda found: found[0] if _COLOUR.fullmatch(found[0]) else "", kept)
    return _CONTROL.sub("", kept)[:MOST_TEXT].encode("utf-8", "replace").decode()


class PictureEncoder:
    """Pictures as image files: PNG, or WebP where Pillow is installed and it is worth its time."""

    def __init__(self, *, fast: bool = False) -> None:
        """Keep pictures without loss until one is large. ``fast``: time counts for more than bytes."""
        try:
            from PIL import Image
        except ImportError:
            self._image: Any = None
        else:
            self._image = Image
        self._fast, self._lossy = fast, False
        self._level = FAST_LEVEL if fast else PNG_LEVEL

    def encode(self, picture: Pixels) -> bytes:
        """Return an image file of ``uint8[H, W, 3]``."""
        if self._image is None:
            return png(picture, self._level)
        if not self._lossy:
            made = (
                png(picture, self._level)
                if self._fast
                else self._webp(picture, lossless=True, quality=0, method=1)
            )
            self._lossy = len(made) > 2048 + LOSSLESS * picture.shape[0] * picture.shape[1]
        return self._webp(picture, quality=QUALITY, method=1) if self._lossy else made

    def _webp(self, picture: Pixels, **how: object) -> bytes:
        out = BytesIO()
        self._image.fromarray(picture).save(out, "WEBP", **how)
        return out.getvalue()


def png(picture: Pixels, level: int = PNG_LEVEL) -> bytes:
    """Return ``uint8[H, W, 3]`` as a PNG file; ``level``: of the compression."""
    height, width, _ = picture.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = picture.reshape(height, -1)
    rows[1:, 1:] -= picture.reshape(height, -1)[:-1]
    rows[1:, 0] = 2  # each row as its difference from the one above
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), level)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def observed_picture(spec: GameSpec, observed: Mapping[str, Array]) -> Pixels | None:
    """Return the first observed tensor that is a picture: colours, or the last of grey planes."""
    for tensor in spec.observation:
        if tensor.dtype != "u8" or len(tensor.shape) != 3 or min(tensor.shape[1:]) < _LEAST_SIDE:
            continue
        planes = observed[tensor.name]
        colours = planes if len(planes) == 3 else planes[-1:]
        return _smaller(np.asarray(colours, np.uint8).transpose(1, 2, 0))
    return None


def table(spec: GameSpec, observed: Mapping[int, Mapping[str, Array]]) -> bytes:
    """Return what seats observe as JSON: a list of the first values of each tensor, seat by seat."""
    seats = [
        {
            "seat": seat,
            "tensors": [_values(unpack_one(t, tensors[t.name])) for t in spec.observation[:MOST_TENSORS]],
        }
        for seat, tensors in sorted(observed.items())[:8]
    ]
    return json.dumps(seats, separators=(",", ":")).encode()


def _values(array: Array) -> list[float | int | None]:
    first = array.reshape(-1)[:MOST_VALUES]
    if first.dtype.kind != "f":
        return [int(v) for v in first]
    return [float(f"{v:.5g}") if np.isfinite(v) else None for v in first]


def columns_of(spec: GameSpec) -> list[dict[str, object]]:
    """Return the tensors of a table: names, shapes, and names of their values."""
    return [
        {
            "name": t.name,
            "shape": list(t.shape),
            "labels": list(t.labels[:MOST_VALUES]) if len(t.shape) == 1 else [],
            "meaning": t.meaning[:200],
        }
        for t in spec.observation[:MOST_TENSORS]
    ]

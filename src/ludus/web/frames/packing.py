"""A film for the page: image files and texts behind the header, and where each moment's is.

``static/replay/frames_view.js`` reads them.
"""

from __future__ import annotations

import base64
import binascii
from typing import Literal

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.flow.inputs.shown import visible
from ludus.web.recording import ViewError

Kind = Literal["picture", "text", "table", "same"]  # same: as the moment before


class FrameDocument(msgspec.Struct):
    """A moment as a view document; ``data`` in base64. The first has ``tensors`` and ``notes``."""

    tick: int
    kind: Kind
    data: str = ""
    returns: list[float] = []
    tensors: list[dict[str, object]] = []
    notes: list[str] = []


def frame_of(document: bytes | str) -> FrameDocument:
    """Return a moment. Raises ``ViewError``."""
    try:
        return from_json(document, FrameDocument)
    except msgspec.ValidationError as error:
        raise ViewError(f"a moment of a film: {error}") from None


def data_of(frame: FrameDocument) -> bytes:
    """Return the image file or the text of a moment. Raises ``ViewError``."""
    try:
        return base64.b64decode(frame.data, validate=True)
    except binascii.Error as error:
        raise ViewError(f"a moment of a film at tick {frame.tick}: {error}") from None


class FramesPacking:
    """Packs a film. A moment that looks as the one before shares its data."""

    def __init__(self) -> None:
        """Start with no moment."""
        self._views: list[dict[str, int]] = []
        self._kinds: list[str] = []
        self._sizes: list[int] = []
        self._at: list[int] = []
        self._returns: list[list[float]] = []
        self._data = bytearray()
        self._tensors: list[dict[str, object]] = []
        self._notes: list[str] = []

    def see(self, document: bytes | str) -> None:
        """Take the next moment. Raises ``ViewError``."""
        frame = frame_of(document)
        self._views.append({"tick": frame.tick})
        self._returns.append(frame.returns)
        self._tensors = frame.tensors or self._tensors
        self._notes += [visible(note) for note in frame.notes]
        if frame.kind != "same" or not self._kinds:
            data = data_of(frame)
            self._kinds.append("text" if frame.kind == "same" else frame.kind)
            self._sizes.append(len(data))
            self._data += data
        self._at.append(len(self._kinds) - 1)

    def header(self) -> dict[str, object]:
        """Return the film's table."""
        film = {
            "kinds": self._kinds,
            "sizes": self._sizes,
            "at": self._at,
            "returns": self._returns,
            "tensors": self._tensors,
            "notes": self._notes,
        }
        return {"views": self._views, "events": [], "film": film}

    def data(self) -> bytes:
        """Return the image files and texts."""
        return bytes(self._data)

    def effect(self, seat: int, tick: int) -> str:
        """Return "": nothing is known."""
        return ""

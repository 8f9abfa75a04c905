"""The drawings of the replay page, by the names that games declare (:data:`ludus.games.views.RENDERERS`).

Each is a pair: here what travels to the page, in ``static/replay/board_views.js`` what is drawn of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.games.views import RENDERERS as NEEDS
from ludus.games.views import View
from ludus.web.arena_packing import MOST_SIDE, ArenaPacking
from ludus.web.frames.packing import FramesPacking
from ludus.web.recording import Recording, ViewError
from ludus.web.rts.packing import MapPacking

if TYPE_CHECKING:
    from ludus.web.pictures import Picture, Pictures

FramesOf: TypeAlias = "Callable[[Recording, Sequence[ModuleType], int, int], Iterator[Picture]]"
_MOST_CELLS = 1 << 12


class ViewPacker(Protocol):
    """Takes every view document of a match in order (``see``), then gives what the page needs."""

    def see(self, document: bytes | str) -> None:
        """Take the next view document. Raises ``ViewError`` when it cannot be drawn."""
        ...

    def header(self) -> dict[str, object]:
        """Return fields of the page's header: ``events``, and ``views`` or their replacement."""
        ...

    def data(self) -> bytes:
        """Return the columns behind the header."""
        ...

    def effect(self, seat: int, tick: int) -> str:
        """Return the effect of a seat's decision at a tick; "" where nothing is known."""
        ...


class DocumentPacking:
    """The documents themselves."""

    def __init__(self) -> None:
        """Start with no document."""
        self._views: list[object] = []

    def see(self, document: bytes | str) -> None:
        """Take a document, which must have a tick. Raises ``ViewError``."""
        view: object = from_json(document)
        if not isinstance(view, dict) or not isinstance(view.get("tick"), int):
            raise ViewError("a view document is not an object with an integer `tick`")
        self._views.append(view)

    def header(self) -> dict[str, object]:
        """Return the documents themselves."""
        return {"views": self._views, "events": []}

    def data(self) -> bytes:
        """Return no bytes."""
        return b""

    def effect(self, seat: int, tick: int) -> str:
        """Return "": nothing is known."""
        return ""


class _Shape(msgspec.Struct):
    """Fields by which a renderer recognises its documents."""

    map: object = None
    units: object = None
    width: int = 0
    height: int = 0
    size: int = 0
    cells: list[int] = []
    cards: object = None
    rows: object = None
    columns: object = None
    payoff: object = None
    board: list[object] = []
    kind: object = None


@dataclass(frozen=True)
class Renderer:
    """A way to draw a match.

    ``fits``: whether a document has the fields. ``frames``: the pictures of a video, where there can be one,
    given the recording, Pillow's modules, the width in pixels and the seat whose fog is shown.
    """

    packing: Callable[[], ViewPacker]
    fits: Callable[[_Shape], bool]
    frames: FramesOf | None = None


def _painted(module: str, painter: str) -> FramesOf:
    """Return the pictures of a painter (:class:`ludus.web.pictures.Pictures`), imported when needed."""

    def frames(
        recording: Recording, pillow: Sequence[ModuleType], width: int, seat: int
    ) -> Iterator[Picture]:
        made: Pictures = getattr(import_module(module), painter)(recording, pillow, width, seat)
        return made.frames()

    return frames


def _is_board(shape: _Shape) -> bool:
    sides = shape.width >= 1 and shape.height >= 1
    return sides and len(shape.cells) == shape.width * shape.height <= _MOST_CELLS


def _is_table(shape: _Shape) -> bool:
    sides = isinstance(shape.rows, int) and isinstance(shape.columns, int)
    return sides and isinstance(shape.payoff, list) and len(shape.payoff) == shape.rows * shape.columns  # type: ignore[operator]


RENDERERS: Mapping[str, Renderer] = {
    "map": Renderer(
        MapPacking,
        lambda s: s.map is not None and s.units is not None,
        _painted("ludus.web.rts.painter", "Painter"),
    ),
    "board": Renderer(DocumentPacking, _is_board, _painted("ludus.web.board_painter", "BoardPainter")),
    "noughts": Renderer(
        DocumentPacking, lambda s: len(s.cells) == 9, _painted("ludus.web.board_painter", "NoughtsPainter")
    ),
    "arena": Renderer(
        ArenaPacking,
        lambda s: 1 <= s.size == len(s.board) <= MOST_SIDE,
        _painted("ludus.web.arena_painter", "ArenaPainter"),
    ),
    "cards": Renderer(DocumentPacking, lambda s: isinstance(s.cards, list)),
    "table": Renderer(DocumentPacking, _is_table),
    "frames": Renderer(
        FramesPacking,
        lambda s: s.kind in ("picture", "text"),
        _painted("ludus.web.frames.painter", "FilmPainter"),
    ),
    "document": Renderer(DocumentPacking, lambda s: True),
}


def renderer_named(name: str) -> Renderer:
    """Return a renderer by name; one that shows the documents as text for an unknown name.

    Names of recordings made by hand can be any.
    """
    return RENDERERS.get(name, RENDERERS["document"])


def renderer_of(game: str, view: View | None, document: bytes | str) -> str:
    """Return the name of the renderer for a match, by what its game declares and its first view document.

    Raises ``ViewError`` where the document lacks fields that the declared renderer needs.
    """
    if view is None:
        return "map" if _fits("map", document) else "document"
    if not _fits(view.renderer, document):
        raise ViewError(
            f"{game} declares the view {view.renderer}, whose documents have {NEEDS[view.renderer]}; "
            "the first document has not"
        )
    return view.renderer


def _fits(name: str, document: bytes | str) -> bool:
    renderer = RENDERERS[name]
    try:
        shape = from_json(document, _Shape)
    except msgspec.ValidationError:  # fields of these names that mean something else
        return name == "document"
    return renderer.fits(shape)

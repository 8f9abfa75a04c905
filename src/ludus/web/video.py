"""A recorded match on a map as a video file (H.264 in MP4), for slides and for who has no browser at hand.

Sampled from the same view documents as the replay page, with the same colours: circles are the even seats'
units, squares the odd ones', larger ones buildings. What a seat does not see is dark and nobody in it drawn.
Needs the extra ``[video]`` (PyAV, Pillow).
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow.extras import install_command
from ludus.games import replays
from ludus.web.from_replay import recording_of
from ludus.web.recording import Recording
from ludus.web.rts_view import RtsView, UnitView

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

FPS = 25
WIDTHS = (160, 1920)  # pixels
SPEEDS = (0.1, 1000.0)
MOST_FRAMES = 60_000  # 40 minutes

Colour = tuple[int, int, int]
Picture = npt.NDArray[np.uint8]
_SEATS: tuple[Colour, ...] = (
    (11, 102, 178),
    (194, 82, 12),
    (0, 122, 92),
    (162, 59, 119),
    (107, 91, 181),
    (122, 106, 0),
    (35, 119, 138),
    (90, 100, 114),
)
_NOBODY: Colour = (176, 132, 20)
_GROUND, _DARK, _WALL, _PAPER, _INK = (
    (239, 240, 233),
    (143, 150, 152),
    (92, 100, 106),
    (255, 255, 255),
    (22, 28, 36),
)
_RADIUS = {"base": 0.5, "building": 0.42, "tower": 0.42, "resource": 0.38, "flag": 0.3, "worker": 0.26}
_TROOP = 0.32
_FINER = 2  # drawn this much larger, then made smaller: smooth edges


class VideoError(ValueError):
    """A match that cannot be drawn, or settings outside their range."""


def to_video(
    replay: bytes, out: Path, *, width: int = 720, speed: float = 4.0, seat: int = -1, game: str = ""
) -> int:
    """Writes the match of ``replay`` to ``out`` and returns the number of frames.

    ``width`` in pixels, ``speed`` in times the game's own (50 ticks a second), ``seat`` whose fog is shown
    (-1: none), ``game`` as in :func:`ludus.web.replay_page.to_html`. The file appears when it is whole.

    Raises ``VideoError`` for games without a map, settings out of range and missing libraries,
    ``ReplayError`` for bytes that are no replay, ``ParamError`` for a game that is not there, ``OSError`` for
    a full disk.
    """
    if not WIDTHS[0] <= width <= WIDTHS[1]:
        raise VideoError(f"width {width}: expected {WIDTHS[0]} to {WIDTHS[1]} pixels")
    if not SPEEDS[0] <= speed <= SPEEDS[1]:
        raise VideoError(f"speed {speed:g}: expected {SPEEDS[0]:g} to {SPEEDS[1]:g}")
    libraries = _library("av"), _library("PIL.Image"), _library("PIL.ImageDraw"), _library("PIL.ImageFont")
    info = replays.info(replay)
    if not -1 <= seat < len(info.players):
        raise VideoError(f"seat {seat}: expected -1 (no fog) to {len(info.players) - 1}")
    probe = recording_of(replay, max(1, info.ticks), game)
    if probe.kind != "rts":
        raise VideoError(f"{info.game} has no map to draw; ludus replay to-html shows it")
    # A frame shows a whole tick, so a slow video repeats frames and a fast one leaves ticks out.
    per_frame = probe.ticks_per_s * speed / FPS
    every = max(1, round(per_frame))
    repeat = max(1, round(1.0 / per_frame))
    if info.ticks // every * repeat > MOST_FRAMES:
        least = info.ticks * FPS / probe.ticks_per_s / MOST_FRAMES
        raise VideoError(f"speed {speed:g}: more than {MOST_FRAMES} frames; speed {least:.2g} would do")
    recording = recording_of(replay, every, game)
    painter = _Painter(recording, libraries[1:], width, seat)
    aside = out.with_name(f".{out.name}.{os.getpid()}.part")
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        frames = _encode(libraries[0], aside, painter.frames(), repeat)
        aside.replace(out)
    finally:
        with contextlib.suppress(FileNotFoundError):
            aside.unlink()
    return frames


def _library(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise VideoError(f"videos need PyAV and Pillow: {install_command('video')}") from None


def _encode(av: ModuleType, path: Path, pictures: Iterator[Picture], repeat: int) -> int:
    count = 0
    with av.open(str(path), "w", format="mp4") as container:
        stream: Any = None
        for picture in pictures:
            if stream is None:
                stream = container.add_stream(
                    "libx264", rate=FPS, options={"crf": "20", "preset": "veryfast"}
                )
                stream.height, stream.width = picture.shape[:2]
                stream.pix_fmt = "yuv420p"
            for _ in range(repeat):
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
                count += 1
        container.mux(stream.encode())
    return count


class _Painter:
    """View documents to pictures ``uint8[H, W, 3]``, H and W even as the encoder wants them."""

    def __init__(self, recording: Recording, pillow: Sequence[ModuleType], width: int, seat: int) -> None:
        self.recording, self.seat = recording, seat
        self.image, self.draw, font = pillow
        self.views = [msgspec.json.decode(view, type=RtsView) for view in recording.views]
        self.columns, self.rows = self.views[0].map.width, self.views[0].map.height
        self.size = width - width % 2
        self.cell = self.size * _FINER / self.columns
        self.head = max(24, self.size // 14)
        height = self.head + self.size * self.rows // self.columns
        self.height = height + height % 2
        self.text = font.load_default(max(9, self.head * 0.42) * _FINER)
        self.letters = font.load_default(max(6.0, self.cell * 0.34))

    def frames(self) -> Iterator[Picture]:
        for view in self.views:
            yield self._picture(view)

    def _picture(self, view: RtsView) -> Picture:
        big = (self.size * _FINER, self.height * _FINER)
        picture = self.image.new("RGB", big, _PAPER)
        pen = self.draw.Draw(picture)
        seen = view.seen[self.seat] if self.seat >= 0 and view.seen else None
        self._ground(pen, view, seen)
        for bullet in view.bullets:
            if bullet.state != "done" and self._visible(bullet.x, bullet.y, seen):
                self._disc(pen, bullet.x, bullet.y, 0.09, _INK)
        for unit in sorted(view.units, key=lambda u: (u.y, u.id)):
            if unit.seat == self.seat or self._visible(unit.x, unit.y, seen):
                self._unit(pen, view, unit)
        self._headline(pen, view)
        small = picture.resize((self.size, self.height), self.image.Resampling.BOX)
        return np.asarray(small, np.uint8)

    def _at(self, x: float, y: float) -> tuple[float, float]:
        return (x + 0.5) * self.cell, self.head * _FINER + (y + 0.5) * self.cell

    def _visible(self, x: float, y: float, seen: list[str] | None) -> bool:
        if seen is None:
            return True
        column, row = round(x), round(y)
        return 0 <= row < len(seen) and 0 <= column < len(seen[row]) and seen[row][column] == "1"

    def _ground(self, pen: ImageDraw, view: RtsView, seen: list[str] | None) -> None:
        for row in range(self.rows):
            for column in range(self.columns):
                colour = _GROUND if self._visible(column, row, seen) else _DARK
                if view.map.terrain and view.map.terrain[row][column] == "#":
                    colour = _WALL
                x, y = self._at(column - 0.5, row - 0.5)
                pen.rectangle((x, y, x + self.cell, y + self.cell), fill=colour)

    def _disc(self, pen: ImageDraw, x: float, y: float, radius: float, colour: Colour) -> None:
        cx, cy = self._at(x, y)
        r = radius * self.cell
        pen.ellipse((cx - r, cy - r, cx + r, cy + r), fill=colour)

    def _unit(self, pen: ImageDraw, view: RtsView, unit: UnitView) -> None:
        role = view.role(unit.type)
        radius = _RADIUS.get(role, _TROOP)
        own = 0 <= unit.seat < len(_SEATS)
        colour = _SEATS[unit.seat] if own and role != "resource" else _NOBODY
        cx, cy = self._at(unit.x, unit.y)
        r = radius * self.cell
        box = (cx - r, cy - r, cx + r, cy + r)
        if unit.seat % 2 == 1:
            pen.rounded_rectangle(box, r * 0.25, fill=colour, outline=_PAPER, width=_FINER)
        else:
            pen.ellipse(box, fill=colour, outline=_PAPER, width=_FINER)
        if unit.carries:
            pen.ellipse(box, outline=_NOBODY, width=3 * _FINER)
        if role == "base":  # whose name may begin like another building's
            pen.ellipse((cx - r / 2, cy - r / 2, cx + r / 2, cy + r / 2), outline=_PAPER, width=2 * _FINER)
        elif role != "resource":
            pen.text((cx, cy), unit.type[:1].upper(), fill=_PAPER, font=self.letters, anchor="mm")
        if unit.max_hp > 0 and role != "resource":
            share = min(max(unit.hp / unit.max_hp, 0.0), 1.0)
            top, left, full = cy - r - 0.16 * self.cell, cx - r, 2 * r
            pen.rectangle((left, top, left + full, top + 0.09 * self.cell), fill=_DARK)
            pen.rectangle((left, top, left + full * share, top + 0.09 * self.cell), fill=colour)

    def _headline(self, pen: ImageDraw, view: RtsView) -> None:
        middle, edge = self.head * _FINER / 2, self.head * _FINER * 0.3
        left = edge
        for seat, name in enumerate(self.recording.seats):
            amount = f" {view.amounts[seat]}" if seat < len(view.amounts) else ""
            words = f"{name[:24]}{amount}   "
            pen.text((left, middle), words, fill=_SEATS[seat % len(_SEATS)], font=self.text, anchor="lm")
            left += pen.textlength(words, font=self.text)
        tick = f"{view.tick:,}"
        pen.text((self.size * _FINER - edge, middle), tick, fill=_INK, font=self.text, anchor="rm")

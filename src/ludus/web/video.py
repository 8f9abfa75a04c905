"""A recorded match on a map, a board or in an arena as a video file (H.264 in MP4), for slides.

Sampled from the same view documents as the replay page (:mod:`ludus.web.pictures`).
Needs the extra ``[video]`` (PyAV, Pillow).
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ludus.flow.process.extras import install_command
from ludus.games import replays
from ludus.storage.files import open_new
from ludus.web.frames.packing import frame_of
from ludus.web.from_replay import recording_of
from ludus.web.renderers import renderer_named

if TYPE_CHECKING:
    from ludus.web.pictures import Picture

FPS = 25
WIDTHS = (160, 1920)  # pixels
SPEEDS = (0.1, 1000.0)
SPEED, FILM_SPEED = 4.0, 1.0  # where none is given: of a compiled game, of one written in Python
MOST_FRAMES = 60_000  # 40 minutes


class VideoError(ValueError):
    """A match that cannot be drawn, or settings outside their range."""


def to_video(
    replay: bytes, out: Path, *, width: int = 720, speed: float | None = None, seat: int = -1, game: str = ""
) -> int:
    """Write the match of ``replay`` to ``out`` and return the number of frames.

    The file appears when it is whole.

    Args:
        replay: Bytes of a ``.ludus`` file.
        out: File to write.
        width: Width in pixels.
        speed: Times the game's own pace: 50 ticks a second on a map, 1 in games of turns. None: 4, or 1 in
            games written in Python.
        seat: Seat whose fog is shown; -1 for none.
        game: As in :func:`ludus.web.replay_page.to_html`.

    Raises:
        VideoError: The match is no picture, a setting is out of range, or a library is missing.
        ReplayError: The bytes are no replay.
        ParamError: There is no such game.
        OSError: The disk is full, or ``out`` cannot be written.
    """
    if not WIDTHS[0] <= width <= WIDTHS[1]:
        raise VideoError(f"width {width}: expected {WIDTHS[0]} to {WIDTHS[1]} pixels")
    if speed is not None and not SPEEDS[0] <= speed <= SPEEDS[1]:
        raise VideoError(f"speed {speed:g}: expected {SPEEDS[0]:g} to {SPEEDS[1]:g}")
    libraries = _library("av"), _library("PIL.Image"), _library("PIL.ImageDraw"), _library("PIL.ImageFont")
    info = replays.info(replay)
    if not -1 <= seat < len(info.players):
        raise VideoError(f"seat {seat}: expected -1 (no fog) to {len(info.players) - 1}")
    if info.format != 1:
        frames = _paced(replay, libraries[1:], width, speed or FILM_SPEED, game)
        return _written(libraries[0], out, frames, 1)
    speed = speed or SPEED
    probe = recording_of(replay, max(1, info.ticks), game)
    pictures = renderer_named(probe.renderer).frames
    if pictures is None:
        shown = "text" if probe.renderer == "document" else "a table"
        raise VideoError(
            f"{info.game} is shown as {shown}, which makes no video; ludus replay to-html shows it"
        )
    # A frame shows a whole tick, so a slow video repeats frames and a fast one leaves ticks out.
    per_frame = probe.ticks_per_s * speed / FPS
    every = max(1, round(per_frame))
    repeat = max(1, round(1.0 / per_frame))
    if info.ticks // every * repeat > MOST_FRAMES:
        least = info.ticks * FPS / probe.ticks_per_s / MOST_FRAMES
        raise VideoError(f"speed {speed:g}: more than {MOST_FRAMES} frames; speed {least:.2g} would do")
    recording = recording_of(replay, every, game)
    return _written(libraries[0], out, pictures(recording, libraries[1:], width, seat), repeat)


def _paced(
    replay: bytes, pillow: tuple[ModuleType, ...], width: int, speed: float, game: str
) -> Iterator[Picture]:
    """Yield the pictures of a match of a game written in Python at a pace, each as often as it is shown."""
    from ludus.web.frames.film import filmed

    recording = filmed(replay, game)
    ticks = [frame_of(view).tick for view in recording.views]
    step = recording.ticks_per_s * speed / FPS  # ticks between two pictures of the video
    if ticks[-1] / step > MOST_FRAMES:
        least = ticks[-1] * FPS / recording.ticks_per_s / MOST_FRAMES
        raise VideoError(f"speed {speed:g}: more than {MOST_FRAMES} frames; speed {least:.2g} would do")
    pictures = renderer_named(recording.renderer).frames
    assert pictures is not None
    shown = 0.0
    for tick, picture in zip(
        [*ticks[1:], ticks[-1] + step], pictures(recording, pillow, width, -1), strict=True
    ):
        while shown < tick:
            yield picture
            shown += step


def _written(av: ModuleType, out: Path, pictures: Iterator[Picture], repeat: int) -> int:
    """Write pictures, each ``repeat`` times; the file appears when it is whole. Returns their number."""
    aside = out.with_name(f".{out.name}.{os.getpid()}.part")
    out.parent.mkdir(parents=True, exist_ok=True)
    open_new(aside).close()  # the library would follow a link
    try:
        frames = _encode(av, aside, pictures, repeat)
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

"""Pictures of a film for a video: each moment of the match at its pace, under the players' names."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from types import ModuleType

import numpy as np

from ludus.flow.inputs.decode import from_json
from ludus.web.frames.packing import FrameDocument, data_of, frame_of
from ludus.web.pictures import INK, PAPER, Picture, seat_colour
from ludus.web.recording import Recording

SHARP = 1.6  # a picture that grows by more keeps its pixels as squares
_MARK = re.compile(r"\x1b\[[0-9;]*m")
_MOST_LINES, _MOST_COLUMNS = 40, 100


class FilmPainter:
    """A film as pictures ``uint8[H, W, 3]``, H and W even, as the encoder requires."""

    def __init__(self, recording: Recording, pillow: Sequence[ModuleType], width: int, seat: int) -> None:
        """Prepare pictures of ``recording``: see :class:`ludus.web.pictures.Pictures`."""
        self.recording, self.width = recording, width - width % 2
        self.image, self.draw, self.fonts = pillow
        self.moments = [frame_of(view) for view in recording.views]
        self.tensors = self.moments[0].tensors
        self.head = max(24, self.width // 18)
        self.text = self.fonts.load_default(max(9, self.head * 0.45))
        self.body = self._height()

    def _height(self) -> int:
        first = next((m for m in self.moments if m.kind == "picture"), None)
        ratio = 0.62
        if first is not None:
            wide, high = self.image.open(io.BytesIO(data_of(first))).size
            ratio = min(2.0, high / wide)
        height = self.head + max(2, round(self.width * ratio))
        return height + height % 2 - self.head

    def frames(self) -> Iterator[Picture]:
        """Yield a picture for each moment."""
        look = None
        for moment in self.moments:
            if moment.kind != "same" or look is None:
                look = self._look(moment)
            picture = self.image.new("RGB", (self.width, self.head + self.body), PAPER)
            picture.paste(look, (0, self.head))
            self._headline(picture, moment)
            yield np.asarray(picture, np.uint8)

    def _look(self, moment: FrameDocument):  # type: ignore[no-untyped-def]  # noqa: ANN202 - Pillow's image
        canvas = self.image.new("RGB", (self.width, self.body), PAPER)
        data = data_of(moment)
        if moment.kind == "picture":
            drawn = self.image.open(io.BytesIO(data)).convert("RGB")
            scale = min(self.width / drawn.width, self.body / drawn.height)
            size = max(1, round(drawn.width * scale)), max(1, round(drawn.height * scale))
            how = self.image.Resampling.NEAREST if scale > SHARP else self.image.Resampling.BICUBIC
            drawn = drawn.resize(size, how)
            canvas.paste(drawn, ((self.width - size[0]) // 2, (self.body - size[1]) // 2))
            return canvas
        lines = self._rows(data) if moment.kind == "table" else _MARK.sub("", data.decode()).splitlines()
        lines = [line[:_MOST_COLUMNS] for line in lines[:_MOST_LINES]]
        longest = max((len(line) for line in lines), default=1)
        size_of = min(24.0, self.width / max(10, longest) * 1.5, self.body / max(4, len(lines) + 1) * 0.75)
        pen = self.draw.Draw(canvas)
        font = self.fonts.load_default(max(7.0, size_of))
        for number, line in enumerate(lines):
            pen.text((16, 12 + number * size_of * 1.3), line, fill=INK, font=font)
        return canvas

    def _rows(self, data: bytes) -> list[str]:
        """Return a table as lines."""
        rows = []
        for seat in from_json(data):
            if len(self.recording.seats) > 1:
                rows.append(self.recording.seats[seat["seat"]])
            for tensor, values in zip(self.tensors, seat["tensors"], strict=False):
                raw = tensor.get("labels")
                labels = raw if isinstance(raw, list) else []
                if labels:
                    rows += [f"{name}: {value}" for name, value in zip(labels, values, strict=False)]
                else:
                    rows.append(f"{tensor.get('name')}: " + "  ".join(map(str, values)))
        return rows

    def _headline(self, picture, moment: FrameDocument) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        pen = self.draw.Draw(picture)
        middle, left = self.head / 2, self.head * 0.4
        for seat, name in enumerate(self.recording.seats[:8]):
            gained = moment.returns[seat] if seat < len(moment.returns) else 0.0
            words = f"{name[:28]}  {gained:g}    "
            pen.text((left, middle), words, fill=seat_colour(seat), font=self.text, anchor="lm")
            left += pen.textlength(words, font=self.text)
        tick = f"{moment.tick:,}"
        pen.text((self.width - self.head * 0.4, middle), tick, fill=INK, font=self.text, anchor="rm")

"""Makes the moving picture of README: a replay page, filmed in a headless Chromium.

    ludus eval mixed --against riders --game rts --matches 20 --record replays --seed 3
    ludus replay to-html replays/match-000009.ludus --out PAGE.html
    python -m tools.readme_picture PAGE.html [--out docs/images/replay.webp] [--from 0.68] [--frames 60]

The frames are spread evenly over the part of the match from ``--from`` to ``--to``, shares of its length. The
first one is what a reader sees who does not wait: choose a moment with a fight.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from pathlib import Path

from PIL import Image

from tests.web.browser import Browser, installed_chromium

MOST_BYTES = 2_000_000
PAGE_WIDTH, PAGE_HEIGHT = 1280, 900
QUALITIES = (80, 60, 40, 25)


def film(page: Path, count: int, width: int, start: float, end: float) -> list[Image.Image]:
    """``count`` pictures of the page, ``width`` pixels wide, spread evenly over a part of its match."""
    height = width * PAGE_HEIGHT // PAGE_WIDTH
    pictures = []
    with Browser(installed_chromium()) as browser, tempfile.TemporaryDirectory() as folder:
        browser.open(page, "", PAGE_WIDTH, PAGE_HEIGHT)
        first, last = browser.evaluate("[ludus.match.firstTick, ludus.match.lastTick]")
        first, last = (round(first + (last - first) * share) for share in (start, end))
        shot = Path(folder) / "shot.png"
        for i in range(count):
            browser.evaluate(f"ludus.seek({first + (last - first) * i // max(1, count - 1)})")
            browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            browser.screenshot(shot)
            picture = Image.open(io.BytesIO(shot.read_bytes())).convert("RGB")
            pictures.append(picture.resize((width, height), Image.Resampling.LANCZOS))
    return pictures


def encode(pictures: list[Image.Image], frame_ms: int) -> bytes:
    """Return an animated WebP of at most ``MOST_BYTES`` bytes. ``SystemExit`` if none is small enough."""
    for quality in QUALITIES:
        made = io.BytesIO()
        pictures[0].save(
            made,
            "WEBP",
            save_all=True,
            append_images=pictures[1:],
            duration=frame_ms,
            loop=0,
            quality=quality,
            method=6,
        )
        if made.tell() <= MOST_BYTES:
            return made.getvalue()
    raise SystemExit(f"the picture has more than {MOST_BYTES} bytes: use fewer frames or a smaller width")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Film a replay page.")
    parser.add_argument("page", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/images/replay.webp"))
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--from", dest="start", type=float, default=0.0, metavar="SHARE")
    parser.add_argument("--to", dest="end", type=float, default=1.0, metavar="SHARE")
    parser.add_argument("--width", type=int, default=960)
    parser.add_argument("--frame-ms", type=int, default=150)
    options = parser.parse_args()
    pictures = film(options.page, options.frames, options.width, options.start, options.end)
    options.out.write_bytes(encode(pictures, options.frame_ms))
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

"""Makes the picture of each game's page: the board of a match between two bots, in a headless Chromium.

    python -m tools.game_pictures [--out docs/images/games] [NAME...]

The matches are recorded here, from fixed seeds.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from ludus.games import replays
from ludus.web.replay_page import to_html
from tests.web.browser import Browser, installed_chromium

MOST_BYTES = 40_000
MOST_PIXELS = 560  # on the longer side
QUALITIES = (85, 70, 55, 40)
BOX = (
    "(() => { const shown = (e) => e && e.getBoundingClientRect().width > 0;"
    " const e = [document.getElementById('map'), document.querySelector('.table-view')].find(shown);"
    " document.getElementById('banner').style.display = 'none';"
    " if (e.id !== 'map') e.style.width = 'max-content';"
    " const b = e.getBoundingClientRect();"
    " return [b.x, b.y, b.x + b.width, b.y + b.height]; })()"
)


@dataclass(frozen=True)
class Moment:
    """A match and the tick of it that is shown; ``rows``: shares of the board's height from and to."""

    bots: tuple[str, ...]
    tick: int
    params: Mapping[str, str] = field(default_factory=dict)
    seed: int = 3
    rows: tuple[float, float] = (0.0, 1.0)


MOMENTS: Mapping[str, Moment] = {
    "capture_the_flag": Moment(("simple", "simple"), 400),
    "connect_four": Moment(("tactical", "tactical"), 18),
    "go": Moment(("tactical", "tactical"), 62, {"size": "9"}),
    "gomoku": Moment(("pattern", "pattern"), 30),
    "kuhn_poker": Moment(("equilibrium", "equilibrium"), 2),
    "leduc_poker": Moment(("call", "call"), 3),
    "matrix": Moment(("random", "random"), 1),
    "minirts": Moment(("simple", "hit_and_run"), 1500),
    "moba": Moment(("simple",) * 6, 1500, rows=(0.32, 0.68)),
    "pommerman": Moment(("simple",) * 4, 58),
    "rts": Moment(("mixed", "riders"), 2200),
    "tic_tac_toe": Moment(("perfect", "random"), 6),
    "tower_defense": Moment(("simple",), 1500),
}


def encode(picture: Image.Image) -> bytes:
    """Return a WebP of at most ``MOST_BYTES`` bytes. ``SystemExit`` if none is small enough."""
    picture.thumbnail((MOST_PIXELS, MOST_PIXELS), Image.Resampling.LANCZOS)
    for quality in QUALITIES:
        made = io.BytesIO()
        picture.save(made, "WEBP", quality=quality, method=6)
        if made.tell() <= MOST_BYTES:
            return made.getvalue()
    raise SystemExit(f"a picture has {made.tell()} bytes, expected at most {MOST_BYTES}")


def main(arguments: list[str] | None = None) -> int:
    """Write the named pictures, all of them by default, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(MOMENTS)}")
    parser.add_argument("--out", type=Path, default=Path("docs/images/games"))
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in MOMENTS]:
        parser.error(f"unknown game {unknown[0]}; there are {', '.join(MOMENTS)}")
    options.out.mkdir(parents=True, exist_ok=True)
    with Browser(installed_chromium()) as browser, tempfile.TemporaryDirectory() as folder:
        for name in options.names or MOMENTS:
            moment, page, shot = MOMENTS[name], Path(folder) / f"{name}.html", Path(folder) / "shot.png"
            replay = replays.record(name, moment.params, seed=moment.seed, bots=moment.bots)
            page.write_text(to_html(replay), encoding="utf-8")
            browser.open(page, f"tick={moment.tick}", 1200, 900)
            left, top, right, bottom = browser.evaluate(BOX)
            browser.screenshot(shot)
            first, last = (top + share * (bottom - top) for share in moment.rows)
            picture = Image.open(shot).convert("RGB").crop((left, first, right, last))
            (options.out / f"{name}.webp").write_bytes(encode(picture))
            print(options.out / f"{name}.webp", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

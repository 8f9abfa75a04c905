"""Makes the pictures of the guide to replays: pages of recorded matches in a headless Chromium.

    python -m tools.replay_pictures [--out docs/images] [NAME...]

The matches are recorded here, from fixed seeds.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ludus.games import replays
from ludus.web.replay_page import to_html
from tests.web.browser import Browser, installed_chromium


@dataclass(frozen=True)
class Shot:
    """A match and the moment of it that is shown."""

    game: str
    bots: tuple[str, ...]
    fragment: str
    params: Mapping[str, str]
    height: int = 830
    think: tuple[str, ...] = ()


SHOTS: Mapping[str, Shot] = {
    "replay": Shot("minirts", ("simple", "hit_and_run"), "tick=1500", {}, 900),
    "replay_go": Shot("go", ("tactical", "tactical"), "tick=62", {"size": "9"}),
    "analysis_go": Shot(
        "go", ("tactical", "tactical"), "tick=62", {"size": "9"}, 830, ("mcts:800", "mcts:100")
    ),
    "replay_pommerman": Shot(
        "pommerman", ("simple",) * 4, "tick=58&fog=0", {"mode": "team", "fog": "1"}, 900
    ),
}


def main(arguments: list[str] | None = None) -> int:
    """Write the named pictures, all of them by default, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(SHOTS)}")
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in SHOTS]
    if unknown:
        parser.error(f"unknown picture {unknown[0]}; there are {', '.join(SHOTS)}")
    with Browser(installed_chromium()) as browser, tempfile.TemporaryDirectory() as folder:
        for name in options.names or SHOTS:
            shot, page = SHOTS[name], Path(folder) / f"{name}.html"
            replay = replays.record(shot.game, shot.params, seed=3, bots=shot.bots)
            page.write_text(to_html(replay, think=shot.think), encoding="utf-8")
            browser.open(page, shot.fragment, 1280, shot.height)
            browser.screenshot(options.out / f"{name}.png")
            print(options.out / f"{name}.png")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

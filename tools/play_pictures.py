"""Makes the pictures of the guides to pages: live matches and a run, in a headless Chromium.

    make demo
    python -m tools.play_pictures runs [--out docs/images]

The folder has a run of MiniRTS whose versions were evaluated; its newest is used. Each picture is a PNG of
few colours: ``play_go.png``, ``play_minirts.png``, ``play_setup.png`` and ``run_page.png``.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from tests.web.browser import Browser, installed_chromium
from tests.web.live import LivePage
from tests.web.serving import served

COLOURS = 256
MOST_BYTES = 150_000
GO_MOVES = ("e5", "c3", "g7", "c7", "g3", "d3", "f6", "e3", "b5", "h5")
WIDTH, HEIGHT = 1120, 760
WORKERS = 5
ENEMIES = "ludus.game.moment.view.units.filter((unit) => unit.seat === 1).length"
OWN = "ludus.game.moment.view.units.filter((unit) => unit.seat === 0 && unit.type === '{}').length"
ALLOWED = "ludus.game.moment.legal[0]?.[0][{}] === 1"


def go(page: LivePage, _: str) -> None:
    """Play a match of Go against a search, some moves of each side."""
    page.play("go", ["person", "mcts:400"], {"size": 9}, seed=1, width=WIDTH, height=HEIGHT)
    for move in GO_MOVES:
        page.wait("ludus.game.myTurn")
        tick = page.evaluate("ludus.tick")
        if page.evaluate(f"ludus.game.type('{move}')"):
            page.wait(f"ludus.tick > {tick} + 1")
    page.wait("ludus.game.myTurn")
    page.click_cell(6, 5)
    page.wait("ludus.game.myTurn")


def minirts(page: LivePage, run: str) -> None:
    """Play MiniRTS against the run's best version until its army comes into sight."""
    page.play("minirts", ["person", f"{run}@best"], rate=2, seed=4, width=WIDTH, height=HEIGHT)
    while page.evaluate(f"ludus.over === null && ludus.tick < 6000 && {ENEMIES} < 4"):
        worker, barracks = (page.evaluate(OWN.format(kind)) for kind in ("worker", "barracks"))
        key = "2" if worker < WORKERS else "4" if barracks else "3"
        if page.evaluate(ALLOWED.format(int(key) - 1)):
            page.browser.press(key)
        page.evaluate("new Promise((done) => setTimeout(done, 100))")
    page.click("#pause")
    page.wait("ludus.over !== null || ludus.game.moment.paused")


def setup(page: LivePage, run: str) -> None:
    """Open the set-up of a match with the run's ladder."""
    path = f"/play?game=minirts&against={run}@best"
    page.go(path, "!!document.querySelector('#start:not(:disabled)')", WIDTH, HEIGHT)
    page.evaluate(
        "(() => { const s = document.getElementById('seat-1');"
        f" s.value = 'ladder:{run}'; s.dispatchEvent(new Event('change', {{bubbles: true}})); }})()"
    )
    page.wait("document.getElementById('strength-1') !== null")
    for _ in range(2):
        page.evaluate("document.getElementById('strength-1').focus()")
        page.browser.press("ArrowLeft")


def run_page(page: LivePage, run: str) -> None:
    """Open the page of the run."""
    page.go(f"/run/{run}", "document.querySelectorAll('#curves canvas').length > 1", WIDTH, HEIGHT)


PICTURES: dict[str, Callable[[LivePage, str], None]] = {
    "play_go": go,
    "play_minirts": minirts,
    "play_setup": setup,
    "run_page": run_page,
}


def encode(shot: bytes) -> bytes:
    """Return a PNG of few colours. ``SystemExit`` if it is too large."""
    picture = Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    made = io.BytesIO()
    picture.save(made, "PNG", optimize=True)
    if made.tell() > MOST_BYTES:
        raise SystemExit(f"a picture has {made.tell()} bytes, expected at most {MOST_BYTES}")
    return made.getvalue()


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Make the pictures of the guide about playing.")
    parser.add_argument("runs", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--only", choices=PICTURES)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        served(options.runs) as client,
        Browser(installed_chromium()) as browser,
    ):
        runs = [run["id"] for run in client.ask("/api/runs").json["runs"] if run["game"] == "minirts"]
        if not runs:
            raise SystemExit(f"{options.runs}: no run of MiniRTS; make demo makes one")
        page = LivePage(browser, client)
        shot = Path(folder) / "shot.png"
        for name, prepare in PICTURES.items():
            if options.only in (None, name):
                prepare(page, runs[-1])
                page.evaluate("new Promise((done) => setTimeout(done, 300))")
                browser.screenshot(shot)
                (options.out / f"{name}.png").write_bytes(encode(shot.read_bytes()))


if __name__ == "__main__":
    main()

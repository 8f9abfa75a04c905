"""Makes the pictures of the guides about leagues and sweeps: their pages in a headless Chromium.

    ludus train presets/... --run-dir runs/league && ludus sweep sweeps/... --run-dir runs/sweep
    python -m tools.compare_pictures runs --league league --sweep sweep [--out docs/images]

``runs`` is the folder that is served, the others are names in it. Each picture is a PNG of few colours:
``league_page.png`` and ``sweep_page.png``. ``--all`` also makes each of them dark and 390 pixels wide.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.web.browser import Browser, installed_chromium
from tests.web.live import LivePage
from tests.web.serving import served
from tools.play_pictures import encode

WIDTH, PHONE, HEIGHT = 1120, 390, 900
MAP = "window.ludus?.map !== undefined && document.querySelector('#ratings .uplot') !== null"
CURVES = "document.querySelector('#sweep-curves .uplot') !== null"
# Point at the result of the first member against the newest frozen player of the last one.
POINT = """(() => { const { map } = ludus; const box = map.canvas.getBoundingClientRect();
const [x, y] = map.pointOf(0, map.order.length - 1); return [box.x + x, box.y + y]; })()"""


def take(page: LivePage, name: str, to: Path, *, phone: bool = False, dark: bool = False) -> None:
    """Write the picture of the page ``/league/ID`` or ``/sweep/ID`` to ``to``."""
    league = name.startswith("/league/")
    page.go(name, MAP if league else CURVES, PHONE if phone else WIDTH, HEIGHT, dark)
    if league:
        page.browser.mouse("mouseMoved", *page.evaluate(POINT))
        page.wait("ludus.map.cursor !== null")
    page.evaluate("new Promise((done) => setTimeout(done, 300))")
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        page.browser.screenshot(shot)
        to.write_bytes(encode(shot.read_bytes()))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Make the pictures of pages that compare.")
    parser.add_argument("runs", type=Path)
    parser.add_argument("--league", required=True)
    parser.add_argument("--sweep", required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    pages = {"league_page": f"/league/{options.league}", "sweep_page": f"/sweep/{options.sweep}"}
    with served(options.runs) as client, Browser(installed_chromium()) as browser:
        page = LivePage(browser, client)
        for picture, path in pages.items():
            take(page, path, options.out / f"{picture}.png")
            if options.all:
                take(page, path, options.out / f"{picture}_dark.png", dark=True)
                take(page, path, options.out / f"{picture}_phone.png", phone=True)
        page.check()


if __name__ == "__main__":
    main()

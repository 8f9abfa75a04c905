"""Makes pictures of every page of the server: light, dark and on a phone.

    python -m tools.example_runs build/example_runs
    python -m tools.screenshots build/example_runs [--out build/screenshots] [--only run,match] [--docs]

Each page is a PNG for each look, ``PAGE-LOOK.png``; ``index.html`` shows all of them. ``--docs`` writes the
pictures of the documents into docs/images in place of that. A page with an error in its console, or wider
than the window, is named, and the exit code is 3.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from ludus.flow.inputs.shown import markup
from ludus.games import replays
from tests.web.browser import Browser, BrowserError, installed_chromium
from tests.web.live import LivePage
from tests.web.serving import Client, served

COLOURS = 256
MOST_BYTES = 150_000  # of a picture of the documents
SHOWN = "!!document.querySelector('#title')?.textContent && !document.querySelector('.loading')"
READY = "document.body.classList.contains('ready')"
SETTLED = "new Promise((done) => setTimeout(done, 800))"
WIDE = "document.documentElement.scrollWidth > innerWidth"


class Look(NamedTuple):
    """Window of a picture."""

    width: int
    height: int
    dark: bool = False


LOOKS: Mapping[str, Look] = {
    "light": Look(1200, 900),
    "dark": Look(1200, 900, dark=True),
    "phone": Look(390, 844),
}
#: Picture of the documents -> page.
DOCUMENTS: Mapping[str, str] = {}


class Shown(NamedTuple):
    """A page of the server, and ids of the served folder."""

    page: LivePage
    look: Look
    runs: Mapping[str, str]  # name -> id

    def go(self, path: str, ready: str = SHOWN) -> None:
        """Open a page of the server."""
        self.page.go(path, ready, self.look.width, self.look.height, self.look.dark)

    def play(self, game: str, seats: list[str], params: Mapping[str, object] = {}, **more: object) -> None:
        """Open the page of a new match."""
        self.page.play(game, seats, params, width=self.look.width, height=self.look.height, **more)
        self.page.browser.theme(self.look.dark)


Opened = Callable[[Shown], None]


def _run(name: str) -> Opened:
    return lambda shown: shown.go(f"/run/{shown.runs[name]}")


def _replay(game: str, params: Mapping[str, str], bots: tuple[str, ...], tick: int) -> Opened:
    def opened(shown: Shown) -> None:
        folder = shown.page.server.library.root / "plays"
        folder.mkdir(exist_ok=True)
        file = folder / f"{game}-picture.ludus"
        if not file.exists():
            file.write_bytes(replays.record(game, params, seed=3, bots=bots))
        found = shown.page.client.ask("/api/replays").json["replays"]
        name = next(line["id"] for line in found if line["name"] == file.name)
        shown.go(f"/replay/{name}#tick={tick}", READY)

    return opened


PAGES: dict[str, Opened] = {
    "start": lambda shown: shown.go("/"),
    "run-units": _run("minirts"),
    "run-board": _run("connect-four"),
    "run-hosted": _run("cartpole"),
    "setup": lambda shown: shown.go(
        "/play?game=minirts", "!!document.querySelector('#start:not(:disabled)')"
    ),
    "replay-map": _replay("minirts", {}, ("simple", "hit_and_run"), 1500),
    "replay-board": _replay("go", {"size": "9"}, ("tactical", "tactical"), 62),
    "replay-arena": _replay("pommerman", {"mode": "team", "fog": "1"}, ("simple",) * 4, 58),
}


def encode(shot: bytes) -> bytes:
    """Return a PNG of few colours. ``SystemExit`` if it is too large."""
    picture = Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    made = io.BytesIO()
    picture.save(made, "PNG", optimize=True)
    if made.tell() > MOST_BYTES:
        raise SystemExit(f"a picture has {made.tell()} bytes, expected at most {MOST_BYTES}")
    return made.getvalue()


def shoot(client: Client, out: Path, only: set[str]) -> list[str]:
    """Write the pictures of the named pages into ``out``; return what is wrong with them."""
    out.mkdir(parents=True, exist_ok=True)
    runs = {run["name"]: run["id"] for run in client.ask("/api/runs").json["runs"]}
    faults: list[str] = []
    with Browser(installed_chromium()) as browser:
        page = LivePage(browser, client)
        for name, open_page in PAGES.items():
            for look, window in LOOKS.items() if not only or name in only else ():
                where = f"{name}-{look}"
                browser.errors.clear()
                browser.requests.clear()
                try:
                    open_page(Shown(page, window, runs))
                    page.evaluate(SETTLED)
                except (BrowserError, AssertionError, KeyError, StopIteration) as error:
                    faults.append(f"{where}: {type(error).__name__}: {error}")
                browser.screenshot(out / f"{where}.png")
                if page.evaluate(WIDE):
                    faults.append(f"{where}: wider than the window")
                faults += [f"{where}: {error}" for error in browser.errors]
                print(out / f"{where}.png", flush=True)
    return faults


def index(out: Path) -> None:
    """Write the page that shows all pictures."""
    figures = (
        f'<figure><img src="{file.name}" height="420"><figcaption>{markup(file.stem)}</figcaption></figure>'
        for file in sorted(out.glob("*.png"))
    )
    text = "".join(figures)
    (out / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>Pages</title>'
        f"<style>figure{{display:inline-block;margin:8px}}</style>{text}",
        encoding="utf-8",
    )


def documents(client: Client, out: Path) -> list[str]:
    """Write the pictures of the documents; return what is wrong with them."""
    with tempfile.TemporaryDirectory() as folder:
        faults = shoot(client, Path(folder), set(DOCUMENTS.values()))
        for picture, page in DOCUMENTS.items():
            shot = (Path(folder) / f"{page}-light.png").read_bytes()
            (out / f"{picture}.png").write_bytes(encode(shot))
    return faults


def main() -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--out", type=Path, default=Path("build/screenshots"))
    parser.add_argument("--only", default="", metavar="PAGE,PAGE", help=f"of {', '.join(PAGES)}")
    parser.add_argument("--docs", action="store_true", help="write the pictures of the documents")
    options = parser.parse_args()
    only = {name for name in options.only.split(",") if name}
    if unknown := only - PAGES.keys():
        parser.error(f"unknown page {min(unknown)}; there are {', '.join(PAGES)}")
    with served(options.runs) as client:
        if options.docs:
            faults = documents(client, Path("docs/images"))
        else:
            faults = shoot(client, options.out, only)
            index(options.out)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 3 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())

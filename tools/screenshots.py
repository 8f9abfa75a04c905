"""Makes pictures of every page of the server: light, dark and on a phone; and the pictures of the documents.

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
from tools import game_pictures

COLOURS = 256
MOST_BYTES = 150_000  # of a picture of the documents
SHOWN = "!!document.querySelector('#title')?.textContent && !document.querySelector('.loading')"
READY = "document.body.classList.contains('ready')"
START = "!!document.querySelector('#start:not(:disabled)')"
SETTLED = "new Promise((done) => setTimeout(done, 900))"
WIDE = "document.documentElement.scrollWidth > innerWidth"
GO_MOVES = ("e5", "c3", "g7", "c7", "g3", "d3", "f6", "e3", "b5", "h5")
LONG_S = 300.0  # that a hosted match is played for its page


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


class Shown(NamedTuple):
    """A page of the server, and ids of the served folder."""

    page: LivePage
    look: Look
    runs: Mapping[str, str]  # name -> id

    def go(self, path: str, ready: str = SHOWN) -> None:
        """Open a page of the server."""
        self.page.go(path, ready, self.look.width, self.look.height, self.look.dark)

    def play(
        self, game: str, seats: list[str], params: Mapping[str, object] = {}, *, start: str = "now"
    ) -> None:
        """Open the page of a new match."""
        answer = self.page.client.post(
            {"game": game, "seats": seats, "params": params, "seed": 4, "start": start}
        )
        made = answer.json
        self.page.match, self.page.key = made["id"], made["key"]
        self.go(f"/play/{made['id']}?key={made['key']}", f"{READY} && ludus.game.view !== null")

    def pass_time(self, seconds: float) -> None:
        """Let the page live for some time."""
        self.page.evaluate(f"new Promise((done) => setTimeout(done, {1000 * seconds}))")


Opened = Callable[[Shown], None]


def _path(kind: str, name: str, ready: str = SHOWN) -> Opened:
    return lambda shown: shown.go(f"/{kind}/{shown.runs[name]}", ready)


def _replay(
    game: str, tick: int, bots: tuple[str, ...], params: Mapping[str, str] = {}, query: str = ""
) -> Opened:
    def opened(shown: Shown) -> None:
        folder = shown.page.server.library.root / "plays"
        folder.mkdir(exist_ok=True)
        file = folder / f"{game}-picture.ludus"
        if not file.exists():
            file.write_bytes(replays.record(game, params, seed=3, bots=bots))
        found = shown.page.client.ask("/api/replays").json["replays"]
        name = next(line["id"] for line in found if line["name"].startswith(f"{game}-picture"))
        shown.go(f"/replay/{name}{query}#tick={tick}", READY)

    return opened


def _match(game: str, *seats: str, seconds: float = 1.0, **params: object) -> Opened:
    def opened(shown: Shown) -> None:
        shown.play(game, ["person", *seats], params)
        shown.pass_time(seconds)

    return opened


def _before(game: str, *seats: str) -> Opened:
    return lambda shown: shown.play(game, ["person", *seats], start="order")


def _over(shown: Shown) -> None:
    shown.play("connect_four", ["person", "tactical"])
    for column in "11223344556677" * 3:
        shown.page.wait("ludus.game.myTurn || ludus.over !== null")
        if shown.page.evaluate("ludus.over !== null"):
            break
        tick = shown.page.evaluate("ludus.tick")
        if shown.page.evaluate(f"ludus.game.type('{column}')"):
            shown.page.wait(f"ludus.tick > {tick} || ludus.over !== null")
    shown.page.wait("!!ludus.over?.url")


def _go_match(shown: Shown) -> None:
    shown.play("go", ["person", "mcts:400"], {"size": 9})
    for move in GO_MOVES:
        shown.page.wait("ludus.game.myTurn")
        tick = shown.page.evaluate("ludus.tick")
        if shown.page.evaluate(f"ludus.game.type('{move}')"):
            shown.page.wait(f"ludus.tick > {tick} + 1")
    shown.page.wait("ludus.game.myTurn")


def _league(shown: Shown) -> None:
    _path("league", "league", "document.querySelector('#ratings .uplot') !== null")(shown)


def _film(shown: Shown) -> None:
    shown.page.server.wait_until_ready()
    shown.go(f"/film/{shown.runs['cartpole']}", "true")
    shown.page.browser.wait(READY, LONG_S)


PAGES: dict[str, Opened] = {
    "start": lambda shown: shown.go("/"),
    "run-units": _path("run", "minirts"),
    "run-board": _path("run", "connect-four"),
    "run-hosted": _path("run", "cartpole"),
    "league": _league,
    "sweep": lambda shown: shown.go("/sweep/rates"),
    "film": _film,
    "setup": lambda shown: shown.go(f"/play?game=minirts&against={shown.runs['minirts']}@best", START),
    "explained-units": _before("minirts", "simple"),
    "explained-board": _before("connect_four", "tactical"),
    "match-minirts": _match("minirts", "simple", seconds=8),
    "match-units": _match("minirts", "simple", commands="units"),
    "match-moba": _match("moba", *["simple"] * 5, seconds=6),
    "match-flag": _match("capture_the_flag", "simple", commands="units"),
    "match-towers": _match("tower_defense"),
    "match-pommerman": _match("pommerman", *["simple"] * 3),
    "match-go": _go_match,
    "match-poker": _match("kuhn_poker", "equilibrium"),
    "match-matrix": _match("matrix", "random"),
    "over": _over,
    "replay-map": _replay("minirts", 1500, ("simple", "hit_and_run")),
    "replay-board": _replay("go", 62, ("tactical", "tactical"), {"size": "9"}),
    "replay-arena": _replay("pommerman", 58, ("simple",) * 4, {"mode": "team", "fog": "1"}),
    "analysis": _replay("go", 20, ("tactical", "tactical"), {"size": "9"}, "?with=mcts:100"),
}
#: Picture of the documents -> page.
DOCUMENTS: Mapping[str, str] = {
    "play_go": "match-go",
    "play_minirts": "match-minirts",
    "play_setup": "setup",
    "replay": "replay-map",
    "replay_go": "replay-board",
    "replay_pommerman": "replay-arena",
    "analysis_go": "analysis",
    "league_page": "league",
    "sweep_page": "sweep",
    "run_page": "run-units",
    "film": "film",
    "play_moba": "match-moba",
}


def encode(shot: bytes) -> bytes:
    """Return a PNG of few colours. ``SystemExit`` if it is too large."""
    picture = Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    made = io.BytesIO()
    picture.save(made, "PNG", optimize=True)
    if made.tell() > MOST_BYTES:
        raise SystemExit(f"a picture has {made.tell()} bytes, expected at most {MOST_BYTES}")
    return made.getvalue()


def shoot(client: Client, out: Path, only: set[str], looks: Mapping[str, Look] = LOOKS) -> list[str]:
    """Write the pictures of the named pages into ``out``; return what is wrong with them."""
    out.mkdir(parents=True, exist_ok=True)
    runs = {run["name"]: run["id"] for run in client.ask("/api/runs").json["runs"]}
    faults: list[str] = []
    with Browser(installed_chromium(), 60.0) as browser:
        page = LivePage(browser, client)
        for name, open_page in PAGES.items():
            for look, window in looks.items() if not only or name in only else ():
                faults += [f"{name}-{look}: {fault}" for fault in _shot(page, window, runs, open_page)]
                browser.screenshot(out / f"{name}-{look}.png")
                print(out / f"{name}-{look}.png", flush=True)
                for session in client.server.matches.listed():
                    session.stop()
    return faults


def _shot(page: LivePage, look: Look, runs: Mapping[str, str], open_page: Opened) -> list[str]:
    """Open a page; return what is wrong with it."""
    browser = page.browser
    browser.errors, browser.requests = [], []
    try:
        open_page(Shown(page, look, runs))
        page.evaluate(SETTLED)
    except (BrowserError, AssertionError, KeyError, StopIteration) as error:
        return [f"{type(error).__name__}: {error}"]
    faults = list(browser.errors)
    return [*faults, "wider than the window"] if page.evaluate(WIDE) else faults


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
        shots = Path(folder)
        faults = shoot(client, shots, set(DOCUMENTS.values()), {"light": LOOKS["light"]})
        for picture, page in DOCUMENTS.items():
            (out / f"{picture}.png").write_bytes(encode((shots / f"{page}-light.png").read_bytes()))
    game_pictures.main(["--out", str(out / "games")])
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

"""Lists every button, label and message of the pages of each game that no text explains.

    python -m tools.first_visits [GAME...]

A stranger visits the set-up, the match before its first order, the match, its end and its replay. A text is
explained by a tooltip or a description, by a note beside it, by the explanation of the game, or by being a
sentence. The exit code is 3 if anything is left.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ludus.games import spec
from ludus.games.registry import BUILT_IN
from ludus.games.views import view_of
from tests.web.browser import Browser, installed_chromium
from tests.web.live import LivePage
from tests.web.serving import served

START = "!!document.querySelector('#start:not(:disabled)')"
READY = "document.body.classList.contains('ready')"
SETTLED = "new Promise((done) => setTimeout(done, 1000))"
#: Plays the first choice that is legal.
FIRST_MOVE = "ludus.act(...ludus.game.moment.legal[ludus.game.seat].map((mask) => mask.indexOf(1)))"
#: Returns the texts of a page that nothing explains.
UNEXPLAINED = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def visits(page: LivePage, game: str) -> Iterator[tuple[str, list[str]]]:
    """Visit the pages of a game; yield the name of each with the texts that nothing explains."""
    about, view = spec(game, {}), view_of(game)
    params = dict(view.persons) if view is not None else {}
    page.go(f"/play?game={game}", START)
    page.evaluate(SETTLED)
    yield "set-up", page.evaluate(UNEXPLAINED)
    bot = about.bots[-1].name if about.bots else "uniform"
    page.play(game, ["person", *[bot] * (about.seats - 1)], params, seed=1, start="order")
    page.evaluate(SETTLED)
    yield "before the first order", page.evaluate(UNEXPLAINED)
    if page.evaluate("ludus.game.moment.paused"):
        page.click("#start")
        page.wait("!ludus.game.moment.paused")
    page.evaluate(SETTLED)
    yield "match", page.evaluate(UNEXPLAINED)
    if page.evaluate("ludus.tick === 0 && ludus.over === null"):  # without a move a match leaves no replay
        page.wait("ludus.game.myTurn")
        page.evaluate(FIRST_MOVE)
        page.wait("document.querySelectorAll('#moves li').length > 0")
        page.evaluate(SETTLED)
    if not page.evaluate("ludus.over !== null"):
        page.evaluate("ludus.game.send('resign')")
    page.wait("ludus.over !== null")
    page.evaluate(SETTLED)
    yield "end", page.evaluate(UNEXPLAINED)
    page.wait("!!ludus.over.url")  # it comes once the file is written
    page.go(page.evaluate("ludus.over.url"), READY)
    page.evaluate(SETTLED)
    yield "replay", page.evaluate(UNEXPLAINED)


def main() -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("games", nargs="*", metavar="GAME")
    games = parser.parse_args().games or list(BUILT_IN)
    left = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as client,
        Browser(installed_chromium()) as browser,
    ):
        page = LivePage(browser, client)
        for game in games:
            for name, texts in visits(page, game):
                for text in texts:
                    print(f"{game}, {name}: {text}", flush=True)
                    left += 1
            for session in client.server.matches.listed():
                session.stop()
    print(f"{left} texts that nothing explains", file=sys.stderr)
    return 3 if left else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""A browser at the pages of a server, for tests and pictures; and runs with untrained weights."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ludus.flow import Weights, WeightsMeta
from ludus.games import spec as game_spec
from ludus.policies.config import EncoderConfig
from ludus.policies.factory import build_network
from ludus.storage.checkpoints import Checkpoint, Pointer
from ludus.storage.run_info import RunInfo
from ludus.storage.rundir import RunDirectory, RunLog
from tests.web.browser import Browser
from tests.web.serving import Client

SMALL = EncoderConfig(hidden=(16,), dense=(16,), channels=(4, 4))
PLAYING = "document.body.classList.contains('ready') && ludus.game.view !== null"


def make_run(folder: Path, game: str, versions: Sequence[int], **params: object) -> RunDirectory:
    """Make a finished run whose weights of each version are untrained and differ."""
    spec = game_spec(game, params)
    info = RunInfo(1, "0", spec.name, spec.spec_hash, 1, "2026-01-01T00:00:00Z", ("ludus", "train"))
    settings = "".join(f"{name} = {json.dumps(value)}\n" for name, value in params.items())
    run = RunDirectory.create(folder, f'[game]\nname = "{game}"\n\n[game.params]\n{settings}', info)
    for version in versions:
        network = build_network(SMALL, spec, seed=version)
        meta = WeightsMeta(
            version=version,
            steps=1000 * version,
            spec_hash=spec.spec_hash,
            architecture=msgspec.json.encode(SMALL).decode(),
            spec=msgspec.json.encode(spec).decode(),
            game=spec.name,
            frame_skip=spec.default_frame_skip,
        )
        tensors = {name: tensor.detach().numpy() for name, tensor in network.state_dict().items()}
        run.checkpoints.save(Checkpoint(Weights(meta, tensors), {}, {}, b"{}"))
    run.checkpoints.point("best", Pointer(versions[-1]))
    log = RunLog(run)
    log.event("started")
    for step in range(1, 60):
        log.metrics(
            {"kind": "update", "steps": 100 * step, "time/minutes": step / 10, "loss/value": 1 / step}
        )
    for step in (20, 40):
        rate = {"eval/random/win_rate": step / 100, "eval/random/ci_low": 0.1}
        log.metrics({"kind": "evaluation", "steps": 100 * step, "time/minutes": step / 10, **rate})
    log.event("finished")
    log.close()
    return run


class LivePage:
    """A browser at the pages of a server."""

    def __init__(self, browser: Browser, client: Client) -> None:
        self.browser, self.client, self.server = browser, client, client.server
        self.match = self.key = ""  # of the match that was started last

    def check(self) -> None:
        """No console error, and no request to another host, since the page was opened."""
        own = (f"http://127.0.0.1:{self.server.port}/", "about:blank", "data:,")
        assert self.browser.errors == []
        assert [url for url in self.browser.requests if not url.startswith(own)] == []

    def go(self, path: str, ready: str, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        self.check()
        self.browser.go(self.server.url(path), width, height, dark, ready)

    def play(
        self,
        game: str,
        seats: Sequence[str],
        params: Mapping[str, object] = {},
        *,
        width: int = 1280,
        height: int = 900,
        guide: bool = False,
        **settings: object,
    ) -> None:
        """Start a match and open its page; ``guide``: leave the explanation of the game open."""
        answer = self.client.post({"game": game, "seats": seats, "params": params, **settings})
        assert answer.status == 201, answer.body
        made = answer.json
        self.match, self.key = made["id"], made["key"]
        path = f"/play/{self.match}?key={self.key}" if "person" in seats else f"/watch/{self.match}"
        self.go(path, PLAYING, width, height)
        shown = f"localStorage.getItem('ludus.guide.' + {game!r}) === 'false'"
        self.wait(f"ludus.game.hello.guide === null || {shown} || document.getElementById('guide') !== null")
        if not guide:
            self.evaluate("document.getElementById('guide-close')?.click()")
            self.wait("document.getElementById('guide') === null")

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 - any value of the page
        return self.browser.evaluate(expression)

    def text(self, selector: str) -> str:
        return str(self.evaluate(f"document.querySelector({selector!r})?.textContent ?? ''"))

    def middle(self, selector: str) -> tuple[float, float]:
        """Return the middle of an element, scrolled into view."""
        script = (
            f"(() => {{ const e = document.querySelector({selector!r}); "
            " e.scrollIntoView({block: 'nearest'});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        x, y = self.evaluate(script)
        return x, y

    def click(self, selector: str) -> None:
        self.browser.click(*self.middle(selector))

    def click_cell(self, column: int, row: int) -> None:
        """Click a cell of the board."""
        script = (
            f"(() => {{ const b = document.getElementById('map').getBoundingClientRect();"
            f" const [x, y] = ludus.game.view.pointOf({column}, {row}); return [b.x + x, b.y + y]; }})()"
        )
        self.browser.click(*self.evaluate(script))

    def wait(self, condition: str, seconds: float = 100.0) -> None:
        self.browser.wait(condition, seconds)


def checked_page(browser: Browser, client: Client) -> Iterator[LivePage]:
    """Yield a page; what used it also fails on any console error, and on a request to another host."""
    browser.errors, browser.requests = [], []
    live = LivePage(browser, client)
    yield live
    live.check()
    for session in client.server.matches.listed():
        session.stop()

"""Routes of the pages that compare: leagues and sweeps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ludus.flow.inputs.decode import to_json
from ludus.flow.inputs.shown import visible
from ludus.web.serve.compare.league import MOST_SHOWN, NEWEST, Leagues
from ludus.web.serve.compare.sweep import Sweeps
from ludus.web.serve.library import Library

#: Paths of the pages.
PAGES = ("/league/{id}", "/sweep/{id}")
#: A report is anyone's file: it runs no script, and nothing in it is loaded from elsewhere.
REPORT_CSP = (
    "sandbox allow-popups; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


class CompareApi:
    """Answers about leagues and sweeps. What reads files runs in threads, two at a time."""

    def __init__(self, library: Library) -> None:
        """Answer about the runs of ``library``."""
        self._leagues, self._sweeps = Leagues(library), Sweeps(library)
        self._heavy = asyncio.Semaphore(2)

    def gets(self) -> dict[str, Callable[[Request], Awaitable[Response]]]:
        """Return the endpoints by path."""
        return {
            "/api/leagues/{id}": self.league,
            "/api/leagues/{id}/payoff": self.payoff,
            "/api/leagues/{id}/ratings": self.ratings,
            "/api/leagues/{id}/matches": self.matches,
            "/api/sweeps/{id}": self.sweep,
            "/sweep/{id}/report.html": self.sweep_report,
        }

    async def league(self, request: Request) -> Response:
        """``/api/leagues/ID``: status, players, meetings and lineage."""
        name = request.path_params["id"]
        return await self._made(lambda: self._leagues.page(name))

    async def payoff(self, request: Request) -> Response:
        """``/api/leagues/ID/payoff?newest=N``: members, bots, the newest N frozen players of each."""
        name, text = request.path_params["id"], request.query_params.get("newest", str(NEWEST))
        if not text.isdecimal() or int(text[:9]) > MOST_SHOWN:
            raise ValueError(f"newest = {visible(text[:40])}: expected 0 to {MOST_SHOWN}")
        return await self._made(lambda: self._leagues.payoff(name, int(text)))

    async def ratings(self, request: Request) -> Response:
        """``/api/leagues/ID/ratings``."""
        name = request.path_params["id"]
        return await self._made(lambda: self._leagues.ratings(name))

    async def matches(self, request: Request) -> Response:
        """``/api/leagues/ID/matches?a=&b=``: recorded matches of two players."""
        name, asked = request.path_params["id"], request.query_params
        return await self._made(lambda: self._leagues.matches(name, asked.get("a", ""), asked.get("b", "")))

    async def sweep(self, request: Request) -> Response:
        """``/api/sweeps/ID``."""
        name = request.path_params["id"]
        return await self._made(lambda: self._sweeps.page(name))

    async def sweep_report(self, request: Request) -> Response:
        """``/sweep/ID/report.html``: the report that the sweep wrote."""
        name = request.path_params["id"]
        page = await run_in_threadpool(lambda: self._sweeps.report_page(name))
        return Response(page, media_type="text/html", headers={"Content-Security-Policy": REPORT_CSP})

    async def _made(self, make: Callable[[], object]) -> Response:
        async with self._heavy:
            body = await run_in_threadpool(lambda: to_json(make()))
        return Response(body, media_type="application/json")

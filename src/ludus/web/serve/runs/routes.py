"""Answers about runs: the list, a run, its curves and its report, and several runs beside each other."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ludus.flow.inputs.decode import to_json
from ludus.flow.inputs.shown import visible
from ludus.web.serve.library import Library
from ludus.web.serve.runs.beside import MOST_BESIDE, RunGrouping, RunsBeside, beside, grouping
from ludus.web.serve.runs.curves import MOST_POINTS, Curves, XAxis, curves_of
from ludus.web.serve.runs.evaluated import EvaluatedMatches, matches_of
from ludus.web.serve.runs.lines import RunLine, line_of
from ludus.web.serve.runs.pages import RunPage, UnchangedPage, page_if_changed

_STYLE = re.compile(rb"style-src '(sha256-[A-Za-z0-9+/]{43}=)'")

Endpoint = Callable[[Request], Awaitable[Response]]


class RunsApi:
    """Answers about the runs of a folder. What reads files runs in threads of the pool."""

    def __init__(self, library: Library) -> None:
        """Answer about ``library``."""
        self._library = library
        self._heavy = asyncio.Semaphore(2)  # curves made at a time

    def gets(self) -> dict[str, Endpoint]:
        """Return the routes by path."""
        return {
            "/api/runs": self.runs,
            "/api/runs/{id}": self.run,
            "/api/runs/{id}/curves": self.curves,
            "/api/runs/{id}/matches": self.matches,
            "/api/beside": self.beside,
            "/api/grouping": self.grouping,
            "/run/{id}/report": self.report,
        }

    async def runs(self, _: Request) -> Response:
        """``/api/runs``."""

        def listed() -> list[RunLine]:
            return [line_of(run) for run in self._library.runs().values()]

        return _json({"runs": await run_in_threadpool(listed)})

    async def run(self, request: Request) -> Response:
        """``/api/runs/ID?known=``; ``known``: the stamp of an earlier answer."""
        name, known = request.path_params["id"], request.query_params.get("known", "")

        def made() -> RunPage | UnchangedPage:
            return page_if_changed(self._library.run(name), known)

        return _json(await run_in_threadpool(made))

    async def curves(self, request: Request) -> Response:
        """``/api/runs/ID/curves?series=A,B&name=C&x=steps|minutes&points=&known=&player=``.

        A ``name`` may have commas.
        """
        name, asked = request.path_params["id"], request.query_params
        x, points = asked.get("x", "steps"), asked.get("points", "1200")
        axis: XAxis = "minutes" if x == "minutes" else "steps"
        if x != axis:
            raise ValueError(f"x = {visible(x[:40])}: expected steps or minutes")
        if not points.isdecimal() or not 1 <= int(points[:9]) <= MOST_POINTS:
            raise ValueError(f"points = {visible(points[:40])}: expected 1 to {MOST_POINTS}")
        series = [one for text in asked.getlist("series") for one in text.split(",") if one]
        series += asked.getlist("name")

        given = {one: asked.get(one, "") for one in ("known", "player")}

        def made() -> Curves:
            return curves_of(self._library.run(name), series, axis, int(points), **given)

        async with self._heavy:
            return _json(await run_in_threadpool(made))

    async def matches(self, request: Request) -> Response:
        """``/api/runs/ID/matches``: the newest matches of its evaluations."""
        name = request.path_params["id"]

        def made() -> EvaluatedMatches:
            return matches_of(self._library.run(name))

        async with self._heavy:
            return _json(await run_in_threadpool(made))

    async def beside(self, request: Request) -> Response:
        """``/api/beside?run=&run=``: measures of several runs, and the settings in which they differ."""
        names = list(dict.fromkeys(request.query_params.getlist("run")))
        if not 2 <= len(names) <= MOST_BESIDE:
            raise ValueError(f"run: {len(names)} runs, expected 2 to {MOST_BESIDE}")

        def made() -> RunsBeside:
            return beside([self._library.run(name) for name in names])

        async with self._heavy:
            return _json(await run_in_threadpool(made))

    async def grouping(self, _: Request) -> Response:
        """``/api/grouping``: settings by which the runs of the list can be grouped."""

        def made() -> RunGrouping:
            return grouping([run for run in self._library.runs().values() if not run.sweep])

        async with self._heavy:
            return _json(await run_in_threadpool(made))

    async def report(self, request: Request) -> Response:
        """``/run/ID/report``: the report of a run, under a policy that admits its own style only."""
        name = request.path_params["id"]
        page = await run_in_threadpool(lambda: self._library.report(self._library.run(name)))
        found = _STYLE.search(page[:4096])
        style = f"'{found[1].decode()}'" if found else "'none'"
        policy = (
            f"default-src 'none'; style-src {style}; img-src data:; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'; sandbox"
        )
        return Response(page, media_type="text/html", headers={"Content-Security-Policy": policy})


def _json(value: object) -> Response:
    return Response(to_json(value), media_type="application/json")

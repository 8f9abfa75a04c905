"""Addresses of the server about analyses: who can analyse a match, its page, records in and out."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ludus.flow.inputs.decode import to_json
from ludus.games import replays
from ludus.games.views import view_of
from ludus.web.analysis.analysts import analysed_match, check_effort
from ludus.web.analysis.report import MatchAnalysis, analysed
from ludus.web.analysis.source import AnalysisSource, is_replay, source_of
from ludus.web.from_replay import record_text
from ludus.web.recording import MOST_OPINIONS
from ludus.web.replay_page import render, to_html
from ludus.web.serve.library import Library, Replay
from ludus.web.serve.players import PlayerError, thinker_of

MAX_RECORD = 1 << 20  # bytes of a record that a page sends
MOST_PAGES, MOST_PAGE_BYTES = 16, 64 << 20  # kept
AGAIN_S = 120.0  # that a match of a game in Python is played again for its page
NETWORKS_S = 120.0  # after which the weights behind a name may be others


class _Kept(msgspec.Struct, frozen=True):
    page: str
    found: MatchAnalysis | None
    made_at: float


_Key = tuple[str, int, float, tuple[str, ...]]


class Pages:
    """Pages with thoughts, the newest kept. Threads may share it."""

    def __init__(self, library: Library) -> None:
        """Make pages of the replays of ``library``."""
        self._library = library
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def page(self, replay: Replay, names: Sequence[str]) -> str:
        """Return the page of a replay, with thoughts of the players that ``names`` denote.

        Raises:
            ValueError: No such player, or a replay without a page.
        """
        if names:
            return self.analysis(replay, names).page
        return to_html(self._library.read(replay), most_s=AGAIN_S)

    def analysis(self, replay: Replay, names: Sequence[str]) -> _Kept:
        """Return the page with thoughts, and the list of mistakes. Raises as :meth:`page`."""
        key = (replay.id, replay.size, replay.modified, tuple(names))
        now = time.monotonic()
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and (now - kept.made_at < NETWORKS_S or not any("@" in n for n in names)):
                self._kept.move_to_end(key)
                return kept
        if not 1 <= len(names) <= MOST_OPINIONS:
            raise PlayerError(f"{len(names)} players to think, expected 1 to {MOST_OPINIONS}")
        data = self._library.read(replay)
        thinkers = [thinker_of(name, self._library) for name in names]
        check_effort(data, list(names))
        if replays.info(data).format == 1:
            recording, found = analysed(AnalysisSource(data), thinkers)
            kept = _Kept(render(recording), found, now)
        else:  # of a game written in Python: its page knows how
            kept = _Kept(to_html(data, think=thinkers, most_s=AGAIN_S), None, now)
        with self._lock:
            self._kept[key] = kept
            while len(self._kept) > 1 and self._too_much():
                self._kept.popitem(last=False)
        return kept

    def _too_much(self) -> bool:
        large = sum(len(kept.page) for kept in self._kept.values()) > MOST_PAGE_BYTES
        return large or len(self._kept) > MOST_PAGES


class AnalysisApi:
    """Answers about analyses. What reads files or thinks runs in threads of the pool."""

    def __init__(self, library: Library, pages: Pages, heavy: asyncio.Semaphore) -> None:
        """Answer about ``library``; ``heavy`` bounds what is made at a time."""
        self._library, self._pages, self._heavy = library, pages, heavy
        self._thinking = asyncio.Semaphore(1)  # an analysis takes long: pages do not wait for it

    async def match(self, request: Request) -> Response:
        """``/api/replays/ID/match``: the match, and who can analyse it."""
        name = request.path_params["id"]

        def found() -> object:
            return analysed_match(self._library.read(self._library.replay(name)), self._library)

        return _json(await run_in_threadpool(found))

    async def analysis(self, request: Request) -> Response:
        """``/api/replays/ID/analysis?with=``: the largest mistakes; the page with them is ready then."""
        name, asked = request.path_params["id"], request.query_params.getlist("with")

        def found() -> object:
            return self._pages.analysis(self._library.replay(name), asked).found

        async with self._thinking:
            return _json(await run_in_threadpool(found))

    async def record(self, request: Request) -> Response:
        """``/api/replays/ID/record``: the match as a file of the game's own format."""
        name = request.path_params["id"]

        def found() -> tuple[str, str]:
            replay = self._library.replay(name)
            data = self._library.read(replay)
            view = view_of(replays.info(data).game)
            text = record_text(data, view)
            if not text or view is None:
                raise PlayerError("there is no other file format for this game")
            return text, f"{replay.name.removesuffix('.ludus')}{view.record_suffix}"

        text, file = await run_in_threadpool(found)
        safe = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in file)
        headers = {"Content-Disposition": f'attachment; filename="{safe}"'}
        return Response(text.encode(), media_type="application/octet-stream", headers=headers)

    async def upload(self, request: Request) -> Response:
        """POST ``/api/records``: a game of Go in SGF, or a replay, becomes a replay of the folder."""
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MAX_RECORD:
                raise HTTPException(413, f"a file of more than {MAX_RECORD:,} bytes")

        def kept() -> object:
            source = source_of(bytes(body))
            about = replays.info(source.replay)
            if is_replay(bytes(body)):
                check = replays.verify(source.replay)
                if not check.same:
                    raise PlayerError(f"the replay does not follow its rules: {check.difference}")
            made = self._library.keep(source.replay, about.game)
            return {"id": made.id, "notes": source.notes}

        async with self._heavy:
            return _json(await run_in_threadpool(kept), 201)


def _json(value: object, status: int = 200) -> Response:
    return Response(to_json(value), status, media_type="application/json")

"""Routes of the server: pages, their files, the API and the sockets of matches."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from ludus.flow.inputs.decode import from_json, to_json
from ludus.flow.inputs.shown import markup, visible
from ludus.games import replays
from ludus.games.names import UnknownGame
from ludus.games.registry import text_params
from ludus.storage.errors import StorageError
from ludus.web.analysis.endpoints import AnalysisApi, Pages
from ludus.web.frames.shows import Shows
from ludus.web.serve import games, players
from ludus.web.serve.compare.routes import PAGES, CompareApi
from ludus.web.serve.guard import Guard
from ludus.web.serve.library import Library, ReplayLine, UnknownId
from ludus.web.serve.live.guides import guide_for
from ludus.web.serve.live.labels import short_name
from ludus.web.serve.matches import NewMatch, NoRoom, Rematch, Sessions, UnplayableMatch, rules_of
from ludus.web.serve.players import needs
from ludus.web.serve.runs.routes import RunsApi
from ludus.web.serve.sentences import sentence
from ludus.web.serve.session import Session
from ludus.web.serve.sockets import Sockets
from ludus.web.serve.zoo import first_game, zoo_lines

if TYPE_CHECKING:
    from starlette.types import ASGIApp

MAX_BODY = 256 << 10
_PAGES = ("/", "/play", "/play/{id}", "/watch/{id}", "/run/{id}", "/analyse/{id}", "/retry/{id}", *PAGES)
_KINDS = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
GONE = 499  # the status of an answer that no one waits for
#: Page of an error, for an address that a person opens.
_SENTENCE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Ludus</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/replay/style.css">
<link rel="stylesheet" href="/static/app/app.css">
</head>
<body class="live">
<header><a class="home" href="/">Ludus</a></header>
<p class="failure" role="alert">{why}</p>
</body>
</html>
"""
#: Page of a match that is not ready yet.
_WAITING = _SENTENCE.replace("</head>", '<meta http-equiv="refresh" content="1">\n</head>').replace(
    '<p class="failure" role="alert">', '<p role="status">'
)
FILM_S = 8.0  # that the page of a match is waited for
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')

T = TypeVar("T")
Endpoint = Callable[[Request], Awaitable[Response]]


class _BadRequest(ValueError):
    """A request that cannot be read."""


class Api:
    """Answers of the API.

    What reads files or thinks runs in threads of the pool: the loop passes the messages of matches on.
    """

    def __init__(self, library: Library, matches: Sessions, shows: Shows) -> None:
        """Answer about ``library``, ``matches`` and ``shows``."""
        self._library, self._matches, self._shows = library, matches, shows
        self._heavy = asyncio.Semaphore(2)  # pages, thoughts and curves made at a time
        self._pages = Pages(library)
        self.analysis = AnalysisApi(library, self._pages, self._heavy)

    async def alive(self, _: Request) -> Response:
        """``/api/alive``: by which a page without a match knows that its server can be reached."""
        return _json({"beat_s": self._matches.beat_s})

    async def games(self, _: Request) -> Response:
        """``/api/games``: the games that pages play, and the one that a set-up starts with."""

        def listed() -> dict[str, object]:
            lines = zoo_lines()
            first = games.game_of_newest_run(self._library) or first_game(lines)
            return {"games": games.games(), "first": first, "zoo": lines}

        return _json(await run_in_threadpool(listed))

    async def players(self, request: Request) -> Response:
        """``/api/players?game=&params=``: who can play, and who cannot for what reason."""
        rules = await run_in_threadpool(rules_of, *_game_of(request))
        return _json(await run_in_threadpool(players.roster, rules, self._library))

    async def guide(self, request: Request) -> Response:
        """``/api/guide?game=&params=``: the explanation of a game, null without one."""
        rules = await run_in_threadpool(rules_of, *_game_of(request))
        return _json({"guide": await run_in_threadpool(guide_for, rules.game, rules.params)})

    async def replays(self, request: Request) -> Response:
        """``/api/replays?run=&game=&player=&outcome=``: the newest that fit, from their headers."""
        asked = {name: request.query_params.get(name, "") for name in ("run", "game", "player")}

        def fits(line: ReplayLine) -> bool:
            return (
                asked["run"] in ("", line.run)
                and asked["game"] in ("", line.game)
                and (not asked["player"] or any(asked["player"] in name for name in line.players))
            )

        lines, more = await run_in_threadpool(self._library.listed, fits)
        return _json({"replays": lines, "left_off": more})

    async def replay_page(self, request: Request) -> Response:
        """``/replay/ID?with=``: the page of a replay, which works offline too, with its own policy."""
        name, asked = request.path_params["id"], request.query_params.getlist("with")

        def made() -> str:
            replay = self._library.replay(name)
            try:
                return self._pages.page(replay, asked)
            except UnknownGame:
                game = visible(replays.info(self._library.read(replay)).game)
                raise _BadRequest(
                    f"a match of {game}, whose code a person has to name: "
                    "ludus replay to-html FILE --game REFERENCE"
                ) from None

        async with self._heavy:
            page = await run_in_threadpool(made)
        page = page.replace("<header>", f"<header>{self._ways_back(f'/replay/{name}')}", 1)
        return _page(page)

    async def film(self, request: Request) -> Response:
        """``/film/RUN?after=``: the next match of a run's newest weights, of a game written in Python."""
        name, after = request.path_params["id"], request.query_params.get("after", "")
        show = await run_in_threadpool(self._shows.show, name)
        if not re.fullmatch("[0-9]{1,9}", after):
            return RedirectResponse(f"/film/{quote(name)}?after={show.made}", 303)
        page = await run_in_threadpool(show.page, int(after), FILM_S)
        if page is None:
            what = f"tick {show.progress:,}" if show.progress else "the players are loaded"
            why = markup(f"{show.run.name}: a match is being played, {what}")
            return Response(_WAITING.format(why=why), media_type="text/html")
        back = (
            '<a class="way-back" href="/">Ludus</a>'
            f'<a class="way-back" id="back" href="/run/{quote(name)}">The run</a>'
        )
        return _page(page.replace("<header>", f"<header>{back}", 1))

    def _ways_back(self, replay: str) -> str:
        """Return links from the page of a replay: to the start, and to the match that it records."""
        matches = [s.match for s in self._matches.listed() if replay == s.recorded and not s.repeats]
        back = (
            f'<a class="way-back" id="back" href="/play/{matches[-1]}">Back to the match</a>'
            if matches
            else ""
        )
        return f'<a class="way-back" href="/">Ludus</a>{back}'

    async def thoughts(self, request: Request) -> Response:
        """``/api/replays/ID/thoughts?with=``: what a player thinks of the decisions of a recorded match."""
        name, asked = request.path_params["id"], request.query_params.get("with", "")

        def thought() -> object:
            from ludus.web.thoughts.replayed import thoughts_of

            replay = self._library.replay(name)
            return thoughts_of(self._library.read(replay), players.thinker_of(asked, self._library))

        async with self._heavy:
            return _json(await run_in_threadpool(thought))

    async def matches(self, _: Request) -> Response:
        """``/api/matches``: the matches of this server, the newest last."""
        return _json({"matches": [_line(session) for session in self._matches.listed()]})

    async def create(self, request: Request) -> Response:
        """POST ``/api/matches``."""
        asked = await _sent(request, NewMatch)
        session = await run_in_threadpool(self._matches.create, asked)
        return _json({"id": session.match, "key": session.key}, 201)

    async def rematch(self, request: Request) -> Response:
        """POST ``/api/rematch``."""
        asked = await _sent(request, Rematch)
        session = await run_in_threadpool(self._matches.rematch, asked)
        return _json({"id": session.match, "key": session.key}, 201)


def make_app(library: Library, matches: Sessions, shows: Shows, port: int, token: str) -> ASGIApp:
    """Return the server's application, guarded. ``port``: where it will be served."""
    api, sockets = Api(library, matches, shows), Sockets(matches)

    async def socket(connection: WebSocket) -> None:
        try:
            await sockets.serve(connection)
        except WebSocketDisconnect:
            pass  # the page has left
        except Exception as error:  # the other sockets continue
            _log(error)

    gets: dict[str, Endpoint] = {
        "/api/alive": api.alive,
        "/api/games": api.games,
        "/api/players": api.players,
        "/api/guide": api.guide,
        **RunsApi(library).gets(),
        "/api/replays": api.replays,
        "/api/replays/{id}/thoughts": api.thoughts,
        "/api/replays/{id}/match": api.analysis.match,
        "/api/replays/{id}/analysis": api.analysis.analysis,
        "/api/replays/{id}/record": api.analysis.record,
        "/replay/{id}": api.replay_page,
        "/film/{id}": api.film,
        **CompareApi(library).gets(),
    }
    files = _files()
    shell = _shell()
    return Guard(
        Starlette(
            routes=[
                *(Route(path, _answering(shell), methods=["GET"]) for path in _PAGES),
                *(Route(path, _answering(end), methods=["GET"]) for path, end in gets.items()),
                Route("/api/records", _answering(api.analysis.upload), methods=["POST"]),
                Route("/api/matches", _answering(api.matches), methods=["GET"]),
                Route("/api/matches", _answering(api.create), methods=["POST"]),
                Route("/api/rematch", _answering(api.rematch), methods=["POST"]),
                Route("/static/{path:path}", _answering(files), methods=["GET"]),
                WebSocketRoute("/ws/matches/{match}", socket),
            ],
            exception_handlers={HTTPException: _refused},
        ),
        port,
        token,
    )


def _game_of(request: Request) -> tuple[str, dict[str, str]]:
    """Return the game that a request names, with parameters as texts."""
    game, params = request.query_params.get("game", ""), request.query_params.get("params") or "{}"
    try:
        return game, text_params(from_json(params, dict[str, str | int | float]))
    except ValueError as error:
        raise _BadRequest(f"params: {sentence(error)}") from None


async def _sent(request: Request, kind: type[T]) -> T:
    """Return the body of a request."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            raise HTTPException(413, f"more than {MAX_BODY} bytes")
    try:
        return from_json(bytes(body), kind)
    except ValueError as error:
        raise _BadRequest(sentence(error)) from None


def _answering(endpoint: Endpoint) -> Endpoint:
    """Return ``endpoint`` with every error as one sentence."""

    async def answering(request: Request) -> Response:
        try:
            return await endpoint(request)
        except HTTPException:
            raise
        except ClientDisconnect:  # the page has left before it had sent all
            return Response(status_code=GONE)
        except UnknownId as error:
            return _why(request, sentence(error), 404)
        except NoRoom as error:
            return _why(request, sentence(error), 429)
        except (UnplayableMatch, _BadRequest, ValueError, StorageError) as error:
            return _why(request, sentence(error), 400)
        except ImportError as error:
            return _why(request, needs(error, "this"), 400)
        except OSError as error:
            return _why(request, error.strerror or type(error).__name__, 500)
        except Exception as error:  # the server continues
            _log(error)
            return _why(request, f"the server failed at this: {type(error).__name__}", 500)

    return answering


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = str(getattr(error, "detail", "")) or "refused"
    return _why(request, "there is no such page" if status == 404 else detail, status)


def _why(request: Request, why: str, status: int) -> Response:
    """Return an error as one sentence: a page for a person who opens the address, JSON for a program."""
    if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/"):
        return Response(_SENTENCE.format(why=markup(why)), status, media_type="text/html")
    return _json({"why": why}, status)


def _page(page: str) -> Response:
    """Return a page that works offline too, with its own policy."""
    found = _POLICY.search(page[:4096])
    policy = f"{found[1]}; frame-ancestors 'none'" if found else "default-src 'none'"
    policy = policy.replace("&#x27;", "'").replace("&#39;", "'")
    return Response(page, media_type="text/html", headers={"Content-Security-Policy": policy})


def _json(value: object, status: int = 200) -> Response:
    return Response(to_json(value), status, media_type="application/json")


def _line(session: Session) -> dict[str, Any]:
    table = session.table
    seats = [{"name": short_name(visible(s.name)), "kind": s.kind} for s in table.seats]
    state = "over" if session.closed else "playing"
    return {
        "id": session.match,
        "key": session.key,
        "game": table.match.game,
        "title": table.match.spec.title,
        "seats": seats,
        "tick": table.match.tick,
        "state": state,
    }


def _shell() -> Endpoint:
    page = resources.files("ludus.web").joinpath("static", "app", "index.html").read_bytes()

    async def shell(_: Request) -> Response:
        return Response(page, media_type="text/html")

    return shell


def _files() -> Endpoint:
    """Return the endpoint of the package's own files, by a table made once, so that requests open no path."""
    root = resources.files("ludus.web").joinpath("static")
    table: dict[str, tuple[bytes, str]] = {}
    for folder in ("app", "replay", "vendor"):
        for file in root.joinpath(folder).iterdir():
            kind = _KINDS.get("." + file.name.rpartition(".")[2])
            if kind is not None and file.is_file():
                table[f"{folder}/{file.name}"] = (file.read_bytes(), kind)

    async def files(request: Request) -> Response:
        found = table.get(request.path_params["path"])
        if found is None:
            return PlainTextResponse("there is no such file\n", 404)
        return Response(found[0], headers={"Content-Type": found[1], "Cache-Control": "no-cache"})

    return files


def _log(error: Exception) -> None:
    """Write one line on stderr about an error that is the server's own."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"error of the server: {type(error).__name__}: {sentence(error)}\n")

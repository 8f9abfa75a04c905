"""Who may talk to the server: a browser of this machine that has the token, at a page of this server.

The token comes once in the URL and is a cookie from then on, which no script reads and no other site sends.
Host is compared literally, so that no name of another site leads here; Origin is compared for sockets and for
everything that changes something.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: Headers of every answer.
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
NAMES = ("127.0.0.1", "localhost", "[::1]")
TOKEN = "token"
HTTP_PORT = 80
_SAFE = ("GET", "HEAD")


class Guard:
    """Refuses requests from elsewhere, before any route sees them."""

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        """Guard ``app``, served at ``port``, with ``token``."""
        self._app, self._token = app, token
        self._hosts = tuple(f"{name}:{port}" for name in NAMES)
        if port == HTTP_PORT:  # browsers leave it out
            self._hosts += NAMES
        self._cookie = f"ludus-{port}"  # cookies do not tell ports apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request or socket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = [(k.decode("latin-1").lower(), v.decode("latin-1")) for k, v in scope["headers"]]
        why = self._refusal(scope, headers)
        if scope["type"] == "websocket":
            if why:
                await WebSocket(scope, receive, send).close(reason=why)  # an HTTP 403: it was never opened
            else:
                await self._app(scope, receive, send)
            return
        answer = self._redirect(scope, headers)
        if answer is None and why:
            answer = PlainTextResponse(f"{why}\n", 403)
        app = answer or self._app
        await app(scope, receive, self._dressed(send))

    def _refusal(self, scope: Scope, headers: Iterable[tuple[str, str]]) -> str:
        """Return why a request is refused, or an empty text."""
        found = list(headers)
        if (why := self._wrong_host(found)) is not None:
            return why
        changes = scope["type"] == "websocket" or scope["method"] not in _SAFE
        if changes and not self._same_origin(found):
            return "requests from other pages are refused"
        given = _cookie(found, self._cookie)
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return "open the address that the command printed: it has a token, this request has not"
        return ""

    def _wrong_host(self, headers: list[tuple[str, str]]) -> str | None:
        hosts = [value for name, value in headers if name == "host"]
        if len(hosts) == 1 and hosts[0] in self._hosts:
            return None
        return f"this server answers at {self._hosts[0]}"

    def _same_origin(self, headers: list[tuple[str, str]]) -> bool:
        origins = [value for name, value in headers if name == "origin"]
        hosts = [value for name, value in headers if name == "host"]
        return len(origins) == 1 and origins[0] == f"http://{hosts[0]}"

    def _redirect(self, scope: Scope, headers: list[tuple[str, str]]) -> Response | None:
        """Return the answer that turns a token in the URL into a cookie, or None."""
        pairs = _pairs(scope["query_string"])
        given = [value for name, value in pairs if name == TOKEN]
        if not given or scope["method"] not in _SAFE or self._wrong_host(headers) is not None:
            return None
        if not secrets.compare_digest(given[0].encode(), self._token.encode()):
            return None
        rest = urlencode([pair for pair in pairs if pair[0] != TOKEN])
        path = scope["path"] if scope["path"].startswith("/") and not scope["path"].startswith("//") else "/"
        answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
        answer.headers["Cache-Control"] = "no-store"
        return answer

    def _dressed(self, send: Send) -> Send:
        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Content-Security-Policy", CSP)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        return dressed


def _cookie(headers: list[tuple[str, str]], name: str) -> str:
    """Return a cookie's value, or an empty text. Cookies of other servers of this host may be malformed."""
    for key, value in headers:
        for part in value.split(";") if key == "cookie" else ():
            given, _, found = part.strip().partition("=")
            if given == name:
                return found
    return ""


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("latin-1"), max_num_fields=64)
    except ValueError:
        return []

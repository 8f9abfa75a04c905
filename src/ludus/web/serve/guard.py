"""Who may talk to the server: a browser of this machine that has the token, at a page of this server.

The token comes once in the URL and is a cookie from then on, which no script reads. Browsers send it with a
link of another site too, but with no other request of one. Host has to be a name of this machine, so that no
name of another site leads here; its port is free, since a forwarded port may have another number at home.
Sockets and everything that changes something need an Origin that is equal to Host: a page of another port has
another one.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from ludus.web.serve.messages import CLOSE_FORBIDDEN

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
TOKEN = "token"
COOKIE = "ludus-"
NO_TOKEN = "open the address that the command printed: it has a token, this request has not"
#: Key of a scope whose request has the token.
KNOWN = "ludus.known"
#: Names of this machine, which no other machine's name can have, with any port.
_HOST = re.compile(r"(?:127(?:\.[0-9]{1,3}){3}|localhost|\[::1\])(?::[0-9]{1,5})?")
_SAFE = ("GET", "HEAD")


class Guard:
    """Refuses requests from elsewhere, before any route sees them."""

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        """Guard ``app``, served at ``port``, with ``token``."""
        self._app, self._token = app, token
        self._port = port
        # Cookies do not tell ports apart, and forwarded servers of two machines may have one port: no server
        # overwrites the cookie of another one.
        self._cookie = f"{COOKIE}{port}-{hashlib.sha256(token.encode()).hexdigest()[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request or socket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = [(k.decode("latin-1").lower(), v.decode("latin-1")) for k, v in scope["headers"]]
        why = self._refusal(scope, headers)
        if scope["type"] == "websocket":
            if why:
                await _refuse(WebSocket(scope, receive, send), why)
            else:
                scope[KNOWN] = True
                await self._app(scope, receive, send)
            return
        answer = self._redirect(scope, headers)
        scope[KNOWN] = not why or answer is not None
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
        if _is_foreign(found) or (changes and not self._same_origin(found)):
            return "requests from other pages are refused"
        return "" if any(map(self._is_token, self._cookies(found))) else NO_TOKEN

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())

    def _cookies(self, headers: list[tuple[str, str]]) -> list[str]:
        """Return the values of all cookies that may have the token: other servers here may set some, too."""
        parts = [part for key, value in headers if key == "cookie" for part in value.split(";")]
        pairs = (part.strip().partition("=") for part in parts)
        return [found for name, _, found in pairs if name in (self._cookie, f"{COOKIE}{self._port}")]

    def _wrong_host(self, headers: list[tuple[str, str]]) -> str | None:
        hosts = [value for name, value in headers if name == "host"]
        if len(hosts) == 1 and _HOST.fullmatch(hosts[0]):
            return None
        port = self._port
        return (
            f"this server answers at 127.0.0.1:{port}; from another machine: ssh -L {port}:127.0.0.1:{port}"
        )

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
        if not self._is_token(given[0]):
            return None
        rest = urlencode([pair for pair in pairs if pair[0] != TOKEN])
        path = scope["path"] if scope["path"].startswith("/") and not scope["path"].startswith("//") else "/"
        answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="lax", path="/")
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


def _is_foreign(headers: list[tuple[str, str]]) -> bool:
    """Return whether a browser reports that another page asks, for more than to be left for this one.

    A page of another port of this machine is such a page, though the browser sends it with the cookie.
    """
    found = {name: value for name, value in headers if name.startswith("sec-fetch-")}
    if found.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return False
    return (found.get("sec-fetch-mode"), found.get("sec-fetch-dest")) != ("navigate", "document")


async def _refuse(socket: WebSocket, why: str) -> None:
    """Refuse a socket. A page of this server without the token gets the reason; no other one is opened."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):  # the page has left
        if why != NO_TOKEN:
            await socket.close(reason=why)  # an HTTP 403
            return
        await socket.accept()
        await socket.close(CLOSE_FORBIDDEN, why)


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("latin-1"), max_num_fields=64)
    except ValueError:
        return []

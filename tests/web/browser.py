"""A headless Chromium driven through its debugging pipe: no driver, no package, no port.

Chromium reads commands from file descriptor 3 and writes answers and events to 4, JSON texts ended by a
zero byte.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--mute-audio", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
# Puts two descriptors, whatever their numbers, where Chromium looks for them, and becomes Chromium.
TO_3_AND_4 = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
MATCH_SHOWN = "document.body.classList.contains('ready') || !document.getElementById('failure').hidden"
LEFT = "Inspected target navigated or closed"  # the answer of a page that is being left
VIRTUAL_KEYS = {" ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
                "ArrowRight": 39, "ArrowDown": 40, "Escape": 27, "Tab": 9, "Enter": 13}  # fmt: skip


class BrowserError(RuntimeError):
    pass


def installed_chromium() -> str:
    """Path of this machine's Chromium, for tools. ``SystemExit`` if there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if (found := shutil.which(name)) is not None:
            return found
    raise SystemExit("no Chromium was found (Debian and Ubuntu: apt-get install chromium)")


class Browser:
    """Browser with one page at a time; ``errors`` and ``requests`` collect those of the page."""

    def __init__(self, path: str, timeout_s: float = 60.0) -> None:
        self._timeout_s = timeout_s
        self._folder = tempfile.mkdtemp(prefix="ludus-chromium-")
        to_read, self._to = os.pipe()
        self._from, from_write = os.pipe()
        command = [sys.executable, "-c", TO_3_AND_4, str(to_read), str(from_write), path, *FLAGS]
        command += [f"--user-data-dir={self._folder}", "about:blank"]
        self._process = subprocess.Popen(
            command, pass_fds=(to_read, from_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(from_write)
        self._held = b""
        self._count = 0
        self._session = ""
        self._target = ""
        self.errors: list[str] = []
        self.requests: list[str] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(BrowserError, OSError):
            self._send("Browser.close", {})
        os.close(self._to)
        os.close(self._from)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _send(self, method: str, params: dict[str, object]) -> int:
        self._count += 1
        message: dict[str, object] = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        return self._count

    def _receive(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._held:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            chunk = os.read(self._from, 1 << 16) if ready else b""
            if not chunk:
                raise BrowserError("the browser does not answer" if not ready else "the browser ended")
            self._held += chunk
        text, _, self._held = self._held.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method: str, **params: object) -> dict[str, Any]:
        number = self._send(method, params)
        until = time.monotonic() + self._timeout_s
        while True:
            message = self._receive(until)
            if message.get("id") == number:
                if "error" in message:
                    raise BrowserError(f"{method}: {message['error'].get('message')}")
                result: dict[str, Any] = message["result"]
                return result

    def open(
        self,
        path: Path,
        fragment: str = "",
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        ready: str = MATCH_SHOWN,
    ) -> None:
        """Open ``path`` in a fresh page; wait until it shows the match or an error (``ready``)."""
        url = path.resolve().as_uri() + (f"#{fragment}" if fragment else "")
        self.go(url, width, height, dark, ready)

    def go(
        self, url: str, width: int = 1280, height: int = 900, dark: bool = False, ready: str = MATCH_SHOWN
    ) -> None:
        """Open ``url`` in a fresh page, and wait until ``ready``."""
        if self._target:
            self._session = ""
            self.call("Target.closeTarget", targetId=self._target)
        self._target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        self.errors, self.requests = [], []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.theme(dark)
        self.call("Page.navigate", url=url)
        self.wait(f"document.readyState === 'complete' && ({ready})")

    def theme(self, dark: bool) -> None:
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 - any value of the page
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def wait(self, condition: str, timeout_s: float = 100.0) -> None:
        until = time.monotonic() + timeout_s
        while not self._holds(condition):
            if time.monotonic() > until:
                raise BrowserError(f"not true within {timeout_s} s: {condition}; errors: {self.errors}")
            time.sleep(0.02)

    def _holds(self, condition: str) -> bool:
        """Return whether ``condition`` is true now; nothing is true of a page that is being left."""
        try:
            return bool(self.evaluate(condition))
        except BrowserError as error:
            if LEFT in str(error):
                return False
            raise

    def press(self, key: str, shift: bool = False, code: str = "") -> None:
        """Press and release a key. ``code``: its place on the keyboard, else as its name."""
        code = code or ("Space" if key == " " else key)
        number = VIRTUAL_KEYS.get(key, ord(key[0].upper()))
        common = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": 8 if shift else 0}
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def mouse(self, kind: str, x: float, y: float, button: str = "left", count: int = 1) -> None:
        """``kind``: mousePressed, mouseMoved or mouseReleased. ``button``: left or right.

        ``count``: 2 for the second click of a double click.
        """
        held = 0 if kind == "mouseReleased" else 2 if button == "right" else 1
        self.call(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=held, clickCount=count
        )

    def click(self, x: float, y: float, button: str = "left", count: int = 1) -> None:
        self.mouse("mousePressed", x, y, button, count)
        self.mouse("mouseReleased", x, y, button, count)

    def phone(self, width: int, height: int) -> None:
        """Show the page on a phone with a finger, from now on."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2,
            mobile=True,
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)

    def touch(self, kind: str, *points: tuple[float, float]) -> None:
        """``kind``: touchStart, touchMove, touchEnd or touchCancel; ``points``: of all fingers that touch."""
        touched = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=touched)

    def tap(self, x: float, y: float) -> None:
        self.touch("touchStart", (x, y))
        self.touch("touchEnd")

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

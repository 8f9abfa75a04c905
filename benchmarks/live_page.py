"""Time from a key to the drawn view of a live match, in a headless Chromium.

    python benchmarks/live_page.py [--seconds 20] [--rate 1] [--against simple] [--json FILE]

A person's MiniRTS match at 50 ticks/s (``--rate`` times that), one key every 100 ms. The page takes the time
from the moment in which it sends an order until it has drawn the first view in which the order was played.
Server, match, browser and keys share this machine. Target: p95 of at most 50 ms.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.web.browser import Browser, installed_chromium
from tests.web.live import LivePage
from tests.web.serving import served

KEY_EVERY_S = 0.1
TARGET_MS = 50.0
#: Keys of the orders that the page allows now.
ALLOWED = "(ludus.game.moment.legal[0]?.[0] ?? []).flatMap((ok, choice) => (ok ? [String(choice + 1)] : []))"


def measure(seconds: float, rate: float, against: str) -> dict[str, float]:
    """Return latencies in ms and how often the board was drawn."""
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as client,
        Browser(installed_chromium()) as browser,
    ):
        page = LivePage(browser, client)
        page.play("minirts", ["person", against], rate=rate, seed=1)
        page.wait("ludus.tick > 20")
        page.evaluate("ludus.latencies.length = 0")
        start, first = time.monotonic(), page.evaluate("ludus.tick")
        pressed = 0
        while time.monotonic() - start < seconds and not page.evaluate("ludus.over !== null"):
            if keys := page.evaluate(ALLOWED):
                browser.press(keys[pressed % len(keys)])
            pressed += 1
            time.sleep(max(0.0, start + pressed * KEY_EVERY_S - time.monotonic()))
        took = time.monotonic() - start
        ticks = page.evaluate("ludus.tick") - first
        latencies = page.evaluate("ludus.latencies")
        page.check()
    if len(latencies) < 10:
        raise SystemExit(f"{len(latencies)} of {pressed} keys were played: too few to measure")
    p50, p95 = np.percentile(latencies, (50, 95))
    return {
        "keys": pressed,
        "played": len(latencies),
        "p50_ms": round(float(p50), 1),
        "p95_ms": round(float(p95), 1),
        "max_ms": round(max(latencies), 1),
        "ticks_per_s": round(ticks / took, 1),
    }


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description="Time from a key to the drawn view.")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--against", default="simple")
    parser.add_argument("--json", type=Path)
    return parser


def main() -> None:
    """Run the command line."""
    options = parser_of().parse_args()
    found = measure(options.seconds, options.rate, options.against)
    print("  ".join(f"{name} {value:g}" for name, value in found.items()))
    print(f"target: p95 of at most {TARGET_MS:g} ms: {'met' if found['p95_ms'] <= TARGET_MS else 'missed'}")
    if options.json:
        options.json.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

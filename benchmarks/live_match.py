"""How late the ticks of a live match are, and what they cost, beside a bare timer on the same machine.

    python benchmarks/live_match.py [--seconds 20] [--game minirts] [--against simple] [--rate 1] [--pages 2]

A person's match with ``--pages`` pages that read every message. ``late`` is the time from when a tick is
due to its start, ``took`` the time until its moment has been handed to the sockets. ``timer`` is the lateness
of a thread that waits for the same times in the same way and does nothing else: the machine's lateness.
Target: late by at most 10 ms at p99 on a machine that is not busy.
"""

from __future__ import annotations

import argparse
import json
import queue
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from tests.web.serving import Client, Socket, served

TARGET_MS = 10.0


def timer(seconds: float, per_second: float) -> list[float]:
    """Return how late a thread wakes, in seconds, at each of the times that a match would have."""
    late: list[float] = []
    never: queue.SimpleQueue[None] = queue.SimpleQueue()
    due = time.monotonic()
    end = due + seconds
    while due < end:
        due += 1 / per_second
        try:
            never.get(timeout=max(0.0, due - time.monotonic()))
        except queue.Empty:
            late.append(time.monotonic() - due)
    return late


def read(page: Socket, stop: threading.Event, sizes: list[int]) -> None:
    """Read everything that a page is sent."""
    while not stop.is_set():
        try:
            sizes.append(len(json.dumps(page.get(seconds=0.5))))
        except TimeoutError:
            continue


def measure(client: Client, options: argparse.Namespace) -> dict[str, object]:
    """Play the match and return figures in milliseconds."""
    seats = client.ask("/api/games").json["games"]
    count = next(game["seats"] for game in seats if game["name"] == options.game)
    first = client.play(options.game, "person", *[options.against] * (count - 1), rate=options.rate).greet()
    pages = [first, *(client.socket(first.hello["match"]).greet() for _ in range(options.pages - 1))]
    per_second = first.hello["ticks_per_s"] * options.rate
    stop, sizes = threading.Event(), list[int]()
    readers = [threading.Thread(target=read, args=(page, stop, sizes), daemon=True) for page in pages]
    for reader in readers:
        reader.start()
    bare = timer(options.seconds, per_second)
    stop.set()
    for reader in readers:
        reader.join()
    ticks = list(client.server.matches.listed()[-1].schedule.ticks)
    late, took = ([1e3 * value for value in column] for column in zip(*ticks, strict=True))
    idle = [1e3 * value for value in bare]
    return {
        "game": options.game,
        "ticks": len(ticks),
        "ticks_per_s": per_second,
        "late_ms": summary(late),
        "timer_late_ms": summary(idle),
        "late_beside_timer_p99": round(
            float(np.percentile(late, 99) / max(1e-3, np.percentile(idle, 99))), 2
        ),
        "took_ms": summary(took),
        "kB_per_s_and_page": round(sum(sizes) / 1e3 / options.seconds / len(pages), 1),
        "target_ms": TARGET_MS,
    }


def summary(values: list[float]) -> dict[str, float]:
    """Return percentiles."""
    p50, p99 = np.percentile(values, (50, 99))
    return {"p50": round(float(p50), 3), "p99": round(float(p99), 3), "max": round(max(values), 3)}


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--game", default="minirts")
    parser.add_argument("--against", default="simple")
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--pages", type=int, default=2)
    return parser


def main() -> None:
    options = parser_of().parse_args()
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as client:
        print(json.dumps(measure(client, options), indent=2))


if __name__ == "__main__":
    main()

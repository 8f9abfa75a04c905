"""Time to draw the payoff of a league as a heat map, in a headless Chromium, and to answer its numbers.

    python -m benchmarks.league_page [--players 300] [--rounds 9] [--json FILE]

A made-up league in which most pairs of players have met. *draw*: from the numbers in the page to the drawn
map, with its sizes, names and picture, and one pixel read back so that nothing waits. *answer*: a request of
the numbers over HTTP, of a record that is open. Medians of the rounds. Limits for 300 players: 50 ms and
500 ms.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from ludus.flow.league import Tally
from ludus.league.events import AnyEvent, Frozen, Joined, Results
from tests.unit.league.recorded import recorded_run
from tests.web.browser import Browser, installed_chromium
from tests.web.live import LivePage
from tests.web.serving import served

DRAW_MS, ANSWER_MS = 50.0, 500.0
MET = 0.8  # share of the pairs
DRAW = """(() => { const { map, payoff } = ludus; const { order, groups } = map;
const start = performance.now();
map.show(payoff, order, groups); map.context.getImageData(map.margin, map.margin, 1, 1);
return performance.now() - start; })()"""


def events(players: int) -> Iterator[AnyEvent]:
    """Yield the events of a member that freezes after each round, in which all its players have met."""
    rng = random.Random(1)
    yield Joined("main", "learner", "main")
    yield Joined("random", "bot")
    for k in range(players - 2):
        met = [j for j in range(k) if rng.random() < MET]
        tallies = [
            Tally(f"main:{k - 1}", f"main:{j}", 0, "rating", rng.randrange(60), rng.randrange(9), 30)
            for j in met
            if j != k - 1
        ]
        if k:
            yield Results(
                "main", k - 1, 1000 * k, k, k, (*tallies, Tally("main", "random", 0, "bot", 9, 0, 1))
            )
        yield Frozen("main", k, "timeout" if k else "asked")


def measure(players: int, rounds: int) -> dict[str, float]:
    """Return medians in ms, and the size of the map and the answer."""
    with tempfile.TemporaryDirectory() as folder:
        recorded_run(Path(folder) / "league", list(events(players)))
        with served(Path(folder)) as client, Browser(installed_chromium()) as browser:
            answers = []
            for _ in range(rounds + 1):
                start = time.perf_counter()
                answer = client.ask(f"/api/leagues/league/payoff?newest={players}")
                answers.append(1e3 * (time.perf_counter() - start))
            page = LivePage(browser, client)
            page.go("/league/league", "window.ludus?.map !== undefined")
            choose = "const e = document.getElementById('newest'); e.value = 600;"
            page.evaluate(f"{{ {choose} e.dispatchEvent(new Event('change', {{bubbles: true}})) }}")
            page.wait(f"ludus.map.order.length === {players}")
            drawn = [page.evaluate(DRAW) for _ in range(rounds + 1)]
            cell = page.evaluate("ludus.map.cell")
    return {
        "players": players,
        "pairs": len(answer.json["pairs"]["i"]),
        "cell_px": cell,
        "draw_ms": round(median(drawn[1:]), 1),
        "first_draw_ms": round(drawn[0], 1),
        "answer_ms": round(median(answers[1:]), 1),
        "answer_kb": round(len(answer.body) / 1e3, 1),
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Time to draw the payoff of a league.")
    parser.add_argument("--players", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measure(options.players, options.rounds)
    print("  ".join(f"{name} {value:g}" for name, value in found.items()))
    for name, limit in (("draw_ms", DRAW_MS), ("answer_ms", ANSWER_MS)):
        share = found[name] / limit
        print(f"{name}: {share:.2f} of the limit of {limit:g} ms: {'met' if share <= 1 else 'missed'}")
    if options.json:
        options.json.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

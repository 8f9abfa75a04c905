"""Cost of watching a run of a game written in Python while it trains.

    ludus train pong --run-dir runs/pong --run.max-steps 3000
    python -m benchmarks.watched runs/pong [--matches 4] [--json FILE]

The server's show of the run plays match after match of its newest weights, as ``/film/RUN`` has them, with
pictures, thoughts and pages. *processor*: processor seconds of the server and of the process that plays, for
each second that a page shows; the first match, which loads torch, is left out. *share*: of all cores of this
machine, which is the most that a training on all of them can lose. Limit: 2% of the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from ludus.web.frames import shows
from ludus.web.serve.library import Library

LIMIT = 0.02
PATIENCE_S = 60.0
CLOCK = os.sysconf("SC_CLK_TCK")


def processor_s(pid: int) -> float:
    """Return the processor seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK


def measure(run: Path, matches: int) -> dict[str, float]:
    """Return seconds, shares and sizes of watching ``run`` for some matches after the first."""
    library = Library(run.parent)
    (found,) = (one for one in library.runs().values() if one.path == run)
    show = shows.Show(found, library, shows.ShowOptions(keep=1), "cpu")
    used, shown, kilobytes = [], 0.0, 0.0
    try:
        for number in range(matches + 1):
            while (page := show.page(number, PATIENCE_S)) is None:
                pass
            assert show._stage is not None
            used.append(processor_s(show._stage._process.pid) + time.process_time())
            if number:
                shown += show._seconds
                kilobytes += len(page) / 1024
    finally:
        show.close()
    spent = (used[-1] - used[0]) / shown
    cores = len(os.sched_getaffinity(0))
    return {
        "matches": matches,
        "shown_s": round(shown, 1),
        "processor_s_per_shown_s": round(spent, 4),
        "cores": cores,
        "share": round(spent / cores, 4),
        "page_kb": round(kilobytes / matches),
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Cost of watching a run.")
    parser.add_argument("run", type=Path)
    parser.add_argument("--matches", type=int, default=4)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measure(options.run.resolve(), options.matches)
    print("  ".join(f"{name} {value:g}" for name, value in found.items()))
    met = "met" if found["share"] <= LIMIT else "missed"
    print(f"share: {found['share'] / LIMIT:.2f} of the limit of {LIMIT:.0%} of the machine: {met}")
    if options.json:
        options.json.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

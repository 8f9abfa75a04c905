"""Time of the start page's list of runs, and time and memory of the curves of a long run.

    python -m benchmarks.run_pages [--runs 200] [--megabytes 100] [--json FILE]

*first list*: what the server does for ``/api/runs`` once a process has started, of runs whose logs have a
megabyte each; *list*: the same again. *first curves*: twelve series of a log of ``--megabytes``, in a process
that does nothing else; *memory*: by how much its peak rises. *more curves*: the same after one more row.
Limits for 200 runs and 100 MB: 0.3 s for a list, 2 s and 150 MB for curves.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from ludus.presets.document import to_toml
from ludus.presets.file import load_preset
from ludus.reporting.metrics import UpdateMetrics, metrics_row
from ludus.reporting.run_view import RunView
from ludus.storage.run_info import RunInfo
from ludus.storage.rundir import RunDirectory

LIST_S, CURVES_S, CURVES_MB = 0.3, 2.0, 150.0
NUMBERS = (
    *(f"loss/{name}" for name in ("policy", "value", "upgo", "anchor_kl")),
    *(f"policy/{name}" for name in ("entropy", "kl", "clip_fraction")),
    *(f"value/{name}" for name in ("explained_variance", "target_mean")),
    *(f"learner/{name}" for name in ("learning_rate", "grad_norm", "samples", "learned", "gradient_steps")),
    *(f"rollout/{name}" for name in ("return", "length", "running_return", "reward_mean", "dropped")),
    "rollout/win_rate/simple",
    *(f"throughput/{name}_per_s" for name in ("ticks", "steps")),
    *(f"time/{name}" for name in ("minutes", "cpu_minutes", "update_s", "collect_s", "infer_s", "learn_s")),
)
ASKED = NUMBERS[:12]


def row(version: int) -> bytes:
    """Return a line of an update."""
    numbers = {name: (0.123456789 * (version + place)) % 1.7 for place, name in enumerate(NUMBERS)}
    numbers["time/minutes"] = version / 100
    update = UpdateMetrics(version, 1000 * version, 1001 * version, 0, 0, 0.5, numbers, {0: 1000})
    return msgspec.json.encode(metrics_row(update)) + b"\n"


def evaluation(version: int, rate: float, *, final: bool = False) -> bytes:
    """Return a line of an evaluation."""
    result = {"against": "simple", "win_rate": rate, "ci_low": rate - 0.02, "ci_high": rate + 0.02}
    space = "final" if final else "eval"
    named = {f"{space}/simple/{name}": value for name, value in result.items() if name != "against"}
    about = {"schema": 2, "version": version, "steps": 1000 * version, "best": True, "final": final}
    return msgspec.json.encode({**about, "results": [result], "kind": "evaluation", **named}) + b"\n"


def make_run(path: Path, megabytes: float, number: int = 1) -> RunDirectory:
    """Make a run with a log of about that size."""
    info = RunInfo(1, "0.1.0", "minirts", "0", number, "2026-01-01T00:00:00Z", ("ludus", "train", "minirts"))
    run = RunDirectory.create(path, to_toml(load_preset("minirts").preset), info)
    (run.path / "checkpoints").mkdir(exist_ok=True)
    rows = max(1, int(1e6 * megabytes / len(row(1000))))
    with RunView(run).source.open("wb") as file:
        for version in range(1, rows + 1):
            file.write(row(version))
            if version % 100 == 0:
                file.write(evaluation(version, 0.2 + 0.6 * version / rows))
        file.write(evaluation(rows, 0.87, final=True))
    run.add_event("started")
    run.add_event("finished", reason="max_steps reached")
    return run


def list_seconds(folder: Path) -> tuple[float, float]:
    """Return the seconds of the first list of a folder's runs, and of the next one."""
    from ludus.flow.inputs.decode import to_json
    from ludus.web.serve import games
    from ludus.web.serve.library import Library
    from ludus.web.serve.runs import line_of

    games.games()  # a server has read its games by then
    taken = []
    for _ in range(2):
        library = Library(folder)
        start = time.perf_counter()
        to_json({"runs": [line_of(run) for run in library.runs().values()]})
        taken.append(time.perf_counter() - start)
    return taken[0], taken[1]


def curves_use(path: Path) -> tuple[float, float, float]:
    """Return the seconds of the first curves of a run and of the next, and the MB by which memory rose."""
    from ludus.web.serve.library import Run
    from ludus.web.serve.runs import curves_of

    run = Run("long", "long", path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    first = curves_of(run, ASKED, "steps", 600)
    took = time.perf_counter() - start
    with RunView(run.directory).source.open("ab") as file:
        file.write(row(10_000_000))
    start = time.perf_counter()
    more = curves_of(run, ASKED, "steps", 600, known=first.stamp)
    again = time.perf_counter() - start
    assert more.x[-1] > first.x[-1]
    return took, again, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def measure(runs: int, megabytes: float) -> dict[str, float]:
    """Return seconds and MB."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(runs):
            make_run(folder / "many" / f"run-{number:03d}", 1.0, number)
        make_run(folder / "long", megabytes)
        first, again = list_seconds(folder / "many")
        command = [sys.executable, "-m", "benchmarks.run_pages", "--curves-of", str(folder / "long")]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    curves, more, memory = json.loads(told)
    return {
        "runs": runs,
        "megabytes": megabytes,
        "first_list_s": round(first, 3),
        "list_s": round(again, 3),
        "first_curves_s": round(curves, 3),
        "more_curves_s": round(more, 4),
        "memory_mb": round(memory, 1),
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Time of the pages of runs.")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--megabytes", type=float, default=100.0)
    parser.add_argument("--curves-of", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.curves_of:
        print(json.dumps(curves_use(options.curves_of)))
        return
    found = measure(options.runs, options.megabytes)
    print("  ".join(f"{name} {value:g}" for name, value in found.items()))
    for name, limit, unit in (
        ("first_list_s", LIST_S, "s"),
        ("list_s", LIST_S, "s"),
        ("first_curves_s", CURVES_S, "s"),
        ("memory_mb", CURVES_MB, "MB"),
    ):
        share = found[name] / limit
        print(f"{name}: {share:.2f} of the limit of {limit:g} {unit}: {'met' if share <= 1 else 'missed'}")
    if options.json:
        options.json.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

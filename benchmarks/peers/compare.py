"""Training throughput side by side with Sample Factory, Stable-Baselines3 and PufferLib.

    make bench-peers                                    # every row: about twenty minutes
    python benchmarks/peers/compare.py --seconds 20 --rows atari-sf,cartpole-sf
    python benchmarks/peers/compare.py --list

Each peer lives in a separate virtual environment (``--envs``, made at the first use). For a row, peer and
Ludus are both started, warmed up, and then take turns on the machine, the one that waits being stopped:
neither pays for its start, and what else the machine does falls on both. Then ``ludus bench train`` reports
the share of pure simulation and of its learner's own limit that Ludus's training reaches. Counted are frames
that were trained on, frame skip included.

``ratio`` is of wall time, ``ratio_cpu`` of processor time: where others use the machine too (``foreign``
processors on average), the second means more. Above 0.2 of a processor, neither is a result.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from environments import Unavailable, python_of, version_of
from rows import HERE, ROOT, ROWS, SIDES, Row
from turns import Side, SideError, alternate


def measure(row: Row, options: argparse.Namespace) -> dict[str, object]:
    """Everything that is known about a row; ``error`` where it could not be measured."""
    out: dict[str, object] = {"row": row.name, "title": row.title, "peer": row.peer, "goal": row.goal}
    try:
        interpreter = python_of(row.peer, options.envs, options.python)
    except Unavailable as error:
        return {**out, "error": str(error)}
    out["peer_version"] = version_of(interpreter, row.package)
    out["peer_torch"] = version_of(interpreter, "torch")
    preset = HERE / "presets" / f"{row.preset}.toml"
    folder = Path(tempfile.mkdtemp(prefix="ludus-peers-"))
    sides: list[Side] = []
    load_before = os.getloadavg()[0]
    try:
        sides.append(
            Side(row.peer, [str(interpreter), str(HERE / SIDES[row.peer]), *row.program], folder / row.peer)
        )
        sides.append(
            Side(
                "ludus",
                [
                    *(sys.executable, str(HERE / "ludus_side.py"), str(preset)),
                    *("--frames-per-decision", str(row.frames_per_decision)),
                    *("--precision", options.precision),
                ],
                folder / "ludus",
                {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
                if options.sources
                else None,
            )
        )
        alternate(sides, options.seconds, options.turns, options.warm, options.limit)
    except SideError as error:
        return {**out, "error": str(error)}
    finally:
        for side in sides:
            side.close()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    peer, ours = (side.tally for side in sides)
    out |= {
        "peer_frames_per_s": peer.rate,
        "ludus_frames_per_s": ours.rate,
        "ratio": ours.rate / peer.rate,
        "peer_frames_per_cpu_s": peer.cpu_rate,
        "ludus_frames_per_cpu_s": ours.cpu_rate,
        "ratio_cpu": ours.cpu_rate / peer.cpu_rate,
        "peer_turns": [round(x, 1) for x in peer.turns],
        "ludus_turns": [round(x, 1) for x in ours.turns],
        "peer_cores": peer.cores,
        "ludus_cores": ours.cores,
        "foreign_cores": [peer.foreign, ours.foreign],
        "load_before_and_after": [load_before, os.getloadavg()[0]],
    }
    return out | (shares(preset, options) if options.shares else {})


def shares(preset: Path, options: argparse.Namespace) -> dict[str, object]:
    """Return the report of ``ludus bench train`` about the preset."""
    command = [sys.executable, "-m", "ludus.cli", "bench", "train", str(preset), "--json"]
    environment = dict(os.environ)
    if options.sources:
        environment["PYTHONPATH"] = str(ROOT / "src")
    done = subprocess.run(
        [*command, "--seconds", str(options.seconds)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return {"shares_error": said[-1] if said else f"ended with code {done.returncode}"}
    report = json.loads(done.stdout)
    names = ("share_of_pure_simulation", "share_of_learner_limit", "share_of_combined_limit")
    return {name: report[name] for name in (*names, "precision", "threads", "lag", "advice")}


def table(results: list[dict[str, object]]) -> str:
    """For people."""
    head = ("row", "peer", "frames/s", "Ludus", "ratio", "by CPU time", "goal", "foreign")
    head += ("of pure sim", "of learner")
    lines = [f"{head[0]:24}{head[1]:>19}" + "".join(f"{x:>13}" for x in head[2:])]
    for r in results:
        start = f"{r['row']:24}{r['peer']:>19}"
        if "error" in r:
            lines.append(f"{start}  not measured: {r['error']}")
            continue
        numbers = [f"{r['peer_frames_per_s']:,.0f}", f"{r['ludus_frames_per_s']:,.0f}"]
        numbers += [f"{r['ratio']:.2f}", f"{r['ratio_cpu']:.2f}", f"{r['goal']:g}"]
        foreign = r["foreign_cores"]
        assert isinstance(foreign, list)
        numbers.append(f"{max(foreign):.2f}")
        for name in ("share_of_pure_simulation", "share_of_learner_limit"):
            numbers.append(f"{r[name]:.0%}" if name in r else "-")
        lines.append(start + "".join(f"{x:>13}" for x in numbers))
    return "\n".join(lines)


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="of a turn, at least")
    parser.add_argument("--turns", type=int, default=3, help="of each side")
    parser.add_argument("--warm", type=int, default=3, help="updates before the first turn")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds without progress that end a row")
    parser.add_argument("--rows", default="", help="names, comma-separated (default: all)")
    parser.add_argument("--envs", type=Path, default=ROOT / "build" / "peers", help="folder of environments")
    parser.add_argument("--python", default=sys.executable, help="makes the peers' environments")
    parser.add_argument("--precision", default="auto", choices=("auto", "float32", "bfloat16"))
    parser.add_argument("--sources", action="store_true", help="Ludus from src/, not the installed one")
    parser.add_argument(
        "--no-shares", dest="shares", action="store_false", help="leave out ludus bench train"
    )
    parser.add_argument("--keep", action="store_true", help="leave logs and run directories")
    parser.add_argument("--json", default="", help="file for the results")
    parser.add_argument("--list", action="store_true", help="the rows, and nothing else")
    return parser


def main() -> int:
    parser = parser_of()
    options = parser.parse_args()
    options.envs = options.envs.resolve()
    names = [name for name in options.rows.split(",") if name]
    unknown = set(names) - {row.name for row in ROWS}
    if unknown:
        known = ", ".join(row.name for row in ROWS)
        parser.error(f"--rows: {', '.join(sorted(unknown))}; there are {known}")
    rows = [row for row in ROWS if not names or row.name in names]
    if options.list:
        for row in rows:
            print(f"{row.name:24} {row.title} (goal {row.goal:g})")
        return 0
    results = []
    for row in rows:
        print(f"== {row.name}: {row.title}", file=sys.stderr, flush=True)
        results.append(measure(row, options))
        if options.json:
            write(Path(options.json), results, options)
    print(table(results))
    return 0


def write(path: Path, results: list[dict[str, object]], options: argparse.Namespace) -> None:
    """Write the file of results, complete after every row."""
    document = {
        "settings": {name: getattr(options, name) for name in ("seconds", "turns", "warm", "precision")},
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "host": {"machine": platform.machine(), "processors": os.cpu_count(), "processor": processor()},
        "rows": results,
    }
    path.write_text(json.dumps(document, indent=1) + "\n")


def processor() -> str:
    """Return the processor's name as the kernel reports it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


if __name__ == "__main__":
    sys.exit(main())

"""Memory and speed of an import of a large SGF collection (``ludus data import``), in one file.

    python -m benchmarks.throughput.data_import [--mb 1000] [--limit-mb 300] [--killed-at 0.5] [--record NAME]

The records are made here: moves in random order on the points of a 19x19 board, with headers as servers write
them, under rules that allow every such move. The command runs in another process; *peak* is the largest
memory of that process (``getrusage``). With ``--killed-at`` it is killed once it has read that share of the
file and started again, and the peak is the larger one of both. Rates are of processor time.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ludus.storage.jsonl import read_jsonl
from tools.figures import figure_of
from tools.new_record import add_record_options, own_command, published
from tools.raw_lines import sampled
from tools.records import Wanted

SIZE = 19
LEAST, MOST = 150, 250  # moves
#: A comment as servers leave it, so that the file has more than moves.
COMMENT = "C[" + "chat at the start of the game, kept with the record " * 4 + "]"


def write_collection(path: Path, megabytes: float, seed: int = 1) -> int:
    """Write a collection of about that size and return its number of games."""
    draw = np.random.default_rng(seed)
    names = [chr(97 + p % SIZE) + chr(97 + p // SIZE) for p in range(SIZE * SIZE)]
    games = written = 0
    with path.open("w") as file:
        while written < 1e6 * megabytes:
            points = draw.permutation(SIZE * SIZE)[: draw.integers(LEAST, MOST)].tolist()
            body = "".join(f";{'BW'[k % 2]}[{names[p]}]" for k, p in enumerate(points))
            heads = (
                f"GM[1]FF[4]CA[UTF-8]SZ[{SIZE}]KM[6.5]RU[NZ]PB[player {games % 977}]PW[player {games % 431}]"
                f"RE[{'BW'[games % 2]}+R]DT[20{games % 20:02d}-0{games % 9 + 1}-11]"
            )
            written += file.write(f"(;{heads}{COMMENT}{body})\n")
            games += 1
    return games


def killed_at(command: Sequence[str], journal: Path, offset: float) -> None:
    """Run an import and kill it once its journal has ``offset`` bytes of the file."""
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while running.poll() is None and _read_so_far(journal) < offset:
            time.sleep(1)
    finally:
        running.kill()
        running.wait()


def _read_so_far(journal: Path) -> int:
    rows = [row["cursor"] for row in read_jsonl(journal) if "cursor" in row]
    return int(rows[-1]["offset"]) if rows and isinstance(rows[-1], dict) else 0


def measure(megabytes: float, folder: Path, share: float = 0.0) -> dict[str, float]:
    """Import a collection, killed at ``share`` of it, and return what it took."""
    source, made = folder / "many.sgf", folder / "set"
    games = write_collection(source, megabytes)
    size = source.stat().st_size
    command = [sys.executable, "-m", "ludus", "data", "import", str(source), "--to", str(made), "--quiet"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if share:
        killed_at(command, made / "import.jsonl", size * share)
    done = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    manifest = json.loads(done.stdout)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert manifest["counts"]["read"] == games
    return {
        "mb": round(size / 1e6, 1),
        "records": games,
        "matches": manifest["matches"],
        "shards": len(manifest["shards"]),
        "cpu_s": round(seconds, 1),
        "read_mb_per_cpu_s": round(size / 1e6 / seconds, 2),
        "records_per_cpu_s": round(games / seconds),
        "peak_mb": round(after.ru_maxrss * 1024 / 1e6, 1),
    }


#: Figures of a record: their fields, labels and units.
FIGURES = (
    ("peak_mb", "Largest memory", "MB"),
    ("mb", "Size of the collection", "MB"),
    ("records", "Records of the collection", "records"),
    ("records_per_cpu_s", "Records a second of processor time", "records/s"),
    ("cpu_s", "Processor time", "s"),
)


def publish(options: argparse.Namespace, found: Mapping[str, float]) -> None:
    """Write the record of a measurement."""
    lines = [sampled(label, [found[field]]) for field, label, _ in FIGURES]
    killed = f", killed at {options.killed_at:.0%} and continued" if options.killed_at else ""
    published(
        options,
        section="throughput",
        title=f"Import of one large SGF collection{killed}",
        lines=lines,
        figures=[
            figure_of(lines, label, unit, "exact", lower_is_better=field in ("peak_mb", "cpu_s"))
            for field, label, unit in FIGURES
        ],
        commands=[own_command("benchmarks.throughput.data_import")],
        wanted=[Wanted(FIGURES[0][1], most=options.limit_mb)],
        notes=["One import in one process; largest resident memory as the system reports it."],
    )


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description="Memory and speed of an import of a large SGF collection.")
    parser.add_argument("--mb", type=float, default=1000.0)
    parser.add_argument("--limit-mb", type=float, default=300.0)
    parser.add_argument("--killed-at", type=float, default=0.0, metavar="SHARE")
    parser.add_argument("--json", type=Path)
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    options = parser_of().parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = measure(options.mb, Path(name), options.killed_at)
    found["limit_mb"] = options.limit_mb
    found["peak_over_limit"] = round(found["peak_mb"] / options.limit_mb, 3)
    print("  ".join(f"{name} {value:g}" for name, value in found.items()))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    publish(options, found)
    sys.exit(found["peak_mb"] > options.limit_mb)


if __name__ == "__main__":
    main()

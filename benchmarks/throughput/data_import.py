"""Memory and speed of an import of a large SGF collection (``ludus data import``), in one file.

    python -m benchmarks.throughput.data_import [--mb 1000] [--limit-mb 300] [--json FILE]

The records are made here: moves in random order on the points of a 19x19 board, with headers as servers write
them, under rules that allow every such move. The command runs in another
process; *peak* is the largest memory of that process (``getrusage``), which depends on the size of the file
only through its index. *read MB/s* is of its processor time.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

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


def measure(megabytes: float, folder: Path) -> dict[str, float]:
    """Import a collection and return what it took."""
    games = write_collection(folder / "many.sgf", megabytes)
    size = (folder / "many.sgf").stat().st_size
    command = [
        sys.executable,
        "-m",
        "ludus",
        "data",
        "import",
        str(folder / "many.sgf"),
        "--to",
        str(folder / "set"),
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*command, "--quiet", "--json"], check=True, capture_output=True, text=True)
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
        "peak_mb": round(after.ru_maxrss / 1024, 1),
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Memory and speed of an import of a large SGF collection.")
    parser.add_argument("--mb", type=float, default=1000.0)
    parser.add_argument("--limit-mb", type=float, default=300.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = measure(options.mb, Path(name))
    found["limit_mb"] = options.limit_mb
    found["peak_over_limit"] = round(found["peak_mb"] / options.limit_mb, 3)
    print("  ".join(f"{name} {value:g}" for name, value in found.items()))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(found["peak_mb"] > options.limit_mb)


if __name__ == "__main__":
    main()

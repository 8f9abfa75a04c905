"""Trains short runs of several kinds into one folder, for pictures of pages.

    python -m tools.example_runs build/example_runs

A run of units, of a board game and of a hosted game, a league and a sweep: about five minutes of two
processors. A run that is there already is kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

LUDUS = (sys.executable, "-m", "ludus.cli")
QUICK = ("--evaluation.matches", "100", "--evaluation.final-matches", "200")
#: Name of a run -> arguments of ``ludus``.
RUNS: dict[str, tuple[str, ...]] = {
    "minirts": ("train", "minirts", "--run.max-minutes", "1", "--evaluation.every-steps", "100000", *QUICK),
    "connect-four": (
        "train",
        "connect_four",
        "--run.max-minutes",
        "0.5",
        "--evaluation.every-steps",
        "50000",
        *QUICK,
    ),
    "cartpole": ("train", "cartpole", "--run.max-steps", "60000"),
    "league": ("train", "minirts-league", "--run.max-minutes", "1.5", *QUICK),
}
SWEEP = """\
title = "Tic-tac-toe: the learning rate"
preset = "tic_tac_toe"
seeds = 2

[settings]
run.max_steps = 60000
evaluation.every_steps = 20000
evaluation.matches = 100
evaluation.final_matches = 200

[grid]
algorithm.learning_rate = [3e-4, 1e-3, 3e-3]
"""


def make(folder: Path) -> None:
    """Train what is not there yet. Raises ``CalledProcessError`` for a run that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, arguments in RUNS.items():
        if not (folder / name).exists():
            print(f"== {name}: ludus {' '.join(arguments)}", flush=True)
            subprocess.run([*LUDUS, *arguments, "--run-dir", str(folder / name), "--quiet"], check=True)
    if not (folder / "rates").exists():
        file = folder / "rates.toml"
        file.write_text(SWEEP, encoding="utf-8")
        print(f"== rates: ludus sweep {file}", flush=True)
        subprocess.run(
            [*LUDUS, "sweep", str(file), "--run-dir", str(folder / "rates"), "--quiet"], check=True
        )


def main() -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    make(parser.parse_args().folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

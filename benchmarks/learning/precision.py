"""Does bfloat16 learn what float32 learns? The same preset under both, seed by seed, in turns.

    python benchmarks/learning/precision.py --json benchmarks/results/data/precision.json

A run's learning curve is the mean return of the matches that ended, by decisions, brought to a common grid.
Two numbers of it are compared between runs of one seed: the mean of the curve (how fast was it learned) and
the mean return of ``--matches`` matches with the last weights (how well). Exit code 3 where the 95% interval
of a difference over the seeds lies outside ``--tolerance`` (a share of float32's own) altogether: the
precisions then differ by more than that. The verdict is "the same" where the interval lies within the
tolerance, "no worse" where only its upper end does not, else "undecided".
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ludus.ratings.interval import mean_interval
from ludus.storage import RunDirectory, read_jsonl
from ludus.train.api import evaluate, start_run
from ludus.train.preset_file import load_preset

PRECISIONS = ("float32", "bfloat16")
Curve = npt.NDArray[np.float64]


def curve_of(rows: list[dict[str, object]], grid: Curve) -> Curve:
    """Mean return by decisions at the points of ``grid``; each update counts as often as it has matches.

    Between two points of the grid the mean is over all matches that ended there; where none did, the point
    before stands.
    """
    steps = np.array([float(str(r["steps"])) for r in rows if r.get("matches")])
    weight = np.array([float(str(r["matches"])) for r in rows if r.get("matches")])
    value = np.array([float(str(r["mean_return"])) for r in rows if r.get("matches")])
    out = np.full(len(grid), np.nan)
    before = 0.0
    for i, end in enumerate(grid):
        inside = (steps > before) & (steps <= end)
        if inside.any():
            out[i] = np.average(value[inside], weights=weight[inside])
        elif i:
            out[i] = out[i - 1]
        before = end
    first = np.flatnonzero(np.isfinite(out))[0]
    out[:first] = out[first]
    return out


def run(
    preset_name: str, precision: str, seed: int, steps: int, matches: int, threads: int, grid: Curve
) -> dict[str, object]:
    """One run in a folder that is thrown away: its curve and how its last weights play."""
    changes = {
        "run.seed": str(seed),
        "run.precision": precision,
        "run.max-steps": str(steps),
        "run.target": "0",
        "run.threads": str(threads),
        "evaluation.every-steps": "0",
        "evaluation.final-matches": "2",
    }
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        start_run(load_preset(preset_name, changes).preset, Path(folder) / "run")
        cpu_s = time.process_time() - begin
        metrics = RunDirectory.open(Path(folder) / "run").metrics
        rows = [r for r in read_jsonl(metrics) if r["kind"] == "update"]
        final = evaluate(f"{folder}/run@last", matches=matches, seed=1000 + seed).mean_return
    curve = curve_of(rows, grid)
    return {
        "precision": precision,
        "seed": seed,
        "curve": [round(float(x), 2) for x in curve],
        "curve_mean": float(curve.mean()),
        "final": float(final),
        "cpu_s": round(cpu_s, 1),
    }


def compare(runs: list[dict[str, object]], key: str, tolerance: float) -> dict[str, object]:
    """bfloat16 less float32 as a share of float32, paired by seed, with its 95% interval."""
    by = {(r["precision"], r["seed"]): float(str(r[key])) for r in runs}
    seeds = sorted({s for _, s in by}, key=str)
    base = np.array([by["float32", s] for s in seeds])
    interval = mean_interval((np.array([by["bfloat16", s] for s in seeds]) - base) / base.mean())
    apart = interval.low > tolerance or interval.high < -tolerance
    close = -tolerance <= interval.low and interval.high <= tolerance
    verdict = "the same" if close else "no worse" if interval.low >= -tolerance else "undecided"
    return {
        "of": key,
        "float32": float(base.mean()),
        "difference": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "verdict": "differ" if apart else verdict,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", default="cartpole", help="of a game of one seat")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=60_000, help="decisions of a run")
    parser.add_argument("--matches", type=int, default=100, help="with the last weights")
    parser.add_argument("--threads", type=int, default=1, help="of a run")
    parser.add_argument("--points", type=int, default=20, help="of the curves")
    parser.add_argument("--tolerance", type=float, default=0.1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    grid = np.linspace(0, args.steps, args.points + 1)[1:]
    runs = []
    for seed in args.seeds:
        for precision in PRECISIONS:
            runs.append(run(args.preset, precision, seed, args.steps, args.matches, args.threads, grid))
            row = runs[-1]
            print(
                f"{precision:9} seed {seed}: curve mean {row['curve_mean']:.1f}, final {row['final']:.1f}, "
                f"{row['cpu_s']} s of processor time",
                flush=True,
            )
    verdicts = [compare(runs, key, args.tolerance) for key in ("curve_mean", "final")]
    for v in verdicts:
        print(
            f"{v['of']}: bfloat16 {100 * float(str(v['difference'])):+.1f}% "
            f"[{100 * float(str(v['low'])):+.1f}, {100 * float(str(v['high'])):+.1f}] of float32's "
            f"{float(str(v['float32'])):.1f}: {v['verdict']} at a tolerance of {args.tolerance:.0%}"
        )
    if args.json:
        document = {
            "command": sys.argv,
            "preset": args.preset,
            "grid": grid.tolist(),
            "tolerance": args.tolerance,
            "runs": runs,
            "comparison": verdicts,
        }
        args.json.write_text(json.dumps(document, indent=1) + "\n")
    return 3 if any(v["verdict"] == "differ" for v in verdicts) else 0


if __name__ == "__main__":
    raise SystemExit(main())

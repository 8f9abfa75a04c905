"""Decisions a second of a league's members in processes, over a league whose members take turns.

    python -m benchmarks.throughput.parallel_league [pbt] [--processes 2] [--rounds 24] [--turns 7]

Both leagues have the same settings and are trained in turns of ``--rounds`` rounds, so that what else the
machine does falls on both. A turn ends when its updates are reported. The league that takes turns uses its
usual threads: it learns and plays on all processors too. ``ratio``: median, least and greatest of the turns.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.file import load_preset
from ludus.storage import RunDirectory, RunInfo
from ludus.training.league.league_run import LeagueTrainer, prepare
from ludus.training.run_context import RunContext

QUIET = {"evaluation.every_steps": "0", "evaluation.matches": "0", "evaluation.final_matches": "0"}
WARM = 2  # turns before the first that counts


@contextlib.contextmanager
def started(preset: Preset, folder: Path) -> Iterator[LeagueTrainer]:
    """Yield the steps of a league's run that has not learned yet."""
    spec, _ = resolve_spec(preset)
    info = RunInfo(1, "", spec.name, spec.spec_hash, preset.run.seed, "", ())
    context = RunContext(preset, RunDirectory.create(folder, to_toml(preset), info))
    prepared = prepare(preset, None)
    with contextlib.closing(context.report), contextlib.closing(prepared.start(context)) as steps:
        assert isinstance(steps, LeagueTrainer)
        yield steps


def rate(steps: LeagueTrainer, rounds: int) -> float:
    """Return decisions learned from a second of wall time over ``rounds`` rounds."""
    start, before = time.perf_counter(), steps.state.budget.steps
    for _ in range(rounds):
        steps.prepare_round()
        steps.round(None)
    steps.report_updates(wait=True)
    return (steps.state.budget.steps - before) / (time.perf_counter() - start)


def with_processes(preset: Preset, processes: int) -> Preset:
    """Return the preset with its members in a number of processes."""
    assert preset.league is not None
    league = msgspec.structs.replace(preset.league, processes=processes)
    return msgspec.structs.replace(preset, league=league)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("preset", nargs="?", default="pbt")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--turns", type=int, default=7)
    options = parser.parse_args()
    preset = load_preset(options.preset, QUIET).preset
    with (
        tempfile.TemporaryDirectory() as folder,
        started(with_processes(preset, 0), Path(folder) / "turns") as turns,
        started(with_processes(preset, options.processes), Path(folder) / "processes") as processes,
    ):
        pairs: list[tuple[float, float]] = []
        for turn in range(WARM + options.turns):
            pair = [0.0, 0.0]
            for side in (0, 1) if turn % 2 else (1, 0):
                pair[side] = rate((turns, processes)[side], options.rounds)
            pairs.append((pair[0], pair[1]))
    ratios = [there / here for here, there in pairs[WARM:]]
    found = {
        "preset": options.preset,
        "processes": options.processes,
        "members": len(turns.members),
        "turns_per_s": round(statistics.median(here for here, _ in pairs[WARM:])),
        "processes_per_s": round(statistics.median(there for _, there in pairs[WARM:])),
        "ratio": round(statistics.median(ratios), 3),
        "least": round(min(ratios), 3),
        "greatest": round(max(ratios), 3),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()

"""How long surgery on a checkpoint takes, beside reading and writing the same files in the same run.

    python benchmarks/throughput/surgery.py [--hidden 1200] [--wider 1300] [--memory 1024] [--json]

A run of tic-tac-toe with an LSTM of about 10 million parameters is trained for one update, so its checkpoint
has weights and both moments of Adam. ``cut`` is the plan and the new checkpoint in memory: names from the
meta device, weights, moments and memory of rows. ``files`` is reading the old checkpoint, writing the new
one, and reading that again, which every surgery does too. ``whole`` is everything until the new run directory
exists. The least of the repeats counts, and the ratio is of processor time: other processes only add to the
wall clock.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory
from ludus.storage.checkpoints import CheckpointStore
from ludus.training.runs import start_run
from ludus.training.surgery.operate import Operation, Request
from ludus.training.surgery.source import Source, read_source

TOML = """
[game]
name = "tic_tac_toe"
[[opponents]]
name = "random"
[pool]
slots = 16
groups = 1
rollout_length = 8
[policy]
norm = "none"
memory = "lstm"
[algorithm]
minibatches = 1
[evaluation]
every_steps = 0
final_matches = 0
[run]
max_steps = 100
threads = 1
"""
T = TypeVar("T")


def preset_of(hidden: int, memory: int) -> Preset:
    """Return the preset of a run whose join and memory have these sizes."""
    sizes = {"policy.hidden": str(hidden), "policy.memory_size": str(memory)}
    return parse_preset(TOML.encode(), "surgery", overrides=sizes).preset


def timed(call: Callable[[], T]) -> tuple[float, float, T]:
    """Return seconds by the wall clock and of processor time, and the result."""
    start, used = time.perf_counter(), time.process_time()
    result = call()
    return time.perf_counter() - start, time.process_time() - used, result


def operation_of(source: Source, preset: Preset) -> Operation:
    """Return surgery with its new checkpoint made."""
    operation = Operation(source, Request(preset))
    operation.prepare()
    return operation


def files_alone(run: Path, operation: Operation, folder: Path) -> None:
    """Read the old checkpoint, write the new one into ``folder``, and read it again."""
    RunDirectory.open(run).checkpoints.load_last()
    store = CheckpointStore(folder, 1, lambda: "")
    store.save(operation.checkpoint)
    store.load(operation.checkpoint.version)


def measure(hidden: int, wider: int, memory: int, repeats: int) -> dict[str, float]:
    """Return seconds of the parts, and how many times as long as the files alone surgery takes."""
    new = preset_of(wider, memory)
    seconds: dict[str, list[float]] = {}
    outline = (0, 0)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run")
        start_run(preset_of(hidden, memory), run)
        for i in range(repeats):
            *read, source = timed(lambda: read_source(f"{run}@last"))
            *cut, operation = timed(partial(operation_of, source, new))
            *wrote, _ = timed(partial(operation.write, Path(folder, f"new{i}")))
            *files, _ = timed(partial(files_alone, run, operation, Path(folder, f"files{i}")))
            whole = [a + b + c for a, b, c in zip(read, cut, wrote, strict=True)]
            for name, (wall, used) in (("cut", cut), ("files", files), ("whole", whole)):
                seconds.setdefault(name, []).append(wall)
                seconds.setdefault(f"{name}_cpu", []).append(used)
            outline = operation.outline().parameters
    least = {name: min(values) for name, values in seconds.items()}
    ratio = least["whole_cpu"] / least["files_cpu"]
    return {"parameters": outline[0], "after": outline[1], **least, "whole_to_files": ratio}


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--hidden", type=int, default=1200, help="width of the join before")
    parser.add_argument("--wider", type=int, default=1300, help="width of the join after")
    parser.add_argument("--memory", type=int, default=1024, help="size of the memory")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    return parser


def main() -> None:
    """Print the measurement."""
    options = parser_of().parse_args()
    found = measure(options.hidden, options.wider, options.memory, options.repeats)
    if options.json:
        print(json.dumps(found))
        return
    print(f"parameters  {found['parameters']:,.0f} -> {found['after']:,.0f}")
    for name in ("cut", "files", "whole"):
        print(f"{name:<10}  {found[name]:.2f} s, of the processor {found[f'{name}_cpu']:.2f} s")
    print(f"whole / files  {found['whole_to_files']:.2f}, by processor time")


if __name__ == "__main__":
    main()

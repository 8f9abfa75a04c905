"""Readings of Ludus's own benchmark commands: training, and search with an evaluator that costs nothing.

    python -m benchmarks.throughput.own_rates training --preset minirts --turns 5
    python -m benchmarks.throughput.own_rates search --turns 5 --record search-speed

Each reading is a command in its own process, which prints one JSON document; readings take turns.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from tools.figures import figure_of
from tools.new_record import add_record_options, own_command, published
from tools.raw_lines import Line, sampled
from tools.records import Figure


class Rate(msgspec.Struct, frozen=True):
    """One number of a command's document: ``field`` times ``scale``."""

    label: str
    command: tuple[str, ...]
    field: str
    unit: str
    scale: float = 1.0


def rates_of(kind: str, preset: str, seconds: float) -> list[Rate]:
    """Return what is read in a turn."""
    time = ("--seconds", f"{seconds:g}", "--json")
    if kind == "search":
        return [
            Rate(
                f"Go {size}x{size}",
                ("search", "bench", "go", "--param", f"size={size}", *time),
                "simulations_per_s",
                "M simulations/s",
                1e-6,
            )
            for size in (9, 19)
        ]
    command = ("bench", "train", preset, *time)
    return [
        Rate(preset, command, "steps_per_s", "k decisions/s", 1e-3),
        Rate(f"{preset}, simulation only", command, "pure_steps_per_s", "k decisions/s", 1e-3),
        Rate(f"{preset}, of the limit of simulation and network", command, "share_of_combined_limit", "x"),
    ]


def document_of(command: Sequence[str]) -> dict[str, float]:
    """Return the document that a command prints. Raises ``ValueError`` where it fails."""
    words = [sys.executable, "-m", "ludus.cli", *command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"ludus {shlex.join(command)}: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measured(rates: Sequence[Rate], turns: int) -> list[Line]:
    """Return a line for each rate, a reading a turn."""
    taken: dict[str, list[float]] = {rate.label: [] for rate in rates}
    for _ in range(turns):
        commands = dict.fromkeys(rate.command for rate in rates)
        documents = {command: document_of(command) for command in commands}
        for rate in rates:
            taken[rate.label].append(documents[rate.command][rate.field] * rate.scale)
    return [sampled(label, values) for label, values in taken.items()]


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=("training", "search"))
    parser.add_argument("--preset", default="minirts", help="of the training")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0, help="of a reading")
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    parser = parser_of()
    args = parser.parse_args()
    rates = rates_of(args.kind, args.preset, args.seconds)
    try:
        lines = measured(rates, args.turns)
    except ValueError as error:
        parser.error(str(error))
    figures: list[Figure] = [figure_of(lines, rate.label, rate.unit, "readings") for rate in rates]
    for figure in figures:
        print(figure.text())
    titles = {
        "training": f"Training of {args.preset} on this machine's processors",
        "search": "Search with an evaluator that costs nothing, one thread",
    }
    published(
        args,
        section="throughput",
        title=titles[args.kind],
        lines=lines,
        figures=figures,
        commands=[own_command("benchmarks.throughput.own_rates")],
        notes=["Median, least and greatest of the readings."],
    )


if __name__ == "__main__":
    main()

"""Turns that `compare.py` measured, as a record of ``benchmarks/results``.

    python benchmarks/peers/compare.py --precision float32 --json float32.json
    python benchmarks/peers/compare.py --precision bfloat16 --json bfloat16.json
    python -m benchmarks.peers.record float32.json bfloat16.json --record peers

A raw line has the frames/s of each turn of one side; ratios are turn by turn. Nothing is measured here.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tools.figures import figure_of
from tools.new_record import add_record_options, own_command, published
from tools.raw_lines import Line, sampled
from tools.records import Figure, Wanted

RATE, RATIO = "frames/s", "x"
NAMES = {
    "atari-sf": "Breakout, Sample Factory",
    "atari-sb3": "Breakout, Stable-Baselines3",
    "cartpole-sf": "CartPole, Sample Factory (its best settings)",
    "cartpole-sf-documented": "CartPole, Sample Factory (documented settings)",
    "vizdoom-sf": "Battle of ViZDoom, Sample Factory",
    "vizdoom-basic-sf": "ViZDoom basic, Sample Factory",
    "small-game-puffer": "small game, PufferLib",
}


class Settings(msgspec.Struct, frozen=True):
    """Settings of a call of ``compare.py``."""

    seconds: float
    turns: int
    warm: int
    precision: str


class Row(msgspec.Struct, frozen=True):
    """A row of its document; ``error`` where it could not be measured."""

    row: str
    goal: float
    peer_version: str = ""
    peer_turns: tuple[float, ...] = ()
    ludus_turns: tuple[float, ...] = ()
    foreign_cores: tuple[float, ...] = ()
    error: str = ""


class Document(msgspec.Struct, frozen=True):
    """Document that ``compare.py --json`` writes."""

    settings: Settings
    rows: tuple[Row, ...]


def lines_of(document: Document) -> list[Line]:
    """Return two lines for each measured row: the peer's turns and Ludus's."""
    found = []
    for row in document.rows:
        if row.error:
            continue
        name = f"{NAMES[row.row]}, {document.settings.precision}"
        found += [sampled(f"{name}: the peer", row.peer_turns), sampled(f"{name}: Ludus", row.ludus_turns)]
    return found


def figures_of(lines: Sequence[Line]) -> list[Figure]:
    """Return the ratio of each row, and the rates that it is of."""
    found = []
    for peer, ours in zip(lines[::2], lines[1::2], strict=True):
        name = peer.label.rpartition(":")[0]
        found.append(figure_of(lines, name, RATIO, "ratio", of=(ours.label, peer.label)))
    return [*found, *(figure_of(lines, line.label, RATE, "readings") for line in lines)]


def wanted_of(documents: Sequence[Document]) -> list[Wanted]:
    """Return the goal of each measured row."""
    return [
        Wanted(f"{NAMES[row.row]}, {document.settings.precision}", least=row.goal)
        for document in documents
        for row in document.rows
        if not row.error
    ]


def notes_of(documents: Sequence[Document]) -> list[str]:
    """Return sentences that a reader must know."""
    rows = [row for document in documents for row in document.rows]
    found = ["Both sides alternate, the waiting one is stopped; a ratio is the median over the turns."]
    foreign = max((max(row.foreign_cores) for row in rows if row.foreign_cores), default=0.0)
    found.append(f"Other programs used at most {foreign:.2f} cores.")
    found += [f"{row.row} was not measured: {row.error}." for row in rows if row.error]
    return found


def commands_of(documents: Sequence[Document]) -> list[str]:
    """Return the commands that measured."""
    return [
        shlex.join(
            [
                *("python", "benchmarks/peers/compare.py", "--rows", ",".join(row.row for row in d.rows)),
                *("--seconds", f"{d.settings.seconds:g}", "--turns", str(d.settings.turns)),
                *("--precision", d.settings.precision),
            ]
        )
        for d in documents
    ]


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("documents", nargs="+", type=Path, help="that compare.py --json wrote")
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    parser = parser_of()
    args = parser.parse_args()
    try:
        documents = [msgspec.json.decode(path.read_bytes(), type=Document) for path in args.documents]
        lines = [line for document in documents for line in lines_of(document)]
        figures = figures_of(lines)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    for figure in figures:
        print(figure.text())
    published(
        args,
        section="throughput",
        title="Training throughput, Ludus over the peer, in turns",
        lines=lines,
        figures=figures,
        commands=[*commands_of(documents), own_command("benchmarks.peers.record")],
        notes=notes_of(documents),
        wanted=wanted_of(documents),
    )


if __name__ == "__main__":
    main()

"""A published result as one JSON document of ``benchmarks/results``: :class:`Record`."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import msgspec

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benchmarks" / "results"
PRESETS = ROOT / "presets"
SECTIONS = ("learning", "strength", "throughput", "conformance")

Section = Literal["learning", "strength", "throughput", "conformance"]
#: How value and interval come from the raw lines: ``wilson`` over the matches, ``seeds`` as
#: :func:`ludus.ratings.compare.summarise_runs` over one number a seed, ``range`` the mean with the least and
#: the greatest of them, ``line`` copied from one line.
Interval = Literal["", "wilson", "seeds", "range", "line"]


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One number: its value, its 95% interval if it has one, and how many samples it is of."""

    value: float
    unit: str  # "%", "return", "M ticks/s", "x"
    label: str = ""  # what distinguishes it from the other figures of the record
    seed: int | None = None
    low: float | None = None
    high: float | None = None
    count: int | None = None  # matches, positions or readings; seeds where ``interval`` is ``seeds``
    interval: Interval = ""

    def text(self) -> str:
        """``seed 1, against SIMPLE: 93.2% [92.7, 93.7] of 10,000``."""
        head = ", ".join(t for t in (f"seed {self.seed}" if self.seed is not None else "", self.label) if t)
        unit = self.unit if self.unit in ("%", "x") or not self.unit else f" {self.unit}"
        interval = "" if self.low is None or self.high is None else f" [{self.low:,g}, {self.high:,g}]"
        of = " seeds" if self.interval in ("seeds", "range") and self.count != 1 else ""
        of = " seed" if self.interval in ("seeds", "range") and self.count == 1 else of
        count = "" if self.count is None else f" of {self.count:,}{of}"
        return f"{head + ': ' if head else ''}{self.value:,g}{unit}{interval}{count}"


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One published result and everything that is needed to get it again.

    Attributes:
        schema: 2, or 1 for a record from before raw lines and floors; no new one may have 1.
        title: The measured quantity, as in the table's first column.
        figures: The numbers.
        floors: The same measures of players that learned nothing: labels start with ``initial weights`` for
            the untrained network, with ``uniform`` for uniform play over the legal choices.
        commands: The commands as they were run, in order.
        commit: The commit whose code ran, or, where ``transcribed``, the one that published the figure.
        preset: Name of the preset, empty where none was used; ``preset_sha256`` is of its file at ``commit``.
        transcribed: The figures were copied by hand from the output; they were not written by a program.
        notes: What a reader must know: interruptions, other flags, other work on the machine.
        reference: What the figure is compared with.
        data: Files beside the record with the raw measurements (:mod:`tools.raw_lines`).
    """

    schema: Literal[1, 2]
    section: Section
    title: str
    figures: tuple[Figure, ...]
    commands: tuple[str, ...]
    commit: str
    date: str
    machine: str
    preset: str = ""
    preset_sha256: str = ""
    budget: str = ""
    reference: str = ""
    transcribed: bool = False
    notes: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    floors: tuple[Figure, ...] = ()


def preset_hash(name: str) -> str:
    """SHA-256 of the present file of the preset ``name``."""
    return hashlib.sha256((PRESETS / f"{name}.toml").read_bytes()).hexdigest()


def load(folder: Path = RECORDS) -> dict[str, Record]:
    """Return the records of ``folder`` by name. Raises ``ValueError`` with the file and the reason."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            found[path.stem] = msgspec.json.decode(path.read_bytes(), type=Record)
        except msgspec.DecodeError as error:
            raise ValueError(f"{path.name}: {error}") from error
    return found

"""The published results: a record each in ``benchmarks/results``, and the table made of them.

``python -m tools.results`` writes the tables of ``docs/results.md``. ``--check`` writes nothing and lists
what is wrong (exit code 3): a record that cannot be read, a preset that does not exist, an outdated page.
A number of README or of the documentation belongs to a record here: one JSON document, :class:`Record`.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "results.md"
PRESETS = ROOT / "presets"
SECTIONS = ("learning", "strength", "throughput", "conformance")
_BLOCK = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

Section = Literal["learning", "strength", "throughput", "conformance"]


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One number: its value, its 95% interval if it has one, and how many samples it is of."""

    value: float
    unit: str  # "%", "return", "M ticks/s", "x"
    label: str = ""  # what distinguishes it from the other figures of the record
    seed: int | None = None
    low: float | None = None
    high: float | None = None
    count: int | None = None  # matches, positions or readings

    def text(self) -> str:
        """``seed 1, against SIMPLE: 93.2% [92.7, 93.7] of 10,000``."""
        head = ", ".join(t for t in (f"seed {self.seed}" if self.seed is not None else "", self.label) if t)
        unit = self.unit if self.unit in ("%", "x") or not self.unit else f" {self.unit}"
        interval = "" if self.low is None or self.high is None else f" [{self.low:,g}, {self.high:,g}]"
        count = "" if self.count is None else f" of {self.count:,}"
        return f"{head + ': ' if head else ''}{self.value:,g}{unit}{interval}{count}"


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One published result and everything that is needed to get it again.

    Attributes:
        title: What was measured, as the table's first column says it.
        figures: The numbers.
        commands: The commands as they were run, in order.
        commit: The commit whose code ran, or, where ``transcribed``, the one that published the figure.
        preset: Name of the preset, empty where none was used; ``preset_sha256`` is of its file as it was.
        transcribed: The figures were copied by hand from the output; they were not written by a program.
        notes: What a reader must know: interruptions, other flags, other work on the machine.
        reference: What the figure is compared with.
        data: A file beside the record with the raw measurements.
    """

    schema: Literal[1]
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


def preset_hash(name: str) -> str:
    """SHA-256 of the present file of the preset ``name``."""
    return hashlib.sha256((PRESETS / f"{name}.toml").read_bytes()).hexdigest()


def load(folder: Path = RECORDS) -> dict[str, Record]:
    """The records of ``folder`` by name. Raises ``ValueError`` with the file and the reason."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            found[path.stem] = msgspec.json.decode(path.read_bytes(), type=Record)
        except msgspec.DecodeError as error:
            raise ValueError(f"{path.name}: {error}") from error
    return found


def faults(records: dict[str, Record], folder: Path = RECORDS) -> list[str]:
    """What is wrong with records that can be read, a line each."""
    wrong = []
    for name, record in records.items():
        if not record.figures or not record.commands:
            wrong.append(f"{name}: expected at least one figure and one command")
        if not _COMMIT.fullmatch(record.commit):
            wrong.append(f"{name}: commit {record.commit!r}: expected 7 to 40 hexadecimal digits")
        if not _DATE.fullmatch(record.date):
            wrong.append(f"{name}: date {record.date!r}: expected YYYY-MM-DD")
        if record.preset and not (PRESETS / f"{record.preset}.toml").is_file():
            wrong.append(f"{name}: no preset {record.preset}")
        if bool(record.preset) != bool(record.preset_sha256):
            wrong.append(f"{name}: preset and preset_sha256 go together")
        wrong += [f"{name}: no file {d}" for d in record.data if not (folder / d).is_file()]
        for figure in record.figures:
            low = figure.value if figure.low is None else figure.low
            high = figure.value if figure.high is None else figure.high
            if not low <= figure.value <= high:
                wrong.append(f"{name}: {figure.text()}: the value is outside of its interval")
    return wrong


def _cell(lines: Iterable[str]) -> str:
    return "<br>".join(line.replace("|", "\\|") for line in lines)


def _remarks(record: Record) -> list[str]:
    said = list(record.notes)
    if record.preset and record.preset_sha256 != preset_hash(record.preset):
        said.append("The preset has changed since.")
    return said


def table(records: Iterable[Record]) -> str:
    """The rows of one section, as Markdown."""
    lines = ["| what | figure, 95% interval | compared with | how |", "|---|---|---|---|"]
    for record in records:
        how = [f"`{c}`" for c in record.commands]
        where = f"{record.date}, commit {record.commit[:7]}, {record.machine}"
        how.append(f"{record.budget}; {where}" if record.budget else where)
        what = [record.title, *(f"_{note}_" for note in _remarks(record))]
        figures = [f.text() for f in record.figures]
        lines.append(f"| {_cell(what)} | {_cell(figures)} | {_cell([record.reference])} | {_cell(how)} |")
    return "".join(line + "\n" for line in lines)


def render(page: str, records: dict[str, Record]) -> str:
    """``page`` with the table of each section in its place."""

    def filled(block: re.Match[str]) -> str:
        if block[2] not in SECTIONS:
            raise ValueError(f"unknown section {block[2]} (valid: {', '.join(SECTIONS)})")
        return block[1] + table(r for r in records.values() if r.section == block[2]) + block[3]

    return _BLOCK.sub(filled, page)


def main(argv: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Write the tables of docs/results.md.")
    parser.add_argument("--check", action="store_true", help="write nothing, list what is wrong")
    check = parser.parse_args(argv).check
    try:
        records = load()
        wrong = faults(records)
        before = PAGE.read_text()
        after = render(before, records) if not wrong else before
    except ValueError as error:
        wrong, before, after = [str(error)], "", ""
    if check and before != after:
        wrong.append("docs/results.md is out of date: python -m tools.results")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    if not check and before != after:
        PAGE.write_text(after)
    return 3 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The published results: a record each in ``benchmarks/results``, and the table made of them.

``python -m tools.results`` writes the tables of ``docs/results.md``. ``--check`` writes nothing and lists
what is wrong (exit code 3): a record that cannot be read, a preset that does not exist, an outdated page.
A number of README or of the documentation belongs to a record here: one JSON document, :class:`Record`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from tools.records import PRESETS, RECORDS, ROOT, SECTIONS, Figure, Record, load, preset_hash

__all__ = ["PRESETS", "RECORDS", "ROOT", "SECTIONS", "Figure", "Record", "faults", "load", "preset_hash"]

PAGE = ROOT / "docs" / "results.md"
_BLOCK = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


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

"""The published results: a record each in ``benchmarks/results``, and the table made of them.

``python -m tools.results`` writes the tables of ``docs/results.md``. ``--check`` writes nothing and lists
what is wrong (exit code 3): a record that cannot be read or breaks a rule of :mod:`tools.record_faults`, a
number in README that is no record's (:mod:`tools.readme_numbers`), an outdated page. A check that this clone
cannot make, such as one of a commit that it lacks, is named and does not fail.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable

from tools.readme_numbers import readme_faults
from tools.record_faults import Checkout, faults, gone, notices
from tools.records import RECORDS, ROOT, SECTIONS, Figure, Record, load, preset_hash

__all__ = ["RECORDS", "ROOT", "SECTIONS", "Figure", "Record", "faults", "load", "preset_hash"]

PAGE = ROOT / "docs" / "results.md"
README = ROOT / "README.md"
WITH_FLOORS = ("learning", "strength")
_BLOCK = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _cell(lines: Iterable[str]) -> str:
    return "<br>".join(line.replace("|", "\\|") for line in lines)


def _remarks(record: Record) -> list[str]:
    said = list(record.notes)
    if record.transcribed and not record.data:
        said.append("Typed in, not reproducible.")
    elif record.transcribed:
        said.append("Typed in from the raw measurements.")
    elif record.schema == 1 and not record.data:
        said.append("Its raw lines were not kept, not reproducible.")
    if record.preset and record.preset_sha256 != preset_hash(record.preset):
        said.append("The preset has changed since.")
    return said


def table(records: Iterable[Record]) -> str:
    """Return the rows of one section, as Markdown; where players are rated, with a column of floors."""
    rows = list(records)
    floors = any(r.section in WITH_FLOORS for r in rows)
    heads = ["what", "figure, 95% interval", *(["floor: untrained, uniform"] if floors else [])]
    heads += ["compared with", "how"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for record in rows:
        how = [f"`{c}`" for c in record.commands]
        where = f"{record.date}, commit {record.commit[:7]}, {record.machine}"
        how.append(f"{record.budget}; {where}" if record.budget else where)
        what = [record.title, *(f"_{note}_" for note in _remarks(record))]
        cells = [_cell(what), _cell(f.text() for f in record.figures)]
        if floors:
            rated = record.schema == 1 and any(f.unit in ("%", "return") for f in record.figures)
            missing = ["not measured"] if rated and not record.floors else []
            cells.append(_cell([*(f.text() for f in record.floors), *missing]))
        lines.append(f"| {' | '.join([*cells, _cell([record.reference]), _cell(how)])} |")
    return "".join(line + "\n" for line in lines)


def render(page: str, records: dict[str, Record]) -> str:
    """``page`` with the table of each section in its place."""

    def filled(block: re.Match[str]) -> str:
        if block[2] not in SECTIONS:
            raise ValueError(f"unknown section {block[2]} (valid: {', '.join(SECTIONS)})")
        return block[1] + table(r for r in records.values() if r.section == block[2]) + block[3]

    return _BLOCK.sub(filled, page)


def main(argv: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Write the tables of docs/results.md.")
    parser.add_argument("--check", action="store_true", help="write nothing, list what is wrong")
    check = parser.parse_args(argv).check
    said: list[str] = []
    try:
        records, checkout = load(), Checkout(ROOT)
        wrong = [*faults(records, checkout=checkout), *gone(records)]
        wrong += readme_faults(README.read_text(encoding="utf-8"), records)
        said = notices(records, checkout)
        before = PAGE.read_text(encoding="utf-8")
        after = render(before, records)
    except ValueError as error:
        wrong, before, after = [str(error)], "", ""
    print("".join(f"results: {line}\n" for line in said), end="")
    if check and before != after:
        wrong.append("docs/results.md is out of date: python -m tools.results")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    if not check and before != after:
        PAGE.write_text(after, encoding="utf-8")
    return 3 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The published results: a record each in ``benchmarks/results``, and the table made of them.

``python -m tools.results`` writes the tables of ``docs/results.md``. ``--check`` writes nothing and lists
what is wrong (exit code 3): a record that cannot be read or breaks a rule of :mod:`tools.record_faults`, a
number in README or a document that is no record's, an outdated page. In a clone without the records' commits
the check reports what it cannot do: with ``CI`` set this is a failure too.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from tools.checkout import Checkout
from tools.docs_numbers import docs_faults
from tools.readme_numbers import readme_faults
from tools.record_faults import faults, notices
from tools.records import (
    INITIAL,
    PLAYED,
    RECORDS,
    ROOT,
    SECTIONS,
    Record,
    best_floor,
    load,
    sha256_of,
)
from tools.zoo_faults import card_faults

PAGE = ROOT / "docs" / "results.md"
README = ROOT / "README.md"
_BLOCK = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _cell(lines: Iterable[str]) -> str:
    return "<br>".join(line.replace("|", "\\|") for line in lines)


def changed_files(record: Record, root: Path = ROOT) -> list[str]:
    """Return the presets and sweeps of a record that are other files today."""
    there = ((path, root / path) for path in record.files)
    return [p for p, f in there if not f.is_file() or sha256_of(f) != record.files[p]]


def _remarks(record: Record, root: Path) -> list[str]:
    said = list(record.notes)
    figures = {figure.label: figure for figure in record.figures}
    said += [f"{w.text(figures[w.label])}." for w in record.wanted if w.label in figures]
    if unkept := [run for run in record.runs if run.unkept]:
        said.append(f"Weights of {max(r.unkept for r in unkept) / 1e6:.1f} MB are not kept, so not replayed.")
    if started := sorted({run.started_from for run in record.runs if run.started_from}):
        said.append(f"Its {INITIAL} are those of {', '.join(started)}.")
    if changed := changed_files(record, root):
        said.append(f"Changed since: {', '.join(changed)}.")
    return said


def _floor_cell(record: Record) -> list[str]:
    """Return the best floor and the best bot of each figure; one line where several figures share it."""
    best = [best_floor(f, record.floors, bots) for f in record.figures for bots in (False, True)]
    return list(dict.fromkeys(f"{floor.label}: {floor.number()}" for floor in best if floor))


def table(records: Iterable[Record], root: Path = ROOT) -> str:
    """Return the rows of one section, as Markdown; where players are rated, with a column of floors."""
    rows = list(records)
    floors = any(r.section in PLAYED for r in rows)
    heads = ["what", "figure, 95% interval", *(["best floor, best bot"] if floors else [])]
    heads += ["compared with", "how"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for record in rows:
        how = [f"`{c}`" for c in record.commands]
        where = f"{record.date}, commit {record.commit[:7]}, {record.machine}"
        how.append(f"{record.budget}; {where}" if record.budget else where)
        what = [record.title, *(f"_{note}_" for note in _remarks(record, root))]
        cells = [_cell(what), _cell(f.text() if f.label else f.number() for f in record.figures)]
        if floors:
            cells.append(_cell(_floor_cell(record)))
        lines.append(f"| {' | '.join([*cells, _cell([record.reference]), _cell(how)])} |")
    return "".join(line + "\n" for line in lines)


def render(page: str, records: dict[str, Record], root: Path = ROOT) -> str:
    """Return ``page`` with the table of each section in its place."""

    def filled(block: re.Match[str]) -> str:
        if block[2] not in SECTIONS:
            raise ValueError(f"unknown section {block[2]} (valid: {', '.join(SECTIONS)})")
        return block[1] + table((r for r in records.values() if r.section == block[2]), root) + block[3]

    return _BLOCK.sub(filled, page)


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description="Write the tables of docs/results.md.")
    parser.add_argument("--check", action="store_true", help="write nothing, list what is wrong")
    return parser


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the command line. ``root``: of the repository, another one in tests."""
    check = parser_of().parse_args(argv).check
    page = root / PAGE.relative_to(ROOT)
    said: list[str] = []
    try:
        folder = root / RECORDS.relative_to(ROOT)
        records, checkout = load(folder), Checkout(root)
        wrong = faults(records, folder, root, checkout)
        wrong += card_faults(records, folder, root)
        wrong += readme_faults((root / "README.md").read_text(encoding="utf-8"), records)
        wrong += docs_faults(records, root, root / "tools" / "untied_numbers.toml")
        said = notices(records, checkout)
        before = page.read_text(encoding="utf-8")
        after = render(before, records, root)
    except ValueError as error:
        wrong, before, after = [str(error)], "", ""
    print("".join(f"results: {line}\n" for line in said), end="")
    if said and os.environ.get("CI") == "true":
        wrong.append("results: with CI=true every check must be made")
    if check and before != after:
        wrong.append("docs/results.md is out of date: python -m tools.results")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    if not check and before != after:
        page.write_text(after, encoding="utf-8")
    return 3 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

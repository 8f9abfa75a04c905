"""Faults of records of published results. ``tools.results --check`` prints them.

Every figure of every section is computed again from its raw lines. Lines are tied to training runs, seeds and
kept weights (:mod:`tools.line_faults`), floors to their figures (:mod:`tools.floor_faults`), commands to the
parsers of their programs (:mod:`tools.record_commands`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tools.checkout import Checkout
from tools.figures import digits_of, figure_of
from tools.floor_faults import floor_faults
from tools.kept_weights import weights_faults
from tools.line_faults import line_faults, run_faults
from tools.raw_lines import Line, read_lines
from tools.record_commands import command_faults, settings_files
from tools.records import DERIVED, PLAYED, RECORDS, ROOT, Figure, Record, sha256_of

_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def faults(
    records: Mapping[str, Record], folder: Path = RECORDS, root: Path = ROOT, checkout: Checkout | None = None
) -> list[str]:
    """Return the faults of records that can be read, a line each.

    Args:
        records: By name.
        folder: Folder of the records, with their raw lines and kept weights.
        root: Root of the repository.
        checkout: Checkout of ``root``; None: files are looked up on the disk, and no commit is read.
    """
    wrong = []
    for name, record in records.items():
        wrong += [f"{name}: {text}" for text in _of_record(name, record, folder, root, checkout)]
    return wrong + weights_faults(records, folder / "weights")


def notices(records: Mapping[str, Record], checkout: Checkout) -> list[str]:
    """Return the checks that could not be made here, a line each; a whole clone has none."""
    if not checkout.partial:
        return []
    unread = sorted({r.commit for r in records.values() if r.files and not checkout.knows(r.commit)})
    if not unread:
        return []
    return [
        "cannot check: this clone lacks commits of records, so their presets and sweeps were not compared "
        f"(git fetch --unshallow): {', '.join(commit[:8] for commit in unread)}"
    ]


def _of_record(
    name: str, record: Record, folder: Path, root: Path, checkout: Checkout | None
) -> Iterator[str]:
    has = checkout.has if checkout is not None else lambda path: (root / path).is_file()
    yield from _plain(record, folder)
    yield from command_faults(record, root, has)
    yield from _files(record, checkout)
    path = folder / "data" / f"{name}.jsonl"
    if not path.is_file():
        yield f"no file data/{name}.jsonl: expected the raw lines (tools.raw_lines.write_record)"
        return
    if sha256_of(path) != record.lines:
        yield f"data/{name}.jsonl is another file than the one that the record was written with"
    try:
        lines = read_lines(path)
    except ValueError as error:
        yield str(error)
        return
    for figure in (*record.figures, *record.floors):
        yield from _computed(figure, lines)
    yield from _unshown(record, lines)
    if record.section in PLAYED:
        yield from run_faults(record, folder)
        yield from line_faults(record, lines)
        yield from floor_faults(record, lines)


def _plain(record: Record, folder: Path) -> Iterator[str]:
    if not record.figures or not record.commands:
        yield "expected at least one figure and one command"
    if not record.title or not record.machine:
        yield "expected a title and a machine"
    if not _COMMIT.fullmatch(record.commit):
        yield f"commit {record.commit!r}: expected 7 to 40 hexadecimal digits"
    if not _DATE.fullmatch(record.date):
        yield f"date {record.date!r}: expected YYYY-MM-DD"
    yield from (f"no file {d}" for d in record.data if not (folder / d).is_file())
    labels = [(f.label, f.seed) for f in record.figures]
    yield from (f"two figures are {key[0]!r}" for key in dict.fromkeys(labels) if labels.count(key) > 1)
    names = {figure.label for figure in record.figures}
    yield from (f"wanted: no figure {w.label!r}" for w in record.wanted if w.label not in names)


def _computed(figure: Figure, lines: Sequence[Line]) -> Iterator[str]:
    """Yield the faults of a figure against its raw lines."""
    try:
        again = figure_of(lines, figure.label, figure.unit, figure.kind, figure.seed, figure.of)
    except ValueError as error:
        yield str(error)
        return
    near = 0.11 * 10.0 ** -digits_of(figure.unit)
    pairs = [(figure.value, again.value), (figure.low, again.low), (figure.high, again.high)]
    pairs += zip(figure.values, again.values, strict=False)
    same = all((a is None) == (b is None) and abs((a or 0.0) - (b or 0.0)) <= near for a, b in pairs)
    counts = [(f.count, f.equal, len(f.values)) for f in (figure, again)]
    if not same or counts[0] != counts[1]:
        yield f"{figure.text()}: the raw lines give {again.text()}"


def _unshown(record: Record, lines: Sequence[Line]) -> Iterator[str]:
    """Yield labels of lines that no figure shows, and seeds that are left out of a figure's."""
    shown = {label for f in (*record.figures, *record.floors) for label in (f.of or (f.label,))}
    for label in dict.fromkeys(line.label for line in lines):
        if label not in shown:
            yield f"raw lines of {label!r}, which no figure shows"
        single = [f.seed for f in record.figures if f.label == label and f.kind not in DERIVED]
        seeds = {line.seed for line in lines if line.label == label}
        if single and None not in single and (left := seeds - set(single)):
            yield f"{label!r}: no figure of seed {min(s for s in left if s is not None)}"


def _files(record: Record, checkout: Checkout | None) -> Iterator[str]:
    """Yield faults of presets and sweeps: the ones that the commands need, as they were at the commit."""
    needed = set(settings_files(record))
    yield from (
        f"files: {path} is missing, a command needs it" for path in sorted(needed - set(record.files))
    )
    yield from (f"files: no command needs {path}" for path in sorted(set(record.files) - needed))
    if checkout is None or not _COMMIT.fullmatch(record.commit):
        return
    if not checkout.knows(record.commit):
        if not checkout.partial:
            yield f"git knows no commit {record.commit}"
        return
    for path, digest in record.files.items():
        content = checkout.file_at(record.commit, path)
        if content is None:
            yield f"commit {record.commit[:8]} has no {path}"
        elif hashlib.sha256(content).hexdigest() != digest:
            yield f"commit {record.commit[:8]} has another {path} than the record's hash"

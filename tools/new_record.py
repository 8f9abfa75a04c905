"""A record from finished measurements: what programs of ``benchmarks`` call with ``--record``.

The commit, the date, the machine, the seeds and the hashes of presets and sweeps are filled in here, the same
way for every record. A program measures without ``--record`` too, so that its printed command runs as it is.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tools.raw_lines import Line, write_record
from tools.record_commands import settings_files
from tools.records import RECORDS, ROOT, Figure, Record, Run, Section, Wanted, sha256_of


def add_record_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--record NAME`` and ``--machine TEXT``; no other option changes what is written."""
    parser.add_argument("--record", default="", metavar="NAME", help="also write this record")
    parser.add_argument("--machine", default="", help="of the record (default: processor and cores)")


def published(
    args: argparse.Namespace,
    *,
    section: Section,
    title: str,
    lines: Sequence[Line],
    figures: Sequence[Figure],
    commands: Sequence[str],
    floors: Sequence[Figure] = (),
    runs: Sequence[Run] = (),
    budget: str = "",
    reference: str = "",
    wanted: Sequence[Wanted] = (),
    notes: Sequence[str] = (),
    data: Sequence[str] = (),
    folder: Path = RECORDS,
) -> Record | None:
    """Write the record ``args.record`` and return it; None where the option was not given.

    Args:
        args: Arguments of a parser with :func:`add_record_options`.
        section: Section of the page.
        title: The measured quantity.
        lines: All raw lines, including the floors'.
        figures: As :func:`tools.figures.figure_of` computed them.
        commands: As they ran; commands of ``runs`` are put first automatically.
        floors: As :func:`tools.figures.floors_of` computed them.
        runs: The training runs.
        budget: Decisions and time of a run.
        reference: What the figures are compared with.
        wanted: Bounds that figures were to reach.
        notes: What a reader must know.
        data: Other files beside the record.
        folder: Folder of records.
    """
    from ludus.storage import utc_now

    if not args.record:
        return None
    every = tuple(dict.fromkeys([*(run.command for run in runs), *commands]))
    made = Record(
        schema=3,
        section=section,
        title=title,
        figures=tuple(figures),
        floors=tuple(floors),
        commands=every,
        commit=commit_of(),
        date=utc_now()[:10],
        machine=args.machine or machine(),
        seeds=tuple(sorted({run.counts_for for run in runs})),
        runs=tuple(runs),
        budget=budget,
        reference=reference,
        wanted=tuple(wanted),
        notes=tuple(notes),
        data=tuple(data),
    )
    hashes = {path: sha256_of(ROOT / path) for path in settings_files(made) if (ROOT / path).is_file()}
    made = msgspec.structs.replace(made, files=hashes)
    write_record(args.record, made, lines, folder)
    return made


def own_command(module: str, argv: Sequence[str] | None = None) -> str:
    """Return the command of the running program as it was given, without the options of the record.

    Folders and files outside of the repository are named without the path of this machine.
    """
    words, rest = ["python", "-m", module], list(sys.argv[1:] if argv is None else argv)
    while rest:
        word = rest.pop(0)
        if word in ("--record", "--machine", "--title", "--note", "--reference"):
            rest = rest[1:]
        elif not re.match(r"--(record|machine|title|note|reference)=", word):
            folder, slash, name = word.rpartition("/")
            words.append(name if slash and folder.startswith(("/", ".")) else word)
    return shlex.join(words)


def commit_of() -> str:
    """Return the commit of the checkout. Raises ``ValueError`` where code or settings differ from it."""
    paths = "src", "cpp", "presets", "sweeps", "benchmarks/strength", ":!src/ludus/zoo"  # weights have hashes
    changed = _git("status", "--porcelain", "--", *paths)
    wrong = [row for row in changed.splitlines() if not row.startswith("??")]
    if wrong:
        raise ValueError(f"the checkout differs from its commit: {wrong[0].strip()}; commit it first")
    return _git("rev-parse", "HEAD")


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def machine() -> str:
    """Return the processor's name and the number of cores that this process may use."""
    name = platform.processor() or platform.machine()
    file = Path("/proc/cpuinfo")
    if file.is_file():
        rows = [
            r.partition(":")[2].strip() for r in file.read_text().splitlines() if r.startswith("model name")
        ]
        name = rows[0] if rows else name
    return f"{len(os.sched_getaffinity(0))} cores of {name}"

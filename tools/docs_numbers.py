"""Measured numbers of the documents: tied to a record's figure, or listed with the reason why not.

A share (``%``), a speed (``/s``) or ``N of 100`` in ``docs`` has its tie in the same paragraph or row
(:mod:`tools.ties`), or its sentence is in ``tools/untied_numbers.toml``: a setting, a definition, a number of
a paper. The list holds the number itself, so a changed number is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import tomllib

from tools.readme_numbers import paragraphs, prose_faults
from tools.records import ROOT, Record
from tools.ties import claims, is_measured
from tools.zoo_page import without_table

LIST = ROOT / "tools" / "untied_numbers.toml"
#: Tables made of records, generated pages, and decisions, whose numbers are of their day.
LEFT_OUT = ("results.md", "reference/", "decisions/")
LEAST = 100  # of how many a count must be to look like matches
_INTERVAL = re.compile(r"\b9\d(\.\d)?\s?%(?=[^.|]{0,25}(interval|Wilson|Student|confidence))", re.IGNORECASE)


def docs_faults(records: Mapping[str, Record], root: Path = ROOT, listed: Path = LIST) -> list[str]:
    """Return the faults of all documents of ``root``, a line each."""
    known = _listed(listed)
    unused = set(known)
    wrong = []
    for path in sorted((root / "docs").rglob("*.md")):
        name = path.relative_to(root / "docs").as_posix()
        if name.startswith(LEFT_OUT):
            continue
        for block in paragraphs(without_table(path.read_text(encoding="utf-8"))):
            for fault, text in _block_faults(block, records):
                used = [key for key in known if key[0] == name and key[1] in " ".join(block.split())]
                covered = [key for key in used if text in key[1]]
                unused -= set(used)
                if not covered:
                    wrong.append(f"docs/{name}: {fault}")
    wrong += [f"{listed.name}: docs/{page} has no {text!r} any more" for page, text in sorted(unused)]
    return wrong


def _listed(path: Path) -> dict[tuple[str, str], str]:
    if not path.is_file():
        return {}
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    found = {}
    for entry in document["number"]:
        if not entry["reason"].strip():
            raise ValueError(f"{path.name}: {entry['text']!r} has no reason")
        found[entry["page"], entry["text"]] = entry["reason"]
    return found


def _block_faults(block: str, records: Mapping[str, Record]) -> Iterator[tuple[str, str]]:
    """Yield each fault of a paragraph with the number as it is written."""
    text = _INTERVAL.sub("interval", block)
    for fault in prose_faults(text, records):
        number = fault.partition("':")[0].strip("'\"")
        claim = next((c for c in claims(number) if is_measured(c)), None)
        if claim is None or claim.unit == "x" or (claim.of is not None and claim.of < LEAST):
            continue
        yield fault, number

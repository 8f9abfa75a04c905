"""The numbers of README: each one is a figure of a record, or stands in the record's own words.

A row of the table under ``## Numbers`` belongs to one record: it names the row's games and settings, its
figures hold every number of the second cell, its figures or its reference those of the third. Elsewhere a
number with a unit (``%``, ``times``, ``million``, ``of 100``, ``/s``) must be some record's. Numbers may be
rounded: 84.5% may be shown as 84%.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tools.records import Figure, Record

WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
SCALES = {"k": 1e3, "thousand": 1e3, "M": 1e6, "million": 1e6, "billion": 1e9}
HEADING = "## Numbers"

_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_UNIT = (
    r"%|percent\b|times\b|x\b|(?:k|thousand|M|million|billion)\b(?:\s?[\w ]{0,20}/s\b)?|[\w ]{0,20}/s\b"
    r"|points?\b|minutes?\b|seconds?\b|hours?\b|of\s+\d+(?:,\d{3})*\b"
)
_CLAIM = re.compile(
    rf"(?<![\w.+/=-])(?P<list>{_NUMBER}(?:\s?%?(?:, | and | to | or |-|–){_NUMBER})*)(?![\w]*\d)"
    rf"(?:[\s-]?(?P<unit>{_UNIT}))?"
)
_NAME = re.compile(r"\b\d+x\d+\b")  # the size of a board
_NOUN = re.compile(r"\b[A-Z][A-Za-z]+\b")
_UNSEEN = re.compile(r"```.*?```|`[^`]*`|<!--.*?-->|\]\([^)]*\)", re.DOTALL)


class Claim(NamedTuple):
    """One number as it is written."""

    text: str
    value: float
    half: float  # of the last digit that is shown
    unit: str
    of: int | None = None


def claims(text: str) -> Iterator[Claim]:
    """Yield the numbers of ``text``. One unit behind a list belongs to all of it."""
    for word, number in zip(WORDS, range(2, 13), strict=True):
        text = re.sub(rf"\b{word}\b", str(number), text, flags=re.IGNORECASE)
    for found in _CLAIM.finditer(_NAME.sub(" ", text)):
        unit, of = found["unit"] or "", None
        if unit.startswith("of"):
            of, unit = int(re.sub(r"\D", "", unit)), "of"
        scale = SCALES.get(unit.split()[0] if unit else "", 1.0)
        kind = {"percent": "%", "times": "x"}.get(unit, unit)
        for number in re.findall(_NUMBER, found["list"]):
            digits = len(number.partition(".")[2])
            value = float(number.replace(",", "")) * scale
            yield Claim(found[0].strip(), value, 0.5 * 10.0**-digits * scale, kind, of)


def _near(claim: Claim, value: float) -> bool:
    return abs(claim.value - value) <= claim.half + 1e-9 * max(1.0, abs(value))


def is_figure(claim: Claim, figure: Figure) -> bool:
    """Whether the claim is this figure, perhaps rounded."""
    if claim.of is not None:
        if figure.count != claim.of:
            return False
        return _near(claim, figure.value * figure.count / 100.0 if figure.unit == "%" else figure.value)
    if claim.unit in ("%", "x"):
        return figure.unit == claim.unit and _near(claim, figure.value)
    first = figure.unit.split()[0] if figure.unit else ""
    if claim.unit.endswith("/s") and not figure.unit.endswith("/s"):
        return False
    if claim.unit and claim.unit.split()[0] in SCALES:
        return first in SCALES and _near(claim, figure.value * SCALES[first])
    return figure.unit not in ("%", "x") and _near(claim, figure.value)


def words_of(record: Record) -> str:
    """Return all text of a record but its figures' values."""
    labels = [figure.label for figure in (*record.figures, *record.floors)]
    parts = [record.title, record.preset, record.budget, record.machine, record.reference]
    return " \n ".join([*parts, *labels, *record.notes, *record.commands])


def says(claim: Claim, text: str) -> bool:
    """Whether ``text`` has this number, perhaps with more digits; a share needs a ``%`` behind it."""
    for found in claims(text):
        if _near(claim, found.value) and found.half <= claim.half:
            if claim.unit == "%" and found.unit != "%":
                continue
            if claim.of is None or claim.of == found.of:
                return True
    return False


def _fits(cells: list[str], record: Record) -> list[str]:
    """Return the reasons why a row of three cells is not this record's."""
    text = words_of(record)
    lower = text.lower()
    unknown = [w for w in _NOUN.findall(cells[0]) if w.lower() not in lower]
    unknown += [w for w in _NAME.findall(cells[0]) if w not in lower]
    unknown += [c.text for c in claims(cells[0]) if not _is_setting(c, text)]
    unknown += [c.text for c in claims(cells[1]) if not any(is_figure(c, f) for f in record.figures)]
    for claim in claims(cells[2]):
        known = any(is_figure(claim, f) for f in (*record.figures, *record.floors))
        if not known and not says(claim, record.reference):
            unknown.append(claim.text)
    return unknown


def _is_setting(claim: Claim, text: str) -> bool:
    """Whether a record's words have this number with this unit, or as the value of an option."""
    unit = claim.unit.rstrip("s")
    if unit and re.search(rf"--[\w.-]*{re.escape(unit)}s? {claim.value:g}\b", text):
        return True
    return any(_near(claim, n.value) and (not unit or n.unit.rstrip("s") == unit) for n in claims(text))


def _rows(page: str) -> Iterator[list[str]]:
    """Yield the cells of the table under ``## Numbers``, without its head."""
    part = page.partition(HEADING)[2].partition("\n## ")[0]
    lines = [line.strip() for line in part.splitlines() if line.strip().startswith("|")]
    for line in lines[2:]:
        cells = [c.strip() for c in line.strip("|").split("|")]
        yield [*cells, "", ""][:3] if len(cells) < 3 else [cells[0], cells[1], " ".join(cells[2:])]


def _prose(page: str) -> str:
    """README without code, addresses and the table of numbers."""
    before, heading, after = page.partition(HEADING)
    table, rule, rest = after.partition("\n## ")
    kept = "\n".join(line for line in table.splitlines() if not line.strip().startswith("|"))
    return _UNSEEN.sub(" ", before + heading + kept + rule + rest)


def readme_faults(page: str, records: Mapping[str, Record]) -> list[str]:
    """Numbers of ``page`` (README's text) that are no record's, a line each."""
    wrong = []
    for cells in _rows(page):
        best = min((_fits(cells, r) for r in records.values()), key=len, default=[cells[1]])
        if best:
            wrong.append(f"README.md: {cells[0]!r}: no record has {', '.join(dict.fromkeys(best))}")
    unknown = [c for c in claims(_prose(page)) if c.unit and not _is_known(c, records.values())]
    return wrong + [f"README.md: {claim.text!r}: no record has this figure" for claim in unknown]


def _is_known(claim: Claim, records: Iterable[Record]) -> bool:
    measured = claim.unit in ("%", "x", "of") or claim.unit.endswith("/s")
    return any(
        any(is_figure(claim, f) for f in (*r.figures, *r.floors))
        or says(claim, r.reference if measured else words_of(r))
        for r in records
    )

"""Ties of numbers in documents to figures of records.

A tie is an HTML comment behind the numbers: ``<!-- NAME: TIE & TIE; TIE -->``. One ``TIE`` belongs to each
number, in their order; ``;`` separates the cells of a table's row. A tie is the label of a figure,
perhaps with its part before it: ``low:``, ``high:`` (ends of the interval), ``least:``, ``most:`` (of the
seeds), ``count:``, ``seed 2:``, or with its floor: ``floor uniform:``. ``reference`` is a number that the
record's own reference cites. A shown number may be rounded to fewer digits: half of its last digit is
allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tools.records import BOT, DERIVED, INITIAL, UNIFORM, Figure, Record

WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
SCALES = {"k": 1e3, "thousand": 1e3, "M": 1e6, "million": 1e6, "billion": 1e9}
COMMENT = re.compile(r"<!--\s*([a-z0-9][a-z0-9-]*):\s*(.*?)\s*-->", re.DOTALL)
PARTS = ("low", "high", "least", "most", "count")

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
_TIE = re.compile(
    rf"(?:floor (?P<floor>[^:]+): |seed (?P<seed>\d+): |(?P<part>{'|'.join(PARTS)}): )?(?P<label>.+)",
    re.DOTALL,
)


class Claim(NamedTuple):
    """One number as it is written."""

    text: str
    value: float
    half: float  # of the last digit that is shown
    unit: str
    of: int | None = None


class Tie(NamedTuple):
    """The figure that a number is tied to, and the number itself."""

    text: str
    figure: Figure
    value: float


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


def is_measured(claim: Claim) -> bool:
    """Whether a number looks like a result: a share, a factor, a speed, a count of matches."""
    return claim.unit in ("%", "x", "of") or claim.unit.endswith("/s")


def near(claim: Claim, value: float) -> bool:
    """Whether the claim is this number, perhaps rounded."""
    return abs(claim.value - value) <= claim.half + 1e-9 * max(1.0, abs(value))


def ties_of(text: str, records: Mapping[str, Record]) -> tuple[str, list[list[str]]] | None:
    """Return the record and the ties, by cells, of the comment in ``text``; None where there is none."""
    for found in COMMENT.finditer(text):
        if found[1] in records:
            return found[1], [[t.strip() for t in c.split(" & ")] for c in found[2].split("; ")]
    return None


def tied(text: str, record: Record) -> Tie:
    """Return what a tie names. Raises ``ValueError`` for a figure that the record does not have."""
    found = _TIE.fullmatch(text)
    assert found is not None
    floor, label, part = found["floor"] or "", found["label"], found["part"] or ""
    seed = None if found["seed"] is None else int(found["seed"])
    every = (*record.figures, *record.floors)
    mine = [f for f in every if (f.floor_of if floor else f.label) == label and floor in ("", f.floor)]
    mine = [f for f in mine if seed is None or f.seed == seed]
    if not mine:
        raise ValueError(f"no {'floor' if floor else 'figure'} {text!r}")
    if len(mine) > 1:
        raise ValueError(f"{len(mine)} figures {text!r}, expected one")
    figure = mine[0]
    numbers = {
        "": figure.value,
        "low": figure.low,
        "high": figure.high,
        "least": min(figure.values, default=None),
        "most": max(figure.values, default=None),
        "count": figure.count,
    }
    value = numbers[part]
    if value is None:
        raise ValueError(f"figure {label!r} has no {part}")
    return Tie(text, figure, float(value))


def fits(claim: Claim, tie: Tie) -> bool:
    """Whether a number is what its tie names, in its unit."""
    figure = tie.figure
    if claim.of is not None:
        count = figure.count if figure.kind != "seeds" else None
        share = figure.value * (count or 0) / 100.0 if figure.unit == "%" else figure.value
        return count == claim.of and near(claim, share)
    if claim.unit in ("%", "x"):
        return figure.unit == claim.unit and near(claim, tie.value)
    first = figure.unit.split()[0] if figure.unit else ""
    if claim.unit.endswith("/s") != figure.unit.endswith("/s") and claim.unit:
        return False
    if claim.unit and claim.unit.split()[0] in SCALES:
        return first in SCALES and near(claim, tie.value * SCALES[first])
    return figure.unit not in ("%", "x") and near(claim, tie.value)


def says(claim: Claim, text: str) -> bool:
    """Whether ``text`` has this number, perhaps with more digits; a share needs a ``%`` behind it."""
    for found in claims(text):
        if near(claim, found.value) and found.half <= claim.half:
            if claim.unit == "%" and found.unit != "%":
                continue
            if claim.of is None or claim.of == found.of:
                return True
    return False


def words_of_figure(figure: Figure) -> set[str]:
    """Return the words of a figure's label, and of a floor's kind."""
    label = " ".join(
        [figure.floor_of or figure.label, figure.floor, *(figure.of if figure.kind in DERIVED else ())]
    )
    found = set(words(label))
    return found | {"untrained"} if {"initial", "weight"} <= found else found


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without the plural's and the possessive's s."""
    found = re.findall(r"[a-z_]+|\d+", text.lower().replace("'s", ""))
    return [w.removesuffix("s") if len(w) > 3 else w for w in found]


def floor_words(figure: Figure) -> set[str]:
    """Return the words of which one must be beside a floor; empty for any other figure."""
    text = figure.floor or figure.label
    if text.startswith(INITIAL):
        return {"initial", "untrained"}
    if text.startswith(UNIFORM):
        return {UNIFORM}
    return set(words(figure.floor.removeprefix(BOT))) if figure.floor else set()

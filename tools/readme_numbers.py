"""The numbers of README: each one is tied to a figure of a record (:mod:`tools.ties`).

A row of the table under ``## Numbers`` ends with its tie: one for each number of its second and third cell.
Words that tell the row's figures apart must be in the first cell or in the number's own, so that cells
cannot be exchanged. Elsewhere a measured number (``%``, ``times``, ``/s``, ``of 100``) has its tie in the
same paragraph, and a time or a budget must be in some record's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tools.records import Record
from tools.ties import (
    COMMENT,
    Claim,
    Tie,
    claims,
    fits,
    floor_words,
    is_measured,
    near,
    says,
    tied,
    ties_of,
    words,
    words_of_figure,
)

HEADING = "## Numbers"
_NOUN = re.compile(r"\b[A-Z][A-Za-z]+\b")
_BOARD = re.compile(r"\b\d+x\d+\b")
PLAYS = ("drawn", "greedy")
_UNSEEN = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)


def words_of(record: Record) -> str:
    """Return all text of a record but its figures' values."""
    labels = [figure.label for figure in (*record.figures, *record.floors)]
    settings = [path.partition("/")[2] for path in record.files]
    parts = [record.title, record.budget, record.machine, record.reference, *settings]
    return " \n ".join([*parts, *labels, *record.notes, *record.commands])


def _is_setting(claim: Claim, text: str) -> bool:
    """Whether a record's words have this number with this unit, or as the value of an option."""
    unit = claim.unit.rstrip("s")
    if unit and re.search(rf"--[\w.-]*{re.escape(unit)}s? {claim.value:g}\b", text):
        return True
    return any(near(claim, n.value) and (not unit or n.unit.rstrip("s") == unit) for n in claims(text))


def _rows(page: str) -> Iterator[str]:
    """Yield the rows of the table under ``## Numbers``, without its head."""
    part = page.partition(HEADING)[2].partition("\n## ")[0]
    lines = [line.strip() for line in part.splitlines() if line.strip().startswith("|")]
    yield from lines[2:]


def _cells(row: str) -> list[str]:
    cells = [c.strip() for c in COMMENT.sub("", row).strip().strip("|").split("|")]
    return [*cells, "", "", ""][:3] if len(cells) < 3 else [cells[0], cells[1], " ".join(cells[2:])]


def row_faults(row: str, records: Mapping[str, Record]) -> Iterator[str]:
    """Yield what is wrong with one row."""
    head, *cells = _cells(row)
    found = ties_of(row, records)
    if found is None:
        yield "no tie <!-- RECORD: figure; figure --> of a record"
        return
    name, parts = found
    record, text = records[name], words_of(records[name])
    lower = text.lower()
    unknown = [w for w in (*_NOUN.findall(head), *_BOARD.findall(head)) if w.lower() not in lower]
    unknown += [c.text for c in claims(head) if not _is_setting(c, text)]
    if unknown:
        yield f"{name} has no {', '.join(dict.fromkeys(unknown))}"
    parts = [*parts, *([[]] * (len(cells) - len(parts)))]
    known: list[tuple[int, Tie]] = []
    for number, (cell, names) in enumerate(zip(cells, parts, strict=False)):
        numbers = list(claims(cell))
        given = [n for n in names if n]
        if len(numbers) != len(given):
            yield f"{len(numbers)} numbers in {cell!r}, {len(given)} ties"
            continue
        for claim, tie_text in zip(numbers, given, strict=True):
            if tie_text == "reference":
                if not says(claim, record.reference):
                    yield f"{claim.text}: the reference of {name} does not have it"
                continue
            try:
                tie = tied(tie_text, record)
            except ValueError as error:
                yield f"{name}: {error}"
                continue
            known.append((number, tie))
            if not fits(claim, tie):
                yield f"{claim.text}: {name} has {tie.figure.text()}"
    yield from _exchanged(head, cells, known, record)


def _exchanged(
    head: str, cells: Sequence[str], ties: Sequence[tuple[int, Tie]], record: Record
) -> Iterator[str]:
    """Yield figures whose own words are beside another number, or nowhere in the row."""
    for number, tie in ties:
        others = [words_of_figure(t.figure) for n, t in ties if n != number]
        if not others:
            continue
        own = words_of_figure(tie.figure).difference(*others)
        here = set(words(f"{head} {cells[number]}"))
        there = set(words(" ".join(c for i, c in enumerate(cells) if i != number)))
        if wrong := sorted((own & there) - here):
            yield f"{tie.text!r}: {' '.join(wrong)} is in the other cell"
        elif own and not own & here:
            yield f"{tie.text!r}: {' '.join(sorted(own))} is neither in the first cell nor in its own"
    for number, tie in ties:
        kind = floor_words(tie.figure)
        if kind and not kind & set(words(cells[number])):
            yield f"{tie.text!r}: a floor, and its cell does not say so ({' or '.join(sorted(kind))})"
    for number, cell in enumerate(cells):
        yield from _order(f"{head} {cell}", [tie for n, tie in ties if n == number])
    plays = {w for _, tie in ties for w in words_of_figure(tie.figure) if w in PLAYS}
    if len(plays) > 1 and not plays & set(words(" ".join([head, *cells]))):
        yield f"{' and '.join(sorted(plays))} play in one row, which does not say so"
    yield from _nouns(head, ties, record)


def _order(text: str, ties: Sequence[Tie]) -> Iterator[str]:
    """Yield a fault where the numbers of one cell are in another order than their words."""
    row, before = words(text), -1
    for tie in ties:
        others = [words_of_figure(t.figure) for t in ties if t.figure is not tie.figure]
        own = words_of_figure(tie.figure).difference(*others) if others else set()
        place = next((i for i, word in enumerate(row) if word in own), None)
        if place is not None and place < before:
            yield f"{tie.text!r}: its number is in another place than its words"
        before = before if place is None else place


def _nouns(head: str, ties: Sequence[tuple[int, Tie]], record: Record) -> Iterator[str]:
    """Yield names of the first cell, such as an opponent's, that a cell's figures do not have."""
    labels = {w for f in (*record.figures, *record.floors) for w in words_of_figure(f)}
    names = set(words(" ".join(_NOUN.findall(head)))) & labels - set(words(record.title))
    for number in dict.fromkeys(n for n, _ in ties):
        mine = {w for n, tie in ties if n == number for w in words_of_figure(tie.figure)}
        if names - mine and names & {w for _, t in ties for w in words_of_figure(t.figure)} != names & mine:
            yield f"{' '.join(sorted(names - mine))} is not in the figures of every cell"
        elif names and not names & mine:
            yield f"{' '.join(sorted(names))} is in none of the figures"


def paragraphs(page: str) -> Iterator[str]:
    """Yield the paragraphs of a page without code and addresses; rows of tables by themselves."""
    for block in re.split(r"\n\s*\n", _UNSEEN.sub(" ", page)):
        rows = [line for line in block.splitlines() if line.lstrip().startswith("|")]
        yield from rows
        rest = "\n".join(line for line in block.splitlines() if line not in rows)
        if rest.strip():
            yield rest


def _prose(page: str) -> str:
    """README without the table of numbers."""
    before, heading, after = page.partition(HEADING)
    table, rule, rest = after.partition("\n## ")
    kept = "\n".join(line for line in table.splitlines() if not line.strip().startswith("|"))
    return before + heading + kept + rule + rest


def prose_faults(text: str, records: Mapping[str, Record]) -> Iterator[str]:
    """Yield the measured numbers of one paragraph that are not tied to what they say."""
    numbers = [c for c in claims(re.sub(r"<!--.*?-->", " ", text, flags=re.DOTALL)) if is_measured(c)]
    if not numbers:
        return
    found = ties_of(text, records)
    names = [] if found is None else [n for cell in found[1] for n in cell]
    if found is None or len(names) != len(numbers):
        for claim in numbers:
            yield f"{claim.text!r}: not tied to a record's figure (<!-- RECORD: figure -->)"
        return
    for claim, name in zip(numbers, names, strict=True):
        record = records[found[0]]
        if name == "reference":
            good = says(claim, record.reference)
        else:
            try:
                good = fits(claim, tied(name, record))
            except ValueError as error:
                yield f"{claim.text!r}: {found[0]}: {error}"
                continue
        if not good:
            yield f"{claim.text!r}: {found[0]} has another number as {name!r}"


def readme_faults(page: str, records: Mapping[str, Record]) -> list[str]:
    """Numbers of ``page`` (README's text) that are no record's, a line each."""
    wrong = []
    for row in _rows(page):
        head = _cells(row)[0]
        wrong += [f"README.md: {head!r}: {fault}" for fault in row_faults(row, records)]
    for block in paragraphs(_prose(page)):
        wrong += [f"README.md: {fault}" for fault in prose_faults(block, records)]
        plain = re.sub(r"<!--.*?-->", " ", block, flags=re.DOTALL)
        for claim in claims(plain):
            budget = claim.unit and not is_measured(claim)
            if budget and not any(says(claim, words_of(r)) for r in records.values()):
                wrong.append(f"README.md: {claim.text!r}: no record has this")
    return wrong

"""Raw lines of a record: what a program measured, a line of JSON for each evaluation of each seed.

Programs of ``benchmarks`` make :class:`Line` and call :func:`write_record`. ``tools.results --check`` reads
the lines again and computes each figure from them. benchmarks/README.md describes the format.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from ludus.evaluation.results import EvalResult
from ludus.ratings import wilson_interval
from ludus.ratings.compare import summarise_runs
from tools.records import RECORDS, Figure, Interval, Record

INITIAL, UNIFORM = "initial weights", "uniform"  # how labels of floors start


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One evaluation. It has counts of matches, or a ``value``.

    Attributes:
        label: The figure that the line belongs to.
        seed: Of the training run; None where nothing was trained.
        player: Who played, as ``ludus eval`` names it; ``against`` its opponent.
        play: ``drawn`` or ``greedy``.
        won: Matches, as ``drawn``, ``lost`` and ``matches``, all of them.
        value: Any other number, such as a mean return; ``low`` and ``high`` are its 95% interval.
        detail: Other settings of this evaluation.
    """

    label: str
    seed: int | None = None
    player: str = ""
    against: str = ""
    play: str = ""
    won: int | None = None
    drawn: int | None = None
    lost: int | None = None
    matches: int | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    detail: dict[str, str | float] = {}

    def fault(self) -> str:
        """Why the line cannot be right, or an empty text."""
        counts = (self.won, self.drawn, self.lost)
        if self.value is not None:
            return "" if all(c is None for c in counts) else "expected counts of matches or a value, not both"
        if self.matches is None or self.matches < 1 or any(c is None or c < 0 for c in counts):
            return "expected won, drawn, lost and matches, or a value"
        if sum(c or 0 for c in counts) != self.matches:
            return f"won, drawn and lost of {self.matches} matches have another sum"
        return ""


def line_of(
    result: EvalResult, label: str, *, seed: int | None = None, play: str = "", player: str = ""
) -> Line:
    """Return the line of an evaluation: counts, or the mean return of a game without an opponent."""
    who = player or result.player
    if result.alone:
        ends = (result.return_low, result.return_high) if result.matches > 1 else (None, None)
        value, (low, high) = result.mean_return, ends
        return Line(label, seed, who, "", play, matches=result.matches, value=value, low=low, high=high)
    counts = (result.wins, result.draws, result.losses, result.matches)
    return Line(label, seed, who, result.against, play, *counts)


def read_lines(path: Path) -> list[Line]:
    """Return the lines of ``path``. Raises ``ValueError`` with the number of a wrong one."""
    found = []
    decoder = msgspec.json.Decoder(Line)
    for number, text in enumerate(path.read_bytes().splitlines(), start=1):
        if not text.strip():
            continue
        try:
            line = decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path.name}:{number}: {error}") from error
        if line.fault():
            raise ValueError(f"{path.name}:{number}: {line.fault()}")
        found.append(line)
    return found


def digits_of(unit: str) -> int:
    """Decimal places that a figure shows."""
    return 1 if unit in ("%", "return") else 3


def _rates(lines: Sequence[Line], unit: str) -> list[float]:
    """One number a seed: the rate of all its matches in percent, or the mean of its values."""
    numbers = []
    for seed in dict.fromkeys(line.seed for line in lines):
        mine = [line for line in lines if line.seed == seed]
        if unit == "%" and all(line.value is None for line in mine):
            won, matches = (sum(getattr(line, key) or 0 for line in mine) for key in ("won", "matches"))
            numbers.append(100.0 * won / matches)
        elif all(line.value is not None for line in mine):
            numbers.append(sum(line.value or 0.0 for line in mine) / len(mine))
        else:
            raise ValueError(f"lines of {mine[0].label!r} mix matches and values")
    return numbers


def figure_of(
    lines: Iterable[Line], label: str, unit: str, interval: Interval, seed: int | None = None
) -> Figure:
    """Return the figure that ``lines`` give under ``label``: with ``seed``, of its lines alone.

    Raises ``ValueError`` where there is no such line, or lines that do not fit ``interval``.
    """
    mine = [line for line in lines if line.label == label and seed in (None, line.seed)]
    where = label if seed is None else f"seed {seed}, {label}"
    if not mine:
        raise ValueError(f"no raw line of {where!r}")
    value, low, high, count = _measured(mine, where, unit, interval)
    places = digits_of(unit)
    low, high = (None if end is None else round(end, places) for end in (low, high))
    return Figure(
        value=round(value, places),
        unit=unit,
        label=label,
        seed=seed,
        low=low,
        high=high,
        count=count,
        interval=interval,
    )


def _measured(
    lines: Sequence[Line], where: str, unit: str, interval: Interval
) -> tuple[float, float | None, float | None, int | None]:
    """Value, interval and count."""
    if interval == "wilson":
        if any(line.won is None for line in lines):
            raise ValueError(f"a raw line of {where!r} has no matches")
        won, count = (sum(getattr(line, key) or 0 for line in lines) for key in ("won", "matches"))
        rate = wilson_interval(won, count)
        return 100.0 * rate.rate, 100.0 * rate.low, 100.0 * rate.high, count
    if interval == "line":
        if len(lines) != 1 or lines[0].value is None:
            raise ValueError(f"expected one raw line of {where!r}, with a value")
        return lines[0].value, lines[0].low, lines[0].high, lines[0].matches
    numbers = _rates(lines, unit)
    return *_centre(numbers, unit, interval), len(numbers)


def _centre(
    numbers: Sequence[float], unit: str, interval: Interval
) -> tuple[float, float | None, float | None]:
    """Centre and interval over seeds; one seed has no interval."""
    if len(numbers) == 1:
        return numbers[0], None, None
    if interval == "range":
        return sum(numbers) / len(numbers), min(numbers), max(numbers)
    summary = summarise_runs(list(numbers))
    low, high = summary.low, summary.high
    if unit == "%" and low is not None and high is not None:
        low, high = max(0.0, low), min(100.0, high)
    return summary.centre, low, high


def figures_of(lines: Sequence[Line], unit: str, interval: Interval) -> tuple[Figure, ...]:
    """Return a figure for each label, in order; ``wilson`` and ``line``: for each label and seed."""
    if interval in ("wilson", "line"):
        keys = list(dict.fromkeys((line.label, line.seed) for line in lines))
    else:
        keys = [(label, None) for label in dict.fromkeys(line.label for line in lines)]
    return tuple(figure_of(lines, label, unit, interval, seed) for label, seed in keys)


def write_record(name: str, record: Record, lines: Sequence[Line], folder: Path = RECORDS) -> Path:
    """Write ``data/NAME.jsonl`` and ``NAME.json``, which names it. Return the record's path."""
    data = f"data/{name}.jsonl"
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / data).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    made = msgspec.structs.replace(record, data=(data, *(d for d in record.data if d != data)))
    path = folder / f"{name}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
    print(f"wrote {path} and {folder / data}", file=sys.stderr)
    return path

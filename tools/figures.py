"""Figures from raw lines: values and 95% intervals by one rule for all records.

Over seeds (``seeds``): below ten seeds the mean with Student's interval, and every seed's number; from ten on
the interquartile mean with a bootstrap, which covers less than 95% with fewer. No interval is narrower
than the counting noise of the matches behind it: its ends are at least as far away as in Wilson's
interval over all matches of all seeds, of Poisson's for events a match, of Student's for other samples.
Shown are one decimal place of ``%``, ``points`` and ``return``, three of anything else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from statistics import NormalDist, median
from typing import NamedTuple

import numpy as np

from ludus.ratings import mean_interval, wilson_interval
from ludus.ratings.compare import bootstrap_interval, iqm
from ludus.ratings.interval import student_quantile
from tools.raw_lines import Line
from tools.records import Figure, Kind

FEW = 10  # seeds: with fewer each one is shown, and there is no bootstrap
TAIL = 0.025
NORMAL = NormalDist().inv_cdf(1.0 - TAIL)
EVENTS = "a match"  # unit of counted events
ONE_PLACE = ("%", "points", "return")


class Ends(NamedTuple):
    """A number with the ends of its interval; None: it has none."""

    value: float
    low: float | None = None
    high: float | None = None

    def reach(self) -> tuple[float, float]:
        """Distances of the ends."""
        if self.low is None or self.high is None:
            return 0.0, 0.0
        return self.value - self.low, self.high - self.value

    def widened(self, other: Ends) -> Ends:
        """Return these ends, each at least as far away as the other's."""
        pairs = zip(self.reach(), other.reach(), strict=True)
        below, above = (max(pair) for pair in pairs)
        return Ends(self.value, self.value - below, self.value + above)


def digits_of(unit: str) -> int:
    """Decimal places that a figure shows."""
    return 1 if unit in ONE_PLACE else 3


def poisson_ends(events: float, matches: int) -> Ends:
    """Return events a match with the exact interval of a Poisson distribution (Garwood 1936)."""
    from scipy.special import gammaincinv  # heavier than this module

    low = float(gammaincinv(events, TAIL)) if events > 0 else 0.0
    return Ends(events / matches, low / matches, float(gammaincinv(events + 1.0, 1.0 - TAIL)) / matches)


def pooled(lines: Sequence[Line], unit: str) -> Ends:
    """Return the number that all matches or samples of ``lines`` give together, with its counting noise."""
    if all(line.matches is not None for line in lines):
        won, matches = (sum(getattr(line, key) for line in lines) for key in ("won", "matches"))
        rate = wilson_interval(won, matches)
        return Ends(100.0 * rate.rate, 100.0 * rate.low, 100.0 * rate.high)
    samples = list(chain.from_iterable(line.samples for line in lines))
    if any(line.matches is not None for line in lines):
        raise ValueError(f"lines of {lines[0].label!r} mix matches and samples")
    found = mean_interval(samples)
    ends = Ends(found.mean, found.low, found.high) if len(samples) > 1 else Ends(found.mean)
    if unit == EVENTS and all(s >= 0 and s == int(s) for s in samples):
        ends = ends.widened(poisson_ends(sum(samples), len(samples)))
    return ends


def by_seed(lines: Iterable[Line]) -> dict[int | None, list[Line]]:
    """Return the lines of each seed, in order."""
    found: dict[int | None, list[Line]] = {}
    for line in lines:
        found.setdefault(line.seed, []).append(line)
    return found


def over_seeds(lines: Sequence[Line], unit: str) -> tuple[Ends, tuple[float, ...]]:
    """Return centre and interval over the seeds, and the number of each seed."""
    groups = list(by_seed(lines).values())
    numbers = [pooled(group, unit).value for group in groups]
    if len(numbers) < 2:
        raise ValueError(f"{lines[0].label!r} has one seed: expected kind 'matches' or 'exact'")
    if len(numbers) < FEW:
        found = mean_interval(numbers)
        ends = Ends(found.mean, found.low, found.high)
    else:
        column = np.array(numbers, np.float64)[:, None]
        low, high = bootstrap_interval(column)
        ends = Ends(float(iqm(column)), low, high)
    return _clipped(ends.widened(_noise(groups, unit)), unit, lines), tuple(numbers)


def _noise(groups: Sequence[Sequence[Line]], unit: str) -> Ends:
    """Return the counting noise of the mean of the groups' numbers."""
    lines = list(chain.from_iterable(groups))
    if any(line.matches is not None for line in lines) or unit == EVENTS:
        return pooled(lines, unit)
    spread = 0.0
    for group in groups:
        samples = list(chain.from_iterable(line.samples for line in group))
        spread += mean_interval(samples).deviation ** 2 / len(samples)
    half = NORMAL * math.sqrt(spread) / len(groups)
    return Ends(0.0, -half, half)


def _clipped(ends: Ends, unit: str, lines: Sequence[Line]) -> Ends:
    """Return ``ends`` within the range of the unit. Events may be below 0 where a sample is (frags)."""
    if ends.low is None or ends.high is None:
        return ends
    if unit == "%":
        return Ends(ends.value, max(0.0, ends.low), min(100.0, ends.high))
    counts = unit == EVENTS and all(s >= 0 for line in lines for s in line.samples)
    return Ends(ends.value, max(0.0, ends.low), ends.high) if counts else ends


def figure_of(
    lines: Iterable[Line],
    label: str,
    unit: str,
    kind: Kind,
    seed: int | None = None,
    of: Sequence[str] = (),
    *,
    lower_is_better: bool = False,
    floor: str = "",
    floor_of: str = "",
) -> Figure:
    """Return the figure that ``lines`` give under ``label``, or under the two labels ``of``.

    Raises:
        ValueError: There is no such line, or the lines do not fit ``kind``.
    """
    every = [line for line in lines if seed in (None, line.seed)]
    parts = [[line for line in every if line.label == name] for name in (of or (label,))]
    for name, part in zip(of or (label,), parts, strict=True):
        if not part:
            raise ValueError(f"no raw line of {name if seed is None else f'seed {seed}, {name}'!r}")
    fits = {"difference": len(of) == 2, "ratio": len(of) == 2, "worst": len(of) > 1}.get(kind, not of)
    if not fits:
        raise ValueError(f"{label!r}: a difference or ratio is of two labels, {kind} has {len(of)}")
    values: tuple[float, ...] = ()
    equal, count = 0, None
    if kind == "seeds":
        ends, values = over_seeds(parts[0], unit)
        count = len(values)
    elif kind == "worst":
        ends, values = over_seeds(_worst(parts, label, unit), unit)
        count = len(values)
    elif kind == "difference":
        equal = _equal(*parts)
        ends = Ends(0.0) if equal else _difference(parts[0], parts[1], unit)
    elif kind == "ratio":
        ends, count = _ratio(*parts)
    else:
        ends, count = _single(parts[0], label, unit, kind)
    places = digits_of(unit)
    low, high = (None if end is None else round(end, places) for end in (ends.low, ends.high))
    return Figure(
        label=label,
        unit=unit,
        kind=kind,
        value=round(ends.value, places),
        low=low,
        high=high,
        count=count,
        seed=seed,
        of=tuple(of),
        values=tuple(round(v, places) for v in values) if len(values) < FEW else (),
        equal=equal,
        lower_is_better=lower_is_better,
        floor=floor,
        floor_of=floor_of,
    )


def _single(lines: Sequence[Line], label: str, unit: str, kind: Kind) -> tuple[Ends, int | None]:
    samples = list(chain.from_iterable(line.samples for line in lines))
    if kind == "matches":
        if len(by_seed(lines)) > 1:
            raise ValueError(f"{label!r} has lines of several seeds: expected kind 'seeds'")
        ends = _clipped(pooled(lines, unit), unit, lines)
        return ends, sum(line.matches or len(line.samples) for line in lines)
    if any(line.matches is not None for line in lines):
        raise ValueError(f"{label!r}: {kind} is of samples, and these are matches")
    if kind == "readings":
        return Ends(median(samples), min(samples), max(samples)), len(samples)
    if kind == "total":
        return Ends(math.fsum(samples)), None
    if len(samples) != 1:
        raise ValueError(f"{label!r}: expected one raw line with one number, found {len(samples)} numbers")
    return Ends(samples[0]), None


def _worst(parts: Sequence[Sequence[Line]], label: str, unit: str) -> list[Line]:
    """Return each seed's lines of the label that has its least number. Raises ``ValueError``."""
    groups = [by_seed(part) for part in parts]
    if any(set(group) != set(groups[0]) for group in groups):
        raise ValueError(f"{label!r}: its labels have lines of different seeds")
    found: list[Line] = []
    for seed in groups[0]:
        found += min([group[seed] for group in groups], key=lambda lines: pooled(list(lines), unit).value)
    return found


def _equal(first: Sequence[Line], second: Sequence[Line]) -> int:
    """Number of matches that are equal pair by pair, 0 if one differs or they are no pairs."""
    left, right = ({(x.seed, x.eval_seed): x for x in part} for part in (first, second))
    if set(left) != set(right) or len(left) < len(first) or any(k[1] is None for k in left):
        return 0
    total = 0
    for key, line in left.items():
        other = right[key]
        if (line.outcomes, line.samples) != (other.outcomes, other.samples):
            return 0
        total += line.matches or len(line.samples)
    return total


def _difference(first: Sequence[Line], second: Sequence[Line], unit: str) -> Ends:
    """Return ``first`` minus ``second``: Newcombe's interval of the noise, or a wider one over the seeds."""
    rate = "%" if unit == "points" else unit
    a, b = _centred(first, rate), _centred(second, rate)
    (below_a, above_a), (below_b, above_b) = (_noise_of(x, rate).reach() for x in (first, second))
    value = a - b
    noise = Ends(value, value - math.hypot(below_a, above_b), value + math.hypot(above_a, below_b))
    left, right = ({s: pooled(g, rate).value for s, g in by_seed(x).items()} for x in (first, second))
    if len(left) < 2 or len(right) < 2:
        return noise
    if set(left) == set(right):
        found = mean_interval([left[s] - right[s] for s in left])
        return Ends(value, value - (found.mean - found.low), value + (found.high - found.mean)).widened(noise)
    spread = sum(mean_interval(list(x.values())).deviation ** 2 / len(x) for x in (left, right))
    half = student_quantile(1.0 - TAIL, min(len(left), len(right)) - 1) * math.sqrt(spread)
    return Ends(value, value - half, value + half).widened(noise)


def _centred(lines: Sequence[Line], unit: str) -> float:
    return pooled(lines, unit).value if len(by_seed(lines)) < 2 else over_seeds(lines, unit)[0].value


def _noise_of(lines: Sequence[Line], unit: str) -> Ends:
    groups = list(by_seed(lines).values())
    return pooled(lines, unit) if len(groups) < 2 else _noise(groups, unit)


def _ratio(first: Sequence[Line], second: Sequence[Line]) -> tuple[Ends, int | None]:
    """Return ``first`` in parts of ``second``: of readings by turns the median of the quotients."""
    a, b = (list(chain.from_iterable(line.samples for line in part)) for part in (first, second))
    if not a or not b:
        raise ValueError(f"{first[0].label!r}: a ratio is of samples, and these are matches")
    if 0.0 in b:
        raise ValueError(f"{second[0].label!r}: a ratio to 0")
    if len(a) != len(b):
        return Ends(median(a) / median(b)), None
    quotients = [x / y for x, y in zip(a, b, strict=True)]
    if len(quotients) == 1:
        return Ends(quotients[0]), None
    return Ends(median(quotients), min(quotients), max(quotients)), len(quotients)


def floor_label(floor: str, label: str) -> str:
    """Return the label of the raw lines of a floor."""
    return f"{floor}, {label}"


def figures_of(
    lines: Sequence[Line], unit: str, kind: Kind, *, lower_is_better: bool = False
) -> list[Figure]:
    """Return a figure for each label of ``lines``, in order; of matches one for each label and seed.

    ``seeds`` of a label with one seed is a figure of its matches.
    """
    found = []
    for label in dict.fromkeys(line.label for line in lines):
        seeds = list(dict.fromkeys(line.seed for line in lines if line.label == label))
        if kind == "seeds" and len(seeds) > 1:
            found.append(figure_of(lines, label, unit, kind, lower_is_better=lower_is_better))
            continue
        own: Kind = "matches" if kind == "seeds" else kind
        found += [
            figure_of(lines, label, unit, own, seed, lower_is_better=lower_is_better)
            for seed in (seeds if own in ("matches", "exact") else [None])
        ]
    return found


def floors_of(lines: Sequence[Line], figures: Sequence[Figure], kinds: Sequence[str]) -> list[Figure]:
    """Return the floors of ``figures`` that ``lines`` have, labelled by :func:`floor_label`."""
    found = []
    for figure in figures:
        for floor in kinds:
            label = floor_label(floor, figure.label)
            mine = [
                x
                for x in lines
                if x.label == label and (figure.seed is None or x.seed in (None, figure.seed))
            ]
            if not mine:
                continue
            seeds = {line.seed for line in mine}
            kind: Kind = "seeds" if len(seeds) > 1 else "matches"
            kind = "exact" if kind == "matches" and sum(len(x.samples) for x in mine) == 1 else kind
            found.append(
                figure_of(
                    mine,
                    label,
                    figure.unit,
                    kind,
                    lower_is_better=figure.lower_is_better,
                    floor=floor,
                    floor_of=figure.label,
                )
            )
    return found

"""Raw lines of records, played again from the kept weights: do the same matches come out?

    python -m tools.replay_line                    # one line of one record, drawn by the date
    python -m tools.replay_line --record demo      # one line of this record
    python -m tools.replay_line --all-records      # one line of each record

A line has the seed of its matches, its setting and the weights that played, so that all results are the
same, match by match. Compiled games are deterministic; a network's arithmetic may differ between kinds of
processors. On the kind that the record names every match must be equal. On another kind as many matches may
differ as ``--tolerance`` allows, and the rate may differ by chance only. A player with a limit of time
(``seconds=``) is compared by its rate. Exit code 3: other results, which no record may have.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

from tools.new_record import machine
from tools.play_lines import again
from tools.raw_lines import Line, lines_of, unpacked
from tools.records import PLAYED, RECORDS, Record, load

TOLERANCE = 0.05  # of the matches, on another kind of processor
FOUR_SIGMA = 4.0


def processor_of(text: str) -> str:
    """Return the processor of a record's machine, without the number of cores."""
    return text.partition(" of ")[2] or text


def playable(lines: Sequence[Line], unkept: frozenset[str] = frozenset()) -> list[Line]:
    """Return the lines that can be played again: not lines of the weights ``unkept``, by SHA-256."""
    matches = (x for x in lines if x.setting is not None and x.setting.measure == "matches" and _known(x))
    return [x for x in matches if x.weights not in unkept]


def unkept_initial(record: Record) -> frozenset[str]:
    """Return the SHA-256 of initial weights that are too large to be kept."""
    return frozenset(run.initial for run in record.runs if run.initial_unkept)


def _known(line: Line) -> bool:
    """Whether the line has its player: kept weights, or one without any."""
    return bool(line.weights) or (not line.run and bool(line.player))


def differing(old: Line, new: Line) -> int:
    """Return how many matches have another result."""
    if old.samples or new.samples:
        pairs = zip(old.samples, new.samples, strict=False)
        differ = sum(not math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6) for a, b in pairs)
        return differ + abs(len(old.samples) - len(new.samples))
    texts = (unpacked(x.outcomes, x.matches or 0) for x in (old, new))
    first, second = texts
    return sum(a != b for a, b in zip(first, second, strict=False)) + abs(len(first) - len(second))


def far_apart(old: Line, new: Line) -> bool:
    """Whether two results differ by more than chance: four standard errors of their difference."""
    values, errors = [], 0.0
    for line in (old, new):
        text = unpacked(line.outcomes, line.matches or 0) if line.outcomes else ""
        numbers = list(line.samples) or [float(c == "w") for c in text]
        mean = sum(numbers) / len(numbers)
        values.append(mean)
        spread = sum((n - mean) ** 2 for n in numbers) / max(1, len(numbers) - 1)
        errors += max(spread, 0.25 / len(numbers) if not line.samples else 0.0) / len(numbers)
    return abs(values[0] - values[1]) > FOUR_SIGMA * math.sqrt(errors) + 1e-9


def compare(record: Record, line: Line, folder: Path, tolerance: float = TOLERANCE) -> tuple[bool, str]:
    """Play a line again. Return whether its results hold, and a sentence."""
    started = time.monotonic()
    new = again(line, folder / "weights")
    count = line.matches or len(line.samples)
    differ = differing(line, new)
    took = f"{count:,} matches in {time.monotonic() - started:.1f} s"
    if differ == 0:
        return True, f"equal, {took}"
    timed = "seconds=" in line.player
    same = processor_of(record.machine) == processor_of(machine())
    if timed:
        return not far_apart(line, new), f"{differ:,} differ, a player with a limit of time, {took}"
    if same:
        return False, f"{differ:,} of {count:,} matches differ on the record's kind of processor"
    good = differ <= tolerance * count and not far_apart(line, new)
    where = f"this is {machine()}, the record's machine {record.machine}"
    return good, f"{differ:,} of {count:,} differ, at most {tolerance:.0%} are allowed here: {where}"


def chosen(args: argparse.Namespace, records: dict[str, Record], folder: Path) -> Iterator[tuple[str, Line]]:
    """Yield the lines to play: one, or one of each record. Raises ``ValueError``."""
    draw = random.Random(args.seed)
    found = {
        name: lines
        for name, record in records.items()
        if record.section in PLAYED
        for lines in [playable(lines_of(name, folder), unkept_initial(record))]
        if lines and args.record in ("", name)
    }
    names = [args.record] if args.record else sorted(found)
    if args.record and args.record not in found:
        raise ValueError(f"--record {args.record}: no record whose matches can be played again")
    if not args.all_records and not args.record and names:
        names = [draw.choice(names)]
    for name in names:
        lines = found[name]
        if args.label:
            lines = [x for x in lines if x.label == args.label and args.of_seed in (None, x.seed)]
            if not lines:
                raise ValueError(f"--label {args.label!r}: no such line of {name}")
        trained = [line for line in lines if line.weights] or lines
        yield name, draw.choice(lines if args.label or args.any else trained)


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    today = datetime.now(timezone.utc).date()
    parser.add_argument("--seed", type=int, default=today.toordinal(), help="of the draw (default: the date)")
    parser.add_argument("--record", default="", metavar="NAME", help="a line of this record")
    parser.add_argument("--all-records", action="store_true", help="a line of each record")
    parser.add_argument("--label", default="", help="this line of --record")
    parser.add_argument("--of-seed", type=int, help="of this training seed")
    parser.add_argument("--any", action="store_true", help="lines of bots and uniform play too")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="on another kind of processor")
    parser.add_argument("--results", type=Path, default=RECORDS, help="folder of the records")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command line."""
    parser = parser_of()
    args = parser.parse_args(argv)
    wrong = 0
    try:
        records = load(args.results)
        lines = list(chosen(args, records, args.results))
        if not lines:
            print("no record has matches that can be played again")
        for name, line in lines:
            seed = "" if line.seed is None else f", seed {line.seed}"
            try:
                good, text = compare(records[name], line, args.results, args.tolerance)
            except ValueError as error:
                good, text = False, str(error)
            print(f"{name}: {line.label}{seed}: {text}", file=sys.stdout if good else sys.stderr, flush=True)
            wrong += not good
    except ValueError as error:
        parser.error(str(error))
    return 3 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

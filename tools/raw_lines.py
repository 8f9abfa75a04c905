"""Raw lines of a record: what a program measured, a line of JSON for each evaluation of each seed.

A line has the single results: of matches with winners an outcome each (:func:`packed`), else numbers
(``samples``). Figures are computed from these (:mod:`tools.figures`), so that a count that its outcomes do
not give is a fault. ``tools.play_lines`` plays matches and makes lines; benchmarks/README.md describes them.
"""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from tools.records import RECORDS, Record, sha256_of

DIGITS = "wdl"  # an outcome: won, drawn or lost
PER_BYTE = 5  # 3^5 < 256

Measure = Literal["matches", "training", "exact", "positions", "programs"]


class Setting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the matches of a line were played; all lines of a figure and of its floors have the same.

    Attributes:
        game: Name of the game; ``params`` are its parameters as text.
        frame_skip: Ticks between two decisions of the player, as played (never 0); ``against_frame_skip`` of
            its opponent.
        opponent: A bot's name, a search, ``alone``, or for a network what it is (``the league's main``);
            several bots of as many matches each: ``rush + riders``.
        play: ``drawn`` or ``greedy``.
        matches: Number of matches of a line.
        search: Search of both sides, as behind weights: ``+search:100``.
        random_start: As of ``ludus eval``, ``max_ticks`` too.
        measure: ``matches``; ``training``: measured while a run trains; ``exact``: computed without matches;
            ``positions``: a move in each of ``matches`` positions, won if it keeps the value of the game;
            ``programs``: matches between two programs.
        returned: What a sample is, where it is not the return: ``kills of the first seat``.
        score: Named score of the game that a sample is: ``frags``.
        member: Whose returns count: the player's first seat, its second, and so on.
        less: Parameters of a match whose returns are taken off, match by match.
        of_seat: Seat whose results are taken; -1: the seat of the player.
    """

    game: str
    params: dict[str, str] = {}
    frame_skip: int = 1
    against_frame_skip: int = 1
    opponent: str = ""
    play: str = ""
    matches: int = 0
    search: str = ""
    random_start: int = 0
    max_ticks: int = 0
    measure: Measure = "matches"
    returned: str = ""
    score: str = ""
    member: int = 0
    less: dict[str, str] = {}
    of_seat: int = -1


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One evaluation of one seed, or the readings of one measurement.

    Attributes:
        label: The figure that the line belongs to; of a floor ``KIND, LABEL OF ITS FIGURE``.
        seed: Seed of the record; None without training.
        run: ``id`` of the run whose weights played.
        player: Who played: a bot, ``uniform``, a search, or ``RUN@VERSION`` for people; ``against`` likewise.
        weights: SHA-256 of the kept file that played, ``against_weights`` of the opponent's.
        eval_seed: Seed of the matches.
        setting: How they were played.
        won: Matches, as ``drawn``, ``lost`` and ``matches``, all of them; ``outcomes`` has each one.
        samples: Instead of these: a number for each match or reading, or one number.
        detail: Other measures.
    """

    label: str
    seed: int | None = None
    run: str = ""
    player: str = ""
    against: str = ""
    weights: str = ""
    against_weights: str = ""
    eval_seed: int | None = None
    setting: Setting | None = None
    won: int | None = None
    drawn: int | None = None
    lost: int | None = None
    matches: int | None = None
    outcomes: str = ""
    samples: tuple[float, ...] = ()
    detail: dict[str, str | float] = {}

    def fault(self) -> str:
        """Why the line cannot be right, or an empty text."""
        counts = (self.won, self.drawn, self.lost, self.matches)
        if self.samples:
            if self.outcomes or any(c is not None for c in counts):
                return "expected outcomes of matches or samples, not both"
            return "" if all(s - s == 0 for s in self.samples) else "samples that are not finite"
        if not self.outcomes or any(c is None for c in counts):
            return "expected won, drawn, lost, matches and outcomes, or samples"
        try:
            found = unpacked(self.outcomes, self.matches or 0)
        except ValueError as error:
            return str(error)
        given = tuple(found.count(digit) for digit in DIGITS)
        if given != counts[:3]:
            was = "won {}, drawn {}, lost {}"
            return f"{was.format(*counts)}: its outcomes have {was.format(*given)}"
        return ""


def packed(outcomes: str) -> str:
    """Pack ``w``, ``d`` and ``l``, one a match in order, to about a third of their length."""
    data = bytearray()
    for start in range(0, len(outcomes), PER_BYTE):
        number = 0
        for digit in reversed(outcomes[start : start + PER_BYTE]):
            number = 3 * number + DIGITS.index(digit)
        data.append(number)
    return base64.b64encode(bytes(data)).decode()


def unpacked(text: str, matches: int) -> str:
    """Return the outcomes of :func:`packed`. Raises ``ValueError`` for another number of them."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"outcomes: {error}") from None
    if len(data) != -(-matches // PER_BYTE):
        raise ValueError(f"{len(data)} bytes of outcomes do not fit {matches} matches")
    found = []
    for number in data:
        for _ in range(PER_BYTE):
            number, digit = divmod(number, 3)
            found.append(DIGITS[digit])
    if set(found[matches:]) - {DIGITS[0]}:
        raise ValueError(f"outcomes of more than {matches} matches")
    return "".join(found[:matches])


def counted(
    label: str, outcomes: str, *, setting: Setting | None = None, eval_seed: int | None = None
) -> Line:
    """Return the line of outcomes, a string of ``w``, ``d`` and ``l``."""
    won, drawn, lost = (outcomes.count(digit) for digit in DIGITS)
    return Line(
        label,
        setting=setting,
        eval_seed=eval_seed,
        won=won,
        drawn=drawn,
        lost=lost,
        matches=len(outcomes),
        outcomes=packed(outcomes),
    )


def sampled(
    label: str, samples: Iterable[float], *, setting: Setting | None = None, eval_seed: int | None = None
) -> Line:
    """Return the line of numbers, kept to six significant digits."""
    kept = tuple(float(f"{s:.6g}") for s in samples)
    return Line(label, samples=kept, setting=setting, eval_seed=eval_seed)


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


def lines_of(name: str, folder: Path = RECORDS) -> list[Line]:
    """Return the raw lines of the record ``name``. Raises ``ValueError`` and ``OSError``."""
    return read_lines(folder / "data" / f"{name}.jsonl")


def write_record(name: str, record: Record, lines: Sequence[Line], folder: Path = RECORDS) -> Path:
    """Write ``data/NAME.jsonl`` and ``NAME.json`` with its hash. Return the record's path."""
    data = folder / "data" / f"{name}.jsonl"
    data.parent.mkdir(parents=True, exist_ok=True)
    data.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    made = msgspec.structs.replace(record, lines=sha256_of(data))
    path = folder / f"{name}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
    print(f"wrote {path} and {data}", file=sys.stderr)
    return path

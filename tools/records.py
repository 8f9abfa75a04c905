"""A published result as one JSON document of ``benchmarks/results``: :class:`Record`, of schema 3."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benchmarks" / "results"
PRESETS = ROOT / "presets"
SECTIONS = ("learning", "strength", "throughput", "conformance")
PLAYED = ("learning", "strength")  # sections whose figures are of players, with floors

Section = Literal["learning", "strength", "throughput", "conformance"]
#: How a figure follows from its raw lines (:mod:`tools.figures`): ``matches`` pools the matches or samples of
#: its label, ``seeds`` takes one number a seed, ``readings`` the median with the least and the greatest,
#: ``total`` the sum, ``exact`` the one number of its line; ``difference`` and ``ratio`` are of two labels;
#: ``worst`` takes a seed's least number over several labels.
Kind = Literal["matches", "seeds", "readings", "total", "exact", "difference", "ratio", "worst"]
DERIVED = ("difference", "ratio", "worst")
#: Figures of players that learned nothing, beside a figure: ``bot NAME`` has any built-in bot of the game.
INITIAL, UNIFORM, BOT = "initial weights", "uniform", "bot "


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One number with its 95% interval, as :func:`tools.figures.figure_of` computes it from raw lines.

    Attributes:
        label: What distinguishes the figure from the others of its record.
        unit: ``%`` of matches, ``return``, ``a match``, ``M ticks/s``, ``x``.
        kind: How it follows from the lines.
        value: The number; ``low`` and ``high`` are the ends of its interval, if it has one.
        count: Matches, samples or readings, or the number of seeds where ``kind`` is ``seeds``.
        seed: For ``kind`` ``matches`` and ``exact``: only the lines of this seed.
        of: The two labels of a difference (the first minus the second) or a ratio; of ``worst`` two or more.
        values: One number a seed in the order of the seeds, where there are fewer than ten.
        equal: For a difference: matches that are all equal, pair by pair.
        lower_is_better: As in a distance from an equilibrium.
        floor: For a floor: its kind (``initial weights``, ``uniform``, ``bot NAME``).
        floor_of: For a floor: the label of its figure.
    """

    label: str
    unit: str
    kind: Kind
    value: float
    low: float | None = None
    high: float | None = None
    count: int | None = None
    seed: int | None = None
    of: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    equal: int = 0
    lower_is_better: bool = False
    floor: str = ""
    floor_of: str = ""

    def number(self) -> str:
        """``74.5% [68.5, 80.5] of 3 seeds (72.1, 74, 77.4)``."""
        if self.equal:
            return f"equal in all {self.equal:,} matches"
        unit = self.unit if self.unit in ("%", "x") or not self.unit else f" {self.unit}"
        interval = "" if self.low is None or self.high is None else f" [{self.low:,g}, {self.high:,g}]"
        of = "" if self.kind not in ("seeds", "worst") else " seed" if self.count == 1 else " seeds"
        count = "" if self.count is None else f" of {self.count:,}{of}"
        each = f" ({', '.join(f'{v:,g}' for v in self.values)})" if len(self.values) > 1 else ""
        return f"{self.value:,g}{unit}{interval}{count}{each}"

    def text(self) -> str:
        """``seed 1, against simple: 93.2% [92.7, 93.7] of 10,000``."""
        head = ", ".join(t for t in (f"seed {self.seed}" if self.seed is not None else "", self.label) if t)
        return f"{head}: {self.number()}"


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A bound that a figure was to reach. The page shows whether it did."""

    label: str
    least: float | None = None
    most: float | None = None

    def text(self, figure: Figure) -> str:
        """``MOBA, 3 against 3: wanted at least 1 M ticks/s, missed``."""
        bounds = [f"at least {self.least:,g}"] if self.least is not None else []
        bounds += [f"at most {self.most:,g}"] if self.most is not None else []
        low = self.least is None or figure.value >= self.least
        high = self.most is None or figure.value <= self.most
        unit = figure.unit if figure.unit in ("%", "x") or not figure.unit else f" {figure.unit}"
        reached = "reached" if low and high else "missed"
        return f"{self.label}: wanted {' and '.join(bounds)}{unit}, {reached}"


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One training run of a record.

    Attributes:
        id: ``run_id`` of its ``run.json``, which no other run has.
        seed: Seed of the training.
        command: As it was run, the seed filled in.
        cell: The part of an experiment that it belongs to; every cell has the record's seeds.
        pair: The seed of the record that it counts for, where its own is another (an exploiter's run).
        version: Version of the weights that played.
        weights: SHA-256 of the kept file with them (:mod:`tools.kept_weights`).
        initial: SHA-256 of the kept file with its weights of version 0, or those it started from.
        started_from: What ``initial`` are, where they were not drawn at random: ``moba-1v1, seed 2``.
        unkept: Bytes of its weights file, where it is too large to be kept: then nothing can be played again.
        initial_unkept: Bytes of the file ``initial``, where only this is too large: ``command`` draws it.
    """

    id: str
    seed: int
    command: str
    version: int
    weights: str
    initial: str = ""
    cell: str = ""
    pair: int | None = None
    started_from: str = ""
    unkept: int = 0
    initial_unkept: int = 0

    @property
    def counts_for(self) -> int:
        """The seed of the record that the run counts for."""
        return self.seed if self.pair is None else self.pair


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One published result and everything that is needed to get it again.

    Attributes:
        schema: 3.
        section: Section of the page.
        title: The measured quantity, as in the table's first column.
        figures: The numbers.
        commands: The commands as they were run, in order, including the runs' commands.
        commit: The commit whose code ran.
        date: YYYY-MM-DD.
        machine: Processor and cores.
        floors: The same measures of players that learned nothing, for each figure of players.
        seeds: Seeds of the training runs.
        runs: The training runs, one a cell and seed.
        files: Presets, sweeps and rulebooks that the commands name -> SHA-256 of the file at ``commit``.
        lines: SHA-256 of the file with the raw lines.
        budget: Decisions and time of a run.
        reference: What the figure is compared with.
        wanted: Bounds that figures were to reach.
        notes: What a reader must know: interruptions, other work on the machine.
        data: Other files beside the record.
    """

    schema: Literal[3]
    section: Section
    title: str
    figures: tuple[Figure, ...]
    commands: tuple[str, ...]
    commit: str
    date: str
    machine: str
    floors: tuple[Figure, ...] = ()
    seeds: tuple[int, ...] = ()
    runs: tuple[Run, ...] = ()
    files: dict[str, str] = {}
    lines: str = ""
    budget: str = ""
    reference: str = ""
    wanted: tuple[Wanted, ...] = ()
    notes: tuple[str, ...] = ()
    data: tuple[str, ...] = ()

    def figure(self, label: str, floor: str = "") -> Figure | None:
        """Return a figure by its label, or the floor of this kind of that figure."""
        if floor:
            return next((f for f in self.floors if (f.floor_of, f.floor) == (label, floor)), None)
        return next((f for f in self.figures if f.label == label), None)


def best_floor(figure: Figure, floors: Iterable[Figure], bots: bool) -> Figure | None:
    """Return the floor of a figure that is hardest to pass: of its bots, or of those that only act."""
    idle = (INITIAL, UNIFORM, f"{BOT}noop", f"{BOT}random")
    mine = [f for f in floors if f.floor_of == figure.label and (f.floor not in idle) == bots]
    sign = -1.0 if figure.lower_is_better else 1.0
    return max(mine, key=lambda floor: sign * floor.value, default=None)


def sha256_of(path: Path) -> str:
    """SHA-256 of the file ``path``."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def load(folder: Path = RECORDS) -> dict[str, Record]:
    """Return the records of ``folder`` by name. Raises ``ValueError`` with the file and the reason."""
    found: dict[str, Record] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            found[path.stem] = msgspec.json.decode(path.read_bytes(), type=Record)
        except msgspec.DecodeError as error:
            raise ValueError(f"{path.name}: {error}") from error
    return found

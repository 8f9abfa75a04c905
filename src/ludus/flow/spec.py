"""Game specs: a game's declaration of tensors, heads, parameters and bots. The only source of names.

The compiled core returns a spec as JSON; :func:`decode_spec` makes the frozen structs below.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from ludus.flow.inputs.decode import from_json

if TYPE_CHECKING:
    import numpy as np

DType = Literal["bits", "u8", "i8", "u16", "i16", "i32", "f32"]

#: Numpy's names of the stored dtypes. Numpy itself is imported only by functions that need it.
_NUMPY: dict[str, str] = {
    "bits": "uint8",
    "u8": "uint8",
    "i8": "int8",
    "u16": "uint16",
    "i16": "int16",
    "i32": "int32",
    "f32": "float32",
}


#: A bound of a continuous head that is none: the largest float32.
OPEN = 3.4028234663852886e38


class TensorSpec(msgspec.Struct, frozen=True):
    """One packed observation tensor of one row."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    low: float
    high: float
    codec: str
    scale: float
    meaning: str
    labels: tuple[str, ...] = ()

    @property
    def elements(self) -> int:
        """Number of unpacked elements."""
        return math.prod(self.shape)

    @property
    def packed_shape(self) -> tuple[int, ...]:
        """Shape as stored: ``shape``, or ``(ceil(elements / 8),)`` for bits."""
        return ((self.elements + 7) // 8,) if self.dtype == "bits" else self.shape

    @property
    def packed_dtype(self) -> np.dtype[np.generic]:
        """Numpy dtype as stored (uint8 for bits)."""
        import numpy as np

        return np.dtype(_NUMPY[self.dtype])


class HeadSpec(msgspec.Struct, frozen=True):
    """One factor of a decision: an integer in ``[0, size)``, or a number.

    The mask of a head that ``depends_on`` earlier ones has one table for each of them, ``[choices of that
    head, size]``; a choice is legal if the selected row of every table allows it. If no choice is legal,
    the head is irrelevant, and policies choose 0.

    In a head that ``points_at`` an observation tensor of entity rows, choice i below ``rows`` is row i. In a
    head that points at planes ``[C, H, W]``, choice i is cell i, row by row or (``by_columns``) column by
    column, and ``rows`` is ``H * W``. Choices from ``rows`` on are no entities or cells.

    A ``continuous`` head has size 2: a policy outputs mean and log-deviation of ``u``, and the slab stores
    ``u`` as the bits of a float32. With ``p = (tanh(u) + 1) / 2`` the game receives ``low + p (high - low)``,
    an ``integer`` head ``floor(low + p (high - low + 1))``. With one bound (the other is -:data:`OPEN` or
    :data:`OPEN`) it receives ``low + log(1 + e^u)`` or ``high - log(1 + e^-u)``, and without bounds
    (``low == high``) ``u``. Both of its mask bytes are always 1.
    """

    name: str
    size: int
    labels: tuple[str, ...] = ()
    depends_on: tuple[int, ...] = ()
    meaning: str = ""
    kind: Literal["discrete", "continuous"] = "discrete"
    low: float = 0.0
    high: float = 0.0
    points_at: str = ""
    rows: int = 0
    by_columns: bool = False
    integer: bool = False

    @property
    def bounded(self) -> bool:
        """Whether a continuous head has two bounds."""
        return -OPEN < self.low < self.high < OPEN and self.high - self.low <= OPEN

    @property
    def half_open(self) -> bool:
        """Whether a continuous head has one bound."""
        return self.low < self.high and (self.low <= -OPEN) != (self.high >= OPEN)


class ParamSpec(msgspec.Struct, frozen=True):
    """A parameter of the rules. ``low`` and ``high`` bound numbers, ``choices`` lists valid strings."""

    name: str
    kind: Literal["integer", "real", "text"]
    default_value: str
    low: float = 0.0
    high: float = 0.0
    choices: tuple[str, ...] = ()
    meaning: str = ""

    @property
    def range(self) -> str:
        """The range of a number: ``0.5..2``, ``any number``, ``>= 0``. A bound beyond all use is none."""
        integer = self.kind == "integer"
        open_from = 2.0**53 if integer else _ANY
        low, high = (f"{int(b)}" if integer else f"{b:g}" for b in (self.low, self.high))
        if self.low <= -open_from and self.high >= open_from:
            return "any integer" if integer else "any number"
        if self.high >= open_from:
            return f">= {low}"
        if self.low <= -open_from:
            return f"<= {high}"
        return f"{low}..{high}"

    @property
    def expected(self) -> str:
        """Value that a number must have, for an error: ``an integer from 0 to 5``."""
        noun = "an integer" if self.kind == "integer" else "a finite number"
        if self.range.startswith("any"):
            return noun
        if ".." not in self.range:
            return f"{noun} {self.range}"
        low, _, high = self.range.partition("..")
        return f"{noun.replace('finite ', '')} from {low} to {high}"


_ANY = 1e300  # a bound of a real parameter as far out as this is none


class BotSpec(msgspec.Struct, frozen=True):
    """A scripted policy that plays inside the core.

    ``demonstrates``: its decisions are choices of the heads, so that a policy can learn them.
    """

    name: str
    meaning: str = ""
    demonstrates: bool = False


class GameSpec(msgspec.Struct, frozen=True):
    """The declaration of a game, for policies, slabs, documents and viewers."""

    name: str
    title: str
    version: int
    seats: int
    turn_based: bool
    perfect_information: bool
    default_frame_skip: int
    max_ticks: int
    observation: tuple[TensorSpec, ...]
    heads: tuple[HeadSpec, ...]
    params: tuple[ParamSpec, ...]
    bots: tuple[BotSpec, ...]
    meaning: str = ""
    #: Transformations that leave the rules as they are: of tensors ``[C, H, W]`` by their last two axes,
    #: and of head 0, whose first ``H * W`` choices are cells row by row (with ``W`` choices: the columns).
    #: ``mirror`` is left to right, ``dihedral`` the eight of the square.
    symmetry: Literal["none", "mirror", "dihedral"] = "none"
    deterministic: bool = False  # the same moves from a position lead to the same position (bots apart)
    #: The team of each seat; empty where every seat plays for itself.
    teams: tuple[int, ...] = ()
    #: Cells of the board, row by row, whose owners the game counts when a match ends; 0 = it counts none.
    counted_cells: int = 0
    #: Names of the numbers that a finished match has for each seat beside its outcome (frags, place).
    scores: tuple[str, ...] = ()
    #: Whether a match depends on its seed and the decisions only, not on clocks or other processes.
    reproducible: bool = True

    @property
    def mask_size(self) -> int:
        """``A``: bytes of a mask: the choices, or tables of choices, of all heads, concatenated."""
        return sum(
            h.size * (sum(self.heads[d].size for d in h.depends_on) if h.depends_on else 1)
            for h in self.heads
        )

    def together(self, a: int, b: int) -> bool:
        """Return whether two seats win and lose together."""
        return a == b or (bool(self.teams) and self.teams[a] == self.teams[b])

    @property
    def turns(self) -> tuple[int, ...]:
        """Rotations of the seats that keep teams together: by k, seat p becomes ``(p + k) % seats``."""
        n, pairs = self.seats, [(p, q) for p in range(self.seats) for q in range(p)]
        return tuple(
            k
            for k in range(n)
            if all(self.together(p, q) == self.together((p + k) % n, (q + k) % n) for p, q in pairs)
        )

    def cannot_demonstrate(self, bot: str) -> str:
        """Return the message for a ``bot`` that does not demonstrate: why, and which bots do."""
        there = ", ".join(b.name for b in self.bots if b.demonstrates) or "none"
        why = f"the decisions of {bot} are not choices of {self.name}'s heads under these parameters"
        return f"{why} (bots that demonstrate: {there})"

    @property
    def spec_hash(self) -> str:
        """16 hex digits over a policy's interface: tensors and heads with labels, without meanings."""
        import hashlib

        def named(part: TensorSpec | HeadSpec) -> tuple[tuple[str, ...], ...]:
            return (("labels", *part.labels),) if part.labels else ()

        material = {
            "name": self.name,
            "version": self.version,
            "observation": [
                (t.name, t.dtype, t.shape, t.codec, t.scale, *named(t)) for t in self.observation
            ],
            "heads": [
                (
                    *(h.name, h.size, h.depends_on),
                    *((h.points_at, h.rows) if h.rows else ()),
                    *(("by_columns",) if h.by_columns else ()),
                    *named(h),
                )
                if h.kind == "discrete"
                else (
                    *(h.name, h.size, h.depends_on, h.kind, h.low, h.high),
                    *(("integer",) if h.integer else ()),
                    *named(h),
                )
                for h in self.heads
            ],
        }
        return hashlib.sha256(msgspec.json.encode(material)).hexdigest()[:16]


PLACE = "place"  # score: rank of a seat in its match, players inside the game included; 1 is the best
BEST_BOT = "best_bot"  # score: the first score of the best player inside the game, the same at each seat
MAX_SCORES = 16  # of a game
_SCORE = re.compile(r"[a-z][a-z0-9_]{0,31}")
_MEASURES = ("win_rate", "mean_return", "elo")  # of evaluations, whose metrics end with these


def scores_problem(names: Sequence[object]) -> str:
    """Return what is wrong with the names of a game's scores, which name metrics; "" if nothing."""
    if isinstance(names, str):
        return f"scores = {names!r}: expected a list of names"
    if len(names) > MAX_SCORES:
        return f"{len(names)} scores, expected at most {MAX_SCORES}"
    for at, name in enumerate(names):
        if not isinstance(name, str) or not _SCORE.fullmatch(name):
            return f"score {str(name)[:40]!r}: expected lowercase letters, digits and _, at most 32"
        if name in _MEASURES:
            return f"score {name}: evaluations have a measure of that name"
        if name in names[:at]:
            return f"two scores have one name: {name}"
    return ""


def decode_spec(text: str | bytes) -> GameSpec:
    """Decode the JSON that the core writes. Raises ``msgspec.ValidationError`` on a mismatch."""
    return from_json(text, GameSpec)

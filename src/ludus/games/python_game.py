"""Games written in Python: their protocol, and helpers for specs and parameters.

The protocol has the shape of the C++ contract (``cpp/game/game.hpp``): a game is rules and nothing
else. One object plays one match after another at one place of a pool; one thread at a time uses it.

    game.reset(seed)
    while True:
        seats = game.to_act()              # seats that decide now
        over = game.step(actions)          # actions: int32[S, K]; rows of other seats mean nothing
        game.rewards(out)                  # of that step, for each seat
        if over: game.truncated, game.outcome(out)

``S`` seats, ``K`` heads, ``A`` choices of all heads together.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Protocol, TypedDict, runtime_checkable

import numpy as np
import numpy.typing as npt

from ludus.flow.inputs.public import takes_options
from ludus.flow.inputs.whole import whole_text
from ludus.flow.names import did_you_mean
from ludus.flow.slab import Array
from ludus.flow.spec import BotSpec, GameSpec, HeadSpec, ParamSpec, TensorSpec, scores_problem

if TYPE_CHECKING:
    from typing_extensions import Unpack

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
#: How a seat's part of a match stands; see ``PythonGame``.
PLAYING, TERMINATED, TRUNCATED = range(3)
MAX_TICKS = 1 << 30  # limit of a match in a game that declares none
#: Limit of such a match in evaluations and ``ludus games check``, so that they end.
ENOUGH_TICKS = 20_000


class ProcessUnusable(RuntimeError):
    """No further match of the game can be played in this process.

    A pool replaces a worker in which a game raises it; a pool without workers stops.
    """


@runtime_checkable
class PythonGame(Protocol):
    """One match at a time. An exception ends the match, not the run.

    Optional: ``legal(seat, out)`` where choices can be illegal, ``close()`` where something must be
    given back, ``hash() -> int`` and ``clone() -> PythonGame`` where the state can be had.
    ``render()`` where the match can be drawn: it returns ``uint8[H, W, 3]``, a text, or None where there is
    nothing to see. Only people who look on cause the call (``ludus watch``, ``ludus replay to-html``), so it
    must not change the match. ``ticks_per_s`` is the pace at which they see it (default 10).
    ``ends(out)`` where seats end apart from each other: it writes ``uint8[S]``, ``PLAYING``,
    ``TERMINATED`` (the seat is not bootstrapped) or ``TRUNCATED`` for each, at any time. Seats that still
    play when the match is over end by ``truncated``, or are truncated if the match was cut off or
    failed. ``scores(out)`` where the spec names scores: it writes ``float32[S, F]``, a number for each seat
    and name, of a match that is over or was cut off. A game of two seats in turn with ``clone()``, whose
    spec has ``perfect_information`` and ``deterministic``, can be searched
    (:mod:`ludus.games.searchable`).
    """

    @property
    def spec(self) -> GameSpec:
        """Declaration of the game, the same for every object."""
        ...

    @property
    def truncated(self) -> bool:
        """Whether a match that is over was truncated; its last observation is then bootstrapped."""
        ...

    def reset(self, seed: int) -> None:
        """Start a match that depends only on ``seed`` (0 <= seed < 2**31) and the decisions."""
        ...

    def to_act(self) -> Sequence[int]:
        """Return the seats that decide now, ascending; at least one."""
        ...

    def step(self, actions: Ints) -> bool:
        """Play the decisions ``int32[S, K]`` of those seats. Returns whether the match is over."""
        ...

    def rewards(self, out: Floats) -> None:
        """Write the rewards of the last step: ``float32[S]``."""
        ...

    def outcome(self, out: Floats) -> None:
        """Write ``float32[S]`` of a finished match: +1 won, 0 drawn or no winner possible, -1 lost."""
        ...

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        """Write the seat's observation: every tensor of the spec, packed."""
        ...


class VectorGame(Protocol):
    """A game of ``k`` matches of one seat, stepped by one call.

    Some libraries are many times faster that way.

    After the end of a match the next step starts a new one; it ignores the action and earns nothing. A
    match may depend on the number of matches played with it.
    """

    def reset(self, seed: int) -> None:
        """Start all matches."""
        ...

    def step(self, actions: Ints) -> tuple[Floats, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Play ``int32[k, K]``. Returns reward, terminated and truncated, ``[k]`` each."""
        ...

    def observe(self, out: Mapping[str, Array]) -> None:
        """Write ``packed[k, ...]`` of every tensor."""
        ...

    def close(self) -> None:
        """Release the matches."""
        ...


class BareGame(Protocol):
    """A game's library without Ludus, as a user would call it: the limit of what a pool can reach.

    It makes the same work for the library as a game object of the maker: the same settings, decisions held
    for as long, and the observation fetched but not processed.
    """

    @property
    def frames(self) -> int:
        """Frames of the library in a tick of the game."""
        ...

    def tick(self) -> None:
        """Play a tick with random choices; at the end of a match start the next."""
        ...

    def close(self) -> None:
        """Release the library's resources."""
        ...


class GameMaker(Protocol):
    """A factory of a game under fixed parameters. Each process that plays the game makes its own.

    Optional: ``bare(seed) -> BareGame | None``, by which ``ludus bench sim`` measures the library itself.
    """

    @property
    def spec(self) -> GameSpec:
        """Declaration of the game under the maker's parameters."""
        ...

    def make(self) -> PythonGame:
        """Create a game object that plays one match at a time."""
        ...

    def make_vector(self, matches: int) -> VectorGame | None:
        """Create a vectorised game of many matches, or return None if the library has none."""
        ...


def make_drawn(maker: GameMaker) -> PythonGame:
    """Create a game whose ``render`` draws, where its maker has ``make_drawn``; else the game as it is.

    Drawing costs time and memory in some libraries, so games that train are not made this way.
    """
    drawn = getattr(maker, "make_drawn", None)
    game: PythonGame = drawn() if callable(drawn) else maker.make()
    return game


class SpecOptions(TypedDict, total=False):
    """Keyword options of :func:`declare`."""

    title: str
    version: int
    turn_based: bool
    perfect_information: bool
    deterministic: bool
    max_ticks: int
    params: Sequence[ParamSpec]
    bots: Sequence[BotSpec]
    meaning: str
    teams: Sequence[int]
    scores: Sequence[str]
    reproducible: bool


_SPEC_DEFAULTS: SpecOptions = {
    "title": "",
    "version": 1,
    "turn_based": False,
    "perfect_information": False,
    "deterministic": False,
    "max_ticks": MAX_TICKS,
    "params": (),
    "bots": (),
    "meaning": "",
    "teams": (),
    "scores": (),
    "reproducible": True,
}


@takes_options(SpecOptions, SimpleNamespace(**_SPEC_DEFAULTS))
def declare(
    name: str,
    *,
    observation: Sequence[TensorSpec],
    heads: Sequence[HeadSpec],
    seats: int = 1,
    **options: Unpack[SpecOptions],
) -> GameSpec:
    """Build a spec with the usual defaults of Python games.

    Args:
        name: Name of the game.
        observation: Tensors that a seat observes: see :func:`tensor`.
        heads: Factors of a decision.
        seats: Number of seats.
        title: Name for people (default: ``name``).
        version: Version of the rules; replays and weights depend on it.
        turn_based: One seat decides at a time.
        perfect_information: Every seat observes the whole state.
        deterministic: Equal moves lead to equal positions under every seed.
        max_ticks: Highest number of ticks of a match.
        params: Parameters of the rules (default: the arguments of the game's class).
        bots: Scripted players.
        meaning: Description for documents.
        teams: Team of each seat, any numbers; empty: every seat plays for itself. Seats of a team win and
            lose together, and one player has them all.
        scores: Names of the numbers that ``scores(out)`` writes for each seat at the end of a match:
            lowercase letters, digits and ``_``. The first one is the score that tables show.
        reproducible: A match depends on its seed and the decisions only. False where clocks or other
            processes matter: ``ludus games check`` then does not fail for it.

    Raises:
        ValueError: ``teams`` of another length than ``seats``, or wrong names of scores.
    """
    spec: SpecOptions = {**_SPEC_DEFAULTS, **options}
    if spec["teams"] and len(spec["teams"]) != seats:
        raise ValueError(f"{name}: {len(spec['teams'])} teams, expected the team of each of {seats} seats")
    if problem := scores_problem(spec["scores"]):
        raise ValueError(f"{name}: {problem}")
    return GameSpec(
        name=name,
        title=spec["title"] or name,
        version=spec["version"],
        seats=seats,
        turn_based=spec["turn_based"],
        perfect_information=spec["perfect_information"],
        deterministic=spec["deterministic"],
        default_frame_skip=1,
        max_ticks=spec["max_ticks"],
        observation=tuple(observation),
        heads=tuple(heads),
        params=tuple(spec["params"]),
        bots=tuple(spec["bots"]),
        meaning=spec["meaning"],
        teams=tuple(int(team) for team in spec["teams"]),
        scores=tuple(spec["scores"]),
        reproducible=spec["reproducible"],
    )


class TensorOptions(TypedDict, total=False):
    """Keyword options of :func:`tensor`."""

    scale: float
    codec: str
    labels: Sequence[str]
    meaning: str


_TENSOR_DEFAULTS: TensorOptions = {"scale": 1.0, "codec": "", "labels": (), "meaning": ""}


@takes_options(TensorOptions, SimpleNamespace(**_TENSOR_DEFAULTS))
def tensor(
    name: str,
    shape: Sequence[int],
    dtype: str = "f32",
    *,
    low: float = float("-inf"),
    high: float = float("inf"),
    **options: Unpack[TensorOptions],
) -> TensorSpec:
    """Build the spec of an observation tensor.

    Args:
        name: Name of the tensor.
        shape: ``(C, H, W)`` of planes, ``(U, F)`` of entity rows, ``(D,)`` of a vector.
        dtype: Stored type: bits, u8, i8, u16, i16, i32 or f32.
        low: Least value; an infinite bound becomes the largest float32.
        high: Greatest value.
        scale: Factor that networks multiply the numbers by.
        codec: Name that :func:`ludus.codecs.register_codec` was given ("": numbers times ``scale``, bits as
            such).
        labels: Names of planes or columns.
        meaning: Description for documents.
    """
    top = float(np.finfo(np.float32).max)
    spec: TensorOptions = {**_TENSOR_DEFAULTS, **options}
    return TensorSpec(
        name=name,
        dtype=dtype,  # type: ignore[arg-type]
        shape=tuple(int(n) for n in shape),
        low=max(low, -top),
        high=min(high, top),
        codec=spec["codec"] or ("bits" if dtype == "bits" else "identity"),
        scale=spec["scale"],
        meaning=spec["meaning"],
        labels=tuple(spec["labels"]),
    )


# ---- parameters ----------------------------------------------------------------------------------

Value = bool | int | float | str


def declared_params(
    function: Callable[..., object], skip: Sequence[str] = (), meaning: str = ""
) -> list[ParamSpec]:
    """Return the parameters of a function with a plain default: presets and command lines set them."""
    out: list[ParamSpec] = []
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return out
    for p in signature.parameters.values():
        value = p.default
        if p.name in skip or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
            continue
        if isinstance(value, bool):
            out.append(
                ParamSpec(p.name, "text", str(value).lower(), choices=("false", "true"), meaning=meaning)
            )
        elif isinstance(value, int):
            out.append(ParamSpec(p.name, "integer", str(value), -(2.0**53), 2.0**53, meaning=meaning))
        elif isinstance(value, float):
            top = float(np.finfo(np.float64).max)
            out.append(ParamSpec(p.name, "real", repr(value), -top, top, meaning=meaning))
        elif isinstance(value, str):
            out.append(ParamSpec(p.name, "text", value, meaning=meaning))
    return out


def typed_params(declared: Sequence[ParamSpec], text: Mapping[str, str]) -> dict[str, Value]:
    """Convert the values of ``text`` to the types in ``declared``. Raises ``ValueError``."""
    known = {p.name: p for p in declared}
    out: dict[str, Value] = {}
    for name, value in text.items():
        if name not in known:
            raise ValueError(_unknown(name, list(known)))
        out[name] = _typed(known[name], value)
    return out


def _unknown(name: str, known: Sequence[str]) -> str:
    return f"unknown parameter {name}{did_you_mean(name, known or ['none'], 'valid', 0.4)}"


def _typed(param: ParamSpec, text: str) -> Value:
    if param.kind == "text":
        if param.choices and text not in param.choices:
            raise ValueError(f"parameter {param.name} = {text}: expected one of {', '.join(param.choices)}")
        return text == "true" if param.choices == ("false", "true") else text
    number = whole_text(text) if param.kind == "integer" else _float(text)
    if number is None or not param.low <= number <= param.high:
        raise ValueError(f"parameter {param.name} = {text}: expected {param.expected}")
    return number


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

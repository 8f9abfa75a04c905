"""Recorded matches as rows of decisions: what a pool would have written for them.

The match is played again from its seed, and must come out as it was recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec, decode_spec
from ludus.games import replays
from ludus.games.registry import find
from ludus.native import ParamError, ReplayError

if TYPE_CHECKING:
    from ludus.games.records.match_record import Resimulation

MAX_ROW_BYTES = 1 << 30  # of all rows of a match, as in the core


class MatchRows(NamedTuple):
    """``D`` decisions of one seat of a recorded match, in order.

    Attributes:
        seat: The seat.
        obs: ``packed[D, ...]`` of each observation tensor by name, as ``Slab.obs``.
        mask: ``uint8[D, A]``, 1 = legal.
        actions: ``int32[D, K]``. Zeros where nothing is known of the decision.
        tick: ``int32[D]``, ticks that were played before each decision.
        reward: ``float32[D]``, sum of the seat's rewards from a decision to its next one or to the end.
        shown: ``uint8[D]``, 1 = the decision is known and legal. 0: a bot's that is no choice of the heads,
            or one that the game takes although the mask rules it out.
    """

    seat: int
    obs: dict[str, Array]
    mask: npt.NDArray[np.uint8]
    actions: npt.NDArray[np.int32]
    tick: npt.NDArray[np.int32]
    reward: npt.NDArray[np.float32]
    shown: npt.NDArray[np.uint8]


def read_rows(
    replay: bytes,
    game: str = "",
    params: Mapping[str, str] | None = None,
    seats: Collection[int] | None = None,
) -> list[MatchRows]:
    """Return the decisions of a recorded match, seat by seat.

    Args:
        replay: Bytes of a ``.ludus`` file.
        game: Reference of a game that this process has not loaded, as in :func:`ludus.games.replays.verify`.
        params: Parameters that replace the record's. They may change only what is observed.
        seats: Seats whose decisions are wanted; None: all.

    Returns:
        Rows of each wanted seat, in rising order, also of seats that never decide.

    Raises:
        ReplayError: Bytes that are no replay, a replay of another game or version, a match that does not come
            out as it was recorded, or rows of more than 1 GiB.
        ParamError: A bad parameter, or a seat that is not there.
        UnknownGame: A game that is unknown or must be named.
    """
    about = replays.info(replay)
    wanted = range(len(about.players)) if seats is None else sorted(set(seats))
    for seat in wanted:
        if not 0 <= seat < len(about.players):
            raise ParamError(f"{about.game}: no seat {seat}, expected 0 to {len(about.players) - 1}")
    if not wanted:
        raise ParamError("seats: none are given, expected at least one")
    changed = dict(params or {})
    if about.format != 1:
        collector = _Collector(replay, wanted)
        about = msgspec.structs.replace(about, params={**about.params, **changed})
        check = replays.verify_hosted(replay, about, game, collector)
        if not check.same:
            raise ReplayError(f"replay: {check.difference}")
        return collector.rows()
    replays.load_game(about, game)
    native = find(about.game).native
    found = native.replay_rows(replay, changed, list(wanted))
    spec = decode_spec(native.spec_json(about.game, {**about.params, **changed}))
    return [_shaped(spec, **columns) for columns in found]


def _shaped(
    spec: GameSpec,
    *,
    seat: int,
    obs: list[npt.NDArray[np.uint8]],
    tick: npt.NDArray[np.int32],
    **columns: Array,
) -> MatchRows:
    """Return the core's flat arrays as rows."""
    count = len(tick)
    packed = {
        t.name: array.view(t.packed_dtype).reshape(count, *t.packed_shape)
        for t, array in zip(spec.observation, obs, strict=True)
    }
    return MatchRows(
        seat=seat,
        obs=packed,
        mask=cast("npt.NDArray[np.uint8]", columns["mask"]).reshape(count, spec.mask_size),
        actions=cast("npt.NDArray[np.int32]", columns["actions"]).reshape(count, len(spec.heads)),
        tick=tick,
        reward=cast("npt.NDArray[np.float32]", columns["reward"]),
        shown=cast("npt.NDArray[np.uint8]", columns["shown"]),
    )


def _no_rows(spec: GameSpec, seat: int, count: int) -> MatchRows:
    """Return ``count`` rows of zeros, of decisions that are known."""
    return MatchRows(
        seat=seat,
        obs={t.name: np.zeros((count, *t.packed_shape), t.packed_dtype) for t in spec.observation},
        mask=np.zeros((count, spec.mask_size), np.uint8),
        actions=np.zeros((count, len(spec.heads)), np.int32),
        tick=np.zeros(count, np.int32),
        reward=np.zeros(count, np.float32),
        shown=np.ones(count, np.uint8),
    )


class _Collector:
    """Collector of the rows of a match of a Python game. Its records hold only legal decisions."""

    def __init__(self, replay: bytes, seats: Collection[int]) -> None:
        deciding = np.array([d.seat for d in replays.decisions(replay)], np.int64)
        self._counts = {seat: int((deciding == seat).sum()) for seat in seats}
        self._rows: dict[int, MatchRows] = {}
        self._made: dict[int, int] = {}  # rows of each seat
        self._earned: dict[int, float] = {}  # since the last decision

    def start(self, spec: GameSpec) -> None:
        row = sum(int(np.prod(t.packed_shape)) * np.dtype(t.packed_dtype).itemsize for t in spec.observation)
        row += spec.mask_size + 4 * len(spec.heads) + 9
        total = sum(self._counts.values())
        if total * row > MAX_ROW_BYTES:
            raise ReplayError(
                f"replay: {total} decisions of {row} bytes are more than {MAX_ROW_BYTES} bytes; "
                "read fewer seats at once"
            )
        self._rows = {seat: _no_rows(spec, seat, count) for seat, count in self._counts.items()}
        self._made = dict.fromkeys(self._counts, 0)
        self._earned = dict.fromkeys(self._counts, 0.0)

    def decide(self, resimulation: Resimulation, tick: int, actions: Mapping[int, tuple[int, ...]]) -> None:
        for seat, (tensors, mask) in resimulation.deciding.items():
            if seat not in self._rows or seat not in actions:
                continue
            self._pay(seat)
            rows, at = self._rows[seat], self._made[seat]
            for name, tensor in tensors.items():
                rows.obs[name][at] = tensor
            rows.mask[at], rows.actions[at], rows.tick[at] = mask, actions[seat], tick
            self._made[seat] += 1

    def earn(self, resimulation: Resimulation) -> None:
        for seat in self._earned:
            self._earned[seat] += float(resimulation.earned[seat])

    def _pay(self, seat: int) -> None:
        """Give the last decision what its seat has earned since; what came before the first is lost."""
        if self._made[seat]:
            self._rows[seat].reward[self._made[seat] - 1] = self._earned[seat]
        self._earned[seat] = 0.0

    def rows(self) -> list[MatchRows]:
        """Return the rows of a match that has been played."""
        for seat in self._rows:
            self._pay(seat)
        return list(self._rows.values())

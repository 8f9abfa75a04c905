"""One match of a game, played move by move: for front ends, tests and other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.flow.inputs.decode import from_json
from ludus.flow.spec import GameSpec, decode_spec
from ludus.games.registry import find, text_params
from ludus.native import GameError, ParamError, core

__all__ = ["GameError", "Match", "ParamError", "replayed"]


class Match:
    """One match of a compiled game, move by move. Not safe for several threads.

    ``act``, ``bot`` and ``advance`` raise ``GameError`` where the rules refuse, also for a seat that may not
    decide now, and nothing is changed or recorded then. A move is taken back by playing on with a
    :meth:`clone` from before it.

    Args:
        game: A game by name or path.
        params: Parameters of its rules.
        seed: Seed of the match.
        match: Number of the match: with the seed it determines chance.
        record: Whether the match records itself, for :meth:`replay`.

    Raises:
        ParamError: An unknown game, parameter, seat or bot; a game written in Python.
    """

    def __init__(
        self,
        game: str,
        params: Mapping[str, object] | None = None,
        *,
        seed: int = 1,
        match: int = 0,
        record: bool = False,
    ) -> None:
        """Start a match: see the class."""
        ref = find(game)
        self.game = ref.name
        self.params = text_params(params or {})
        self.spec: GameSpec = decode_spec(ref.native.spec_json(ref.name, self.params))
        self._match = ref.native.make_match(ref.name, self.params, seed, match, record)

    @property
    def handle(self) -> core.Match:
        """The core's own object."""
        return self._match

    @property
    def to_act(self) -> tuple[int, ...]:
        """Seats that may decide now; empty once the match is over."""
        return tuple(self._match.to_act())

    @property
    def over(self) -> bool:
        """Whether the match has ended."""
        return self._match.over()

    @property
    def tick(self) -> int:
        """Ticks that were played."""
        return self._match.tick()

    @property
    def outcome(self) -> tuple[float, ...]:
        """One number per seat: +1 won, 0 drawn, -1 lost; zeros until the match is over."""
        return tuple(self._match.outcome())

    @property
    def hash(self) -> int:
        """Hash of the state; equal seeds and decisions give equal hashes on every machine."""
        return self._match.hash()

    @property
    def state(self) -> bytes:
        """The state of the match, for a search in this process; not a file format."""
        return self._match.state()

    def act(self, seat: int, *action: int) -> None:
        """Queue the decision of a seat, one number per head."""
        self._match.act(seat, action)

    def bot(self, seat: int, name: str) -> None:
        """Let a bot decide for a seat."""
        names = [b.name for b in self.spec.bots]
        self._match.bot(seat, names.index(name) if name in names else -1)

    def advance(self) -> None:
        """Play one tick with the queued decisions."""
        self._match.advance()

    def play(self, *action: int) -> None:
        """Play the decision of the only seat to move, and one tick."""
        (seat,) = self.to_act
        self._match.act(seat, action)
        self._match.advance()

    def legal(self, seat: int) -> npt.NDArray[np.uint8]:
        """Return ``uint8[A]``, 1 = legal, heads concatenated."""
        return np.frombuffer(self._match.legal(seat), np.uint8)

    def observe(self, seat: int) -> dict[str, npt.NDArray[Any]]:
        """Return packed tensors by name; :class:`~ludus.flow.spec.TensorSpec` declares their form."""
        rows = self._match.observe(seat)
        return {
            t.name: np.frombuffer(row, t.packed_dtype).reshape(t.packed_shape)
            for t, row in zip(self.spec.observation, rows, strict=True)
        }

    def view(self) -> dict[str, Any]:
        """Return the view document for a viewer."""
        view: dict[str, Any] = from_json(self._match.view())
        return view

    def replay(self, players: Sequence[str] = ()) -> bytes:
        """Return the bytes of a ``.ludus`` file of the match so far; it verifies also before the end.

        Args:
            players: The player at each seat: text of at most 4096 bytes of UTF-8. None = unnamed.

        Raises:
            ParamError: The match was made without ``record``, or a replay cannot hold the names.
        """
        try:
            return self._match.replay(list(players))
        except (TypeError, UnicodeError):  # what the core cannot take as text
            raise ParamError("players: expected text that UTF-8 can hold") from None

    def clone(self) -> Match:
        """Return an independent copy of the match and of its record."""
        other = object.__new__(Match)
        other.game, other.params, other.spec = self.game, self.params, self.spec
        other._match = self._match.clone()
        return other


def replayed(game: str, params: Mapping[str, object], moves: Sequence[int]) -> Match:
    """Return a turn-based match after ``moves``. Raises ``GameError`` at the first illegal move."""
    match = Match(game, params)
    for move in moves:
        match.play(move)
    return match

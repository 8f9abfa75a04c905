"""Observations of played matches with the decisions of the network about them, to check an export by.

Rows are seats of matches of their own. A row plays one match after another against the game's first bot (or
random choices), so that memories run through whole matches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import numpy as np

from ludus.codecs.arrays import ArrayDecoder
from ludus.export.errors import ExportError
from ludus.export.reference import Acted, Seen, act
from ludus.flow.inputs.shown import visible
from ludus.flow.slab import Array
from ludus.games.contained import GameExit, GameHangs, contained
from ludus.games.exports.match import EnvMatch, make_match
from ludus.games.exports.values import SpecFace
from ludus.games.registry import is_python
from ludus.policies.actions.distribution import uniforms
from ludus.policies.protocol import Network

_MOST_RESETS = 100  # matches in a row that are over before the seat has decided


class RecordedStep(NamedTuple):
    """One decision of every row: inputs, decoded observations, and what the network made of them."""

    seen: Seen
    decoded: Mapping[str, Array]
    acted: Acted


class PlayedGame(NamedTuple):
    """How the matches are played. ``frame_skip``: ticks between two decisions."""

    game: str
    params: Mapping[str, str]
    frame_skip: int
    seed: int = 1


class _Row:
    """A seat of a match that starts again when it is over."""

    def __init__(self, play: PlayedGame, seat: int, seed: int) -> None:
        skip = 0 if is_python(play.game) else play.frame_skip
        self.match: EnvMatch = make_match(play.game, play.params, [seat], frame_skip=skip)
        self.seat, self.first = seat, True
        self._start(seed)

    def _start(self, seed: int | None) -> None:
        self.first = True
        for _ in range(_MOST_RESETS):
            self.match.reset(seed)
            if self.match.error:
                raise ExportError(f"{self.match.spec.name}: {self.match.error}")
            if self.match.to_act():
                return
            seed = None
        raise ExportError(f"{self.match.spec.name}: matches are over before seat {self.seat} decides")

    def step(self, action: Array) -> None:
        spec = self.match.spec
        decisions = np.zeros((spec.seats, len(spec.heads)), np.int32)
        decisions[self.seat] = action
        self.match.step(decisions)
        self.first = False
        if self.match.error:
            raise ExportError(f"{spec.name}: {self.match.error}")
        if self.match.over:
            self._start(None)


def record(
    network: Network, play: PlayedGame, steps: int, rows: int, progress: Callable[[int], None]
) -> list[RecordedStep]:
    """Play ``rows`` seats for ``steps`` decisions each with the network's choices.

    ``progress`` receives the number of observations of each step.

    Raises:
        ExportError: The game fails.
        ParamError: The game cannot be played.
    """
    # A Python game plays in this process: what its libraries print is no result of a command.
    gate: AbstractContextManager[object] = contained() if is_python(play.game) else nullcontext()
    try:
        with gate:
            return _record(network, play, steps, rows, progress)
    except (GameExit, GameHangs) as error:
        raise ExportError(f"{visible(network.spec.name)}: {error}") from error


def _record(
    network: Network, play: PlayedGame, steps: int, rows: int, progress: Callable[[int], None]
) -> list[RecordedStep]:
    spec, face = network.spec, SpecFace(network.spec)
    decoder = ArrayDecoder(network.inputs)
    played: list[_Row] = []
    try:
        played.extend(_Row(play, i % spec.seats, play.seed + i) for i in range(rows))
        shape = network.memory_shape
        memory: Array | None = None if shape is None else np.zeros((rows, *shape), np.float32)
        moments: list[RecordedStep] = []
        for step in range(steps):
            obs = face.rows(_stacked([row.match.observe(row.seat) for row in played]), network.inputs)[0]
            mask = np.stack([row.match.legal(row.seat) for row in played])
            seen = Seen(obs, mask, memory, np.array([row.first for row in played]))
            draws = uniforms(play.seed, step, np.arange(rows), len(spec.heads))
            acted = act(network, seen, draws)
            moments.append(RecordedStep(seen, decoder.decode(obs), acted))
            memory = acted.memory
            if step + 1 < steps:
                for row, action in zip(played, acted.actions, strict=True):
                    row.step(action)
            progress(rows)
        return moments
    except ValueError as error:
        if isinstance(error, ExportError):
            raise
        raise ExportError(f"{visible(spec.name)}: {error}") from error
    finally:
        for row in played:
            row.match.close()


def _stacked(each: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    return {name: np.stack([one[name] for one in each]) for name in each[0]}

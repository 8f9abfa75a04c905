"""Teachers of a run: the player that a method learns from, and the run's copy of a teacher's weights."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol, cast

import msgspec

from ludus.algorithms.registry import method_of
from ludus.games.names import is_bot_file
from ludus.mcts.text import SUFFIX
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.storage import RunDirectory, StorageError, is_reference, resolve_weights, zoo


class Demonstration(Protocol):
    """Settings of a method that learns from the decisions of a player (``Method.teaches = "player"``)."""

    @property
    def teacher(self) -> str:
        """Name of the player: weights, a bot of the game, a bot in Python or a search."""
        ...

    @property
    def seats(self) -> Literal["one", "all"]:
        """Seats that it plays."""
        ...

    @property
    def greedy(self) -> bool:
        """Whether it plays its most probable choices."""
        ...


def demonstration_of(preset: Preset) -> Demonstration | None:
    """Return how a player teaches the preset's method; None where no match is played for it to learn from."""
    if method_of(preset.algorithm).teaches != "player" or data_of(preset):
        return None
    return cast(Demonstration, preset.algorithm)


class RecordedDecisions(Protocol):
    """Settings of a method that learns from recorded matches (``Method.records``)."""

    @property
    def data(self) -> str:
        """Path of the data set; empty where nothing recorded is learned."""
        ...

    @property
    def players(self) -> tuple[str, ...]:
        """Players whose decisions are learned; empty = all."""
        ...

    @property
    def winners(self) -> bool:
        """Whether only decisions of seats that did not lose are learned."""
        ...

    @property
    def held_out_decisions(self) -> int:
        """About how many decisions measure the clone."""
        ...


def records_of(preset: Preset) -> RecordedDecisions | None:
    """Return what the preset's method learns of recorded matches; None for runs that play their matches."""
    if not method_of(preset.algorithm).records:
        return None
    found = cast(RecordedDecisions, preset.algorithm)
    return found if found.data else None


def data_of(preset: Preset) -> str:
    """Return the path of the data set that the preset's method learns from; empty without one."""
    found = records_of(preset)
    return "" if found is None else found.data


def teacher_file(preset: Preset) -> Path | None:
    """Return the weights file that ``algorithm.teacher`` names, None without one. Raises ``ConfigError``."""
    weights, _ = teacher_weights(preset)
    if not weights:
        return None
    try:
        return resolve_weights(weights).resolve()
    except StorageError as error:
        raise ConfigError(error, where=f'algorithm.teacher = "{_teacher(preset)}"') from error


def resumed_teacher(preset: Preset, run: RunDirectory) -> Preset:
    """Return the preset of a resumed run: a teacher with weights is the run's own copy."""
    weights, search = teacher_weights(preset)
    if not weights or not run.teacher.is_file():
        return preset
    own = msgspec.structs.replace(preset.algorithm, teacher=f"{run.teacher}{search}")
    return msgspec.structs.replace(preset, algorithm=own)


def _teacher(preset: Preset) -> str:
    return str(getattr(preset.algorithm, "teacher", ""))


def teacher_weights(preset: Preset) -> tuple[str, str]:
    """Return the weights of the teacher, "" if it has none, and how it searches with them."""
    text = _teacher(preset)
    if demonstration_of(preset) is None:
        return text, ""
    text, _ = zoo.played(text)
    weights, plus, search = text.rpartition(SUFFIX) if SUFFIX in text else (text, "", "")
    return (weights, plus + search) if is_reference(weights) and not is_bot_file(text) else ("", "")

"""Frozen players of a league: their weights on disk, and in memory until they are written.

Version 0 of a member is what it started with, whether it is a player of the league or not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ludus.evaluation.weights import check_spec
from ludus.flow import GameSpec, Weights
from ludus.league.players import member_and_version
from ludus.presets.errors import ConfigError
from ludus.storage import RunDirectory, StorageError
from ludus.storage.frozen import LearnerState
from ludus.training.actor_learner.seating import PlayerLost


class FrozenWeights:
    """Implements :class:`ludus.training.actor_learner.seating.FrozenStore`.

    ``write(path, how)`` writes a file that the run's state refers to (``NeededFiles.write``).
    """

    def __init__(
        self, directory: RunDirectory, spec: GameSpec, write: Callable[[Path, Callable[[], object]], None]
    ) -> None:
        """Read and write in ``directory``; players must fit ``spec``."""
        self._directory, self._spec, self._write = directory, spec, write
        self._unwritten: dict[str, Weights] = {}  # the disk may have refused them
        self._unwritten_learners: dict[str, LearnerState] = {}
        self.written: set[Path] = set()  #: files of this process; the state refers to them

    def keep(self, player: str, weights: Weights) -> None:
        """Write the weights of a player that was frozen just now."""
        member, version = member_and_version(player)
        self._unwritten[player] = weights
        path = self._directory.frozen.path(member, version)
        self.written.add(path)

        def save() -> None:
            self._directory.frozen.save(member, weights)
            self._unwritten.pop(player, None)

        self._write(path, save)

    def keep_learner(self, player: str, state: LearnerState) -> None:
        """Write what the learner of a player that was frozen just now holds besides the weights."""
        member, version = member_and_version(player)
        self._unwritten_learners[player] = state
        path = self._directory.frozen.learner_path(member, version)
        self.written.add(path)

        def save() -> None:
            self._directory.frozen.save_learner(member, version, state)
            self._unwritten_learners.pop(player, None)

        self._write(path, save)

    def load_learner(self, player: str) -> LearnerState:
        """Read what :meth:`keep_learner` wrote. Raises :class:`PlayerLost`."""
        kept = self._unwritten_learners.get(player)
        if kept is not None:
            return kept
        try:
            return self._directory.frozen.load_learner(*member_and_version(player))
        except (StorageError, OSError) as error:
            raise PlayerLost(player, str(error)) from error

    def load(self, player: str) -> Weights:
        """Read the weights of ``player``. Raises :class:`PlayerLost`."""
        kept = self._unwritten.get(player)
        if kept is not None:
            return kept
        try:
            weights = self._directory.frozen.load(*member_and_version(player))
            check_spec(weights.meta, self._spec, player)
        except (StorageError, OSError, ConfigError) as error:
            raise PlayerLost(player, str(error)) from error
        return weights

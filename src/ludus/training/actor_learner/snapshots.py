"""Frozen weights of a run with one learner, by version."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ludus.flow import Weights
from ludus.league.players import member_and_version
from ludus.storage import RunDirectory, RunNotFound, StorageError
from ludus.training.actor_learner.seating import PlayerLost
from ludus.training.actor_learner.state import decode_state


class Snapshots:
    """Implements :class:`ludus.training.actor_learner.seating.FrozenStore`.

    ``write(path, how)`` writes a file that the run's state refers to (``NeededFiles.write``).
    """

    def __init__(self, directory: RunDirectory, write: Callable[[Path, Callable[[], object]], None]) -> None:
        """Read and write in ``directory``."""
        self._directory, self._write = directory, write

    def load(self, player: str) -> Weights:
        """See :meth:`ludus.training.actor_learner.seating.FrozenStore.load`. Raises ``CorruptFile``."""
        try:
            return self._directory.load_snapshot(_version(player))
        except RunNotFound as error:
            raise PlayerLost(player, str(error)) from error

    def keep(self, player: str, weights: Weights) -> None:
        """See :meth:`ludus.training.actor_learner.seating.FrozenStore.keep`.

        Raises ``RuntimeError`` where the weights are not those of the player's version.
        """
        version = _version(player)
        if weights.meta.version != version:
            raise RuntimeError(
                f"orders keep version {version}; it is not stored, and the newest is {weights.meta.version}"
            )
        self._write(self._directory.snapshot_path(version), lambda: self._directory.save_snapshot(weights))

    def paths(self, players: Iterable[str]) -> set[Path]:
        """Return where the weights of ``players`` lie."""
        return {self._directory.snapshot_path(_version(player)) for player in players}

    def drop_others(self, players: Iterable[str]) -> None:
        """Remove weights that are neither of ``players`` nor referred to by a checkpoint on disk.

        Without ``players`` nothing is removed.
        """
        kept, checkpoints = set(map(_version, players)), self._directory.checkpoints
        if not kept:
            return
        for version in checkpoints.versions():
            try:
                kept.update(map(_version, decode_state(checkpoints.load_state(version)).frozen))
            except StorageError:
                continue
        self._directory.drop_snapshots(kept)


def _version(player: str) -> int:
    return member_and_version(player)[1]

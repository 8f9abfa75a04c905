"""Frozen players of a league: ``snapshots/PLAYER/VERSION.safetensors`` in the run directory.

Beside the weights lies ``VERSION.learner.safetensors`` where a member may continue from the player: its
optimiser and whatever else the learner holds besides the network.

``RUN@main:1200`` names one of them, ``RUN@main:last`` the newest one of a player. Version 0 is a member's
initial weights; it is no frozen player, so only its number names it. Names come from people and from files:
everything that is not a plain name is refused before a path is made of it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from ludus.flow.inputs.decode import from_json
from ludus.flow.names import did_you_mean
from ludus.flow.slab import Array
from ludus.flow.weights import Provenance, Weights
from ludus.storage.checkpoints import DIGITS
from ludus.storage.errors import CorruptFile, RunNotFound
from ludus.storage.files import fsync_directory, own_folder, write_atomic
from ludus.storage.tensors import META_KEY, decode_file, encode_tensors, encode_weights, read_weights

SUFFIX = ".safetensors"
LEARNER_SUFFIX = ".learner.safetensors"
NEWEST = "last"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")  # of a player; the same as in a league's settings
_VERSION = re.compile(rf"[0-9]{{{DIGITS},18}}")


class LearnerState(NamedTuple):
    """State of a learner besides its network's weights: arrays by name, and counters."""

    arrays: dict[str, Array]
    counters: dict[str, int]


def is_player_name(name: str) -> bool:
    """Whether a player of a league may have this name: no separator, no dot, 64 characters at most."""
    return _NAME.fullmatch(name) is not None


class FrozenPlayers:
    """The frozen players of one run. One process writes; any may read."""

    def __init__(self, directory: Path) -> None:
        """Open the frozen players in ``directory``, which may not exist yet."""
        self.directory = directory
        self.provenance: Provenance | None = None  #: written into weights; None: these keep their own

    def path(self, player: str, version: int) -> Path:
        """Return the path of the weights of ``player`` at ``version``. ``ValueError`` for no valid name."""
        if not is_player_name(player) or not 0 <= version < 10**18:
            raise ValueError(
                f"player {player[:80]!r}, version {version}: expected a name like main, and 0 or more"
            )
        return self.directory / player / f"{version:0{DIGITS}d}{SUFFIX}"

    def save(self, player: str, weights: Weights) -> Path:
        """Write the weights of ``player``, durable when it returns. Raises ``OSError``."""
        path = self.path(player, weights.meta.version)
        self._make_folder(path)
        write_atomic(path, encode_weights(weights, self.provenance))
        return path

    def learner_path(self, player: str, version: int) -> Path:
        """Return the path of the learner's state of ``player`` at ``version``. Raises as :meth:`path`."""
        return self.path(player, version).with_suffix(LEARNER_SUFFIX)

    def save_learner(self, player: str, version: int, state: LearnerState) -> Path:
        """Write the state of a learner, durable when it returns. Raises ``OSError``."""
        path = self.learner_path(player, version)
        self._make_folder(path)
        counters = msgspec.json.encode(state.counters).decode()
        write_atomic(path, encode_tensors(state.arrays, {META_KEY: counters}))
        return path

    def load_learner(self, player: str, version: int) -> LearnerState:
        """Return the state of a learner. Raises ``RunNotFound`` or ``CorruptFile``."""
        path = self.learner_path(player, version)
        arrays, metadata = decode_file(path)
        try:
            counters = from_json(metadata.get(META_KEY, ""), dict[str, int])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CorruptFile(f"{path}: not the state of a learner ({error})") from error
        if any(a.dtype.kind == "f" and not np.isfinite(a).all() for a in arrays.values()):
            raise CorruptFile(f"{path}: values that are not finite")
        return LearnerState(arrays, counters)

    def load(self, player: str, version: int) -> Weights:
        """Return the weights of ``player`` at ``version``. Raises ``RunNotFound`` or ``CorruptFile``."""
        return read_weights(self.find(f"{player}:{version}"))

    def _make_folder(self, path: Path) -> None:
        there = path.parent.is_dir()
        for folder in (self.directory, path.parent):
            own_folder(folder, make=True)
        if not there:
            fsync_directory(self.directory)

    def players(self) -> list[str]:
        """Return the names of the players that have frozen weights, sorted."""
        if not self.directory.is_dir():
            return []
        return sorted(p.name for p in self.directory.iterdir() if is_player_name(p.name) and _is_folder(p))

    def versions(self, player: str) -> list[int]:
        """Return the versions of ``player``, ascending."""
        folder = self.directory / player
        if not is_player_name(player) or not _is_folder(folder):
            return []
        files = (p for p in folder.iterdir() if p.suffix == SUFFIX and p.is_file() and not p.is_symlink())
        return sorted(int(p.stem) for p in files if _VERSION.fullmatch(p.stem))

    def find(self, name: str) -> Path:
        """Return the weights file that ``PLAYER:VERSION`` or ``PLAYER:last`` names.

        Raises ``RunNotFound`` with the nearest name.
        """
        player, colon, version = name.partition(":")
        shown = repr(name[:80])
        if not colon or not is_player_name(player) or not (version == NEWEST or version.isdecimal()):
            raise RunNotFound(f"{self.directory.parent}: {shown}: expected PLAYER:VERSION or PLAYER:last")
        there = self.versions(player)
        if not there:
            hint = did_you_mean(player, [p for p in self.players() if self.versions(p)], "players")
            raise RunNotFound(f"{self.directory.parent}: no frozen player {player!r}{hint}")
        if version == NEWEST and there[-1] == 0:
            run = self.directory.parent
            raise RunNotFound(
                f"{run}@{name}: {player} has frozen nothing yet (did you mean {run}@{player}, its newest "
                f"weights?); {run}@{player}:0 are its initial weights"
            )
        number = there[-1] if version == NEWEST else int(version) if len(version) <= 18 else -1
        if number not in there:
            near = min(there, key=lambda v: (abs(v - number), v))
            raise RunNotFound(
                f"{self.directory.parent}: no frozen player {shown} (did you mean {player}:{near}?); "
                f"{player} has {_listed(there)}"
            )
        return self.path(player, number)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _listed(versions: list[int]) -> str:
    shown = ", ".join(map(str, versions[:8]))
    return shown if len(versions) <= 8 else f"{shown}, ... {versions[-1]}"

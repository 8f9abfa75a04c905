"""Data sets: matches of one game as files, read by their place and divided into a part held out."""

from __future__ import annotations

import hashlib
import itertools
import mmap
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ludus.datasets import content
from ludus.datasets.errors import DataSetError
from ludus.datasets.manifest import Manifest, read_manifest
from ludus.datasets.shards import FOLDER, ShardTensors, StoredMatch, map_shard, read_shard
from ludus.flow.inputs.shown import shown
from ludus.games import registry, replays

_OPEN = 128  # shards that are mapped at a time


class RecordedMatch(NamedTuple):
    """One match of a data set.

    Attributes:
        index: Its place, from 0.
        replay: The bytes of a ``.ludus`` file.
        params: Parameters of the rules.
        players: The player at each seat, bounded text on one line; empty = unnamed.
        decisions: Decisions per seat.
        outcome: +1 won, 0 drawn, -1 lost, per seat; None = unknown.
        date: yyyymmdd, with 00 for an unknown month or day; 0 = unknown.
        source: Index into the manifest's sources.
        result: The result as records of Go have it (``B+R``, ``W+3.5``); empty = unknown or another game.
    """

    index: int  # type: ignore[assignment]  # tuple.index has no use here
    replay: bytes
    params: Mapping[str, str]
    players: tuple[str, ...]
    decisions: tuple[int, ...]
    outcome: tuple[float, ...] | None
    date: int
    source: int
    result: str = ""


class DataSet:
    """A finished data set. One thread reads it; another process opens it again."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        """Open the shards of ``manifest``: see :meth:`open`."""
        self.path, self.manifest = path, manifest
        self._starts = np.cumsum([0, *(s.matches for s in manifest.shards)], dtype=np.int64)
        self._open: OrderedDict[int, tuple[mmap.mmap, ShardTensors]] = OrderedDict()
        decisions, splits = [], []
        for number in range(len(manifest.shards)):
            tensors = self.shard(number)
            decisions.append(tensors.decisions.copy())
            splits.append(tensors.split.copy())
        empty = np.zeros((0, manifest.seats), np.int32)
        self.decisions: npt.NDArray[np.int32] = np.concatenate([empty, *decisions])
        self._split = np.concatenate([np.zeros(0, np.uint8), *splits])
        held = int(self._split.sum())
        if held != manifest.held_out:
            raise DataSetError(
                f"{path}: {held} matches are held out, expected {manifest.held_out} by the manifest"
            )

    @classmethod
    def open(cls, path: Path) -> DataSet:
        """Open the data set in a folder, and check sizes and bounds; :meth:`check` checks all.

        A game that is not installed is not asked for its version.

        Raises:
            DataSetError: It is no finished data set, a file is damaged, or its game has other rules here.
        """
        data = cls(path, read_manifest(path))
        if data.manifest.game in registry.list_games():
            data.check_game()
        return data

    @property
    def sha256(self) -> str:
        """Hash of the matches and their order; equal for equal records, whatever files they came in."""
        return self.manifest.sha256

    def __len__(self) -> int:
        """Return the number of matches."""
        return self.manifest.matches

    def shard(self, number: int) -> ShardTensors:
        """Return the tensors of a shard, from its file."""
        if number in self._open:
            self._open.move_to_end(number)
            return self._open[number][1]
        entry = self.manifest.shards[number]
        folder = self.path / FOLDER
        if folder.is_symlink():
            raise DataSetError(f"{folder}: a link, expected a folder")
        path = folder / entry.name
        mapped = map_shard(path, entry.bytes)
        tensors = read_shard(mapped, str(path), entry.matches, self.manifest.seats)
        sets, sources = len(self.manifest.params), len(self.manifest.sources)
        if tensors.params.max() >= sets or tensors.source.max() >= sources:
            raise DataSetError(f"{path}: a match of parameters or a source that the manifest does not have")
        self._open[number] = (mapped, tensors)
        if len(self._open) > _OPEN:
            self._open.popitem(last=False)
        return tensors

    def release(self) -> None:
        """Give back the files of shards; the next use opens them again."""
        self._open.clear()

    def stored(self, index: int) -> StoredMatch:
        """Return a match as it is stored. Raises ``IndexError``."""
        if not 0 <= index < len(self):
            raise IndexError(f"match {index} of {len(self)}")
        number = int(np.searchsorted(self._starts, index, "right")) - 1
        return self.shard(number).match(index - int(self._starts[number]))

    def match(self, index: int) -> RecordedMatch:
        """Return match ``index``. Raises ``IndexError``, and :class:`DataSetError` for a damaged replay."""
        stored = self.stored(index)
        try:
            about = replays.info(stored.replay)
        except ValueError as error:
            raise DataSetError(f"{self.path}: match {index}: {error}") from error
        return RecordedMatch(
            index,
            stored.replay,
            about.params,
            content.players_of(about),
            stored.decisions,
            stored.outcome,
            stored.date,
            stored.source,
            stored.result,
        )

    def indices(self, split: Literal["train", "held_out"]) -> npt.NDArray[np.int64]:
        """Return the places of the matches to learn from, or of those held out, ascending."""
        return np.flatnonzero(self._split == (split == "held_out")).astype(np.int64)

    def place(self, index: int) -> str:
        """Return where a match is: its shard and its number there."""
        number = int(np.searchsorted(self._starts, index, "right")) - 1
        return f"{FOLDER}/{self.manifest.shards[number].name}, match {index - int(self._starts[number])}"

    def check_game(self, game: str = "") -> None:
        """Raise :class:`DataSetError` unless the game here has the data set's version.

        Args:
            game: A person's reference of a game outside of the package.
        """
        for params in self.manifest.params[:1] or ({},):
            try:
                spec = registry.spec(game or self.manifest.game, params)
            except ValueError as error:
                raise DataSetError(f"{self.path}: {error}") from error
            if spec.name != self.manifest.game:
                raise DataSetError(f"{self.path}: matches of {shown(self.manifest.game)}, not of {spec.name}")
            if spec.version != self.manifest.version:
                raise DataSetError(
                    f"{self.path}: recorded under version {self.manifest.version} of {shown(spec.name)}, "
                    f"the rules here are version {spec.version}: import the records again"
                )

    def check(self, game: str = "", beat: Callable[[], None] | None = None) -> list[str]:
        """Check everything: hashes of the shards, every match by its rules, order, split. Return the faults.

        Args:
            game: A person's reference of a game outside of the package.
            beat: Called once a match.
        """
        self.check_game(game)
        faults: list[str] = []
        for number, entry in enumerate(self.manifest.shards):
            tensors = self.shard(number)
            mapped = self._open[number][0]
            if hashlib.sha256(mapped).hexdigest() != entry.sha256:
                faults.append(f"{FOLDER}/{entry.name}: its bytes have changed (sha256)")
            del tensors, mapped
        digests = []
        for index in range(len(self)):
            digest, why = self._check_match(index, game)
            digests.append(digest)
            if why:
                faults.append(f"{self.place(index)}: {why}")
            if beat is not None:
                beat()
        if not faults:
            faults += self._check_whole(digests)
        return faults

    def _check_match(self, index: int, game: str) -> tuple[bytes, str]:
        stored = self.stored(index)
        try:
            about = replays.info(stored.replay)
            made = replays.decision_columns(stored.replay)
            result = replays.verify(stored.replay, game)
        except ValueError as error:
            return b"", str(error)
        digest = content.digest_of(about, made, stored.outcome, stored.result, stored.date)
        counted = content.counted(made, self.manifest.seats)
        if not result.same:
            return digest, f"the replay does not follow its rules: {result.difference}"
        if (about.game, about.version) != (self.manifest.game, self.manifest.version):
            return digest, f"a match of {shown(about.game)}, version {about.version}"
        if about.params != self.manifest.params[stored.params]:
            return digest, "the parameters are not in the manifest at its place"
        if counted != stored.decisions:
            return digest, f"{stored.decisions} decisions are stored, the replay has {counted}"
        if not content.check_result(stored.result):
            return digest, f"the result {shown(stored.result)}"
        return digest, ""

    def _check_whole(self, digests: list[bytes]) -> list[str]:
        faults = []
        manifest = self.manifest
        if any(a >= b for a, b in itertools.pairwise(digests)):
            faults.append("the matches are not in the order of their content")
        if content.set_hash(manifest.game, manifest.version, digests) != manifest.sha256:
            faults.append("the content differs from the manifest's sha256")
        if int(self.decisions.sum(dtype=np.int64)) != manifest.decisions:
            faults.append(
                f"{int(self.decisions.sum(dtype=np.int64))} decisions, the manifest has {manifest.decisions}"
            )
        for name, count in (("learn from", len(self) - manifest.held_out), ("hold out", manifest.held_out)):
            if not count and (manifest.split.held_out or name == "learn from"):
                faults.append(f"there are no matches to {name}")
        return faults

"""Checkpoints: everything needed to resume, one directory a version.

``checkpoints/000001200/`` holds ``weights.safetensors`` (a weights file like any other),
``optimizer.safetensors`` (the learner's tensors), ``rollout.safetensors`` (matches and data in
flight) and ``state.json`` (counters, size and SHA-256 of the others, and a signature over everything).
In a league ``PLAYER.VERSION.safetensors`` are the weights of each member at its own version.
``best.json`` and ``last.json`` point at directories.

SHA-256 detects damage. The signature proves who wrote the checkpoint (:mod:`ludus.storage.signing`): only
data that the user's own key signed may return into the core's memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.flow.slab import Array
from ludus.flow.weights import Provenance, Weights
from ludus.storage.errors import CorruptFile, RunNotFound
from ludus.storage.files import (
    TEMPORARY,
    fsync_directory,
    open_regular,
    own_folder,
    read_bounded,
    remove_directory,
    remove_tree,
    write_atomic,
    write_directory_atomic,
    write_synced,
)
from ludus.storage.signing import NoKey, is_signed, sign, why_unsigned
from ludus.storage.tensors import (
    MAX_FILE_BYTES,
    decode_file,
    decode_tensors,
    encode_tensors,
    encode_weights,
    read_weights,
)

SCHEMA = 1
DIGITS = 9
WEIGHTS_FILE = "weights.safetensors"
OPTIMIZER_FILE = "optimizer.safetensors"
ROLLOUT_FILE = "rollout.safetensors"
STATE_FILE = "state.json"
MAX_STATE_BYTES = 64 << 20
MAX_POINTER_BYTES = 1 << 12

#: The weights of one member of a league: its name, then its version.
_MEMBER_FILE = re.compile(r"([a-z0-9][a-z0-9_-]{0,63})\.([0-9]{9,18})\.safetensors")

PointerName = Literal["best", "last"]


class FileRecord(msgspec.Struct, frozen=True):
    """Expected size and digest of a checkpoint's file."""

    size: int
    sha256: str


class StateFile(msgspec.Struct, frozen=True):
    """Content of ``state.json``.

    ``state`` belongs to the caller. ``signature``: empty for a user without a key.
    """

    schema: int
    version: int
    files: dict[str, FileRecord]
    state_sha256: str
    state: msgspec.Raw
    signature: str = ""


class Pointer(msgspec.Struct, frozen=True):
    """Content of ``best.json`` and ``last.json``.

    ``version``: number of the checkpoint. ``score``: finite score of its evaluation, 0 in ``last.json``.
    ``player``: the member of a league that it points at. ``own``: version of the member's weights.
    """

    version: int
    score: float = 0.0
    player: str = ""
    own: int = -1

    @property
    def weights(self) -> int:
        """Version of the weights that are meant."""
        return self.own if self.player else self.version


@dataclass(slots=True)
class Checkpoint:
    """Everything that a run resumes from.

    ``state``: the trainer's own state as JSON text. ``restart``: why matches start again, so that nothing of
    ``rollout`` may reach the core's memory; empty only if this user's key signed the file, as this version of
    this run.
    Written, not read: ``members``, the weights of each member of a league, and ``player``, the one whose
    weights ``weights`` are.
    """

    weights: Weights
    optimizer: dict[str, Array]
    rollout: dict[str, Array]
    state: bytes
    restart: str = "not read from a signed file"
    members: dict[str, Weights] = field(default_factory=dict)
    player: str = ""

    @property
    def version(self) -> int:
        """Version of the weights."""
        return self.weights.meta.version


class CheckpointStore:
    """The ``checkpoints`` directory of a run. One process writes; any may read.

    Attributes:
        unsigned: Why the last saved checkpoint has no signature; empty if it has one.
    """

    def __init__(self, directory: Path, keep: int = 3, identity: Callable[[], str] = str) -> None:
        """Open the store at ``directory``, which may not exist yet.

        Args:
            directory: The folder of checkpoints.
            keep: Number of newest checkpoints that stay on disk, at least 1.
            identity: Returns the identity of the run; signatures bind a checkpoint to it.
        """
        if keep < 1:
            raise ValueError(f"keep at least one checkpoint, got keep={keep}")
        self.directory, self.keep, self._identity = directory, keep, identity
        self.unsigned = ""
        self.provenance: Provenance | None = None  #: written into weights; None: these keep their own
        #: Versions kept in addition to the newest ``keep`` and the best one.
        self.pinned: frozenset[int] = frozenset()
        #: Members of a league with versions whose weights stay where a checkpoint takes the place of another
        #: with its number: one member learned, the one that numbers them did not.
        self.held: frozenset[tuple[str, int]] = frozenset()

    def path(self, version: int) -> Path:
        """Return the folder of the checkpoint ``version``, which may not exist."""
        return self.directory / f"{version:0{DIGITS}d}"

    def versions(self) -> list[int]:
        """Return the versions that have a directory, ascending."""
        if not self.directory.is_dir():
            return []
        names = (p.name for p in self.directory.iterdir() if p.is_dir())
        return sorted(int(n) for n in names if len(n) == DIGITS and n.isdecimal())

    def save(self, checkpoint: Checkpoint) -> Path:
        """Write the checkpoint, point ``last`` at it and remove checkpoints beyond ``keep``.

        Raises:
            OSError: It cannot be written; older checkpoints stay intact.
        """
        own_folder(self.directory, make=True)
        self._sweep()
        target, last = self.path(checkpoint.version), self.directory / "last.json"
        aside = last.with_name(last.name + TEMPORARY)
        own = checkpoint.version if checkpoint.player else -1
        pointer = Pointer(checkpoint.version, player=checkpoint.player, own=own)
        carried = self._carried(checkpoint)

        def fill(folder: Path) -> None:
            files: dict[str, FileRecord] = {}
            for name, data in (
                (WEIGHTS_FILE, encode_weights(checkpoint.weights, self.provenance)),
                (OPTIMIZER_FILE, encode_tensors(checkpoint.optimizer)),
                (ROLLOUT_FILE, encode_tensors(checkpoint.rollout)),
                *(
                    (_member_file(n, w), encode_weights(w, self.provenance))
                    for n, w in checkpoint.members.items()
                ),
                *carried,
            ):
                write_synced(folder / name, data)
                files[name] = FileRecord(len(data), hashlib.sha256(data).hexdigest())
            digest = hashlib.sha256(checkpoint.state).hexdigest()
            state = StateFile(SCHEMA, checkpoint.version, files, digest, msgspec.Raw(checkpoint.state))
            write_synced(folder / STATE_FILE, msgspec.json.encode(self._signed(state)))
            write_synced(aside, msgspec.json.encode(pointer))  # where it is refused, the checkpoint is too

        write_directory_atomic(target, fill)
        os.replace(aside, last)
        fsync_directory(self.directory)
        self._prune()
        return target

    def load(self, version: int) -> Checkpoint:
        """Return a complete checkpoint.

        Raises:
            RunNotFound: There is no checkpoint of this version.
            CorruptFile: One of its files is missing, damaged or of another schema.
        """
        folder = self.path(version)
        if not folder.is_dir():
            raise RunNotFound(f"{folder}: no such checkpoint; there are {self._there()}")
        state = self._read_state(folder)
        if state.version != version:
            raise CorruptFile(f"{folder / STATE_FILE}: version {state.version}, expected {version}")
        for name in (WEIGHTS_FILE, OPTIMIZER_FILE, ROLLOUT_FILE):
            record = state.files.get(name)
            if record is None:
                raise CorruptFile(f"{folder / STATE_FILE}: does not list {name}")
        for name in (WEIGHTS_FILE, OPTIMIZER_FILE):
            _check_file(folder / name, state.files[name])
        return Checkpoint(
            weights=read_weights(folder / WEIGHTS_FILE),
            optimizer=decode_file(folder / OPTIMIZER_FILE)[0],
            rollout=_read_checked(folder / ROLLOUT_FILE, state.files[ROLLOUT_FILE]),
            state=bytes(state.state),
            restart="" if is_signed(self._message(state), state.signature) else why_unsigned(),
        )

    def load_state(self, version: int) -> bytes:
        """Return only the state, without its tensors. Raises ``RunNotFound`` or ``CorruptFile``."""
        return bytes(self._read_state(self.path(version)).state)

    def load_last(self) -> tuple[Checkpoint, list[str]]:
        """Return the newest intact checkpoint, and a message for every newer one that is damaged."""
        problems: list[str] = []
        for version in reversed(self.versions()):
            try:
                return self.load(version), problems
            except (CorruptFile, RunNotFound) as error:
                problems.append(str(error))
        detail = "; ".join(problems) if problems else "none was saved yet"
        raise RunNotFound(f"{self.directory}: no checkpoint to resume from ({detail})")

    def forget_older_last(self, version: int) -> None:
        """Remove a ``last.json`` that names a checkpoint before ``version``, the newest whole one.

        A process was killed before it could name that one. Without the file the newest one is the last.
        """
        with contextlib.suppress(OSError, CorruptFile):
            pointer = self.pointer("last")
            if pointer is not None and pointer.version < version:
                (self.directory / "last.json").unlink()

    def stands(self) -> str:
        """Return a clause about what a run that ends now leaves."""
        return "the newest checkpoint stands" if self.versions() else "there is no checkpoint"

    def point(self, name: PointerName, pointer: Pointer) -> None:
        """Let ``name`` point at a checkpoint. Raises ``OSError``."""
        write_atomic(self.directory / f"{name}.json", msgspec.json.encode(pointer))

    def pointer(self, name: PointerName) -> Pointer | None:
        """Return what ``name`` points at; None if that checkpoint is gone."""
        path = self.directory / f"{name}.json"
        try:
            pointer = from_json(read_bounded(path, MAX_POINTER_BYTES), Pointer)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CorruptFile(f"{path}: {error}") from error
        return pointer if self.path(pointer.version).is_dir() else None

    def best(self) -> Pointer | None:
        """Return what ``RUN@best`` names: the last weights while nothing was evaluated; None: no weights."""
        versions = self.versions()
        newest = Pointer(versions[-1]) if versions else None
        return self.pointer("best") or self.pointer("last") or newest

    def resolve(self, reference: str) -> int:
        """Return the version that ``best``, ``last`` or a number names; a number may omit its leading zeros.

        ``best`` is ``last`` while nothing has been evaluated. Raises ``RunNotFound``.
        """
        versions = self.versions()
        if not versions:
            raise RunNotFound(f"{self.directory}: the run has no checkpoint yet")
        if reference in ("best", "last"):
            pointer = self.pointer("best") if reference == "best" else self.pointer("last")
            return pointer.version if pointer else versions[-1]
        if reference.isdecimal() and len(reference) <= 18 and int(reference) in versions:
            return int(reference)
        raise RunNotFound(
            f"{self.directory}: no version {reference!r}; there are best, last and {self._there()}"
        )

    def weights_path(self, reference: str) -> Path:
        """Return the weights file of ``best``, ``last`` or a version; in a league the member's file."""
        version, own = self.resolve(reference), None
        if reference in ("best", "last"):
            pointer = (self.pointer("best") if reference == "best" else None) or self.pointer("last")
            if pointer is not None and pointer.player:
                own = self._file_in(version, pointer.player, pointer.own)
        return own or self.path(version) / WEIGHTS_FILE

    def members(self, version: int) -> dict[str, Path]:
        """Return the newest weights file of each member in the checkpoint ``version``, by name."""
        return {member_of_file(p)[0]: p for p in self._member_files(version)}

    def member_path(self, version: int, player: str) -> Path | None:
        """Return the weights of ``player`` at ``version``, from the newest checkpoint that has them."""
        found = (self._file_in(number, player, version) for number in reversed(self.versions()))
        return next((path for path in found if path is not None), None)

    def holding(self, version: int, player: str = "") -> int | None:
        """Return the checkpoint with weights of ``version`` (in a league of ``player``), or None."""
        if not player:
            return version if version in self.versions() else None
        path = self.member_path(version, player)
        return None if path is None else int(path.parent.name)

    def _file_in(self, number: int, player: str, version: int) -> Path | None:
        files = self._member_files(number)
        return next((p for p in files if member_of_file(p) == (player, version)), None)

    def _member_files(self, version: int) -> list[Path]:
        """Return them sorted by name, so that versions of a member ascend."""
        folder = self.path(version)
        if folder.is_symlink() or not folder.is_dir():
            return []
        files = (p for p in folder.iterdir() if p.is_file() and not p.is_symlink())
        return sorted(p for p in files if _MEMBER_FILE.fullmatch(p.name))

    def _carried(self, checkpoint: Checkpoint) -> list[tuple[str, bytes]]:
        """Return weights of members that a checkpoint about to be replaced has and that are still needed."""
        best = self.pointer("best")
        wanted = self.held | ({(best.player, best.own)} if best is not None else set())
        new = {(name, w.meta.version) for name, w in checkpoint.members.items()}
        kept: list[tuple[str, bytes]] = []
        for path in self._member_files(checkpoint.version):
            if member_of_file(path) in wanted - new:
                with contextlib.suppress(OSError):  # a file that is lost must not end checkpoints
                    kept.append((path.name, path.read_bytes()))
        return kept

    def _read_state(self, folder: Path) -> StateFile:
        path = folder / STATE_FILE
        if not path.is_file():
            raise CorruptFile(f"{path}: missing; the checkpoint is incomplete")
        try:
            state = from_json(read_bounded(path, MAX_STATE_BYTES), StateFile)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CorruptFile(f"{path}: {error}") from error
        if state.schema != SCHEMA:
            raise CorruptFile(f"{path}: schema {state.schema}, this version of ludus reads {SCHEMA}")
        if hashlib.sha256(bytes(state.state)).hexdigest() != state.state_sha256:
            raise CorruptFile(f"{path}: state does not match its SHA-256")
        return state

    def _signed(self, state: StateFile) -> StateFile:
        """Return ``state`` with its signature; unchanged without a key (:attr:`unsigned` has the reason)."""
        self.unsigned = ""
        try:
            return msgspec.structs.replace(state, signature=sign(self._message(state)))
        except NoKey as error:
            self.unsigned = str(error)
            return state

    def _message(self, state: StateFile) -> bytes:
        """Return the signed message: the run, the version, and every byte of the checkpoint by its digest."""
        files = [[name, record.size, record.sha256] for name, record in sorted(state.files.items())]
        return msgspec.json.encode(
            ["ludus checkpoint", state.schema, self._identity(), state.version, files, state.state_sha256]
        )

    def _there(self) -> str:
        return ", ".join(str(v) for v in self.versions()) or "none"

    def _sweep(self) -> None:
        """Remove the temporary files of killed writers."""
        for path in self.directory.glob("*" + TEMPORARY):
            with contextlib.suppress(OSError):
                remove_tree(path)

    def _prune(self) -> None:
        best = self.pointer("best")
        kept = {*self.versions()[-self.keep :], *self.pinned} | ({best.version} if best else set())
        for version in self.versions():
            if version not in kept:
                with contextlib.suppress(OSError):  # a superfluous folder must not end the run
                    remove_directory(self.path(version))


def member_of_file(path: Path) -> tuple[str, int]:
    """Return the member of a league whose weights a checkpoint's file holds, and their version.

    The name is empty for any other file.
    """
    match = _MEMBER_FILE.fullmatch(path.name)
    return (match[1], int(match[2])) if match is not None else ("", -1)


def _member_file(player: str, weights: Weights) -> str:
    return f"{player}.{weights.meta.version:0{DIGITS}d}.safetensors"


def _check_file(path: Path, record: FileRecord) -> None:
    """Raise ``CorruptFile`` for a file other than the one written."""
    _check_size(path, record)
    with open_regular(path) as file:
        digest = hashlib.sha256()
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    _check_digest(path, digest.hexdigest(), record)


def _read_checked(path: Path, record: FileRecord) -> dict[str, Array]:
    """Return the tensors of exactly the checked bytes: the file cannot be exchanged in between."""
    _check_size(path, record)
    data = read_bounded(path, record.size)
    _check_digest(path, hashlib.sha256(data).hexdigest(), record)
    return decode_tensors(data, str(path))


def _check_size(path: Path, record: FileRecord) -> None:
    if not path.is_file():
        raise CorruptFile(f"{path}: missing")
    size = path.stat().st_size
    if size != record.size:
        raise CorruptFile(f"{path}: {size} bytes, state.json records {record.size}")
    if size > MAX_FILE_BYTES:
        raise CorruptFile(f"{path}: {size} bytes, expected at most {MAX_FILE_BYTES}")


def _check_digest(path: Path, digest: str, record: FileRecord) -> None:
    if digest != record.sha256:
        raise CorruptFile(f"{path}: content does not match its SHA-256 in state.json")

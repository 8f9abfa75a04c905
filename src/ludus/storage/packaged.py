"""Files of another project's package, fetched by the user's package client into a folder.

The client (pip, else uv) downloads one wheel, whose hash the requirement pins. Only the listed members are
unpacked, each compared with its size and hash. A new folder appears whole by a rename; in a folder that is
there, files that are missing or changed are replaced one by one, and nothing else is touched.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ludus.flow.inputs.shown import shell, visible
from ludus.flow.packaged import ENVIRONMENT, PackagedFile, PackagedFiles
from ludus.storage.errors import StorageError
from ludus.storage.files import (
    TEMPORARY,
    fsync_directory,
    open_regular,
    own_folder,
    write_atomic,
    write_synced,
)

TIMEOUT_S = 900.0
_STALE_S = 3600.0  # a temporary folder so old belongs to a process that was killed
_BLOCK = 1 << 20
_MOST_TEXT = 300
#: Words that a client prints -> the reason that the user reads.
_REASONS = (
    (("DO NOT MATCH THE HASHES", "Hash mismatch"), "the wheel there has another SHA-256 than expected"),
    (("No space left on device",), "no space left on the device"),
    (
        (
            *("NewConnectionError", "Failed to establish a new connection", "name resolution", "ProxyError"),
            *("ConnectTimeout", "Read timed out", "Could not connect", "error sending request", "dns error"),
        ),
        "no connection to the package index",
    ),
    (("from versions: none",), "no connection to the package index, or it does not have the package"),
    (("No matching distribution", "no versions of"), "the package index has no such wheel"),
)


class FetchError(StorageError):
    """Files could not be fetched; what was there before is there still."""


class DownloadError(FetchError):
    """The package client gave no wheel."""


def download(files: PackagedFiles, folder: Path) -> Path:
    """Download the wheel of ``files`` into ``folder`` by the user's package client, and return its path.

    Raises ``DownloadError`` without a client, without a network, and for a wheel with another hash.
    """
    requirements = folder / "requirements.txt"
    pinned = f"{files.package}=={files.version} --hash=sha256:{files.wheel_sha256}\n"
    write_synced(requirements, pinned.encode())
    words = [
        *(*_client(files), "download", "--no-deps", "--only-binary", ":all:", "--require-hashes"),
        *("--disable-pip-version-check", "--no-input", "--dest", str(folder), "-r", str(requirements)),
    ]
    try:
        done = subprocess.run(
            words,
            cwd=folder,  # nothing of the user's current folder is imported
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _failed(files, f"no end within {TIMEOUT_S:.0f} s") from None
    except OSError as error:
        raise _failed(files, f"{words[0]}: {error.strerror}") from None
    found = sorted(folder.glob("*.whl"))
    if done.returncode or not found:
        raise _failed(files, _reason(done.stdout.decode("utf-8", "replace"), done.returncode))
    return found[0]


def _client(files: PackagedFiles) -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "pip"]
    raise _failed(files, "neither pip nor uv is installed")


def _reason(text: str, code: int) -> str:
    for signs, reason in _REASONS:
        if any(sign in text for sign in signs):
            return reason
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if line.lower().startswith("error")), "")
    return visible(last or (lines[-1] if lines else f"exit code {code}"))[:_MOST_TEXT]


def _failed(files: PackagedFiles, reason: str) -> DownloadError:
    return DownloadError(f"{files.package} {files.version} cannot be downloaded: {reason}")


def store(files: PackagedFiles, folder: Path, wheel: Path | None = None) -> list[str]:
    """Write what ``folder`` lacks of ``files``, and return the names of the files written.

    Args:
        files: The files and the wheel that has them.
        folder: Where they belong; it need not exist.
        wheel: The wheel; None downloads it.

    Raises:
        FetchError: There is no wheel or it is another one, ``folder`` is a link or no folder, or a file
            cannot be written.
    """
    own_folder(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        aside = Path(tempfile.mkdtemp(TEMPORARY, f".{folder.name}.", folder.parent))
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        path = wheel if wheel is not None else download(files, aside)
        with _opened(files, path) as archive:
            return _unpack(files, archive, folder, aside / folder.name)
    except OSError as error:
        raise _unwritable(folder, error) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _unwritable(folder: Path, error: OSError) -> FetchError:
    reason = error.strerror or str(error)
    return FetchError(
        f"{shell(str(folder))}: cannot be written ({reason}); ${ENVIRONMENT} names another folder"
    )


@contextlib.contextmanager
def _opened(files: PackagedFiles, wheel: Path) -> Iterator[zipfile.ZipFile]:
    """Open the wheel, which has the pinned size and hash."""
    try:
        file = open_regular(wheel)
    except OSError as error:
        raise FetchError(f"{shell(str(wheel))}: {error.strerror}; expected a wheel") from error
    with file:
        digest, length = hashlib.sha256(), 0
        while length <= files.wheel_bytes and (block := file.read(_BLOCK)):
            length += len(block)
            digest.update(block)
        if length != files.wheel_bytes or digest.hexdigest() != files.wheel_sha256:
            raise FetchError(
                f"{shell(str(wheel))}: another file than the wheel of {files.package} {files.version} "
                f"({files.wheel_bytes:,} bytes, SHA-256 {files.wheel_sha256})"
            )
        file.seek(0)
        try:
            with zipfile.ZipFile(file) as archive:
                yield archive
        except (zipfile.BadZipFile, KeyError, NotImplementedError, EOFError) as error:
            raise FetchError(f"{shell(str(wheel))}: a damaged wheel ({visible(str(error))})") from error


def _unpack(files: PackagedFiles, archive: zipfile.ZipFile, folder: Path, aside: Path) -> list[str]:
    if not folder.exists() and _placed(files, archive, folder, aside):
        return [file.name for file in files.files]
    wanted = files.faults(folder)
    for file in files.files:
        path = folder / file.name
        if file.name not in wanted:
            continue
        if path.is_dir() and not path.is_symlink():
            raise FetchError(f"{shell(str(path))}: a folder, expected a file; remove it")
        write_atomic(path, _content(archive, file))
    return list(wanted)


def _placed(files: PackagedFiles, archive: zipfile.ZipFile, folder: Path, aside: Path) -> bool:
    """Fill the new folder ``aside`` and rename it; False if another process was faster."""
    aside.mkdir()
    for file in files.files:
        write_synced(aside / file.name, _content(archive, file))
    fsync_directory(aside)
    try:
        os.rename(aside, folder)
    except OSError:
        if folder.is_dir() and not folder.is_symlink():
            return False
        raise
    fsync_directory(folder.parent)
    return True


def _sweep(folder: Path) -> None:
    """Remove what processes that were killed have left beside ``folder``."""
    for old in folder.parent.glob(f".{folder.name}.*{TEMPORARY}"):
        with contextlib.suppress(OSError):
            if not old.is_symlink() and time.time() - old.stat().st_mtime > _STALE_S:
                shutil.rmtree(old, ignore_errors=True)


def _content(archive: zipfile.ZipFile, file: PackagedFile) -> bytes:
    with archive.open(file.member) as member:
        data = member.read(file.bytes + 1)
    if len(data) != file.bytes or hashlib.sha256(data).hexdigest() != file.sha256:
        raise FetchError(f"{file.member} of the wheel: another content than expected")
    return data

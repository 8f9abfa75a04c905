"""Files that another project's package ships: what they are, and whether a folder has them unchanged.

Only sizes and hashes belong to Ludus. The files come from the user's package client
(:mod:`ludus.storage.packaged`).
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated

import msgspec

from ludus.flow.inputs.decode import from_toml
from ludus.flow.inputs.regular import TEXT, open_regular

ENVIRONMENT = "LUDUS_DATA_DIR"
_BLOCK = 1 << 20

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
Member = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,255}\Z")]
Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Bytes = Annotated[int, msgspec.Meta(ge=0, le=1 << 31)]
Line = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]


class PackagedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: its name in a folder, and the member of the wheel that it is."""

    name: Name
    member: Member
    bytes: Bytes
    sha256: Sha256

    def fault(self, folder: Path) -> str:
        """Return why the file in ``folder`` cannot be used, "" if it is whole: "missing", "a link", ..."""
        path = folder / self.name
        if path.is_symlink():
            return "a link, expected a regular file"
        if not path.exists():
            return "missing"
        digest, length = hashlib.sha256(), 0
        try:
            with open_regular(path) as file:
                while length <= self.bytes and (block := file.read(_BLOCK)):
                    length += len(block)
                    digest.update(block)
        except OSError as error:
            return TEXT if error.strerror == TEXT else f"cannot be read ({error.strerror})"
        if length != self.bytes:
            found = f"{length:,}" if length < self.bytes else "more"
            return f"changed ({found} bytes, expected {self.bytes:,})"
        return "" if digest.hexdigest() == self.sha256 else "changed (another SHA-256)"


class PackagedFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Files of one wheel. ``maps``: for the stem of each configuration among them, the file it needs."""

    title: Line
    package: Name
    version: Name
    licence: Line
    home: Line
    wheel_bytes: Bytes
    wheel_sha256: Sha256
    files: tuple[PackagedFile, ...]
    maps: dict[Name, Name]

    @property
    def source(self) -> str:
        """The package, its version and licence, as messages name them."""
        return f"{self.package} {self.version} ({self.licence})"

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files)

    def file(self, name: str) -> PackagedFile:
        """Return the file called ``name``. Raises ``KeyError``."""
        return next(file for file in self.files if file.name == name)

    def faults(self, folder: Path) -> dict[str, str]:
        """Return the files in ``folder`` that cannot be used, with the reason."""
        found = {file.name: file.fault(folder) for file in self.files}
        return {name: fault for name, fault in found.items() if fault}


def packaged_files(text: str) -> PackagedFiles:
    """Decode the TOML text of a manifest. Raises ``TomlError`` and ``msgspec.ValidationError``."""
    return msgspec.convert(from_toml(text), PackagedFiles)


def data_folder(name: str) -> Path:
    """Return the folder of the files called ``name``, which need not exist.

    It lies in ``$LUDUS_DATA_DIR``, else in ``$XDG_DATA_HOME/ludus``, else in ``~/.local/share/ludus``. Raises
    ``ValueError`` for a user without a home.
    """
    if named := os.environ.get(ENVIRONMENT, ""):
        return Path(named).absolute() / name
    base = os.environ.get("XDG_DATA_HOME", "")
    try:
        return (Path(base) if base else Path.home() / ".local" / "share").absolute() / "ludus" / name
    except RuntimeError as error:
        raise ValueError(f"{error}; expected one, or a folder in ${ENVIRONMENT}") from None

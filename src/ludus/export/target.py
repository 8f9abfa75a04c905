"""The file of an export: where it may be written, and writing it whole.

An export replaces an earlier one. Other files stay unless the user asks for it; links, folders, devices
and pipes always stay.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from ludus.export.document import FORMAT, ExportDocument
from ludus.export.errors import ExportError
from ludus.export.model import MAX_BYTES, is_export
from ludus.flow.inputs.decode import from_json, to_json
from ludus.flow.inputs.shown import visible
from ludus.flow.problem import Argument
from ludus.storage.errors import CorruptFile
from ludus.storage.files import read_bounded, write_atomic

LARGE = 16 << 10  #: bytes of a document from which it is also written beside the model
_MAX_DOCUMENT = 64 << 20
_LONGEST = 240  #: bytes of a name, with room for the suffixes of files that are being written


class Target:
    """A file to write an export to."""

    def __init__(self, file: Path, *, force: bool = False) -> None:
        """Name the file; ``force``: it may replace a file that is no export."""
        self.file, self.force = file, force

    @property
    def beside(self) -> Path:
        """The file of the document beside the model."""
        return self.file.with_suffix(".json")

    def check(self) -> None:
        """Raise ``ExportError`` if the file may not be written."""
        name = self.file.name
        if not name or "\0" in str(self.file):
            raise ExportError(f"{self._shown(self.file)}: expected the name of a file, such as policy.onnx")
        if self.file.suffix == ".json":
            raise ExportError(
                f"{self._shown(self.file)}: .json is the suffix of the metadata; expected a name such as "
                "policy.onnx"
            )
        if len(os.fsencode(name)) > _LONGEST:
            raise ExportError(f"a file name of {len(os.fsencode(name))} bytes, expected at most {_LONGEST}")
        parent = next(p for p in (self.file.parent, *self.file.parent.parents) if p.exists())
        if not parent.is_dir():
            raise ExportError(f"{self._shown(parent)}: not a folder")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise ExportError(f"{self._shown(parent)}: no permission to write into this folder")
        self._check(self.file, MAX_BYTES, is_export)

    def write(self, model: bytes, document: ExportDocument) -> Path | None:
        """Write the model, and its document beside it if that is large; return the document's path.

        Raises:
            ExportError: Another file has one of the names meanwhile.
            OSError: A file cannot be written; earlier ones are as they were.
        """
        text = to_json(document)
        beside = self.beside if len(text) > LARGE else None
        self.check()
        if beside is not None:
            self._check(beside, _MAX_DOCUMENT, _is_document)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if beside is not None:
            write_atomic(beside, msgspec.json.format(text, indent=1) + b"\n")
        write_atomic(self.file, model)
        return beside

    def _check(self, path: Path, limit: int, ours: Callable[[bytes], bool]) -> None:
        if path.is_symlink():
            raise ExportError(f"{self._shown(path)}: a link, expected the name of a file to write")
        if path.is_dir():
            raise ExportError(f"{self._shown(path)}: a folder, expected the name of a file to write")
        if not path.exists():
            return
        if not path.is_file():
            raise ExportError(
                f"{self._shown(path)}: not a regular file; expected the name of a file to write"
            )
        if self.force:
            return
        try:
            known = ours(read_bounded(path, limit))
        except CorruptFile:
            known = False
        if not known:
            raise ExportError(
                f"{self._shown(path)}: exists and is no export of Ludus; choose another name, or ",
                Argument("force"),
                " to replace it",
            )

    def _shown(self, path: Path) -> str:
        return visible(str(path))


def _is_document(data: bytes) -> bool:
    try:
        found: object = from_json(data)
    except msgspec.DecodeError:
        return False
    return isinstance(found, dict) and found.get("format") == FORMAT

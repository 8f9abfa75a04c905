"""Files of ``loadsgf`` and ``printsgf``: reading, and replacing nothing but records."""

from __future__ import annotations

from pathlib import Path

from ludus.flow.inputs.shown import shown, visible
from ludus.games.records import go_record, sgf
from ludus.gtp.protocol import GtpError
from ludus.gtp.words import integer
from ludus.storage.errors import StorageError
from ludus.storage.files import open_regular, read_bounded, write_atomic

LOOKED_AT = 4096  # bytes that show whether a file is a record


def load(text: str) -> go_record.GoRecord:
    """Return the record that ``FILE [MOVE]`` names. Raise ``GtpError``."""
    path, until = _file_and_move(text)
    try:
        return go_record.load(read_bounded(path, sgf.MAX_BYTES), until)
    except FileNotFoundError:
        raise GtpError(f"cannot load file: {shown(str(path))}: no such file") from None
    except OSError as error:
        raise GtpError(f"cannot load file: {shown(str(path))}: {error.strerror}") from None
    except (ValueError, StorageError) as error:
        raise GtpError(f"cannot load file: {visible(str(error))}") from None


def save(text: str, record: str) -> None:
    """Write a record to the file that ``text`` names. Raise ``GtpError``."""
    path = _path(text)
    try:
        _refuse_others(path)
        write_atomic(path, record.encode(errors="replace"))
    except OSError as error:
        raise GtpError(f"cannot write file: {shown(str(path))}: {error.strerror}") from None
    except (ValueError, StorageError) as error:
        raise GtpError(f"cannot write file: {visible(str(error))}") from None


def _path(text: str) -> Path:
    """Return all of ``text`` as a path, without quotes around it."""
    quoted = len(text) > 2 and text[0] == text[-1] == '"'
    return Path(text[1:-1] if quoted else text)


def _file_and_move(text: str) -> tuple[Path, int | None]:
    """Return the file and move number of ``loadsgf``; all of ``text`` is the path if such a file exists."""
    whole = _path(text)
    before, _, last = text.rpartition(" ")
    digits = last.removeprefix("-")
    if not before or not digits.isascii() or not digits.isdigit() or _is_there(whole):
        return whole, None
    return _path(before.rstrip()), integer(last, 1, 10**6, "a move number")


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long
        return False


def _refuse_others(path: Path) -> None:
    """Raise ``GtpError`` if ``path`` is anything but a record or an empty file."""
    name = shown(str(path))
    if path.is_symlink():
        raise GtpError(f"cannot write file: {name}: a link, expected a regular file or none")
    try:
        with open_regular(path) as file:
            head = file.read(LOOKED_AT)
    except FileNotFoundError:
        return
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start and not (start[:1] == b"(" and start[1:].lstrip()[:1] == b";"):
        raise GtpError(f"cannot write file: {name}: exists and is no SGF record")

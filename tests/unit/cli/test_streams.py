"""stdin, stdout and stderr that are closed, broken or full: no traceback, and the command's exit code."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ludus.cli import console, streams
from ludus.cli.errors import CommandError

LUDUS = f"{sys.executable} -m ludus"


def shell(command: str, **more: int) -> subprocess.CompletedProcess[str]:
    """``command`` with ``ludus`` for this installation's, under a POSIX shell."""
    words = ["sh", "-c", command.replace("ludus", LUDUS, 1)]
    return subprocess.run(words, capture_output=not more, text=True, timeout=300, **more)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("ludus games list >&-", 0),
        ("ludus gtp random <&- >&- 2>&-", 0),
        ("ludus games show nowhere 2>&-", 2),
        ("ludus games show nowhere 2>/dev/full", 2),
        ("ludus gtp random </dev/null 2>/dev/full", 0),
    ],
)
def test_closed_and_full_streams(command: str, code: int) -> None:
    ended = shell(command)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", "")


def test_closed_stdin_is_the_end_of_the_input() -> None:
    ended = shell("ludus gtp random --quiet <&-")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.parametrize("command", ["ludus games list --json >/dev/full", "ludus --help >/dev/full"])
def test_a_full_stdout_is_one_line(command: str) -> None:
    ended = shell(command)
    assert ended.returncode == 1
    assert ended.stderr == "stdout: No space left on device; the result was not written\n"


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_reader_that_exits_early_does_not_change_the_exit_code(closed: str) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    other = "stderr" if closed == "stdout" else "stdout"
    ended = shell("ludus games show nowhere", **{closed: writes, other: subprocess.DEVNULL})
    os.close(writes)
    assert ended.returncode == 2


def test_files_keep_their_content_while_streams_are_closed(tmp_path: Path) -> None:
    """A file that took the number of a closed stream would receive what is printed."""
    code = (
        "import os, sys; from ludus.cli import console, streams; streams.prepare(); "
        f"file = open({str(tmp_path / 'kept')!r}, 'w'); assert file.fileno() > 2; "
        "console.result('out'); console.note('err'); os.write(1, b'1'); os.write(2, b'2'); "
        "assert sys.stdin.read() == ''; assert all(map(os.get_inheritable, range(3)))"
    )
    words = ["sh", "-c", f'{sys.executable} -c "$0" <&- >&- 2>&-', code]
    assert subprocess.run(words, timeout=300).returncode == 0
    assert (tmp_path / "kept").read_text() == ""


class Failing(io.StringIO):
    """A stream that fails in one way."""

    def __init__(self, error: Callable[[], Exception]) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error()


ERRORS: list[Callable[[], Exception]] = [
    lambda: OSError(28, "No space left on device"),
    lambda: OSError(5, "Input/output error"),
    lambda: OSError(27, "File too large"),
    lambda: BrokenPipeError(32, "Broken pipe"),
    lambda: ValueError("I/O operation on closed file"),
]


@pytest.mark.parametrize("error", ERRORS)
def test_progress_that_cannot_be_written_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, error: Callable[[], Exception]
) -> None:
    monkeypatch.setattr(sys, "stderr", Failing(error))
    console.note("12 of 40 matches")
    console.draw("\r12 of 40 matches")


@pytest.mark.parametrize("error", ERRORS[:4])
def test_a_result_that_cannot_be_written_is_an_error(
    monkeypatch: pytest.MonkeyPatch, error: Callable[[], Exception]
) -> None:
    monkeypatch.setattr(sys, "stdout", Failing(error))
    if isinstance(error(), BrokenPipeError):
        console.result("won 40.0%")  # the reader has exited: the command does the rest of its work
        return
    with pytest.raises(CommandError, match=r"^stdout: .*; the result was not written$"):
        console.document({"win_rate": 0.4})


def test_text_outside_of_the_encoding_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    streams.prepare()
    console.result("Schlüssel")
    console.document({"name": "Schlüssel 象"})
    assert raw.getvalue() == b'Schl\\xfcssel\n{"name":"Schl\\u00fcssel \\u8c61"}\n'


def test_a_closed_stream_is_opened_again(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stdout", closed)
    monkeypatch.setattr(sys, "stderr", None)
    console.result("a result")
    console.note("a note")
    assert capfd.readouterr() == ("a result\n", "a note\n")


@pytest.mark.parametrize(
    ("term", "redrawn"), [("", False), ("dumb", False), ("unknown", False), ("xterm", True)]
)
def test_only_a_terminal_that_supports_it_is_redrawn(
    term: str, redrawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", term)
    assert console.redraws() is redrawn
    monkeypatch.delenv("TERM")
    assert not console.redraws()

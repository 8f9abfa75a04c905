"""The live view on a terminal: the screen after Ctrl-C."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

from tests.system.test_command_line import COMMAND, ENVIRONMENT, LONG, PRESET

COLUMNS, LINES = 60, 15
ESCAPE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


def screen(text: str) -> list[str]:
    """Return the screen of a terminal, scrolled-out lines included, for the escapes that a live view uses."""
    rows, x, y, at = [""], 0, 0, 0
    while at < len(text):
        found = ESCAPE.match(text, at)
        if found:
            number = int(found[1]) if found[1].isdecimal() else 1
            if found[2] == "A":
                y = max(0, y - number, len(rows) - LINES)
            elif found[2] == "K":
                rows[y] = "" if found[1] == "2" else rows[y][:x]
            at = found.end()
            continue
        char = text[at]
        at += 1
        if char == "\r":
            x = 0
        elif char == "\n" or (char >= " " and x == COLUMNS):
            y, x = y + 1, 0
            rows += [""] * (y + 1 - len(rows))
        if char >= " ":
            rows[y] = rows[y][:x].ljust(x) + char + rows[y][x + 1 :]
            x += 1
    return rows


def read(master: int, seconds: float, until: str = "") -> str:
    """Return the output within ``seconds``, or up to ``until``."""
    data, end = b"", time.monotonic() + seconds
    while time.monotonic() < end and not (until and until in data.decode(errors="replace")):
        if select.select([master], [], [], 0.1)[0]:
            try:
                data += os.read(master, 1 << 16)
            except OSError:  # the other side has closed
                break
    return data.decode(errors="replace")


def rest(master: int, process: subprocess.Popen[bytes]) -> str:
    """Return all output until the process has ended; a terminal that is not read would block it."""
    text = ""
    while True:
        ended = process.poll() is not None
        more = read(master, 0.2)
        text += more
        if ended and not more:
            return text


def own_terminal() -> None:
    """Make the terminal the new process's, so that Ctrl-C reaches it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_ctrl_c_leaves_one_board_and_no_border(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    (tmp_path / "small.toml").write_text(PRESET)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    before = termios.tcgetattr(slave)
    environment = {k: v for k, v in ENVIRONMENT.items() if k not in ("COLUMNS", "LINES")} | {"TERM": "xterm"}
    process = subprocess.Popen(
        [*COMMAND, "train", "small.toml", "--run-dir", "r", *LONG],
        cwd=tmp_path,
        env=environment,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=own_terminal,
    )
    text = read(master, 100, until="lag ")
    assert "lag " in text, text
    os.write(master, b"\x03")  # as the key does
    text += rest(master, process)
    assert process.returncode == 130
    assert termios.tcgetattr(slave)[3] == before[3]
    rows = screen(text)
    assert sum(row.startswith("╭") for row in rows) == 1, "\n".join(rows)
    assert sum(row.startswith("╰") for row in rows) == 1, "\n".join(rows)
    assert "^C" not in text
    os.close(master)
    os.close(slave)

"""Pipes, devices, sockets and folders where a file is expected: refused at once, with exit code 2."""

from __future__ import annotations

import ast
import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

import ludus
from ludus.cli.__main__ import main
from ludus.flow.inputs.regular import TEXT, NotRegular, open_regular, why_unusable
from ludus.games import rulebook
from ludus.presets.file import PresetError, load_preset

LIMIT_S = 120  # a read that hangs fails here


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("a read hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def make(kind: str, path: Path) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))


KINDS = ("pipe", "device", "folder", "socket")
COMMANDS = {
    "p.toml": (
        ("train", "p.toml"),
        ("train", "p.toml", "--explain"),
        ("presets", "show", "p.toml"),
        ("sweep", "p.toml"),
        ("games", "show", "rts", "--param", "rulebook=p.toml"),
        ("train", "extended", "--game.params.rulebook", "p.toml", "--explain"),
    ),
    "p.py": (
        ("train", "tic_tac_toe", "--method", "p.py"),
        ("games", "show", "./p.py"),
        ("eval", "p.py", "--against", "random", "--game", "tic_tac_toe"),
    ),
    "p.ludus": (("replay", "info", "p.ludus"),),
    "p.safetensors": (("eval", "p.safetensors", "--against", "random", "--game", "tic_tac_toe"),),
}


@pytest.mark.parametrize("kind", KINDS)
def test_commands(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, commands in COMMANDS.items():
        make(kind, Path(name))
        for words in commands:
            if kind == "folder" and name == "p.safetensors":  # a run
                continue
            code = main(words)
            message = capsys.readouterr().err
            assert (code, TEXT in message) == (2, True), (words, message)


@pytest.mark.parametrize("kind", KINDS)
def test_a_rulebook_that_a_preset_names(kind: str, tmp_path: Path) -> None:
    make(kind, tmp_path / "rules.toml")
    preset = tmp_path / "p.toml"
    preset.write_text('[game]\nname = "extended"\n[game.params]\nrulebook = "rules.toml"\n')
    with pytest.raises(PresetError, match=f"game.params.rulebook: .*{TEXT}"):
        load_preset(str(preset))


@pytest.mark.parametrize("kind", KINDS)
def test_python(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    make(kind, path)
    with pytest.raises(NotRegular, match=TEXT):
        open_regular(path)
    with pytest.raises(ValueError, match=TEXT):
        rulebook.read(path)
    with pytest.raises(PresetError, match=TEXT):
        ludus.train(path)
    assert TEXT in why_unusable(path)


def test_a_file_and_a_path_without_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    (tmp_path / "link").symlink_to(file)
    with open_regular(tmp_path / "link") as opened:
        assert opened.read() == b"abc"
    assert why_unusable(file) == ""
    assert why_unusable(tmp_path / "none", "no such thing") == "no such thing"
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")


# ---- every other way to open a file --------------------------------------------------------------------

#: Module -> reads that may not go through ``open_regular``, each of a path that no user and no file names.
PLAIN = {
    "cli/commands/doctor.py": 1,  # /proc
    "cluster/processes/reaper.py": 1,  # /proc
    "datasets/order.py": 5,  # files that this process wrote
    "games/adapters/vizdoom/fetched.py": 1,  # of the package
    "games/adapters/vizdoom/processes.py": 1,  # /proc
    "games/adapters/vizdoom/scenario.py": 1,  # of the package
    "games/adapters/vizdoom/shaping.py": 1,  # of the package
    "games/checks/monitor.py": 1,  # /proc
    "games/contained.py": 1,  # /dev/null
    "games/guides/declared.py": 1,  # of the package
    "games/guides/pieces.py": 1,  # of the package
    "presets/hardware.py": 3,  # /proc
    "cli/streams.py": 2,  # descriptors
    "storage/packaged.py": 1,  # a member of an archive
    "storage/checkpoints.py": 1,  # a regular file that this run wrote
    "sweep/processes.py": 1,  # the log that this process wrote
    "web/frames/painter.py": 2,  # bytes in memory
    "web/replay_page.py": 1,  # of the package
    "web/serve/app.py": 2,  # of the package
    "web/video.py": 1,  # a library's, which writes
}
_MAY_READ = re.compile(r"\bopen\(|read_bytes|read_text")
READS = {"read_bytes", "read_text"}


def plain_reads(source: str) -> int:
    """Count calls that open a file by path: ``open``, ``Path.open``, ``read_bytes``, ``read_text``."""
    count = 0
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func
        if (
            isinstance(name, ast.Name)
            and name.id == "open"
            or isinstance(name, ast.Attribute)
            and name.attr in READS
        ):
            count += 1
        elif isinstance(name, ast.Attribute) and name.attr == "open":
            of = name.value.id if isinstance(name.value, ast.Name) else ""
            count += not (of == "os" or of[:1].isupper() or of in ("cls", "webbrowser"))
    return count


def test_no_other_module_opens_a_file_that_may_be_a_pipe() -> None:
    root = Path(ludus.__file__).parent
    sources = {str(path.relative_to(root)): path.read_text("utf-8") for path in root.rglob("*.py")}
    found = {name: plain_reads(text) for name, text in sources.items() if _MAY_READ.search(text)}
    assert {name: n for name, n in found.items() if n} == {name: n for name, n in PLAIN.items() if n}


def test_plain_reads_are_found() -> None:
    assert plain_reads("open(p)\np.open('rb')\nPath(p).read_text()\nq.read_bytes()") == 4
    assert plain_reads("os.open(p, 0)\nRunDirectory.open(p)\nopen_regular(p)") == 0

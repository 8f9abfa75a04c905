"""``ludus data``: results, messages and exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from ludus.cli.__main__ import main
from tests.docs.blocks import ALL
from tests.unit.api.from_folder import LUDUS, ludus, run
from tests.unit.datasets.made import records


def _run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["data", *map(str, words)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_from_records_to_a_data_set_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = records(tmp_path / "in", 4)
    (source / "bad.sgf").write_text("(;GM[1]SZ[5];B[aa];W[aa])")
    name = tmp_path / "set"
    code, out, err = _run(capsys, "import", source, "--to", name, "--licence", "CC0", "--held-out", "25%")
    assert code == 0
    assert "bad.sgf: move 2, W A5: the point is taken" in err
    assert "left out: illegal move" in out
    code, out, _ = _run(capsys, "info", name, "--json")
    manifest = msgspec.json.decode(out)
    assert (code, manifest["matches"], manifest["licence"]) == (0, 4, "CC0")
    code, out, _ = _run(capsys, "check", name)
    assert code == 0
    assert "4 matches checked" in out
    code, out, _ = _run(capsys, "export", name, "--sgf", tmp_path / "s", "--npz", tmp_path / "n")
    assert code == 0
    assert len(list((tmp_path / "s").iterdir())) == 4
    code, out, _ = _run(capsys, "import", tmp_path / "s", "--to", tmp_path / "again", "--json", "--quiet")
    assert msgspec.json.decode(out)["sha256"] == manifest["sha256"]
    code, out, _ = _run(capsys, "import", records(tmp_path / "b", 2, 9), "--to", name, "--append", "--json")
    assert (code, msgspec.json.decode(out)["matches"]) == (0, 6)
    shard = name / "shards" / "000000.safetensors"
    data = shard.read_bytes()
    shard.write_bytes(data[:-3] + b"xyz")
    code, out, err = _run(capsys, "check", name)
    assert (code, out) == (2, "")
    assert "000000.safetensors" in err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("import", "IN"), "--to"),
        (("import", "--to", "SET"), "missing SOURCE"),
        (("import", "missing.sgf", "--to", "SET"), "missing.sgf: no such file"),
        (("import", "IN", "--to", "SET", "--held-out", "80%"), "from 0% to 50%"),
        (("import", "IN", "--to", "SET", "--held-out", "some"), "from 0% to 50%"),
        (("import", "IN", "--to", "SET", "--split", "name"), "date, match"),
        (("import", "IN", "--to", "SET", "--game", "tic_tac_toe"), "another game"),
        (("import", "IN", "--to", "SET", "--param", "featurs=x"), "expected features or"),
        (("import", "IN", "--to", "SET", "--param", "komi=3"), "their own rules"),
        (("import", "IN", "--to", "SET", "--param", "features=histry"), "features"),
        (("import", "IN", "--to", "SET", "--append"), "not a data set"),
        (("import", "IN", "--to", "IN"), "other files"),
        (("info", "IN"), "not a data set"),
        (("export", "IN"), "--sgf DIR"),
        (("record", "go", "--to", "SET", "--bots", "tacticl"), "tactical"),
        (("record", "go", "--to", "SET", "--bots", "random,random,random"), "expected 1 or 2"),
        (("record", "nothing", "--to", "SET"), "unknown game"),
    ],
)
def test_mistakes_end_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], why: str
) -> None:
    places = {"IN": str(records(tmp_path / "in", 1)), "SET": str(tmp_path / "set")}
    code, out, err = _run(capsys, *(places.get(word, word) for word in words))
    assert (code, out) == (2, "")
    assert why in err
    assert "Traceback" not in err
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


@pytest.mark.slow
def test_killed_commands_continue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["data", "record", "go", "--bots", "tactical", "--matches", "400", "--param", "size=5", "--to"]
    assert main([*words, str(tmp_path / "whole"), "--json", "--quiet"]) == 0
    whole = msgspec.json.decode(capsys.readouterr().out)
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        folder = tmp_path / f"cut{number}"
        command = [sys.executable, "-m", "ludus", *words, str(folder), "--quiet"]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (folder / "import.jsonl").exists():
            time.sleep(0.01)
        os.kill(child.pid, number)
        code = child.wait()
        assert code in ((-9,) if number == signal.SIGKILL else (130, 143))
        assert not (folder / "dataset.json").exists()
        assert main([*words, str(folder), "--json", "--quiet"]) == 0
        assert msgspec.json.decode(capsys.readouterr().out)["sha256"] == whole["sha256"]


@pytest.mark.slow
def test_a_game_written_in_python_is_named_by_its_user(tmp_path: Path) -> None:
    text = next(b.text for b in ALL if b.page.endswith("python_games.md") and "class Nim" in b.text)
    (tmp_path / "nim.py").write_text(text)
    words = ("--against", "random", "--game", "./nim.py", "--matches", "4", "--record", "in")
    ludus(tmp_path, "eval", "random", *words)
    refused = run(tmp_path, LUDUS, "data", "import", "in", "--to", "set")
    assert refused.returncode == 2
    assert "neither built in nor installed" in refused.stderr
    ludus(tmp_path, "data", "import", "in", "--to", "set", "--game", "./nim.py")
    ludus(tmp_path, "data", "check", "set", "--game", "./nim.py")
    refused = run(tmp_path, LUDUS, "data", "check", "set")
    assert refused.returncode == 2
    assert "unknown game" in refused.stderr

"""``ludus go match``: tables, records that continue, and programs that fail."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ludus.cli.__main__ import main
from ludus.games.records import go_record
from ludus.gtp import matches
from tests.unit.gtp.fakes import engine

Capture = pytest.CaptureFixture[str]
RULES = ("--size", "5", "--komi", "0.5", "--opening", "1", "--referee", "none", "--timeout", "5", "--quiet")
GNU_GO = bool(shutil.which("gnugo") or shutil.which("/usr/games/gnugo"))


def played(capsys: Capture, *words: str, code: int = 0) -> dict[str, Any]:
    assert main(["go", "match", *words, *RULES, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: Capture, *words: str) -> str:
    """Run the command, which refuses, and return the sentence."""
    assert main(["go", "match", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def test_several_opponents_give_rates_and_one_rating(tmp_path: Path, capsys: Capture) -> None:
    player, quitter, other = engine(tmp_path), engine(tmp_path, "resign", 0), engine(tmp_path, "pass", 0)
    words = (player, "--against", quitter, "--against", other, "--cross", "--matches", "2", "--jobs", "2")
    found = played(capsys, *words, "--sgf", str(tmp_path / "sgf"))
    pairs = [(s["player"], s["against"], s["won"]) for s in found["scores"]]
    assert pairs == [(player, quitter, 2), (player, other, pairs[1][2]), (quitter, other, 0)]
    assert {r["player"] for r in found["ratings"]} == {player, quitter, other}
    assert found["ratings"][-1]["player"] == quitter
    assert found["ratings"][-1]["bound"] == "low"
    names = sorted(p.name for p in (tmp_path / "sgf").iterdir())
    assert names == [f"{k:02d}-match-{n:04d}.sgf" for k in (1, 2, 3) for n in (1, 2)]
    record = go_record.load((tmp_path / "sgf" / names[0]).read_bytes())
    assert (record.size, record.result, len(record.moves)) == (5, "B+R", 1)
    assert main(["go", "match", *words, *RULES]) == 0
    text = capsys.readouterr().out
    assert "100.0%" in text
    assert "or less: no point" in text


def test_a_record_goes_on_where_it_ended(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "m.jsonl"
    words = (engine(tmp_path), "--against", engine(tmp_path, "resign", 1), "-o", str(out))
    assert played(capsys, *words, "--matches", "2")["scores"][0]["won"] == 2
    lines = out.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    out.write_bytes(b"".join(lines[:2]) + lines[2][:50])  # killed while it wrote the second match
    assert played(capsys, *words, "--matches", "4")["scores"][0]["won"] == 4
    rows = [json.loads(row) for row in out.read_bytes().splitlines()]
    assert [row["number"] for row in rows[1:]] == [0, 1, 2, 3]
    assert out.read_bytes().startswith(b"".join(lines[:2]))
    before = out.read_bytes()
    assert played(capsys, *words, "--matches", "4")["scores"][0]["won"] == 4
    assert out.read_bytes() == before
    assert "size = 5, these have 9" in refused(capsys, *words, "--referee", "none")
    assert out.read_bytes() == before


def test_a_program_that_fails_is_named_and_the_others_go_on(tmp_path: Path, capsys: Capture) -> None:
    bad, good = engine(tmp_path, "exit", 0), engine(tmp_path, "resign", 1)
    words = (engine(tmp_path), "--against", bad, "--against", good, "--matches", "6")
    assert main(["go", "match", *words, *RULES, "--json"]) == 1
    out, err = capsys.readouterr()
    found = json.loads(out)
    first, second = found["scores"]
    assert (first["matches"], first["won"], first["opponent_faults"]) == (3, 3, 3)
    assert (second["matches"], second["won"]) == (6, 6)
    assert found["left_out"] == [bad]
    assert f"{bad}: failed three times in a row" in err
    assert "out of memory" in err


def test_ctrl_c_keeps_the_finished_matches(tmp_path: Path) -> None:
    out = tmp_path / "m.jsonl"
    hangs, resigns = engine(tmp_path, "hang", 1), engine(tmp_path, "resign", 1)
    words = [engine(tmp_path), "--against", resigns, "--against", hangs, "--matches", "2", "-o", str(out)]
    rules = ["--size", "5", "--referee", "none", "--quiet"]
    command = [sys.executable, "-m", "ludus.cli", "go", "match", *words, *rules]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60.0
        while time.monotonic() < until and (not out.exists() or out.read_bytes().count(b"\n") < 3):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        text, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "100.0%" in text
    assert f"interrupted: 2 of 4 matches were over; the same command plays the others: {out}" in error
    assert out.read_bytes().count(b"\n") == 3
    listed = subprocess.run(["ps", "-A", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in listed


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("tactical",), "missing an opponent"),
        (("tactical", "--against", "tacticl"), "did you mean tactical?"),
        (("tactical", "--against", "/nowhere/gnugo --mode gtp"), "No such file"),
        (("tactical", "--against", "random", "--against", "random"), "given twice"),
        (("tactical", "--against", "a 'b"), "No closing quotation"),
        (("tactical", "--gnugo", "11"), "--gnugo"),
        (("tactical", "--against", "random", "--time", "5", "--move-time", "2"), "one of the two"),
        (("tactical", "--against", "random", "--size", "30"), "--size"),
    ],
)
def test_mistakes_are_one_sentence(capsys: Capture, words: tuple[str, ...], text: str) -> None:
    sentence = refused(capsys, *words, "--referee", "none", "--quiet")
    assert text in sentence
    assert "it has ended" not in sentence


def test_a_missing_gnu_go_is_named_with_its_package(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matches, "gnu_go_found", lambda: False)
    for words in (("tactical", "--gnugo", "1"), ("tactical", "--against", "gnugo:3")):
        assert "apt install gnugo" in refused(capsys, *words)


@pytest.mark.skipif(not GNU_GO, reason="needs GNU Go")
def test_gnu_go_is_an_opponent_by_its_level(capsys: Capture) -> None:
    words = "random --gnugo 1 --matches 1 --size 5 --move-time 5 --quiet --json".split()
    assert main(["go", "match", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["conditions"]["referee"] == "gnugo"
    assert [(s["against"], s["lost"]) for s in found["scores"]] == [("gnugo:1", 1)]

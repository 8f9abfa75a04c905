"""Errors under ``--json``: one document on stdout, the message on stderr as always."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ludus.cli.__main__ import main

WRONG = '[game]\nname = "tic_tac_toe"\n[run]\nseed = -1\nlag = "pipeline"\n'


def test_every_mistake_has_its_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(WRONG)
    words = ["train", "mine.toml", "--pool.slots", "x", "--learning-rte", "1"]
    assert main(words) == 2
    text = capsys.readouterr()
    assert main([*words, "--json"]) == 2
    out, err = capsys.readouterr()
    assert (text.out, text.err) == ("", err)
    document = json.loads(out)
    assert document["error"] == err.rstrip()
    found = {p["path"]: (p["value"], p["near"], p["where"]) for p in document["problems"]}
    assert found == {
        "run.seed": (-1, [], ["mine.toml"]),
        "run.lag": ("pipeline", ["pipelined"], ["mine.toml"]),
        "pool.slots": ("x", [], ["--pool.slots"]),
        "learning-rte": (None, ["algorithm.learning_rate"], ["--learning-rte"]),
    }
    assert [p["message"] for p in document["problems"]] == err.splitlines()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["eval", "simple", "--json"], "simple: bots do not determine the game, name one (--game)"),
        (["eval", "--jsn", "--json"], "ludus eval: unknown option --jsn (did you mean --json?)"),
        (["resume", "nowhere", "--json"], "nowhere"),
    ],
)
def test_other_errors_have_a_document_too(
    words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert json.loads(capsys.readouterr().out)["error"].startswith(error)


def test_a_result_stays_the_only_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["signature", "--expect", "0", "--json"]) == 3
    out, err = capsys.readouterr()
    assert "error" not in json.loads(out)
    assert err

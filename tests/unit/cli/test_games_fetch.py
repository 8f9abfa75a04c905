"""``ludus games fetch`` through a package client without a network."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ludus.cli.__main__ import main
from ludus.games.adapters.vizdoom import fetched
from tests.tiny_wheel import CONTENTS, Client, made

NAME = "vizdoom-scenarios"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    files, wheel = made(tmp_path)
    client = Client(wheel)
    monkeypatch.setattr(fetched, "manifest", lambda: files)
    monkeypatch.setenv("LUDUS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(subprocess, "run", client)
    return client


def printed(words: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> tuple[str, str]:
    assert main(["games", "fetch", *words]) == code
    streams = capsys.readouterr()
    return streams.out, streams.err


def test_it_downloads_once_and_repairs(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data" / NAME
    assert "not fetched" in printed([], capsys)[0]
    out, err = printed([NAME], capsys)
    assert out.startswith(f"{NAME}: 3 of 3 files written, of tiny-games 1.0 (MIT): {folder}\n")
    assert "tiny-games 1.0 (MIT) is being downloaded" in err
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == CONTENTS
    out, err = printed([NAME], capsys)
    assert (out, err) == (f"{NAME}: all 3 files are there: {folder}\n", "")
    (folder / "a.wad").unlink()
    assert "2 of 3 files" in printed([], capsys)[0]
    assert "1 of 3 files written" in printed([NAME], capsys)[0]


def test_it_takes_a_wheel(client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert client.wheel is not None
    out, err = printed([NAME, "--from", str(client.wheel), "--json"], capsys)
    document = json.loads(out)
    assert (document["written"], document["state"], document["faults"]) == (list(CONTENTS), "fetched", {})
    assert (document["licence"], document["scenarios"]) == ("MIT", ["a"])
    assert err == ""
    assert client.words == [], "nothing was downloaded"
    (row,) = json.loads(printed(["--json"], capsys)[0])
    assert row["state"] == "fetched"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["vizdoom"], "nothing is called vizdoom (did you mean vizdoom-scenarios?)"),
        (["atari"], "nothing is called atari (names: vizdoom-scenarios)"),
        (["--from", "x"], "--from needs NAME (names: vizdoom-scenarios)"),
        ([NAME, "--from", "nowhere.whl"], "nowhere.whl: No such file or directory; expected a wheel"),
        ([NAME, "--from", "/dev/zero"], "/dev/zero: not a regular file"),
        ([NAME, "--form", "x"], "unknown option --form (did you mean --from?)"),
    ],
)
def test_mistakes_end_with_exit_code_2(
    client: Client, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    out, err = printed(words, capsys, 2)
    assert message in err
    assert err.count("\n") == 1
    assert out == ""


def test_without_a_network_the_reason_and_the_way_out_are_named(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client.wheel, client.text = None, "ERROR: NewConnectionError"
    out, err = printed([NAME, "--json"], capsys, 2)
    assert (
        "no connection to the package index; with a network elsewhere: pip download"
        in json.loads(out)["error"]
    )
    assert "--from WHEEL" in err
    assert list((tmp_path / "data").iterdir()) == []


def test_the_manifest_has_hashes_of_small_names_only() -> None:
    files = fetched.manifest()
    assert files.licence == "MIT"
    assert "LICENSE" in {file.name for file in files.files}
    for stem, needed in files.maps.items():
        assert files.file(f"{stem}.cfg").bytes < 4096
        assert files.file(needed).member.startswith("sf_examples/vizdoom/doom/scenarios/")
    assert len({file.name for file in files.files}) == len(files.files)

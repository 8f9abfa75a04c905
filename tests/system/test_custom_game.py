"""A game outside the tree builds against the package, conforms, plays in a pool and can be learned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ludus.cli import __main__ as cli
from ludus.games import check_game, find, registry, replays, spec
from ludus.games.match import Match
from ludus.games.names import typed
from ludus.native import GameError, ParamError, cmake_dir
from ludus.web.serve.server import PageServer
from tests.conftest import require_program

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "custom_game"

# Compiling takes a minute on a quiet machine, and several where CI does other things beside it.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    """Yield a patch that ends with this file."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def foragers(
    tmp_path_factory: pytest.TempPathFactory, cxx: str, monkeypatch_module: pytest.MonkeyPatch
) -> Path:
    """Return a folder with the compiled module, built as a user would build it.

    A process knows a game by its name once it has loaded it; other tests must not see this one.
    """
    monkeypatch_module.setattr(registry, "_loaded", {})
    build = tmp_path_factory.mktemp("foragers") / "build"
    cmake = require_program(("cmake",), "cmake")
    settings = {
        "Python_EXECUTABLE": sys.executable,
        "CMAKE_CXX_COMPILER": cxx,
        "ludus_ROOT": str(cmake_dir()),
    }
    commands = [
        [cmake, "-S", str(EXAMPLE), "-B", str(build), *(f"-D{k}={v}" for k, v in settings.items())],
        [cmake, "--build", str(build), "--parallel", str(os.cpu_count() or 1)],
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return build


def ludus(*arguments: str) -> dict[str, object]:
    """Run one command with ``--json`` and return its document."""
    command = [sys.executable, "-m", "ludus.cli", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


def test_a_custom_game_is_found_by_its_path_and_then_by_its_name(foragers: Path) -> None:
    assert find(typed(str(foragers))).name == "foragers"
    assert spec("foragers", {"gems": 2}).title == "Foragers"
    with pytest.raises(ParamError, match=r"unknown parameter 'gem' \(did you mean gems\?\)"):
        spec("foragers", {"gem": 2})


def test_a_custom_game_keeps_the_contract(foragers: Path) -> None:
    report = check_game(typed(str(foragers)), matches=10)
    assert [f for f in report.findings if not f.passed] == []


def test_matches_of_a_custom_game_have_replays(foragers: Path) -> None:
    data = replays.record(typed(str(foragers)), bots=["greedy", "random"], seed=4)
    assert replays.info(data).game == "foragers"
    assert replays.verify(data).same
    last = json.loads(replays.frames(data, 1000)[-1])
    assert last["over"]
    assert len(last["grid"]) == 7


def test_a_custom_game_is_played_move_by_move(foragers: Path) -> None:
    match = Match(typed(str(foragers)), seed=4, record=True)
    while not match.over:
        for seat in match.to_act:
            match.bot(seat, "greedy")
        match.advance()
    copy = match.clone()
    assert copy.hash == match.hash
    assert copy.tick == match.tick > 0
    assert match.observe(0).keys() == {t.name for t in match.spec.observation}
    assert replays.verify(match.replay()).same
    with pytest.raises(GameError):
        match.bot(0, "greedy")


def test_a_person_plays_a_custom_game(
    foragers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ends(server: PageServer) -> None:
        server.matches.stop(5)
        server.close()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PageServer, "run", ends)
    assert cli.main(["play", "greedy", "--game", str(foragers), "--no-browser"]) == 130
    said = capsys.readouterr().err.splitlines()
    assert said == [f"{foragers}: person, greedy; Ctrl-C ends the server", "the server has stopped"]


@pytest.mark.slow
def test_a_minute_of_training_beats_its_random_bot(foragers: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = ludus(
        *("train", str(EXAMPLE / "foragers.toml"), "--game.name", str(foragers), "--run-dir", str(run)),
        *("--run.max-minutes", "1", "--evaluation.against", "random", "--quiet"),
    )
    final = result["final"]
    assert isinstance(final, list)
    assert [e["against"] for e in final] == ["random"]
    assert final[0]["ci_low"] > 0.6, final

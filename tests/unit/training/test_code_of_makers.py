"""Every command that makes a run records the code that its user named: the commands that it prints work."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import ludus
from ludus.cli.__main__ import main
from ludus.storage import RunDirectory
from tests.unit.forget import forget
from tests.unit.training.test_run_code import ENVIRONMENT, TOML, write_game

ENVS = f"{ENVIRONMENT}\ngymnasium.register('Makers-v0', entry_point=Coin)\n"
SETTINGS = ("--evaluation.every-steps", "0", "--evaluation.final-matches", "0")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    forget(monkeypatch)
    write_game(Path("coin.py"))
    Path("coin_makers.py").write_text(ENVS)
    Path("t.toml").write_text(TOML)
    yield tmp_path
    forget(monkeypatch)


def printed(text: str, start: str) -> list[str]:
    """Return the words of the printed command that starts like this, without ``ludus``."""
    (line,) = [part.strip() for part in text.splitlines() if part.strip().startswith(start)]
    return shlex.split(line)[1:]


def operate(game: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Train, operate, and paste what is printed, each as a new process does."""
    named = ("--game.name", game, *SETTINGS)
    assert main(["train", "t.toml", "--run-dir", "first", "--quiet", *named]) == 0
    forget(monkeypatch)
    capsys.readouterr()
    rate = ("--algorithm.learning-rate", "1e-4", "--run.max-steps", "128")
    words = ("surgery", "first@last", "--to", "t.toml", "--run-dir", "second")
    assert main([*words, *named, *rate]) == 0
    command = printed(capsys.readouterr().out, "ludus resume")
    assert command == ["resume", "second"]
    forget(monkeypatch)
    code = main(command)
    shown = capsys.readouterr()
    assert code == 0, shown.err
    evaluation = printed(shown.out, "ludus eval")
    forget(monkeypatch)
    evaluation[evaluation.index("--matches") + 1] = "2"
    assert main(evaluation) == 0
    assert RunDirectory.open(Path("second")).info().code == RunDirectory.open(Path("first")).info().code != ()


def test_surgery_on_a_run_of_an_environment_resumes_as_printed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    operate("gymnasium/coin_makers:Makers-v0", monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("game", ["./coin.py", "coin:Coin"])
def test_surgery_on_a_run_of_a_game_in_python_resumes_as_printed(
    game: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    operate(game, monkeypatch, capsys)


def test_every_maker_of_a_run_records_its_code() -> None:
    root = Path(ludus.__file__).parent
    makers = {
        str(path.relative_to(root)): text
        for path in root.rglob("*.py")
        if "RunInfo(\n" in (text := path.read_text("utf-8")) or "RunDirectory.create" in text
    }
    assert {"training/runs.py", "training/surgery/operate.py"} <= makers.keys()
    for name, text in makers.items():
        if name != "storage/rundir.py":
            assert "why_not_recorded(" in text, name
            assert "code=code_files(" in text, name

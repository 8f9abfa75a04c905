"""Files that a run's code and rules come from: recorded, compared when it is resumed, shown in its report."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ludus.cli.__main__ import main
from ludus.flow.process.code_files import CodeChange, CodeFile, applied, changed, sha256_of
from ludus.games import hosted, names, sources
from ludus.presets.file import load_preset
from ludus.reporting.changes import Change, code_in_words, code_marks, read_changes
from ludus.storage import RunDirectory, RunInfo
from ludus.sweep.report import read_report, write_sweep_report
from ludus.training import run_code
from tests.unit.forget import forget
from tests.unit.training.runs import resume_run

from .runs import Recorder

GAME = '''
"""A coin: the choice 1 earns 1, eight times."""
from ludus.games.python_game import declare, tensor
from ludus.flow import HeadSpec
{imports}
class Coin:
    truncated = False
    spec = declare("coin", observation=[tensor("ticks", (1,))], heads=[HeadSpec("side", 2)])

    def reset(self, seed):
        self.tick = 0

    def to_act(self):
        return (0,)

    def step(self, actions):
        self.tick, self.last = self.tick + 1, int(actions[0][0])
        return self.tick == 8

    def rewards(self, out):
        out[0] = {reward}

    def outcome(self, out):
        out[0] = 0.0

    def observe(self, seat, out):
        out["ticks"][0] = self.tick / 8

GAME = Coin
'''
TOML = """
[game]
name = "./coin.py"
[pool]
slots = 4
groups = 1
rollout_length = 16
[policy]
dense = []
hidden = [8]
[algorithm]
minibatches = 1
learning_rate_schedule = "linear"
[evaluation]
every_steps = 64
matches = 2
final_matches = 2
initial = false
[run]
max_steps = 64
threads = 1
"""
INFO = RunInfo(schema=1, package_version="", game="rts", spec_hash="", seed=1, started="", command=())


def write_game(path: Path, reward: str = "self.last", imports: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(GAME.format(reward=reward, imports=imports))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    forget(monkeypatch)
    write_game(Path("coin.py"))
    Path("t.toml").write_text(TOML)
    yield tmp_path
    hosted._maker.cache_clear()
    for name in [n for n in sys.modules if n.startswith(("ludus_game_file_", "coin"))]:
        del sys.modules[name]


def test_a_changed_game_is_reported_recorded_and_marked_on_the_curve(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "t.toml", "--run-dir", "run", "--quiet"]) == 0
    (file,) = RunDirectory.open(Path("run")).info().code
    before = sha256_of(Path("coin.py"))
    assert file == CodeFile("game.name", "coin.py", str(folder / "coin.py"), before)

    forget(monkeypatch)
    write_game(Path("coin.py"), reward="1 - self.last")
    after = sha256_of(Path("coin.py"))
    recorder = Recorder()
    larger = load_preset("t.toml", {"run.max_steps": "128"}).preset
    resume_run(Path("run"), sinks=[recorder], more=lambda _: larger)
    (line,) = [m for m in recorder.messages if "has changed" in m]
    assert line == (
        f"game.name: {folder / 'coin.py'} has changed since the run was trained last (sha256 "
        f"{before[:12]}, now sha256 {after[:12]}); the run continues with the code as it is now"
    )
    (schedule,) = [m for m in recorder.messages if m.startswith("schedules run over")]
    assert "algorithm.learning_rate was 0 and continues from 0.00025" in schedule
    (change,) = read_changes(RunDirectory.open(Path("run")))
    assert change.code == (CodeChange("game.name", "coin.py", str(folder / "coin.py"), before, after),)
    assert change.steps == 64
    assert change.schedules["algorithm.learning_rate"] == (0.0, 0.00025)

    text = Path("run/report.md").read_text()
    assert "| 64 | coin.py changed | |" in text
    assert f"now sha256 {after[:12]}" in text
    assert "after 64 decisions" in text
    assert "coin.py changed, at 64 decisions" in Path("run/report.svg").read_text()
    assert "coin.py changed" in Path("run/report.html").read_text()
    written = {path.name: path for path in write_sweep_report(read_report([Path("run")]), folder / "out")}
    (result,) = json.loads(written["results.json"].read_text())["runs"]
    assert result["changes"][0]["code"][0]["after"] == after
    assert result["code"][0]["sha256"] == after
    assert "## Changed code" in written["report.md"].read_text()
    curve = written["returns.svg" if "returns.svg" in written else "curves.svg"]
    assert "coin.py changed, at 64 decisions" in curve.read_text()

    # The next resume compares with this one.
    forget(monkeypatch)
    capsys.readouterr()
    assert main(["resume", "run", "--run.max-steps", "128"]) == 0
    assert "has changed" not in capsys.readouterr().err
    assert len(read_changes(RunDirectory.open(Path("run")))) == 1
    forget(monkeypatch)
    write_game(Path("coin.py"))
    words = ("eval", "run@last", "--game", "./coin.py", "--matches", "2")
    assert main(words) == 0
    note = " ".join(capsys.readouterr().err.split())
    assert note.count("has changed since the run was trained last") == 1
    assert "these matches are played by the game as it is now" in note


# ---- which files ---------------------------------------------------------------------------------------


def files_of(game: str, **params: str) -> dict[str, Path]:
    return sources.game_files(names.typed(game), params)


def test_built_in_games_have_no_files(folder: Path) -> None:
    assert sources.game_files("tic_tac_toe") == {}


def test_a_file_brings_the_modules_beside_it_that_it_imports(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("coin_rules.py").write_text("import json\nfrom coin_more.rates import RATE\n")
    Path("coin_more").mkdir()
    Path("coin_more/__init__.py").write_text("")
    Path("coin_more/rates.py").write_text("RATE = 1\n")
    Path("coin_unused.py").write_text("")
    monkeypatch.syspath_prepend(str(folder / "venv" / "site-packages"))
    write_game(Path("venv/site-packages/coin_installed.py"))
    write_game(Path("coin.py"), imports="import coin_installed, numpy, json\nfrom coin_rules import RATE")
    expected = {"coin.py", "coin_rules.py", "coin_more/__init__.py", "coin_more/rates.py"}
    assert set(files_of(f"{folder}/coin.py")) == expected
    forget_modules()
    assert set(files_of("coin:Coin")) == expected


def forget_modules() -> None:
    for name in [n for n in sys.modules if n.startswith(("ludus_game_file_", "coin"))]:
        del sys.modules[name]


def test_a_package_is_all_of_its_modules(folder: Path) -> None:
    write_game(Path("coins/flat.py"))
    Path("coins/__init__.py").write_text("")
    Path("coins/rules.py").write_text("")
    Path("coins/read.txt").write_text("")
    found = files_of("coins.flat:Coin")
    assert found == {f"coins/{n}": folder / "coins" / n for n in ("__init__.py", "flat.py", "rules.py")}


ENVIRONMENT = """
import gymnasium, numpy as np

class Coin(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), 1.0, True, False, {}
"""


def test_an_environment_is_the_modules_that_register_and_define_it(folder: Path) -> None:
    Path("coin_class.py").write_text(ENVIRONMENT)
    Path("coin_envs.py").write_text(
        "import gymnasium\ngymnasium.register('RunCode-v0', entry_point='coin_class:Coin')\n"
    )
    assert set(files_of("gymnasium/coin_envs:RunCode-v0")) == {"coin_envs.py", "coin_class.py"}
    (installed,) = files_of("gymnasium/CartPole-v1").items()
    assert installed[0] == "gymnasium/envs/classic_control/cartpole.py"
    assert installed[1].is_file()


def test_teacher_and_rulebook_are_among_the_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bot.py").write_text("class Bot:\n    def decide(self, view):\n        return 0\n")
    teacher = {"game.name": "tic_tac_toe", "algorithm.name": "imitation", "algorithm.teacher": "./bot.py"}
    preset = load_preset("t.toml", teacher | {"run.max_steps": "1"}).preset
    (file,) = run_code.code_files(preset)
    assert (file.setting, file.path) == ("algorithm.teacher", str(folder / "bot.py"))
    assert file.sha256 == sha256_of(Path("bot.py"))

    Path("book.toml").write_text('extends = "extended"\n')
    rules = load_preset("t.toml", {"game.name": "rts", "game.params.rulebook": "book.toml"}).preset
    (book,) = run_code.code_files(rules)
    assert (book.setting, book.name, book.path) == (
        "game.params.rulebook",
        "book.toml",
        str(folder / "book.toml"),
    )
    assert book.sha256 == sha256_of(Path("book.toml"))


def test_a_changed_rulebook_is_reported_and_the_run_keeps_its_rules(folder: Path) -> None:
    Path("book.toml").write_text('extends = "extended"\n')
    preset = load_preset("t.toml", {"game.name": "rts", "game.params.rulebook": "book.toml"}).preset
    path = str(folder / "book.toml")
    before = run_code.code_files(preset)
    run = RunDirectory.create(Path("made"), "", msgspec.structs.replace(INFO, code=before))
    Path("book.toml").write_text('extends = "extended"\n# another line\n')
    assert run_code.changed_code(run, preset, ()) == ()  # a path of a run's files is not read
    (change,) = run_code.changed_code(run, preset, (path,))
    assert change.kept
    assert change.after == sha256_of(Path("book.toml"))
    (line,) = code_in_words(Change("", (), code=(change,)))
    assert line.endswith("; the run keeps the rules that it has")
    assert code_marks([Change("", (), code=(change,))]) == []


# ---- what has changed ----------------------------------------------------------------------------------


def code(setting: str, **hashes: str) -> list[CodeFile]:
    return [CodeFile(setting, f"{name}.py", f"/{name}.py", digest) for name, digest in hashes.items()]


def test_files_are_compared_by_setting_and_name() -> None:
    then = [*code("game.name", a="1", b="2"), *code("algorithm.teacher", bot="3")]
    assert changed(then, then) == ()
    now = [*code("game.name", a="1", b="5", c="6"), *code("algorithm.teacher", renamed="3")]
    found = changed(then, now)
    assert [(c.name, c.before, c.after) for c in found] == [("b.py", "2", "5"), ("c.py", "", "6")]
    files = tuple(then)
    for change in found:
        files = applied(files, change)
    assert changed(files, now) == ()
    gone = changed(then, code("game.name", a="1"))
    assert [(c.name, c.before, c.after) for c in gone] == [("b.py", "2", "")]
    assert changed(code("game.name", a="1"), code("game.name", moved="2"))[0].path == "/moved.py"
    assert changed([], now) == ()  # a run of an older version


def test_several_files_of_a_setting_are_one_line_and_one_mark() -> None:
    files = changed(code("game.name", a="1", b="2"), code("game.name", a="3", b="4"))
    change = Change("", (), steps=4096, code=files)
    (line,) = code_in_words(change)
    assert line.startswith("game.name: /a.py has changed (and 1 more of its files) since")
    assert code_marks([change]) == [(4096, "a.py and 1 more changed")]

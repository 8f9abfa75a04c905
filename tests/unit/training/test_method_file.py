"""A learning method from a file: ``--method ./reinforce.py``."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ludus
from ludus.algorithms import registry
from ludus.cli.__main__ import main
from ludus.games import names
from ludus.presets import method_file
from ludus.presets.errors import ConfigError
from ludus.presets.file import load_preset
from ludus.storage import RunDirectory, StorageError
from ludus.sweep.directory import SweepDirectory
from ludus.sweep.loop import next_command
from ludus.sweep.plan import PlannedRun

from .runs import TOML, reproducible_rows
from .test_runs import last_weights, same_weights

EXAMPLE = Path(__file__).parents[3] / "examples" / "reinforce.py"
SMALL = TOML.replace("every_steps = 500", "every_steps = 0").replace("1600", "600")
MORE = ("--run.max-steps", "900", "--quiet")


def forget(patch: pytest.MonkeyPatch) -> None:
    """Make this process know no method and no name, as a new process does."""
    for name in ("_registered", "_found"):
        patch.setattr(registry._METHODS, name, {})
    patch.setattr(method_file, "_loaded", {})
    patch.setattr(names, "_typed", set())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the current folder, with the example and a small preset."""
    monkeypatch.chdir(tmp_path)
    forget(monkeypatch)
    shutil.copy(EXAMPLE, "reinforce.py")
    Path("small.toml").write_text(SMALL)
    yield tmp_path
    for name in [n for n in sys.modules if n.startswith("ludus_method_")]:
        del sys.modules[name]


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a finished run of the example, in a process that no longer knows it."""
    assert main(["train", "small.toml", "--method", "reinforce.py", "--run-dir", "run", "--quiet"]) == 0
    forget(monkeypatch)
    return Path("run")


def ended(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Return exit code and stderr of one command."""
    capsys.readouterr()
    code = main(words)
    return code, capsys.readouterr().err


# ---- training, resuming, playing ---------------------------------------------------------------------


@pytest.mark.slow
def test_its_minibatches_are_divided_among_processes_that_load_the_file(folder: Path) -> None:
    text = Path("reinforce.py").read_text()
    assert "METHOD = Method(" in text
    Path("reinforce.py").write_text(text.rstrip().removesuffix(")") + ", divides=True)\n")
    for threads in ("1", "2"):
        parts = ("--algorithm.parts", "2", "--run.threads", threads)
        words = ("train", "small.toml", "--method", "reinforce.py", "--run-dir", threads, "--quiet")
        assert main([*words, *parts]) == 0
    assert same_weights(last_weights(Path("1")), last_weights(Path("2")))


KILLED = """
import os, signal, ludus

def kill(metrics):
    if metrics.version == 4:
        os.kill(os.getpid(), signal.SIGKILL)

often = {"run.checkpoint_every_minutes": 1e-7}
ludus.train("small.toml", "killed/run", method="./reinforce.py", settings=often, callback=kill)
"""


def test_a_method_of_sixty_lines_trains_is_killed_resumes_and_plays(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(EXAMPLE.read_text("utf-8").splitlines()) <= 60
    killed = Path("killed/run")
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert RunDirectory.open(killed).status().state == "lost"

    assert ended(capsys, "resume", str(killed), "--quiet") == (0, "")
    words = ("train", "small.toml", "--method", "reinforce.py", "--run-dir", "whole/run", "--quiet")
    assert main([*words, "--run.checkpoint-every-minutes", "1e-7"]) == 0
    assert same_weights(last_weights(killed), last_weights(Path("whole/run")))
    assert reproducible_rows(killed / "metrics.jsonl") == reproducible_rows(Path("whole/run/metrics.jsonl"))

    assert ended(capsys, "eval", f"{killed}@last", "--against", "random", "--matches", "10") == (0, "")
    assert "reinforce" in (killed / "report.md").read_text()


def test_the_python_api_trains_and_resumes_by_a_method_from_a_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ludus.train("small.toml", "run", method="reinforce.py", settings={"algorithm.baseline": False})
    assert result.steps >= 600
    assert "baseline = false" in Path("run/config.toml").read_text()
    forget(monkeypatch)
    shutil.copytree("run", "moved")
    with pytest.raises(ConfigError, match=r"name it yourself: method=FILE\.py"):
        ludus.resume("moved")
    assert ludus.resume("moved", method=Path("reinforce.py")).steps == result.steps


def test_a_preset_object_has_its_method_already(folder: Path) -> None:
    with pytest.raises(ConfigError, match="method: only with a preset's name or file"):
        ludus.train(load_preset("small.toml").preset, "run", method="reinforce.py")
    assert not Path("run").exists()


def test_a_file_changes_a_preset_of_another_method_by_name_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("train", "small.toml", "--method", "reinforce.py", "--explain")
    assert main(words) == 0
    assert 'name = "reinforce"' in capsys.readouterr().out
    assert main([*words, "--algorithm.name", "a2c"]) == 0
    assert 'name = "a2c"' in capsys.readouterr().out
    code, message = ended(capsys, *words, "--algorithm.clip-value", "0.1")
    assert code == 2
    assert 'this key needs algorithm.name = "appo", here it is "reinforce"' in message


def test_training_speed_of_a_method_from_a_file_is_measured(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("bench", "train", "small.toml", "--method", "reinforce.py", "--seconds", "0.2", "--json")
    assert main(words) == 0
    assert '"steps_per_s"' in capsys.readouterr().out


# ---- trust ---------------------------------------------------------------------------------------------


def test_a_run_records_the_file_and_its_hash(run: Path, folder: Path) -> None:
    info = RunDirectory.open(run).info()
    assert info.method == str(folder / "reinforce.py")
    assert info.method_sha256 == method_file.load_method(names.typed("reinforce.py")).sha256


def test_a_run_started_here_resumes_without_the_option(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(capsys, "resume", "run", *MORE) == (0, "")


def test_a_run_from_elsewhere_runs_no_file_until_the_user_names_it(
    run: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    marker = folder / "marker"
    source = Path("reinforce.py").read_text()
    Path("reinforce.py").write_text(f"{source}\nfrom pathlib import Path\nPath({str(marker)!r}).touch()\n")
    run.rename("moved")
    for words in (
        ("resume", "moved", *MORE),
        ("eval", "moved@best", "--against", "random", "--matches", "2"),
        ("rate", "moved@best", "random", "--matches", "2"),
        ("report", "moved"),
    ):
        code, message = ended(capsys, *words)
        assert code == (2 if words[0] == "resume" else 0)
        assert ("--method FILE.py" in message) == (words[0] == "resume")
    assert not marker.exists()
    code, message = ended(capsys, "resume", "moved", *MORE, "--method", "reinforce.py")
    assert code == 0, message
    assert marker.exists()
    forget(monkeypatch)
    marker.unlink()
    assert ended(capsys, "resume", "moved", "--run.max-steps", "1200", "--quiet")[0] == 0
    assert marker.exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [("gamma", ""), ("learning_rate = 0.0005", "learning_rate = 0.0006"), ('"reinforce"', '"other"')],
)
def test_a_configuration_that_was_changed_runs_no_file(
    before: str, after: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The code is called with the settings."""
    config = run / "config.toml"
    text = config.read_text()
    changed = text.replace(before, after) if after else text.replace("[algorithm]", "[algorithm]\nextra = 1")
    assert changed != text
    config.write_text(changed)
    code, message = ended(capsys, "resume", "run", *MORE)
    assert (code, message.count("\n")) == (2, 1)
    assert "name it yourself: --method FILE.py" in message


def test_a_file_that_changed_is_reported(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("reinforce.py").write_text(Path("reinforce.py").read_text() + "\n# another line\n")
    code, message = ended(capsys, "resume", "run", "--run.max-steps", "900")
    assert code == 0
    text = " ".join(message.split())  # lines are wrapped to the terminal's width
    assert "reinforce.py has changed since the run was trained last (sha256 " in text
    assert "the run continues with the code as it is now" in text


def test_a_file_that_is_gone_or_holds_another_method_is_refused(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = Path("reinforce.py").read_text()
    Path("other.py").write_text(source.replace('tag="reinforce"', 'tag="other"'))
    Path("reinforce.py").unlink()
    code, message = ended(capsys, "resume", "run", *MORE)
    assert code == 2
    assert message.startswith("run: its method's file /")
    assert "no such file" in message
    code, message = ended(capsys, "resume", "run", *MORE, "--method", "other.py")
    assert code == 2
    assert message == (
        "--method other.py: holds the method other; expected reinforce, by which run was trained\n"
    )


def test_a_name_that_no_user_gave_loads_nothing(folder: Path) -> None:
    with pytest.raises(ConfigError, match="a name read from a file loads no code"):
        method_file.load_method("reinforce.py")


def test_a_record_of_another_user_is_refused(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = Path("state")
    shutil.copytree(os.environ["LUDUS_STATE_DIR"], state)
    monkeypatch.setenv("LUDUS_STATE_DIR", str(state))
    state.chmod(0o777)
    with pytest.raises(StorageError, match="another user may write it"):
        ludus.resume(run)


# ---- files that hold no method -----------------------------------------------------------------------

SETTINGS = """\
from ludus.algorithms.config import ActorCriticConfig
from ludus.algorithms.registry import Method
"""
BAD: dict[str, tuple[str | bytes, str]] = {
    "a syntax error": ("x = 1\nclass Config(:\n", "line 2: invalid syntax"),
    "no method": ("x = 1\n", "has no METHOD; expected a last line METHOD = Method(MyConfig, make_learner)"),
    "an error": ("x = 1\n1 / 0\n", "line 2: ZeroDivisionError: division by zero"),
    "an exit": ("raise SystemExit(3)\n", "line 1: SystemExit: 3"),
    "a missing module": ("import nowhere_to_be_found\n", "line 1: ModuleNotFoundError: No module named"),
    "bytes that are no text": (b"\xff\xfe\x00", ""),
    "a null byte": (b"x = 1\n\x00\n", "null bytes"),
    "a number": ("METHOD = 3\n", "METHOD is of type int, expected a ludus.algorithms.registry.Method"),
    "a class": ("class METHOD:\n    pass\n", "METHOD is METHOD, expected a ludus.algorithms.registry.Method"),
    "no settings": (
        f"{SETTINGS}METHOD = Method(dict, print)\n",
        "METHOD has config = dict, expected a class that extends MethodConfig",
    ),
    "no learner": (
        f"{SETTINGS}class C(ActorCriticConfig, frozen=True, tag='x'):\n    pass\nMETHOD = Method(C, 3)\n",
        "METHOD has learner = of type int, expected a function or module:attribute",
    ),
    "a learner of other arguments": (
        f"{SETTINGS}class C(ActorCriticConfig, frozen=True, tag='x'):\n    pass\n"
        "def make(config, network):\n    pass\n"
        "METHOD = Method(C, make)\n",
        "METHOD has a learner make: too many positional arguments; expected make(config, network, context)",
    ),
    "a field of another type": (
        f"{SETTINGS}class C(ActorCriticConfig, frozen=True, tag='x'):\n    pass\n"
        "METHOD = Method(C, print, topologies=('one_to_one'))\n",
        "METHOD has topologies = 'one_to_one', expected a tuple of strings",
    ),
    "checks that are no function": (
        f"{SETTINGS}class C(ActorCriticConfig, frozen=True, tag='x'):\n    pass\n"
        "METHOD = Method(C, print, checks=True)\n",
        "METHOD has checks = of type bool, expected a function or module:attribute",
    ),
    "settings of a type that is not there": (
        f"{SETTINGS}class C(ActorCriticConfig, frozen=True, tag='x'):\n    depth: 'Nowhere' = 1\n"
        "METHOD = Method(C, print)\n",
        "types of C: name 'Nowhere' is not defined",
    ),
    "settings that no preset holds": (
        f"{SETTINGS}class C(ActorCriticConfig, frozen=True, tag='x'):\n    depth: object = 1\n"
        "METHOD = Method(C, print)\n",
        "C.depth: a preset holds no value of this type; expected bool, int, float, str, ",
    ),
    "a name that is a number": (
        f"{SETTINGS}class C(ActorCriticConfig, frozen=True, tag=3):\n    pass\nMETHOD = Method(C, print)\n",
        'METHOD has tag = 3, expected class C(..., tag="my_method")',
    ),
    "a name that is taken": (
        f"{SETTINGS}class C(ActorCriticConfig, frozen=True, tag='appo'):\n    pass\n"
        "METHOD = Method(C, print)\n",
        "method 'appo': the name of a method that comes with Ludus",
    ),
    "a name that is none": (
        f"{SETTINGS}class C(ActorCriticConfig, frozen=True, tag='a b'):\n    pass\n"
        "METHOD = Method(C, print)\n",
        "method 'a b': expected letters, digits and _ - . / as a name",
    ),
    "a player without its keys": (
        f"{SETTINGS}class C(ActorCriticConfig, frozen=True, tag='x'):\n    pass\n"
        "METHOD = Method(C, print, teaches='player')\n",
        'METHOD has teaches = "player", expected settings with the key seats',
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_file_without_a_method_is_refused(
    kind: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, expected = BAD[kind]
    Path("bad.py").write_bytes(content if isinstance(content, bytes) else content.encode())
    for words in (("train", "small.toml"), ("bench", "train", "small.toml")):
        code, message = ended(capsys, *words, "--method", "bad.py")
        assert (code, message.count("\n")) == (2, 1), message
        assert message.startswith("--method bad.py: ")
        assert expected in message
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("missing.py", "no such file; expected a Python file with a learning method"),
        ("folder", "is a folder, not a regular file; expected a Python file"),
        ("folder.py", "is a folder, not a regular file; expected"),
        ("pipe.py", "not a regular file; expected"),
        ("large.py", "cannot be read ("),
        ("reinforce.txt", "no Python file; expected"),
        ("reinforce", "no Python file; expected"),
        ("dangling.py", "a link to no file; expected"),
        ("loop.py", "cannot be read ("),
        ("nowhere/reinforce.py", "no such file; expected"),
        ("reinforce.py/x.py", "cannot be read ("),
    ],
)
def test_a_path_without_a_file_is_refused(
    kind: str, expected: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("folder").mkdir()
    Path("folder.py").mkdir()
    os.mkfifo("pipe.py")
    Path("large.py").write_text("#" * (method_file.MAX_BYTES + 1))
    Path("reinforce.txt").write_text(Path("reinforce.py").read_text())
    Path("dangling.py").symlink_to("missing.py")
    Path("loop.py").symlink_to("loop.py")
    code, message = ended(capsys, "train", "small.toml", "--method", kind)
    assert (code, message.count("\n")) == (2, 1)
    assert message.startswith(f"--method {kind}: {expected}")


def test_a_link_means_the_file_behind_it(folder: Path) -> None:
    Path("link.py").symlink_to("reinforce.py")
    assert method_file.load_method(names.typed("link.py")).path == str(folder / "reinforce.py")


def test_a_file_is_run_once_and_again_after_a_change(folder: Path) -> None:
    first = method_file.load_method(names.typed("reinforce.py"))
    assert method_file.load_method(names.typed(str(folder / "reinforce.py"))) is first
    Path("reinforce.py").write_text(
        Path("reinforce.py").read_text().replace("baseline: bool = True", "baseline: bool = False")
    )
    second = method_file.load_method("reinforce.py")
    assert second.sha256 != first.sha256
    loaded = load_preset("small.toml", {"algorithm.name": "reinforce"})
    assert not loaded.preset.algorithm.baseline  # type: ignore[attr-defined]


def test_an_error_in_the_code_of_a_method_is_one_of_its_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = Path("reinforce.py").read_text()
    Path("reinforce.py").write_text(source.replace("decisions.entropy.sum()", "decisions.entropie.sum()"))
    words = ("train", "small.toml", "--method", "reinforce.py", "--run-dir", "run", "--quiet")
    code, message = ended(capsys, *words)
    assert code == 1
    assert "entropy = decisions.entropie.sum()" in message
    assert message.splitlines()[-1] == (
        f"the learning method {folder}/reinforce.py failed: the error is in the lines above"
    )


# ---- sweeps -------------------------------------------------------------------------------------------


def test_processes_of_a_sweep_get_the_option_where_their_method_is_from_a_file(folder: Path) -> None:
    file = method_file.load_method(names.typed("reinforce.py"))
    directory = SweepDirectory(folder / "sweep")
    directory.runs.mkdir(parents=True)
    for name, words in (("reinforce", ("--method", file.path)), ("appo", ())):
        settings = {"algorithm.name": name}
        planned = PlannedRun("a", "all", 1, "small.toml", settings)
        preset = load_preset("small.toml", settings).preset
        command = next_command(planned, directory, preset, greedy=False)
        assert command is not None
        given = tuple(w for w in command.words if w in ("--method", file.path))
        assert given == words


def test_a_sweep_with_another_file_is_another_sweep(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("sweep.toml").write_text(
        'preset = "small.toml"\nseeds = [1]\n[settings]\nalgorithm.name = "reinforce"\nrun.max_steps = 128\n'
        "evaluation.final_matches = 4\nevaluation.floor_matches = 4\n"
    )
    words = ("sweep", "sweep.toml", "--quiet", "--run-dir", "sweep", "--workers", "1")
    code, message = ended(capsys, *words)
    assert code == 2
    assert 'algorithm.name = "reinforce": expected one of appo' in message
    code, message = ended(capsys, *words, "--method", "reinforce.py")
    assert code == 0, message
    forget(monkeypatch)
    Path("reinforce.py").write_text(Path("reinforce.py").read_text() + "\n# another\n")
    code, message = ended(capsys, *words, "--method", "reinforce.py")
    assert code == 2
    assert f"the method {folder}/reinforce.py had another content" in message

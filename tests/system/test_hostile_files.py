"""Files of another person never decide which code is loaded.

Everything hostile here leaves a marker when it is loaded. The folder of the commands holds it, as the folder
of a run that was downloaded would.
"""

from __future__ import annotations

import importlib.machinery
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ludus.cli.__main__ import main
from ludus.flow import PoolOptions, decode_spec
from ludus.flow.hosted_replay import HostedReplay
from ludus.games import names
from ludus.games.typed_import import import_typed
from ludus.native import core
from ludus.presets.file import load_preset
from ludus.storage import encode_weights, read_weights
from ludus.training.runs import start_run
from tests.conftest import require_program

PRESET = """\
[game]
name = {game}
params = {params}
[[opponents]]
name = "latest"
[pool]
slots = 8
groups = 1
rollout_length = 8
[policy]
dense = [8]
hidden = [8]
[evaluation]
every_steps = 0
matches = 4
final_matches = 4
against = ["random"]
[run]
max_steps = 200
threads = 1
"""
MARK = "from pathlib import Path\nPath({marker!r}).touch()\n"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "python_games.md"
SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]
SCRIPT = Path(sys.executable).with_name("ludus")

#: Names by what they would load. Every one of them is refused from a file.
HOSTILE = {
    "a function of the library": "timeit:timeit",
    "a module": "evil_module:Game",
    "an end of the process": "os:abort",
    "a file": "./evil_file.py",
    "a file without a folder": "evil_file.py",
    "an absolute path": "{folder}/evil_file.py",
    "a library": f"./evil_library{SUFFIX}",
    "a library's absolute path": f"{{folder}}/evil_library{SUFFIX}",
    "a folder with a library": "./evil_folder",
    "a module with environments": "gymnasium/evil_module:Env-v0",
    "a module of PettingZoo": "pettingzoo/evil_module.sub",
    "another part of PettingZoo": "pettingzoo/test/example_envs",
    "a module of dm_env": "dm_env/evil_module:Game",
    "a scenario": "vizdoom/./evil.cfg",
    "a way up": "gymnasium/../evil_file",
    "a shell": "$(touch marker);`touch marker`|touch marker",
    "an option": "--game=evil_module:Game",
    "control characters": "\x1b[2J\x07evil_module:Game\n",
    "a right-to-left mark": "tic_tac_toe\u202e",
    "a name with an end of line": "tic_tac_toe\n",
    "no end": "e" * 5000,
    "nothing": " ",
}


def mix64(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def checksum(data: bytes) -> bytes:
    """Return the last eight bytes of a replay (``cpp/base/hash.hpp``)."""
    h = 0x6C756475735F6831
    for word in (len(data), *(int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8))):
        h = (mix64(h ^ (word + 0x9E3779B97F4A7C15) % 2**64) + 0x2545F4914F6CDD1D) % 2**64
    return mix64(h).to_bytes(8, "little")


def replay_of(game: str) -> bytes:
    """Return a replay of a Python game, whole and sealed, that bears the name ``game``."""
    data = core.replay_encode(
        HostedReplay(
            game="NAME",
            version=1,
            params={"stmt": "touch marker"},
            seed=0,
            match=0,
            players=["a"],
            heads=1,
            ticks=[],
            seats=[],
            actions=[],
            length=0,
            hash_every=10,
            hashes=[1],
            final_hash=1,
            over=False,
            outcome=[0.0],
            returns=[0.0],
            reproduced=0,
        )
    )
    name, size = game.encode(), b""
    count = len(name)
    while count >= 0x80:
        size, count = size + bytes([count & 0x7F | 0x80]), count >> 7
    body = data[:-8].replace(b"\x04NAME", size + bytes([count]) + name, 1)
    return body + checksum(body)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of tic-tac-toe that is over."""
    folder = tmp_path_factory.mktemp("trained")
    preset = folder / "preset.toml"
    preset.write_text(PRESET.format(game='"tic_tac_toe"', params="{}"))
    start_run(load_preset(str(preset)).preset, folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a shared library that touches ``$MARKER`` when it is loaded."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "evil.c").write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n"
        "__attribute__((constructor)) static void run(void) {\n"
        '  const char* to = getenv("MARKER");\n  if (to) fclose(fopen(to, "w"));\n}\n'
    )
    compiler = require_program(("cc", "gcc", "clang"), "gcc")
    out = folder / "evil.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", out, folder / "evil.c"], check=True)
    return out


@pytest.fixture
def folder(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the current folder, with new code of every kind that leaves ``marker``."""
    marker = tmp_path / "marker"
    code = MARK.format(marker=str(marker))
    for name in ("evil_module", "evil_file"):
        (tmp_path / f"{name}.py").write_text(code + "def Game(*a, **k): ...\nGAME = Game\n")
    for place in (tmp_path, tmp_path / "evil_folder"):
        place.mkdir(exist_ok=True)
        shutil.copy(library, place / f"evil_library{SUFFIX}")
    monkeypatch.setenv("MARKER", str(marker))
    monkeypatch.setattr(names, "_typed", set())
    monkeypatch.syspath_prepend(str(tmp_path))  # worse than any user has it
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not marker.exists()


def make_run(trained: Path, folder: Path, name: str) -> Path:
    """Return the run with ``name`` in its configuration and in the headers of its weights."""
    run = folder / "run"
    shutil.copytree(trained, run)
    (run / "config.toml").write_text(
        PRESET.format(game=json.dumps(name), params="{ stmt = \"import os; os.system('touch marker')\" }")
    )
    for path in run.glob("checkpoints/*/weights.safetensors"):
        weights = read_weights(path)
        spec = msgspec.structs.replace(decode_spec(weights.meta.spec), name=name)
        weights.meta = msgspec.structs.replace(
            weights.meta, game=name, spec=msgspec.json.encode(spec).decode(), spec_hash=spec.spec_hash
        )
        path.write_bytes(encode_weights(weights))
        shutil.copy(path, folder / "copied.safetensors")
    return run


def refused(capsys: pytest.CaptureFixture[str], *words: str, code: int = 2, expected: str = "--game") -> None:
    """Run a command that must end with ``code`` and a message of few and printable characters."""
    capsys.readouterr()
    code_given = main(words)
    output = capsys.readouterr()
    assert code_given == code, f"{words}\n{output.out}\n{output.err}"
    message = output.err + output.out
    assert expected in message, (words, message)
    assert len(message) < 2000
    assert all(c.isprintable() or c == "\n" for c in message), (words, message)


@pytest.mark.parametrize("kind", HOSTILE)
def test_weights_and_runs_load_no_code(
    kind: str, trained: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = HOSTILE[kind].format(folder=folder) if "{folder}" in HOSTILE[kind] else HOSTILE[kind]
    make_run(trained, folder, name)
    for player in ("run@best", "copied.safetensors", "run@last+search:2"):
        refused(capsys, "eval", player, "--against", "random", "--matches", "2")
        refused(capsys, "eval", "random", "--against", player, "--matches", "2")
        refused(capsys, "rate", player, "random", "--matches", "2")
        refused(capsys, "gtp", player, "--quiet", expected="GTP plays go")
    refused(capsys, "rate", "run@all", "random", "--matches", "2")
    refused(capsys, "search", "bench", "./copied.safetensors", expected="not a compiled game module")
    refused(capsys, "resume", "run", "--quiet")
    refused(capsys, "resume", "run", "--run.max-minutes", "1", "--quiet")


def test_damaged_weights_are_refused_with_a_message(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("damaged.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0 nothing")
    for words in (("eval", "--against", "random"), ("rate", "random"), ("gtp",)):
        refused(
            capsys,
            words[0],
            "damaged.safetensors",
            *words[1:],
            expected="damaged.safetensors: not a readable",
        )


@pytest.mark.parametrize("kind", HOSTILE)
def test_replays_load_no_code(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = HOSTILE[kind].format(folder=folder) if "{folder}" in HOSTILE[kind] else HOSTILE[kind]
    Path("match.ludus").write_bytes(replay_of(name))
    capsys.readouterr()
    if main(["replay", "info", "match.ludus"]) != 0:  # the decoder refuses what can be no name at all
        assert "name of the game" in capsys.readouterr().err
        for command in ("verify", "to-html", "to-video"):
            code = 3 if command == "verify" else 2
            refused(capsys, "replay", command, "match.ludus", code=code, expected="name of the game")
        return
    for command in ("verify", "to-html", "to-video"):
        refused(capsys, "replay", command, "match.ludus")


def test_a_replay_of_missing_compiled_rules_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Format 1 with a name that could be a module of this folder."""
    whole = core.replay_record("tic_tac_toe", {}, 1, 0, ["uniform"])
    body = whole[:-8].replace(b"tic_tac_toe", b"evil_module")
    Path("match.ludus").write_bytes(body + checksum(body))
    for command in ("verify", "to-html", "to-video"):
        refused(capsys, "replay", command, "match.ludus")


def test_a_name_from_a_file_is_refused_by_every_function() -> None:
    """A new command that passes a name from a file along loads nothing."""
    from ludus.games import find, registry, spec
    from ludus.games.searchable import searchable
    from ludus.pool.factory import make_pool

    for text in HOSTILE.values():
        for function in (find, spec, searchable, registry.is_python, registry.maker):
            with pytest.raises(names.UnknownGame):
                function(text)
        with pytest.raises(names.UnknownGame):
            make_pool(text, {}, None, PoolOptions(slots=1, groups=1, threads=0, seed=0, on_error="truncate"))  # type: ignore[arg-type]
    for name in ("minirts", "gymnasium/CartPole-v1", "gymnasium/ALE/Pong-v5", "openspiel/chess", "my-game"):
        names.admit(name)
    for name in ("pettingzoo/classic/chess_v6", "atari/Breakout", "vizdoom/basic", "m" * names.MAX_NAME):
        names.admit(name)
    with pytest.raises(names.UnknownGame):
        names.admit("m" * (names.MAX_NAME + 1))


def test_the_current_folder_is_searched_only_for_names_that_a_person_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder comes after the installed packages, so that no file in it replaces one of them."""
    for name in ("evil_module_here", "colorsys"):
        (tmp_path / f"{name}.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    monkeypatch.setattr(names, "_typed", set())
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with pytest.raises(ValueError, match="searched: the installed packages"):
        import_typed("evil_module_here", "evil_module_here:Game")
    assert import_typed("evil_module_here", names.typed("evil_module_here:Game")).__file__ == str(
        tmp_path / "evil_module_here.py"
    )
    assert hasattr(import_typed("colorsys", names.typed("colorsys:Game")), "rgb_to_hsv")


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a user types it: the installed script, without the tests on its path."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    done = subprocess.run(
        [SCRIPT, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_no_module_of_the_current_folder_is_loaded(tmp_path: Path) -> None:
    """The processes of Python games load none either: the folder may be another person's run."""
    pytest.importorskip("gymnasium")
    marker = tmp_path / "marker"
    code = MARK.format(marker=str(marker))
    for name in ("numpy", "msgspec", "gymnasium", "pettingzoo", "ludus", "sitecustomize", "json"):
        (tmp_path / f"{name}.py").write_text(code)
    words = ("random", "--game", "gymnasium/CartPole-v1", "--matches", "2", "--threads", "1")
    done = command("eval", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "mean return" in done.stdout
    assert not marker.exists()


@pytest.mark.slow
def test_the_users_own_game_is_trained_resumed_and_rated(tmp_path: Path) -> None:
    """The preset names the game by a path beside it; the run resumes from any folder."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for place in (home, elsewhere):
        place.mkdir()
    (home / "nim.py").write_text(GUIDE.read_text("utf-8").split("```python\n")[1].split("```")[0])
    (home / "nim.toml").write_text(PRESET.format(game='"./nim.py"', params="{ heap = 9 }"))
    done = command("train", str(home / "nim.toml"), "--run-dir", "run", "--quiet", cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    assert f"eval run@best --against random --game {home}/nim.py" in done.stdout

    run = str(elsewhere / "run")
    done = command("resume", run, "--run.max-steps", "400", "--quiet", cwd=home)
    assert done.returncode == 0, done.stderr
    done = command("resume", run, "--run.max-steps", "600", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr

    words = ("eval", f"{run}@best", "--against", "random", "--matches", "4")
    done = command(*words, cwd=home)
    assert done.returncode == 2
    assert "weights of nim" in done.stderr
    assert "--game" in done.stderr
    done = command(*words, "--game", "./nim.py", "--json", cwd=home)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["params"] == {"heap": "9"}

    moved = tmp_path / "moved"  # a run that was not started here
    shutil.copytree(elsewhere / "run", moved)
    done = command("resume", str(moved), "--run.max-steps", "800", "--quiet", cwd=home)
    assert done.returncode == 2
    assert "--game" in done.stderr
    done = command("resume", str(moved), "--game", "./nim.py", "--run.max-steps", "800", "--quiet", cwd=home)
    assert done.returncode == 0, done.stderr
    done = command("resume", str(moved), "--run.max-steps", "1000", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_record_holds_for_one_run_and_one_configuration(tmp_path: Path) -> None:
    """A changed configuration of a run that this user started loads no code."""
    (tmp_path / "nim.py").write_text(GUIDE.read_text("utf-8").split("```python\n")[1].split("```")[0])
    (tmp_path / "nim.toml").write_text(PRESET.format(game='"./nim.py"', params="{ heap = 9 }"))
    assert command("train", "nim.toml", "--run-dir", "run", "--quiet", cwd=tmp_path).returncode == 0
    marker = tmp_path / "marker"
    (tmp_path / "evil.py").write_text(MARK.format(marker=str(marker)))
    config = tmp_path / "run" / "config.toml"
    mine = config.read_text()
    more = ("--run.max-steps", "400", "--quiet")
    for theirs in (mine.replace("nim.py", "evil.py"), mine.replace("heap = 9", "heap = 10")):
        assert theirs != mine
        config.write_text(theirs)
        done = command("resume", "run", *more, cwd=tmp_path)
        assert (done.returncode, "--game" in done.stderr) == (2, True), done.stderr
    config.write_text(mine)
    other = (tmp_path / "nim.py").read_text().replace('"nim"', '"other"')
    (tmp_path / "other.py").write_text(other)
    done = command("resume", "run", "--game", "./other.py", *more, cwd=tmp_path)
    assert done.returncode == 2
    assert "the run was started with nim" in done.stderr
    assert command("resume", "run", *more, cwd=tmp_path).returncode == 0
    assert not marker.exists()

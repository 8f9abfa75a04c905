"""Settings and files on their way to a rollout, without Ray."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ludus.algorithms.registry import method_of
from ludus.cluster.checks import part_of
from ludus.cluster.host import Host
from ludus.cluster.messages import SamplerOrder
from ludus.cluster.processes.private_folder import PREFIX, PrivateFolder, remove_abandoned
from ludus.cluster.received import ReceivedFiles
from ludus.cluster.rollout import Rollout
from ludus.cluster.sent_preset import MAX_CODE, SentPreset, sent_preset
from ludus.flow.process.extensions import Package
from ludus.games import names
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.file import load_preset
from ludus.presets.method_file import with_method
from tests.unit.preset_choice import every_preset
from tests.unit.training.runs import small_preset
from tests.unit.training.test_method_file import forget

GAME = '''
from ludus.flow import HeadSpec
from ludus.games.python_game import declare, tensor


class Nim:
    """Take one to three from a pile; the match ends when one or none is left."""

    truncated = False

    def __init__(self, pile: int = 7):
        self.pile = pile
        observation = [tensor("left", (1,), "u8", low=0, high=255)]
        self.spec = declare("nim_alone", observation=observation, heads=[HeadSpec("take", 3)])

    def reset(self, seed):
        self.tick, self.left = 0, self.pile + seed % 3

    def to_act(self):
        return (0,)

    def step(self, actions):
        self.tick += 1
        self.left = max(0, self.left - 1 - int(actions[0, 0]))
        return self.left <= 1

    def rewards(self, out):
        out[:] = float(self.left == 1)

    def outcome(self, out):
        out[:] = 0

    def observe(self, seat, out):
        out["left"][:] = self.left


GAME = Nim
'''
BOT = """
class Edges:
    def decide(self, scene):
        return scene.legal()[0]


class Last:
    def decide(self, scene):
        return scene.legal()[-1]
"""


@pytest.fixture(scope="module", autouse=True)
def methods_of_this_file() -> Iterator[None]:
    """Forget at the end the methods that this file loads: tests of other files want none of them."""
    with pytest.MonkeyPatch.context() as patch:
        forget(patch)
        yield


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files of this test."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def files() -> Iterator[ReceivedFiles]:
    """Files of a rollout, which are removed after the test."""
    made = ReceivedFiles("10.0.0.7")
    yield made
    made.remove()


@pytest.fixture
def game(tmp_path: Path) -> Path:
    """Return a game in a file."""
    path = tmp_path / "my nim.py"
    path.write_text(GAME)
    return path


def of_game(game: Path) -> Preset:
    return part_of(load_preset(str(game), {"cluster.rollouts": "1"}).preset)


@pytest.mark.parametrize("name", every_preset())
def test_every_shipped_preset_arrives_as_it_is(name: str, files: ReceivedFiles, temporary: Path) -> None:
    preset = part_of(load_preset(name).preset)
    assert files.preset(sent_preset(preset)) == preset
    assert list(temporary.iterdir()) == []


def test_a_game_is_written_to_a_private_folder_and_may_be_loaded(
    game: Path, files: ReceivedFiles, temporary: Path
) -> None:
    preset = of_game(game)
    received = files.preset(sent_preset(preset))
    path = Path(received.game.name)
    (folder,) = temporary.iterdir()
    assert folder in path.parents
    assert path.read_text() == GAME
    assert [stat.S_IMODE(p.stat().st_mode) for p in (folder, path.parent)] == [0o700, 0o700]
    assert names.is_typed(str(path))
    assert received == msgspec.structs.replace(preset, game=received.game)
    assert files.preset(sent_preset(preset)) == received
    files.remove()
    assert list(temporary.iterdir()) == []
    with pytest.raises(ConfigError, match="the rollout is ending"):
        files.preset(sent_preset(preset))


def test_a_method_is_loaded_from_the_bytes_that_this_process_ran(
    tmp_path: Path, files: ReceivedFiles, temporary: Path
) -> None:
    path = tmp_path / "reinforce.py"
    source = Path(__file__).parents[3] / "examples" / "reinforce.py"
    path.write_bytes(source.read_bytes())
    preset = part_of(load_preset("tic_tac_toe", with_method(str(path), {})).preset)
    path.write_text("raise SystemExit")
    sent = sent_preset(preset)
    received = files.preset(sent)
    assert method_of(received.algorithm).name == "reinforce"
    assert type(received.algorithm) is not type(preset.algorithm)
    assert msgspec.to_builtins(received) == msgspec.to_builtins(preset)
    assert [f.reference for f in sent.files] == [str(path)]


@pytest.mark.parametrize(("behind", "data"), [("", BOT.split("class Last")[0]), (":Last", BOT)])
def test_a_teacher_in_python_keeps_the_name_of_its_class(
    behind: str, data: str, tmp_path: Path, files: ReceivedFiles
) -> None:
    path = tmp_path / "bot.py"
    path.write_text(data)
    settings = {"algorithm.name": "imitation", "algorithm.teacher": f"{path}{behind}"}
    preset = load_preset("tic_tac_toe", settings).preset
    received = files.preset(sent_preset(preset))
    teacher = getattr(received.algorithm, "teacher", "")
    assert teacher.endswith(f"/bot.py{behind}")
    assert teacher != f"{path}{behind}"
    assert names.is_typed(teacher)


def test_code_that_no_one_gave_is_not_sent(
    game: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bot.py").write_text(BOT)
    settings = {"algorithm.name": "imitation", "algorithm.teacher": f"{tmp_path}/bot.py:Last"}
    bot, game_preset = load_preset("tic_tac_toe", settings).preset, of_game(game)
    monkeypatch.setattr(names, "_typed", set())
    monkeypatch.setattr(names, "_loaded", set())
    for preset in (game_preset, bot):
        with pytest.raises(ConfigError, match="a name read from a file loads"):
            sent_preset(preset)


@pytest.mark.parametrize("setting", ["game.name", "algorithm.teacher"])
def test_a_file_that_is_too_large_or_gone_is_refused_with_its_setting(
    setting: str, game: Path, tmp_path: Path
) -> None:
    if setting == "game.name":
        path, preset = game, of_game(game)
    else:
        path = tmp_path / "bot.py"
        path.write_text(BOT)
        settings = {"algorithm.name": "imitation", setting: f"{path}:Last", "cluster.rollouts": "1"}
        preset = load_preset("tic_tac_toe", settings).preset
    path.write_text(path.read_text() + "#" * MAX_CODE)
    with pytest.raises(ConfigError, match=rf"cluster.rollouts = 1: {setting}: .* at most {MAX_CODE}"):
        sent_preset(preset)
    path.unlink()
    with pytest.raises(ConfigError, match=rf"cluster.rollouts = 1: {setting}: .*No such file"):
        sent_preset(preset)


def of_teacher(teacher: str) -> Preset:
    """Return settings of a rollout that learns from a player."""
    settings = {"algorithm.name": "imitation", "algorithm.teacher": teacher, "cluster.rollouts": "1"}
    return part_of(load_preset("tic_tac_toe", settings).preset)


@pytest.mark.parametrize("behind", ["", "+search:4"])
def test_weights_of_a_teacher_are_bounded_and_errors_name_the_controllers_file(
    behind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "teacher.bin"
    path.write_bytes(b"no weights")
    sent = sent_preset(of_teacher(f"{path}{behind}"))
    (file,) = sent.files
    assert (file.name, file.behind) == ("teacher.bin.safetensors", behind)
    host = Host("10.0.0.7", Rollout)
    try:
        with pytest.raises(ConfigError, match=rf'^algorithm.teacher = "{path}.*: {path}: not a readable'):
            host.call("", "build", SamplerOrder(0), sent)
    finally:
        host.leave()
    monkeypatch.setattr("ludus.cluster.sent_preset.MAX_WEIGHTS", 5)
    with pytest.raises(ConfigError, match=rf"^cluster.rollouts = 1: algorithm.teacher: .*{path}: more"):
        sent_preset(of_teacher(f"{path}{behind}"))


def changed(sent: SentPreset, **fields: object) -> SentPreset:
    """Return what was sent with other fields of its only file."""
    (file,) = sent.files
    return msgspec.structs.replace(sent, files=(msgspec.structs.replace(file, **fields),))


def test_other_bytes_than_those_sent_are_refused_and_not_run(
    game: Path, files: ReceivedFiles, tmp_path: Path, temporary: Path
) -> None:
    sent = sent_preset(of_game(game))
    data = f"from pathlib import Path\nPath({str(tmp_path / 'marker')!r}).touch()\n".encode()
    for wrong in ({"data": data}, {"sha256": "0" * 64}, {"sha256": "x\n"}):
        with pytest.raises(ConfigError, match=r"arrived with sha256 .*, expected .* as sent") as caught:
            files.preset(changed(sent, **wrong))
        assert str(caught.value).startswith("node 10.0.0.7: game.name: ")
        assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match=f"{MAX_CODE + 1} bytes, expected at most {MAX_CODE}"):
        files.preset(changed(sent, data=b"#" * (MAX_CODE + 1)))
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize(
    "name",
    [
        "../a.py",
        "/tmp/a.py",
        "a/b.py",
        ".py",
        "..",
        "",
        "a.so",
        "a.pth",
        ".a.py",
        "a\n.py",
        "a" * 200 + ".py",
    ],
)
def test_a_name_that_is_none_is_refused(name: str, game: Path, files: ReceivedFiles, temporary: Path) -> None:
    with pytest.raises(ConfigError, match="expected the name of a file"):
        files.preset(changed(sent_preset(of_game(game)), name=name))
    assert list(temporary.iterdir()) == []


def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(
    game: Path, tmp_path: Path, files: ReceivedFiles
) -> None:
    sent, victim = sent_preset(of_game(game)), tmp_path / "victim"
    victim.write_text("mine")
    (file,) = sent.files
    first = Path(files.preset(changed(sent, name="other.py")).game.name)
    (first.parent / file.name).symlink_to(victim)
    assert Path(files.preset(sent).game.name).read_text() == GAME
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("noun", ["game", "codec", "encoder", "method"])
def test_a_package_that_a_machine_lacks_is_named(noun: str, files: ReceivedFiles) -> None:
    sent = sent_preset(small_preset())
    lacks = msgspec.structs.replace(sent, packages=(Package(noun, "hex", "ludus-nowhere", "1.2"),))
    with pytest.raises(ConfigError) as caught:
        files.preset(lacks)
    assert str(caught.value) == (
        f"node 10.0.0.7: {noun} package ludus-nowhere is not installed there "
        "(pip install 'ludus-nowhere==1.2')"
    )
    other = msgspec.structs.replace(sent, packages=(Package(noun, "hex", "numpy", "0.1"),))
    with pytest.raises(ConfigError, match=r"node 10\.0\.0\.7: .* package numpy has version .* expected 0\.1"):
        files.preset(other)


def test_a_game_that_reads_a_file_of_its_own_is_named_with_the_machine(tmp_path: Path) -> None:
    """Only the game's own file is sent."""
    path, levels = tmp_path / "levels.py", tmp_path / "levels.txt"
    levels.write_text("7")
    reads = "        self.pile = int(Path(__file__).with_name('levels.txt').read_text())\n"
    path.write_text("from pathlib import Path\n" + GAME.replace("        self.pile = pile\n", reads))
    sent = sent_preset(of_game(path))
    host = Host("10.0.0.7", Rollout)
    try:
        with pytest.raises(ConfigError) as caught:
            host.call("", "about", sent)
    finally:
        host.leave()
    assert f"node 10.0.0.7: {path}: cannot be made: FileNotFoundError" in str(caught.value)
    assert str(caught.value).endswith("(of a game in a file, only that file is sent)")


def test_a_module_that_a_machine_lacks_is_named(files: ReceivedFiles) -> None:
    preset = small_preset()
    game = msgspec.structs.replace(preset.game, name="nowhere_at_all:Nim")
    settings = msgspec.json.encode(msgspec.structs.replace(preset, game=game))
    for typed, text in ((True, "No module named 'nowhere_at_all'"), (False, "a name read from a file")):
        names._typed.discard(game.name)
        host = Host("10.0.0.7", Rollout)
        with pytest.raises(ConfigError, match=rf"^node 10\.0\.0\.7: nowhere_at_all:Nim: {text}"):
            host.call("", "about", SentPreset(settings, typed=typed))


def test_errors_have_the_paths_of_the_controller(game: Path) -> None:
    sent = sent_preset(of_game(game))
    host = Host("10.0.0.7", Rollout)
    data = b"raise ValueError('hm')\n"
    broken = changed(sent, data=data, sha256=hashlib.sha256(data).hexdigest())
    try:
        with pytest.raises(ConfigError) as caught:
            host.call("", "about", broken)
    finally:
        host.leave()
    assert str(caught.value).startswith(f"node 10.0.0.7: {game}: ValueError: hm (")


def test_a_folder_that_another_process_removes_at_once_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, made = tempfile.mkdtemp, []

    def removed_once(**options: str) -> str:
        made.append(make(**options))
        if len(made) == 1:
            remove_abandoned(temporary)
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", removed_once)
    folder = PrivateFolder()
    assert [str(folder.path)] == made[1:] == [str(path) for path in temporary.iterdir()]
    remove_abandoned(temporary)
    assert folder.path.is_dir()
    folder.remove()


def test_folders_of_killed_processes_are_removed_and_no_others(temporary: Path, tmp_path: Path) -> None:
    alive, victim = PrivateFolder(), tmp_path / "victim"
    victim.mkdir()
    (victim / "mine").touch()
    (temporary / f"{PREFIX}link").symlink_to(victim)
    (temporary / f"{PREFIX}file").touch()
    pid = os.fork()
    if pid == 0:
        killed = PrivateFolder()
        (killed.path / "code.py").touch()
        os._exit(0)
    os.waitpid(pid, 0)
    assert len(list(temporary.iterdir())) == 4
    another = PrivateFolder()
    assert set(temporary.iterdir()) == {
        alive.path,
        another.path,
        temporary / f"{PREFIX}link",
        temporary / f"{PREFIX}file",
    }
    assert (victim / "mine").exists()
    for folder in (alive, another):
        folder.remove()
        folder.remove()
        assert not folder.path.exists()

"""Games, methods and teachers in files, played by rollouts of a cluster.

One cluster serves the module. Its processes do not share this process's modules.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from ludus.cli.__main__ import main
from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.file import load_preset
from ludus.presets.method_file import with_method
from ludus.rollouts.exchange import Sampler
from ludus.training.actor_learner.trainer import slabs_of
from ludus.training.runs import start_run
from tests.unit.cluster.test_sent_preset import BOT, GAME
from tests.unit.training.runs import small_preset

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

from ludus.cluster.fleet import Fleet
from ludus.cluster.processes.crew import Crew
from ludus.cluster.processes.private_folder import PREFIX
from ludus.cluster.remote_sampler import RemoteSampler
from ludus.cluster.session import connect, disconnect
from tests.system.test_cluster import assert_each_once, local, nothing, trained
from tests.unit.training.test_method_file import forget

pytestmark = pytest.mark.random_order(disabled=True)  # the tests share a cluster and its rollouts

SMALL = {
    "run.threads": "1",
    "run.lag": "sync",
    "pool.slots": "8",
    "pool.rollout_length": "8",
    "policy.dense": "16",
    "policy.hidden": "16",
}
EXAMPLES = Path(__file__).parents[2] / "examples"


MARK = "from pathlib import Path\nPath({marker!r}).touch()\n"
TAKEN = (
    "contextlib",
    "msgspec",
    "numpy",
    "safetensors",
    "signal",
    "subprocess",
    "torch",
)  # modules that load


@pytest.fixture(scope="module", autouse=True)
def methods_of_this_file() -> Iterator[None]:
    """Forget at the end the methods that this file loads: tests of other files want none of them."""
    with pytest.MonkeyPatch.context() as patch:
        forget(patch)
        yield


@pytest.fixture(scope="module")
def marker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that code in the current folder of :func:`cluster` makes where it runs."""
    return tmp_path_factory.mktemp("marked") / "marker"


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory, marker: Path) -> Iterator[Path]:
    """A cluster with a separate temporary folder, started in a folder of someone else."""
    here = tmp_path_factory.mktemp("here")
    for name in TAKEN:
        (here / f"{name}.py").write_text(MARK.format(marker=str(marker)))
    folder = Path(tempfile.mkdtemp(prefix="t"))  # short: paths of sockets are
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.chdir(here)
        connect(ClusterConfig())
    yield folder
    disconnect()
    shutil.rmtree(folder)


def preset_of(name: str, rollouts: int, **more: str) -> Preset:
    """Return a preset with small slabs; ``algorithm__teacher`` sets ``algorithm.teacher``."""
    settings = SMALL | {key.replace("__", "."): text for key, text in more.items()}
    return load_preset(name, settings | {"cluster.rollouts": str(rollouts)}).preset


def remote(preset: Preset) -> Sampler:
    """Return a sampler over separate rollouts."""
    return RemoteSampler(Fleet(preset), slabs_of(preset.run))


@pytest.fixture(scope="module")
def crew(cluster: Path) -> Iterator[Crew]:
    """A rollout on which several tests play."""
    made = Crew(preset_of("tic_tac_toe", 1))
    yield made
    made.close()


def assert_same_as_one_process(crew: Crew, preset: Callable[[int], Preset]) -> None:
    """Train on the rollout of ``crew`` and in this process. ``preset``: settings by number of rollouts."""

    def there(settings: Preset) -> Sampler:
        return RemoteSampler(Fleet(settings, crew=crew), slabs_of(settings.run))

    assert trained(preset(1), there, 4, nothing) == trained(preset(0), local, 4, nothing)


@pytest.fixture
def game(tmp_path: Path) -> str:
    """Return a game in a file."""
    path = tmp_path / "nim.py"
    path.write_text(GAME)
    return str(path)


def test_a_game_in_a_file_has_the_bits_of_one_process_and_leaves_no_file(game: str, cluster: Path) -> None:
    folders: list[Path] = []

    def look(sampler: Sampler, version: int) -> None:
        folders[:] = cluster.glob(f"{PREFIX}*")

    there = trained(preset_of(game, 1), remote, 6, look)
    assert len(folders) == 1
    assert list(cluster.glob(f"{PREFIX}*")) == []
    assert there == trained(preset_of(game, 0), local, 6, nothing)


@pytest.mark.slow
def test_two_rollouts_of_a_game_in_a_file_outlive_the_death_of_one(game: str, cluster: Path) -> None:
    def kill_once(sampler: Sampler, version: int) -> None:
        assert isinstance(sampler, RemoteSampler)
        if version == 2 and not sampler.fleet.deaths:
            os.kill(sampler.fleet.pids()[1], signal.SIGKILL)

    after = trained(preset_of(game, 2), remote, 6, kill_once)
    assert len(after.results) > 20
    assert_each_once(after.results)
    assert list(cluster.glob(f"{PREFIX}*")) == []


def test_a_method_in_a_file_has_the_bits_of_one_process(crew: Crew) -> None:
    settings = with_method(str(EXAMPLES / "reinforce.py"), SMALL)

    def preset(rollouts: int) -> Preset:
        return load_preset("tic_tac_toe", settings | {"cluster.rollouts": str(rollouts)}).preset

    assert_same_as_one_process(crew, preset)


def test_teachers_from_a_run_and_a_file_have_the_bits_of_one_process(crew: Crew, tmp_path: Path) -> None:
    start_run(small_preset(run__max_steps=200, evaluation__every_steps=0), tmp_path / "run")
    (tmp_path / "bot.py").write_text(BOT)
    for teacher in (f"{tmp_path}/run@last+search:4", f"{tmp_path}/bot.py:Last"):
        imitated = partial(preset_of, "tic_tac_toe", algorithm__name="imitation", algorithm__teacher=teacher)
        assert_same_as_one_process(crew, imitated)


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands use the module's cluster."""
    monkeypatch.setattr("ludus.cluster.machines.connect", lambda config: None)
    monkeypatch.setattr("ludus.cluster.machines.disconnect", lambda: None)


def ended(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the only line of stderr of a command that is refused and makes no run."""
    capsys.readouterr()
    assert main(["train", *words, "--cluster.rollouts", "1", "--run-dir", "run", "--quiet"]) == 2
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert not Path("run").exists()
    return line


def test_commands_name_packages_and_files_that_a_machine_cannot_have(
    game: str,
    tmp_path: Path,
    machines: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    about = tmp_path / "site" / "hexes-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: hexes\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text("[ludus.games]\nnim_alone = hexes:GAME\n")
    (tmp_path / "site" / "hexes.py").write_text(GAME)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path)
    line = ended(capsys, "nim_alone")
    assert re.fullmatch(
        r"node [\d.]+: game package hexes is not installed there \(pip install 'hexes==1\.2'\)", line
    )
    Path(game).write_text(GAME + "#" * (1 << 20))
    assert f"game.name: cannot be sent: {game}: more than 1048576 bytes" in ended(capsys, game)


def test_no_code_of_the_current_folder_was_run(marker: Path) -> None:
    assert not marker.exists()

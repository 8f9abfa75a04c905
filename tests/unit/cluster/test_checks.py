"""Settings of a cluster that are refused before anything starts, without Ray."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from ludus.algorithms.registry import method_of
from ludus.bench.cluster import bench_cluster
from ludus.cli import __main__ as cli
from ludus.cli.words import COMMAND_LINE, said
from ludus.cluster.checks import (
    advice,
    check_alike,
    fitting,
    host_and_port,
    lacking,
    learner_part_of,
    part_of,
)
from ludus.cluster.messages import About
from ludus.flow.problem import written
from ludus.presets.checks.training import cluster_problems
from ludus.presets.config import ClusterConfig
from ludus.presets.errors import ConfigError
from ludus.presets.file import load_preset
from ludus.surgery.plan import SurgeryError
from ludus.training.machines import LOCAL
from ludus.training.runs import start_run
from ludus.training.surgery.settings import check_covered
from ludus.version import __version__


def test_missing_processors_and_gpus_are_counted() -> None:
    named = "or name a cluster of several machines: --cluster.address HOST:PORT"
    found = lacking(ClusterConfig(rollouts=3, cpus=4), 11, 0)
    assert found is not None
    assert said(found) == (f"cluster.rollouts = 3: 12 CPUs asked, 11 free; set --cluster.rollouts 2, {named}")
    found = lacking(ClusterConfig(rollouts=3, gpus=0.5), 3, 1)
    assert found is not None
    assert said(found) == (f"cluster.rollouts = 3: 1.5 GPUs asked, 1 free; set --cluster.rollouts 2, {named}")
    assert lacking(ClusterConfig(rollouts=3, cpus=4, gpus=0.5), 12, 1.5) is None


@pytest.mark.parametrize(
    ("cluster", "cpus", "gpus", "fits"),
    [
        (ClusterConfig(rollouts=2), 1, 0, 1),
        (ClusterConfig(rollouts=2), 0, 0, 0),
        (ClusterConfig(rollouts=8, cpus=3), 11.9, 0, 3),
        (ClusterConfig(rollouts=8, gpus=0.1), 64, 0.3, 3),  # 0.3 / 0.1 is less than 3
        (ClusterConfig(rollouts=8, cpus=2, gpus=0.5), 6, 1, 2),
        (ClusterConfig(rollouts=2), 64, 0, 2),
    ],
)
def test_rollouts_that_have_room_are_counted(
    cluster: ClusterConfig, cpus: float, gpus: float, fits: int
) -> None:
    assert fitting(cluster, cpus, gpus) == fits


def test_what_helps_against_a_shortage_is_named() -> None:
    named = ClusterConfig(rollouts=2, address="10.0.0.1:6379")
    assert written(advice(named, 1), COMMAND_LINE) == (
        "; set --cluster.rollouts 1, or add a machine: ray start --address=10.0.0.1:6379"
    )
    assert written(advice(named, 0), COMMAND_LINE) == "; add a machine: ray start --address=10.0.0.1:6379"
    large = msgspec.structs.replace(named, cpus=8, gpus=1.0)
    assert written(advice(large, 0), COMMAND_LINE).startswith(
        "; set --cluster.cpus lower, or set --cluster.gpus lower, or add a machine"
    )


def test_a_machine_with_another_ludus_or_game_is_named() -> None:
    check_alike(About("rack7", 1, __version__, "abc"), "abc")
    with pytest.raises(ConfigError, match=rf"rack7 has Ludus 0\.0\.9, this machine has {__version__}"):
        check_alike(About("rack7", 1, "0.0.9", "abc"), "abc")
    with pytest.raises(ConfigError, match="rack7 has the game with spec abd, this machine abc"):
        check_alike(About("rack7", 1, __version__, "abd"), "abc")


@pytest.mark.parametrize(
    "address",
    [
        *(
            "auto",
            "nowhere",
            "127.0.0.1:x",
            ":1",
            "host:70000",
            "host:0",
            "host:²",
            "host:٣",
            "host: 1",
            "a b:1",
        ),
        *("[]:1", "[::1:1", "::1]:1", "[10.0.0.1]:1", "[::1]", "[::1]:", "http://host:1", "host:1:2", "-x:1"),
    ],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match='expected "HOST:PORT" of a Ray cluster, or "local"'):
        host_and_port(address)


def test_addresses_are_read() -> None:
    assert host_and_port("local") is None
    assert host_and_port("10.0.0.1:6379") == ("10.0.0.1", 6379)
    assert host_and_port("[::1]:6379") == ("::1", 6379)
    assert host_and_port("[2001:db8:0:1::5]:20154") == ("2001:db8:0:1::5", 20154)
    assert host_and_port("node_1.rack-7.example.:1") == ("node_1.rack-7.example.", 1)


@pytest.mark.parametrize(
    ("address", "nearest"),
    [
        ("2001:db8:0:1::5:20154", "[2001:db8:0:1::5]:20154"),
        ("::1:6379", "[::1]:6379"),
        ("2001:db8:1:2:3:4:5:6:20154", "[2001:db8:1:2:3:4:5:6]:20154"),
        ("fe80::a1", "[fe80::a1]:6379"),
    ],
)
def test_an_address_of_ipv6_without_brackets_is_refused_with_them(address: str, nearest: str) -> None:
    with pytest.raises(ConfigError, match="write an IPv6 address in brackets") as refused:
        host_and_port(address)
    assert str(refused.value).endswith(f'"{nearest}"')


def test_a_rollout_has_its_own_threads_and_the_precision_of_the_learner() -> None:
    preset = load_preset("tic_tac_toe", {"cluster.rollouts": "2", "cluster.cpus": "3"}).preset
    run = part_of(preset).run
    assert (run.threads, run.device) == (3, "cpu")
    assert run.precision in ("float32", "bfloat16")


@pytest.mark.parametrize(
    ("preset", "options", "reason"),
    [
        ("minirts", ["--run.topology", "one_to_one"], 'run.topology = "one_to_one"'),
        ("minirts-imitation", ["--run.lag", "async"], 'run.lag = "async" and algorithm.teacher = "simple"'),
        ("minirts", ["--run.lag", "async", "--run.max-lag", "0"], "expected at most run.max_lag + 1 = 1"),
    ],
)
def test_what_cannot_be_split_is_refused(
    preset: str, options: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    command = ["train", preset, "--cluster.rollouts", "2", *options, "--run-dir", str(run)]
    assert cli.main(command) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "cluster.rollouts = 2: expected" in line
    assert reason in line
    assert not run.exists()


def test_files_that_cannot_travel_are_refused_and_others_are_not() -> None:
    preset = load_preset("minirts-imitation", {"cluster.rollouts": "2"}).preset

    def problems(game: str, teacher: str = "simple") -> list[str]:
        changed = msgspec.structs.replace(preset.game, name=game)
        algorithm = msgspec.structs.replace(preset.algorithm, teacher=teacher)
        whole = msgspec.structs.replace(preset, game=changed, algorithm=algorithm)
        return [str(p) for p in cluster_problems(whole, method_of(whole.algorithm))]

    for game in ("minirts", "./my_game.py", "my_package.games:Mine", "gymnasium/CartPole-v1"):
        for teacher in ("simple", "./bot.py:Pikes", "runs/a@best"):
            assert problems(game, teacher) == []
    library = "mine.cpython-311-x86_64-linux-gnu.so"
    for game in ("./build/mine", library, f"./{library}"):
        (text,) = problems(game)
        assert f'rollouts = 2: expected 0 where game.name = "{game}" is a compiled file' in text
    (text,) = problems("vizdoom/./mine.cfg")
    assert text == (
        'cluster.rollouts = 2: expected 0 where game.name = "vizdoom/./mine.cfg" is a scenario with files of '
        "its own"
    )


def test_a_sweep_with_rollouts_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = tmp_path / "s.toml"
    sweep.write_text('preset = "tic_tac_toe"\nseeds = [1]\n[settings]\nrun.max_steps = 100\n[cells.a]\n')
    assert cli.main(["sweep", str(sweep), "--cluster.rollouts", "2", "--explain"]) == 2
    assert "cluster.rollouts = 2: expected 0 in a sweep" in capsys.readouterr().err


def test_a_sweep_with_members_in_parallel_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = tmp_path / "s.toml"
    sweep.write_text('preset = "minirts-league"\nseeds = [1]\n[settings]\nrun.max_steps = 100\n[cells.a]\n')
    assert cli.main(["sweep", str(sweep), "--cluster.members", "parallel", "--explain"]) == 2
    assert 'cluster.members = "parallel": expected "turns" in a sweep' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("preset", "changes", "expected"),
    [
        ("minirts", {}, 'cluster.members = "parallel": expected "turns" where there is no league'),
        (
            "minirts-league",
            {"run.device": "cuda"},
            'cluster.gpus = 0: expected above 0 where run.device = "cuda" and cluster.members = "parallel"',
        ),
        (
            "minirts-league",
            {"league.processes": "1"},
            'league.processes = 1: expected 0 where cluster.members = "parallel"',
        ),
        (
            "minirts-league",
            {"cluster.learners": "2"},
            "cluster.learners = 2: expected at most 1, the slabs of an update (cluster.rollouts = 0)",
        ),
    ],
)
def test_members_in_parallel_need_a_league_and_no_other_processes(
    preset: str, changes: dict[str, str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"--{name}={text}" for name, text in ({"cluster.members": "parallel"} | changes).items()]
    assert cli.main(["train", preset, *words]) == 2
    assert expected in capsys.readouterr().err


def test_a_program_has_no_members_in_parallel(tmp_path: Path) -> None:
    preset = load_preset("minirts-league", {"cluster.members": "parallel"}).preset
    with pytest.raises(ConfigError, match=r'^cluster\.members = "parallel": expected "turns" in a program'):
        start_run(preset, tmp_path / "run")


def test_a_program_without_machines_is_refused(tmp_path: Path) -> None:
    preset = load_preset("tic_tac_toe", {"cluster.rollouts": "2"}).preset
    with pytest.raises(ConfigError, match=r"cluster\.rollouts = 2: expected 0 in a program"):
        start_run(preset, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_missing_ray_is_reported_with_the_command_that_installs_it(tmp_path: Path) -> None:
    hide = "import sys; sys.modules['ray'] = None; from ludus.cli.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", hide, "train", "tic_tac_toe", "--cluster.rollouts", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines() == [
        "cluster.rollouts = 2: Ray is not installed; pip install '.[cluster]' in the clone of Ludus"
    ]


@pytest.mark.parametrize(
    ("preset", "options", "reason"),
    [
        ("minirts", [], "expected 0 where cluster.rollouts = 0: servers decide for rollouts"),
        ("minirts", ["--cluster.rollouts=1"], "expected at most cluster.rollouts = 1"),
        ("go9", ["--cluster.rollouts=2"], 'expected 0 where algorithm.name = "alphazero"'),
    ],
)
def test_servers_without_rollouts_to_serve_are_refused(
    preset: str, options: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert cli.main(["train", preset, "--cluster.inference=2", *options, "--run-dir", str(run)]) == 2
    assert f"cluster.inference = 2: {reason}" in capsys.readouterr().err
    assert not run.exists()


def test_servers_need_processors_and_have_the_gpus() -> None:
    cluster = ClusterConfig(rollouts=3, inference=1, cpus=2, gpus=0.5)
    assert lacking(cluster, 8, 0.5) is None
    cpus, gpus = lacking(cluster, 7, 0.5), lacking(cluster, 8, 0)
    assert cpus is not None
    assert gpus is not None
    assert said(cpus).startswith("cluster.rollouts = 3: 8 CPUs asked, 7 free; set --cluster.rollouts 2")
    assert "0.5 GPUs asked, 0 free" in said(gpus)
    assert (fitting(cluster, 7, 0.5), fitting(cluster, 7, 0.0)) == (2, 0)


@pytest.mark.parametrize(
    ("preset", "options", "reason"),
    [
        ("minirts", ["--cluster.rollouts=2", "--cluster.learners=3"], "at most 2, the slabs of an update"),
        ("minirts", [], "at most 1, the slabs of an update (cluster.rollouts = 0)"),
        ("minirts", ["--cluster.rollouts=2", "--run.topology=one_to_one"], 'run.topology = "one_to_one"'),
        ("minirts", ["--cluster.rollouts=2", "--run.lag=async"], 'run.lag = "async": an update has one slab'),
        ("minirts-league", ["--cluster.rollouts=2"], "there is a league: its members learn in turn"),
        ("go9", ["--cluster.rollouts=2"], 'algorithm.name = "alphazero"'),
    ],
)
def test_learners_that_an_update_cannot_have_are_refused(
    preset: str, options: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert cli.main(["train", preset, "--cluster.learners=2", *options, "--run-dir", str(run)]) == 2
    assert any(
        "cluster.learners = " in line and reason in line for line in capsys.readouterr().err.splitlines()
    )
    assert not run.exists()


def test_a_further_learner_has_the_threads_of_the_run_and_no_start() -> None:
    given = {"cluster.rollouts": "2", "cluster.learners": "2", "run.start": "runs/a@best"}
    run = learner_part_of(load_preset("tic_tac_toe", given).preset).run
    assert (run.threads, run.device, run.start) == (1, "cpu", "")
    run = learner_part_of(load_preset("tic_tac_toe", given | {"run.threads": "3"}).preset).run
    assert run.threads == 3
    assert run.precision in ("float32", "bfloat16")


def test_surgery_and_the_bench_refuse_several_learners() -> None:
    several = load_preset("tic_tac_toe", {"cluster.rollouts": "2", "cluster.learners": "2"}).preset
    with pytest.raises(SurgeryError, match=r"cluster\.learners"):
        check_covered(several, several)
    with pytest.raises(ConfigError, match=r"cluster\.learners = 2: expected 1, as in one process"):
        bench_cluster(several, LOCAL, 1.0)

"""A named cluster: who is let in, what is refused, and which runs do not use it."""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ludus.cluster.processes.reaper import descendants, reap
from ludus.reporting.run_view import RunView
from ludus.storage import RunDirectory

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

from ludus.cluster.processes.ray_host import RayHost

START_S = 120.0  # of a cluster, or of a run until its first checkpoint, on a busy machine
LEFT_S = 5.0  # until nothing of a killed run is left
SMALL = {"pool.slots": "8", "pool.rollout-length": "8", "run.checkpoint-every-minutes": "0.01"}
UNEVALUATED = {"evaluation.every-steps": "0", "evaluation.matches": "0", "evaluation.final-matches": "0"}


@dataclass(frozen=True)
class Head:
    """A cluster of one processor, started as the guide does."""

    process: subprocess.Popen[bytes]
    port: int
    token: str

    @property
    def address(self) -> str:
        """The value of ``cluster.address``."""
        return f"127.0.0.1:{self.port}"

    def environment(self, home: Path, token: str | None) -> dict[str, str]:
        """Return an environment with ``token``, or none, and no token in the home."""
        given = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
        given |= {"RAY_AUTH_MODE": "token", "RAY_ADDRESS": self.address, "HOME": str(home)}
        return given | ({} if token is None else {"RAY_AUTH_TOKEN": token})


def free_port() -> int:
    """Return a port that nothing listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    """Start a cluster of another program."""
    port, token = free_port(), secrets.token_hex(32)
    output = tmp_path_factory.mktemp("head") / "output"
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", f"--port={port}"]
    command += ["--node-ip-address=127.0.0.1", "--num-cpus=1", "--include-dashboard=false"]
    command += [f"--ray-client-server-port={free_port()}", "--object-store-memory=100000000"]
    environment = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    with output.open("wb") as file:
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=file, start_new_session=True)
    try:
        end = time.monotonic() + START_S
        while "Ray runtime started" not in output.read_text():
            assert process.poll() is None, output.read_text()
            assert time.monotonic() < end, output.read_text()
            time.sleep(0.1)
        yield Head(process, port, token)
        assert process.poll() is None, output.read_text()
    finally:
        started = descendants(process.pid)
        process.kill()
        process.wait()
        reap(started)


def options(settings: Mapping[str, str]) -> list[str]:
    """Return settings as options of a command."""
    return [part for name, value in settings.items() for part in (f"--{name}", value)]


def ludus(*command: str) -> list[str]:
    """Return a command line of this interpreter."""
    return [sys.executable, "-m", "ludus", *command]


@pytest.mark.parametrize(
    "token", [pytest.param("00" * 32, marks=pytest.mark.slow), None], ids=["wrong", "missing"]
)
def test_a_wrong_or_missing_token_is_refused_in_one_line(
    head: Head, tmp_path: Path, token: str | None
) -> None:
    """Ray itself tries again and again, and without a token it ends the process that asks."""
    run = tmp_path / "run"
    command = ludus("train", "tic_tac_toe", "--quiet", "--cluster.rollouts", "1", "--run-dir", str(run))
    command += ["--cluster.address", head.address]
    done = subprocess.run(
        command, env=head.environment(tmp_path, token), capture_output=True, text=True, timeout=120
    )
    (line,) = done.stderr.strip().splitlines()
    assert f'cluster.address = "{head.address}": Ray did not let this process in; RAY_AUTH_TOKEN' in line
    assert done.returncode == 2
    assert not run.exists()


#: Refuses four runs on the cluster of the command line; the waits are short.
REFUSED = """
import sys
from types import SimpleNamespace
from ludus.cli.__main__ import main
from ludus.cluster import checks
from ludus.cluster.processes import crew
from ludus.cluster.processes import starting

pytestmark = pytest.mark.random_order(disabled=True)  # the tests share a cluster and its rollouts

starting.START_S = starting.REPORT_S = 1.0
command = ["train", "tic_tac_toe", "--quiet", "--cluster.address", sys.argv[1], "--cluster.rollouts"]
assert main([*command, "2"]) == 2
assert main([*command, "1", "--cluster.gpus", "1"]) == 2
starting.START_S = 60.0
checks.__version__ = "9.9.9"
assert main([*command, "1"]) == 2
checks.__version__ = starting.__version__ = __import__("ludus").__version__
crew.resolve_spec = lambda preset: (SimpleNamespace(spec_hash="another"), {})
assert main([*command, "1"]) == 2
"""


@pytest.mark.slow
def test_too_few_processors_or_gpus_and_machines_that_differ_are_refused_with_both_sides(
    head: Head, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", REFUSED, head.address],
        env=head.environment(tmp_path, head.token),
        capture_output=True,
        text=True,
        timeout=200,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    cpus, gpus, version, spec = done.stderr.strip().splitlines()
    missing = (
        r"[01] of 2 rollouts started within 1 s: (1 CPUs asked, 0|2 CPUs asked, 1) free; "
        rf"set --cluster.rollouts 1, or add a machine: ray start --address={head.address}"
    )
    assert re.fullmatch(missing, cpus)
    assert gpus.startswith(
        "0 of 1 rollouts started within 1 s: 1 GPUs asked, 0 free; set --cluster.gpus lower"
    )
    assert re.fullmatch(r"\S+ has Ludus \S+, this machine has 9\.9\.9", version)
    assert re.fullmatch(r"\S+ has the game with spec \w+, this machine another", spec)
    assert not (tmp_path / "runs").exists()


def lives(pid: int, start: int) -> bool:
    """Return whether a process lives that started then; a zombie does not."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return False
    return int(fields[19]) == start and fields[0] != b"Z"


def arguments(pids: Mapping[int, int]) -> list[str]:
    """Return the command lines of processes."""
    lines = []
    for pid in pids:
        try:
            lines.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return lines


def killed_at_a_checkpoint(controller: subprocess.Popen[bytes], run: Path) -> dict[int, int]:
    """Kill a run that has learned and saved. Return the start times of its processes by process id."""
    try:
        end = time.monotonic() + START_S
        while not run.exists() or max(RunDirectory(run).checkpoints.versions(), default=0) == 0:
            assert controller.poll() is None
            assert time.monotonic() < end
            time.sleep(0.1)
        started = descendants(controller.pid)
        names = arguments(started)
        assert sum(name.startswith(f"ray::{RayHost.__name__}") for name in names) == 2, names
        assert any("gcs_server" in name for name in names)  # the cluster is its own
        return started
    finally:
        controller.send_signal(signal.SIGKILL)
        controller.wait()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")
def test_nothing_is_left_of_a_killed_run_which_resumes_and_leaves_the_other_cluster_alone(
    head: Head, tmp_path: Path
) -> None:
    run, of_head = tmp_path / "run", descendants(head.process.pid)
    environment = head.environment(tmp_path, head.token)
    command = ludus("train", "minirts", "--quiet", "--cluster.rollouts", "2", "--run-dir", str(run))
    controller = subprocess.Popen([*command, *options(SMALL | UNEVALUATED)], env=environment)
    started = killed_at_a_checkpoint(controller, run)
    end = time.monotonic() + LEFT_S
    while left := {pid: time for pid, time in started.items() if lives(pid, time)}:
        assert time.monotonic() < end, arguments(left)
        time.sleep(0.1)

    before, _ = RunView(RunDirectory(run)).metrics()
    steps = before[-1].steps + 256
    command = ludus("resume", str(run), "--quiet", "--run.max-steps", str(steps))
    subprocess.run(command, env=environment, check=True, timeout=300)
    after, _ = RunView(RunDirectory(run)).metrics()
    assert after[-1].steps >= steps
    assert after[-1].under("cluster")["rollouts"] == 2.0
    assert head.process.poll() is None
    assert set(descendants(head.process.pid)) <= set(of_head)


@pytest.mark.slow
def test_two_hundred_thousand_decisions_on_two_rollouts_end_well(tmp_path: Path) -> None:
    command = ludus("train", "minirts", "--cluster.rollouts", "2", "--run.max-steps", "200000", "--json")
    subprocess.run(command, check=True, cwd=tmp_path)
    (run,) = (tmp_path / "runs").iterdir()
    updates, _ = RunView(RunDirectory(run)).metrics()
    assert updates[-1].steps >= 200_000
    assert updates[-1].under("cluster")["rollouts"] == 2.0
